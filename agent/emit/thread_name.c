/* This writes threads' names, as kernel object records: when threads become known, and when the program names
 * a thread. Any context may call it. See thread.h and threads.h. */
#include <string.h>
#include <sys/prctl.h>

#include "thread.h"
#include "threads.h"
#include "writer/fxt_encode.h"

enum { NAME_BYTES = 16 };

void fxt_thread_tell_name(struct fxt_thread *thread, const struct fxt_thread *of, const char *given)
{
	char name[NAME_BYTES + 1] = "";
	struct fxt_arg process = {FXT_ARG_KOID, FXT_INDEXED(FXT_STR_process), .u64 = thread->pid};
	uint64_t record[8];
	size_t words, bytes;

	if (fxt_may_not_lock())
		return;
	if (given)
		memcpy(name, given, strnlen(given, NAME_BYTES - 1));
	else
		FXT_SYSCALL2(SYS_prctl, PR_GET_NAME, name);
	bytes = strnlen(name, NAME_BYTES - 1);
	bytes = fxt_utf8_clean(name, name, bytes, NAME_BYTES - 1);
	words = fxt_encode_kernel_object(record, 8, FXT_OBJECT_THREAD, of->tid, FXT_INLINE(name, bytes),
					 (struct fxt_args){1, &process});
	if (!fxt_storage_durable(fxt_agent.storage, record, words, 0))
		fxt_thread_put_extra(thread, record, words);
}

void fxt_thread_renamed(struct fxt_thread *thread, uintptr_t handle, const char *name)
{
	uint64_t mask;
	const struct fxt_thread *of = NULL, *other;
	uint32_t i;

	if (!thread->ready || fxt_may_not_lock())
		return;
	mask = fxt_lock(&fxt_threads.lock);
	/* The state of a thread that has ended stays in use for a while, and a later thread may have got the
	 * same handle, with the same stack. The one that lives has recorded last. */
	for (i = 0; i < fxt_threads.count; i++) {
		other = fxt_threads.list[i];
		if (other->in_use && other->ready && other->handle == handle &&
		    (!of || other->last_ns > of->last_ns))
			of = other;
	}
	fxt_unlock(&fxt_threads.lock, mask);
	if (of)
		fxt_thread_tell_name(thread, of, name);
}
