/* Threads' names, as kernel object records. Called as threads become known and when the program names one, any context. See threads.h. */
#include <string.h>
#include <sys/prctl.h>

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

void fxt_thread_tell_name(struct fxt_thread *thread, uint32_t tid)
{
	char path[48], name[NAME_BYTES + 1] = "";
	struct fxt_arg process = {FXT_ARG_KOID, FXT_INDEXED(FXT_STR_process), .u64 = thread->pid};
	uint64_t record[8];
	size_t words, bytes = 0;
	long n;

	if (fxt_is_forbidden(FXT_NO_LOCKS))
		return;
	if (tid == thread->tid) {
		FXT_SYSCALL2(SYS_prctl, PR_GET_NAME, name);
		bytes = strnlen(name, NAME_BYTES - 1);
	} else {
		comm_path(path, tid);
		n = fxt_read_file(path, name, NAME_BYTES);
		if (n < 0)
			return;
		bytes = n > 0 ? (size_t)n - 1 : 0;
	}
	bytes = fxt_utf8_clean(name, name, bytes, NAME_BYTES - 1);
	words = fxt_encode_kernel_object(record, 8, FXT_OBJECT_THREAD, tid, FXT_INLINE(name, bytes),
					 (struct fxt_args){1, &process});
	if (!fxt_storage_durable(fxt_agent.storage, record, words, 0))
		fxt_thread_put_extra(thread, record, words);
}

void fxt_thread_renamed(struct fxt_thread *thread, uintptr_t handle)
{
	uint64_t mask;
	uint32_t tid = 0, i;

	if (!thread->ready || fxt_is_forbidden(FXT_NO_LOCKS))
		return;
	mask = fxt_lock(&fxt_threads.lock);
	for (i = 0; i < fxt_threads.count && !tid; i++)
		if (fxt_threads.list[i]->in_use && fxt_threads.list[i]->ready && fxt_threads.list[i]->handle == handle)
			tid = fxt_threads.list[i]->tid;
	fxt_unlock(&fxt_threads.lock, mask);
	if (tid)
		fxt_thread_tell_name(thread, tid);
}
