/* Levels of detail. See levels.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "levels.h"

#include <stdlib.h>

#include "tools/common/message.h"

/* Makes one level. Returns false if it has more than `most` runs, which are not worth their bytes. */
static bool make_level(struct fxt_level *l, const struct fxt_slice *row, size_t count, uint64_t width_ns,
		       size_t most)
{
	uint64_t bucket = 0;
	bool is_alone = true; /* nothing may be added to the last run */

	*l = (struct fxt_level){.width_ns = width_ns};
	for (size_t i = 0; i < count; i++) {
		const struct fxt_slice *s = &row[i];
		uint64_t ns = s->end_ns - s->start_ns;
		struct fxt_run *run;

		if (is_alone || ns >= width_ns || s->start_ns / width_ns != bucket) {
			if (l->count == most)
				return false;
			l->runs = fxt_grow(l->runs, &l->capacity, l->count + 1, sizeof(*l->runs));
			l->runs[l->count++] = (struct fxt_run){s->start_ns, s->end_ns, 1, s->name, ns};
			bucket = s->start_ns / width_ns;
			is_alone = ns >= width_ns;
			continue;
		}
		run = &l->runs[l->count - 1];
		run->count++;
		if (s->end_ns > run->end_ns)
			run->end_ns = s->end_ns;
		if (ns > run->longest_ns) {
			run->longest_ns = ns;
			run->name = s->name;
		}
	}
	return true;
}

void fxt_levels_make(struct fxt_levels *l, const struct fxt_slice *row, size_t count, uint64_t span_ns)
{
	uint64_t width_ns = span_ns / 2048;

	l->count = 0;
	for (; count > FXT_LEVELS_FEW && width_ns > 0 && l->count < FXT_LEVELS_MOST - 1; width_ns /= 4) {
		struct fxt_level *level = &l->list[l->count];

		if (!make_level(level, row, count, width_ns, count / 2)) {
			free(level->runs);
			break;
		}
		l->count++;
	}
	l->list[l->count++] = (struct fxt_level){.count = count};
}

void fxt_levels_free(struct fxt_levels *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->list[i].runs);
	l->count = 0;
}
