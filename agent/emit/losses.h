/* Losses: every record that is not in the trace is counted, by its cause. A thread counts records that found
 * no room, and filtered ones, in counters of its own page; all others are counted for the process. Any
 * context.
 */
#ifndef FXT_LOSSES_H
#define FXT_LOSSES_H

#include "agent/base/agent.h"

/* Counts a record that could not be written; `why` is below FXT_DROP_COUNT. */
void fxt_thread_dropped(struct fxt_thread *thread, enum fxt_loss why);

/* Ends an emission whose lane was taken from it: a signal handler had switched to other code, and it was
 * taken for one that was left for good. Counts the call that it was about, if `events` is 1. */
FXT_COLD void fxt_thread_overtaken(struct fxt_thread *thread, unsigned events);

/* Adds `records` to the count of this cause for the process as a whole, which is in the durable area.
 * `last_ns` is the time of the last of them. */
void fxt_agent_count(enum fxt_loss why, uint64_t records, uint64_t last_ns);

/* Counts one record that found no room, in an emission that has begun. Its time is the last one that the
 * thread read. */
static inline void fxt_thread_dropped_again(struct fxt_thread *thread)
{
	if (FXT_UNLIKELY(thread->counts.dropped == &thread->pages.none[1])) {
		fxt_agent_count(FXT_LOSS_ROOM, 1, thread->last_ns);
		return;
	}
	fxt_count_one(thread->counts.dropped);
	*thread->counts.dropped_ns = thread->last_ns;
}

/* Counts something that the trace lacks, if it has or can have a file: a block without a lifetime
 * (FXT_LOSS_BLOCKS), an event without a stack (FXT_LOSS_STACKS), an object without a name (FXT_LOSS_UNNAMED).
 * May be called during an emission. */
FXT_COLD void fxt_thread_lacks(struct fxt_thread *thread, enum fxt_loss why);

/* Counts a record of a signal handler whose stack is too short to write it; now_ns is the time, or that of
 * the thread's last event, or 0 if it has none. The function itself needs hardly any stack. It uses integer
 * registers alone. */
void fxt_agent_count_short(uint64_t now_ns);

/* Says that events were overwritten when this chunk of the ring was taken, which the storage has counted. */
void fxt_agent_overwritten(const struct fxt_chunk *chunk, uint64_t now_ns);

/* Says why records are lost, once for each cause, in the trace. Says it on standard error too if the buffer
 * is full or cannot grow, or if two tasks share a thread's storage. */
void fxt_agent_lost(enum fxt_loss why, uint64_t now_ns);

/* A session of a manager has a trace of its own, and the counts of losses go on from one to the next, because
 * they are the program's. So each begins with an instant, `lost before`, of all that was lost before it, by
 * the names of the counters; there is none if nothing was. It has room before the counters. */
enum { FXT_LOST_BEFORE_WORDS = 4 + 2 * FXT_LOSS_COUNT };

/* Writes that instant, takes the reasons of earlier losses out of the durable area, and makes reasons and
 * windows be told anew. Nobody records. */
FXT_COLD void fxt_losses_session(void);

/* Writes an instant into the durable area, with a reason and, unless it is 0, the limit that was met. The
 * caller knows that there is a file. */
void fxt_losses_tell(uint64_t name, const char *reason, uint64_t limit_bytes, uint64_t now_ns);

/* Says in the trace, if there is one, which part of this program's work is not recorded, and why. */
void fxt_agent_unseen(const char *what);

#endif
