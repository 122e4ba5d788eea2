/* Notes where the events of each thread lie in a file. See extents.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "extents.h"

#include <stdlib.h>

#include "tools/common/message.h"

void fxt_extents_begin(struct fxt_extents *e, const struct fxt_record *rec)
{
	struct fxt_extent *last = e->count ? &e->list[e->count - 1] : NULL;

	if (last && rec->offset - last->at < FXT_EXTENT_LEAST_BYTES) {
		last->is_mixed = true;
		return;
	}
	e->list = fxt_grow(e->list, &e->capacity, e->count + 1, sizeof(*e->list));
	e->list[e->count++] = (struct fxt_extent){.at = rec->offset,
						  .first_ticks = UINT64_MAX,
						  .provider = rec->provider,
						  .thread = rec->thread};
}

/* A rate below 1e9 can make the time of a later tick the smaller one, because nanoseconds overflow. */
bool fxt_extent_may_have(const struct fxt_extent *extent, uint64_t from_ns, uint64_t to_ns)
{
	return extent->is_mixed || extent->provider->ticks_per_second < 1000000000 ||
	       (fxt_ns(extent->provider, extent->first_ticks) <= to_ns &&
		fxt_ns(extent->provider, extent->last_ticks) >= from_ns);
}

void fxt_extents_free(struct fxt_extents *e)
{
	free(e->list);
	*e = (struct fxt_extents){0};
}
