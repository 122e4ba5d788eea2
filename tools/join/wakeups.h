/* Who made a sleeping thread go on, in the records that viewers of scheduling read. An arrow `wakes` of the
 * agent says which thread let another one go on, and when; the kernel's switches say when that one slept. An
 * arrow that leaves while its thread is blocked has ended that sleep. Merge shows the records to this, and
 * writes a wakeup for each such sleep behind all parts.
 *
 * Arrows that come behind the kernel's first switch of a part are not looked at for that part.
 */
#ifndef FXT_TOOLS_WAKEUPS_H
#define FXT_TOOLS_WAKEUPS_H

#include "frame_records.h"
#include "tools/common/map.h"
#include "tools/reading/reader.h"

struct fxt_wakeup_arrow;                /* these are in wakeups.c */
struct fxt_wakeup_thread;

struct fxt_wakeup {
	uint64_t at_ns;
	uint32_t waker, woken;          /* koids of threads, as the parts have them */
	uint32_t cpu;                   /* which the waker was on */
	uint32_t provider;              /* the kernel's, by its id in the archive */
};

/* All members are zero at first. */
struct fxt_wakeups {
	struct fxt_wakeup_arrow *arrows;
	struct fxt_wakeup_arrow **by_waker;     /* the same, in another order */
	size_t arrow_count, arrow_capacity, by_waker_capacity;
	struct fxt_wakeup_thread *threads;
	size_t thread_count, thread_capacity;
	struct fxt_map by_thread;       /* koid -> place in `threads` plus 1 */
	struct fxt_map begun;           /* flow id -> thread that it leaves, and when */
	struct fxt_wakeup *list;
	size_t count, capacity;
	/* Of the part that is being read: its number, its provider of the kernel, whether it has wakeups
	 * itself, and whether the arrows were sorted for its switches. */
	uint32_t part, provider;
	bool has_own, is_sorted;
};

/* Begins a part. */
void fxt_wakeups_begin_part(struct fxt_wakeups *w);

/* Takes an event of category agent. */
void fxt_wakeups_arrow(struct fxt_wakeups *w, const struct fxt_reader *r, const struct fxt_record *rec);

/* Takes a scheduling record. `provider` is the id in the archive of the kernel's provider, or 0 if an agent
 * has told of it. */
void fxt_wakeups_switch(struct fxt_wakeups *w, const struct fxt_record *rec, uint32_t provider);

/* Ends a part. One that has wakeups itself, because it was joined before or its agents have written them,
 * gets none. */
void fxt_wakeups_end_part(struct fxt_wakeups *w);

/* Writes the wakeups. Returns false if `write` does. */
bool fxt_wakeups_put(const struct fxt_wakeups *w, fxt_frame_records_write *write, void *context);

void fxt_wakeups_free(struct fxt_wakeups *w);

#endif
