/* Adds up times by call stacks. See stack_sums.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "stack_sums.h"

#include <math.h>
#include <stdlib.h>

#include "tools/common/message.h"

static void add_to(struct fxt_stack_sum *to, const struct fxt_stack_sum *one)
{
	to->count += one->count;
	to->total_ns += one->total_ns;
	to->samples += one->samples;
	to->variance_ns += one->variance_ns;
	to->squares += one->squares;
}

void fxt_stack_sums_add_all(struct fxt_stack_sums *s, const struct fxt_stack_sum *sum)
{
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&s->places, sum->key, sum->innermost, &fresh);

	if (fresh) {
		slot->value[0] = s->count;
		s->list = fxt_grow(s->list, &s->capacity, s->count + 1, sizeof(*s->list));
		s->list[s->count++] = (struct fxt_stack_sum){.key = sum->key, .innermost = sum->innermost};
	}
	add_to(&s->list[slot->value[0]], sum);
}

void fxt_stack_sums_add(struct fxt_stack_sums *s, uint64_t key, uint32_t innermost, uint64_t ns)
{
	fxt_stack_sums_add_all(s, &(struct fxt_stack_sum){.key = key,
							  .innermost = innermost,
							  .count = 1,
							  .total_ns = ns,
							  .squares = 1});
}

void fxt_stack_sums_add_event(struct fxt_stack_sums *s, uint64_t key, uint32_t innermost, uint64_t ns,
			      const struct fxt_record *rec)
{
	/* Traces come from anywhere. No thread of ours draws less than one call in 64 ms of them. */
	enum { MOST_CALLS = 1000000 };
	const double most_ns = 9e18;
	const struct fxt_argument *a = fxt_argument(rec, "stands_for");
	struct fxt_stack_sum sum = {.key = key, .innermost = innermost};
	double calls;

	if (!a || a->type != FXT_ARG_DOUBLE || !(a->f >= 1 && a->f <= MOST_CALLS)) {
		fxt_stack_sums_add(s, key, innermost, ns);
		return;
	}
	calls = a->f;
	sum.count = (uint64_t)(calls + 0.5);
	sum.total_ns = (uint64_t)fmin(calls * (double)ns + 0.5, most_ns);
	sum.samples = 1;
	sum.variance_ns = calls * (calls - 1) * (double)ns * (double)ns;
	sum.squares = calls * calls;
	fxt_stack_sums_add_all(s, &sum);
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

/* Returns the place of the first sum with this key or a larger one. */
static size_t first_of(const struct fxt_stack_sums *s, uint64_t key)
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

size_t fxt_stack_sums_by_path(const struct fxt_stack_sums *s, uint64_t key, struct fxt_who *who,
			      enum fxt_purpose purpose, struct fxt_stack_sum **list)
{
	size_t count = 0, capacity = 0;
	struct fxt_map paths = {0};
	bool fresh;

	*list = NULL;
	for (size_t i = first_of(s, key); i < s->count && s->list[i].key == key; i++) {
		const struct fxt_stack_sum *one = &s->list[i];
		uint32_t path = fxt_path_of(&who->culprits, purpose, one->innermost);
		struct fxt_slot *slot;

		if (path == FXT_NO_PATH)
			continue;
		slot = fxt_map_put(&paths, fxt_path_short(&who->culprits, purpose, path), 0, &fresh);
		if (fresh) {
			slot->value[0] = count;
			/* The first stack of a path is the one that took longest, because they are sorted. */
			*list = fxt_grow(*list, &capacity, count + 1, sizeof(**list));
			(*list)[count++] = (struct fxt_stack_sum){.key = key, .innermost = one->innermost};
		}
		add_to(&(*list)[slot->value[0]], one);
	}
	fxt_map_free(&paths);
	if (count)
		qsort(*list, count, sizeof(**list), by_key);
	return count;
}

bool fxt_stack_sums_most(const struct fxt_stack_sums *s, uint64_t key, struct fxt_who *who,
			 enum fxt_purpose purpose, struct fxt_stack_sum *most)
{
	struct fxt_stack_sum *list;
	size_t count = fxt_stack_sums_by_path(s, key, who, purpose, &list);

	if (count)
		*most = list[0];
	free(list);
	return count;
}

bool fxt_stack_sums_most_often(const struct fxt_stack_sums *s, uint64_t key, struct fxt_who *who,
			       enum fxt_purpose purpose, struct fxt_stack_sum *most)
{
	struct fxt_stack_sum *list;
	size_t count = fxt_stack_sums_by_path(s, key, who, purpose, &list), best = 0;

	for (size_t i = 1; i < count; i++)
		best = list[i].count > list[best].count ? i : best;
	if (count)
		*most = list[best];
	free(list);
	return count;
}

void fxt_stack_sums_free(struct fxt_stack_sums *s)
{
	free(s->list);
	fxt_map_free(&s->places);
	*s = (struct fxt_stack_sums){0};
}
