/* Counters that are kept in the trace file itself. Each is a slot of FXT_COUNTER_WORDS words: a filler until
 * something was counted, and then a counter event whose value is rewritten in place. So losses are counted
 * even if the process is killed. */
#ifndef FXT_COUNTER_H
#define FXT_COUNTER_H

#include "emit.h"

/* Makes a slot an empty counter. What it counts first has this time at the earliest. */
static inline void fxt_counter_clear(uint64_t *slot, uint64_t now_ns)
{
	memset(slot + 1, 0, (FXT_COUNTER_WORDS - 1) * sizeof(*slot));
	slot[1] = now_ns;
	slot[0] = fxt_filler(FXT_COUNTER_WORDS);
}

/* Writes the counter event "agent:NAME {records: value}" into a slot, with koids inline if thread_ref is 0. A
 * reader lets counts with the same `id` replace each other, and adds up those of different ids: a thread's id
 * is its tid, and the process's is 0. Returns where the value lies. */
uint64_t *fxt_counter_show(uint64_t *slot, uint64_t name, uint64_t thread_ref, uint32_t pid, uint32_t tid,
			   uint32_t id, uint64_t value);

/* Adds `records` to the count of a whole process; now_ns is the time of the last record that it counts, and 0
 * if that is not known. Several threads may do this at once, without a lock. The slot has been cleared
 * before. */
void fxt_counter_add(uint64_t *slot, uint64_t name, uint32_t pid, uint64_t records, uint64_t now_ns);

/* Fills in a counter event of a whole process whose value is 0. Its header has no size yet. */
void fxt_counter_describe(uint64_t record[FXT_COUNTER_WORDS], uint64_t name, uint32_t pid);

/* Returns the value of a slot, or 0 if it is a filler. */
uint64_t fxt_counter_value(const uint64_t *slot);

/* -- Windows of losses ------------------------------------------------------------------------- */

/* A window lasts from where a thread finds no room for its records to where it does again. The trace has an
 * instant for each, agent:lost: how many records the thread has dropped, and how long that took. The header
 * of a memory that a manager saves has the sum meanwhile. */
enum { FXT_LOSS_WINDOW_WORDS = 16 };

/* Notes that the calling thread has dropped a record. If it `may_pass`, the thread drops many in a row, and
 * the header need not be exact. */
void fxt_loss_note(const struct fxt_thread *thread, bool may_pass);

/* Makes all threads forget what they have dropped and told by no instant, because another session begins. The
 * header keeps the sum. */
FXT_COLD void fxt_loss_windows_forget(void);

/* Writes the instant about what the calling thread has dropped since this function was last called, if
 * anything. Returns its size in words; 0: there is none. `record` has FXT_LOSS_WINDOW_WORDS. */
size_t fxt_loss_window(const struct fxt_thread *thread, uint64_t *record);

#endif
