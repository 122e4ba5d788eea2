/* Adds up times by call stacks. See stack_sums.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "stack_sums.h"

#include <stdlib.h>

#include "tools/common/message.h"

void fxt_stack_sums_add_all(struct fxt_stack_sums *s, const struct fxt_stack_sum *sum)
{
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&s->places, sum->key, sum->innermost, &fresh);

	if (fresh) {
		slot->value[0] = s->count;
		s->list = fxt_grow(s->list, &s->capacity, s->count + 1, sizeof(*s->list));
		s->list[s->count++] = (struct fxt_stack_sum){.key = sum->key, .innermost = sum->innermost};
	}
	s->list[slot->value[0]].count += sum->count;
	s->list[slot->value[0]].total_ns += sum->total_ns;
}

void fxt_stack_sums_add(struct fxt_stack_sums *s, uint64_t key, uint32_t innermost, uint64_t ns)
{
	fxt_stack_sums_add_all(s, &(struct fxt_stack_sum){key, innermost, 1, ns});
}

static int by_key(const void *a, const void *b)
{
	const struct fxt_stack_sum *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return x->innermost < y->innermost ? -1 : x->innermost > y->innermost;
}

void fxt_stack_sums_finish(struct fxt_stack_sums *s)
{
	fxt_map_free(&s->places);
	if (s->count)
		qsort(s->list, s->count, sizeof(*s->list), by_key);
}

size_t fxt_stack_sums_first(const struct fxt_stack_sums *s, uint64_t key)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->list[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool fxt_stack_sums_most(const struct fxt_stack_sums *s, uint64_t key, struct fxt_who *who,
			 enum fxt_purpose purpose, struct fxt_stack_sum *most)
{
	struct fxt_stack_sums by_path = {0};
	struct fxt_map paths = {0};
	size_t best = 0;
	bool fresh, found;

	for (size_t i = fxt_stack_sums_first(s, key); i < s->count && s->list[i].key == key; i++) {
		const struct fxt_stack_sum *one = &s->list[i];
		uint32_t path = fxt_path_of(&who->culprits, purpose, one->innermost);
		struct fxt_slot *slot;

		if (path == FXT_NO_PATH)
			continue;
		slot = fxt_map_put(&paths, fxt_path_short(&who->culprits, purpose, path), 0, &fresh);
		if (fresh) {
			slot->value[0] = by_path.count;
			/* The first stack of a path is the one that took longest, because they are sorted. */
			by_path.list = fxt_grow(by_path.list, &by_path.capacity, by_path.count + 1,
						sizeof(*by_path.list));
			by_path.list[by_path.count++] =
				(struct fxt_stack_sum){.key = key, .innermost = one->innermost};
		}
		by_path.list[slot->value[0]].count += one->count;
		by_path.list[slot->value[0]].total_ns += one->total_ns;
		if (by_path.list[slot->value[0]].total_ns > by_path.list[best].total_ns)
			best = slot->value[0];
	}
	if (by_path.count)
		*most = by_path.list[best];
	fxt_map_free(&paths);
	found = by_path.count;
	fxt_stack_sums_free(&by_path);
	return found;
}

void fxt_stack_sums_free(struct fxt_stack_sums *s)
{
	free(s->list);
	fxt_map_free(&s->places);
	*s = (struct fxt_stack_sums){0};
}
