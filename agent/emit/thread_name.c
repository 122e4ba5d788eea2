/* This writes threads' names, as kernel object records: when threads become known, and when the program names
 * a thread. Any context may call it. See thread.h and threads.h. */
#include <string.h>
#include <sys/prctl.h>

#include "thread.h"
#include "threads.h"
#include "writer/apart.h"
#include "writer/decimal.h"
#include "writer/fxt_encode.h"

enum { NAME_BYTES = 16 };

static void comm_path(char *path, uint32_t tid)
{
	static const char before[] = "/proc/self/task/", after[] = "/comm";
	size_t at = sizeof(before) - 1;

	memcpy(path, before, at);
	at += fxt_decimal(path + at, tid);
	memcpy(path + at, after, sizeof(after));
}

void fxt_thread_tell_name(struct fxt_thread *thread, const struct fxt_thread *of)
{
	char path[48], name[NAME_BYTES + 1] = "";
	struct fxt_arg process = {FXT_ARG_KOID, FXT_INDEXED(FXT_STR_process), .u64 = thread->pid};
	uint64_t record[8];
	size_t words, bytes = 0;
	long n;

	if (fxt_may_not_lock())
		return;
	if (of == thread) {
		FXT_SYSCALL2(SYS_prctl, PR_GET_NAME, name);
		bytes = strnlen(name, NAME_BYTES - 1);
	} else {
		/* The path has the number that this /proc shows. If that differs from the thread's own, it
		 * is the number that the trace has. */
		comm_path(path, fxt_agent.koid_kind == FXT_KOID_SHOWN ? of->tid : of->own_tid);
		n = fxt_read_file(path, name, NAME_BYTES);
		if (n < 0)
			return;
		bytes = n > 0 ? (size_t)n - 1 : 0;
	}
	bytes = fxt_utf8_clean(name, name, bytes, NAME_BYTES - 1);
	words = fxt_encode_kernel_object(record, 8, FXT_OBJECT_THREAD, of->tid, FXT_INLINE(name, bytes),
					 (struct fxt_args){1, &process});
	if (!fxt_storage_durable(fxt_agent.storage, record, words, 0))
		fxt_thread_put_extra(thread, record, words);
}

void fxt_thread_renamed(struct fxt_thread *thread, uintptr_t handle)
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
		fxt_thread_tell_name(thread, of);
}
