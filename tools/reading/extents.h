/* Where the events of each thread lie in a file, and from when to when. A pass over the file makes the list,
 * and whoever looks for a thread's events at some time later reads these extents only.
 *
 * An extent is as long as the chunks of the trace are, 32 KiB in those of the agent. The list takes an
 * eightieth of a file at most, whatever is in it. */
#ifndef FXT_TOOLS_EXTENTS_H
#define FXT_TOOLS_EXTENTS_H

#include "reader.h"

/* An extent that is shorter than this takes the events of other threads too. */
enum { FXT_EXTENT_LEAST_BYTES = 4096 };

struct fxt_extent {
	uint64_t at, end;                       /* offsets */
	uint64_t first_ticks, last_ticks;       /* of all its events, with their ends */
	struct fxt_provider *provider;          /* that of the first event */
	uint32_t thread;
	bool is_mixed;                  /* it has events of several threads or providers */
};

/* The extents, in the order of the file. When there are none, all members are zero. */
struct fxt_extents {
	struct fxt_extent *list;
	size_t count, capacity;
};

void fxt_extents_begin(struct fxt_extents *e, const struct fxt_record *rec);

/* Takes an event. All have to be taken, in the order of the file. */
static inline void fxt_extents_take(struct fxt_extents *e, const struct fxt_record *rec)
{
	struct fxt_extent *last = e->count ? &e->list[e->count - 1] : NULL;
	uint64_t end_ticks = fxt_commit_ticks(rec);

	if (!last || last->thread != rec->thread || last->provider != rec->provider || last->is_mixed) {
		fxt_extents_begin(e, rec);
		last = &e->list[e->count - 1];
	}
	last->end = rec->offset + rec->words * FXT_WORD_BYTES;
	last->first_ticks = rec->ticks < last->first_ticks ? rec->ticks : last->first_ticks;
	last->last_ticks = end_ticks > last->last_ticks ? end_ticks : last->last_ticks;
}

/* Returns whether an event of the extent may be the thread's and lie between these times, in nanoseconds. */
bool fxt_extent_may_have(const struct fxt_extent *extent, uint64_t from_ns, uint64_t to_ns);
void fxt_extents_free(struct fxt_extents *e);

#endif
