/* Finds slices within slices. See nesting.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "nesting.h"

#include <stdlib.h>

#include "tools/common/message.h"

enum { KEPT = 64 };

static uint64_t part_of(uint64_t value, uint64_t part_ns, uint64_t whole_ns)
{
	return (uint64_t)((unsigned __int128)value * part_ns / whole_ns);
}

bool fxt_nesting_pop(struct fxt_nesting *n, uint64_t start_ns, struct fxt_nested *inner)
{
	struct fxt_nested *last = n->count ? &n->list[n->count - 1] : NULL;

	if (!last || (last->start_ns < start_ns && (!last->is_several || last->end_ns <= start_ns)))
		return false;
	*inner = *last;
	if (last->start_ns >= start_ns) {
		n->count--;
		return true;
	}
	inner->start_ns = last->end_ns = start_ns;
	for (size_t i = 0; i < 2; i++) {
		inner->value[i] =
			part_of(inner->value[i], inner->end_ns - start_ns, inner->end_ns - last->start_ns);
		last->value[i] -= inner->value[i];
	}
	return true;
}

/* Puts the older half of the slices together in pairs. So recent slices stay single, and older ones get
 * coarser. */
static void thin_out(struct fxt_nesting *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n->count; i++) {
		struct fxt_nested *to = &n->list[kept++];

		*to = n->list[i];
		if (i >= KEPT / 2)
			continue;
		i++;
		to->end_ns = n->list[i].end_ns;
		to->value[0] += n->list[i].value[0];
		to->value[1] += n->list[i].value[1];
		to->is_several = true;
	}
	n->count = kept;
}

void fxt_nesting_push(struct fxt_nesting *n, const struct fxt_nested *slice)
{
	if (n->count == KEPT)
		thin_out(n);
	n->list = fxt_grow(n->list, &n->capacity, n->count + 1, sizeof(*n->list));
	n->list[n->count++] = *slice;
}

void fxt_nesting_free(struct fxt_nesting *n)
{
	free(n->list);
	*n = (struct fxt_nesting){0};
}
