/* Counters kept in the file itself: a slot of eight words that is a filler until something was counted, and
 * then a counter event whose value is rewritten in place. What is lost is so counted even where the process
 * is killed. */
#ifndef FXT_COUNTER_H
#define FXT_COUNTER_H

#include "emit.h"

enum { FXT_COUNTER_WORDS = 8 };

/* A slot's first content. */
static inline void fxt_counter_clear(uint64_t *slot)
{
	memset(slot + 1, 0, (FXT_COUNTER_WORDS - 1) * sizeof(*slot));
	slot[0] = fxt_filler(FXT_COUNTER_WORDS);
}

/* Writes the counter event "agent:NAME {records: value}" into a slot, with koids inline where thread_ref is
 * 0. Counts of one `id` replace each other, those of several add up: a thread's is its tid, the process's is
 * 0. Returns where the value lies. */
uint64_t *fxt_counter_show(uint64_t *slot, uint64_t name, uint64_t thread_ref, uint32_t pid, uint32_t tid,
			   uint32_t id, uint64_t value);

/* Adds to the count of a whole process, of which the newest is of that time. Any number of threads may do so
 * at once, without a lock; the slot was cleared at first. */
void fxt_counter_add(uint64_t *slot, uint64_t name, uint32_t pid, uint64_t records, uint64_t now_ns);

/* The value of a slot; 0 while it is a filler. */
uint64_t fxt_counter_value(const uint64_t *slot);

#endif
