/* See loss_windows.h. */
#include "loss_windows.h"

#include <string.h>

#include "writer/fxt_encode.h"

enum {
	/* A thread that drops many records in a row tells of them by so many, or after so long, because the
	 * header is shared by all threads. */
	TOLD_AT_ONCE = 16,
	TELL_NS = 10 * 1000,
};

/* What the calling thread has lost and not told yet, in this process. */
static __thread struct {
	uint32_t pid;
	uint32_t untold;                /* in the header */
	uint64_t told_ns;               /* when it last told the header */
	uint64_t records;               /* in an instant */
	uint64_t from_ns, to_ns;        /* the first and the last of these */
} lost;

static void begin_anew_after_fork(void)
{
	if (lost.pid == fxt_agent.pid)
		return;
	memset(&lost, 0, sizeof(lost));
	lost.pid = fxt_agent.pid;
}

void fxt_loss_note(const struct fxt_thread *thread, bool may_pass)
{
	struct fxt_managed_header *header = fxt_agent.buffer.managed;
	uint64_t now_ns = thread->last_ns;

	begin_anew_after_fork();
	if (!lost.records++)
		lost.from_ns = now_ns;
	lost.to_ns = now_ns;
	lost.untold++;
	if (!header || (may_pass && lost.untold < TOLD_AT_ONCE && now_ns - lost.told_ns < TELL_NS))
		return;
	atomic_fetch_add_explicit(&header->num_records_dropped, lost.untold, memory_order_relaxed);
	lost.untold = 0;
	lost.told_ns = now_ns;
}

size_t fxt_loss_window(const struct fxt_thread *thread, uint64_t *record)
{
	struct fxt_arg args[] = {
		{FXT_ARG_UINT64, FXT_INDEXED(FXT_STR_records), .u64 = lost.records},
		{FXT_ARG_UINT64, FXT_INLINE("ns", 2), .u64 = lost.to_ns - lost.from_ns},
	};
	size_t words = 0;

	if (lost.pid == fxt_agent.pid && lost.records)
		words = fxt_encode_event(record, FXT_LOSS_WINDOW_WORDS, FXT_EVENT_INSTANT, lost.to_ns,
					 (struct fxt_thread_ref){thread->index, thread->pid, thread->tid},
					 FXT_INDEXED(FXT_STR_CATEGORIES + FXT_BIT_agent),
					 FXT_INLINE("lost", 4), (struct fxt_args){2, args}, 0);
	lost.records = 0;
	return words;
}
