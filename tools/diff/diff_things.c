/* The things that runs are compared by, and their figures. See diff.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "diff.h"

#include <stdlib.h>
#include <uthash.h>

#include "tools/common/hash.h"
#include "tools/common/message.h"

const char *const fxt_diff_kind_names[FXT_DIFF_KINDS] = {
	[FXT_DIFF_RUN] = "run",
	[FXT_DIFF_CALL] = "call",
	[FXT_DIFF_FAILURE] = "failure",
	[FXT_DIFF_WAIT] = "wait",
	[FXT_DIFF_FUNCTION] = "function",
	[FXT_DIFF_HEAP] = "heap",
	[FXT_DIFF_PROGRAM] = "program",
	[FXT_DIFF_FILE] = "file",
	[FXT_DIFF_LEFT_OPEN] = "left open",
	[FXT_DIFF_MADE] = "made",
	[FXT_DIFF_FINDING] = "finding",
	[FXT_DIFF_CATEGORY] = "category",
};

const char *const fxt_diff_quantity_names[FXT_DIFF_QUANTITIES] = {
	[FXT_DIFF_TIME] = "time",
	[FXT_DIFF_CPU] = "cpu",
	[FXT_DIFF_PATH] = "critical",
	[FXT_DIFF_COUNT] = "count",
	[FXT_DIFF_BYTES_LEFT] = "left",
	[FXT_DIFF_BYTES_PEAK] = "peak",
	[FXT_DIFF_BYTES_ASKED] = "asked for",
	[FXT_DIFF_BYTES_READ] = "read",
	[FXT_DIFF_BYTES_WRITTEN] = "written",
};

struct fxt_diff_hash {
	char *key;
	uint32_t thing;
	UT_hash_handle hh;
};

/* A number has no part of the run's time, so a change from nothing counts as a tenth of it: more than what is
 * small, and less than what takes long. */
static const double usual_weight = 0.1;

uint32_t fxt_diff_thing(struct fxt_diff *d, enum fxt_diff_kind kind, const char *name, uint32_t parent)
{
	char *key = fxt_format("%d %u %s", (int)kind, (unsigned)parent, name);
	struct fxt_diff_hash *one;

	HASH_FIND_STR(d->hash, key, one);
	if (one) {
		free(key);
		return one->thing;
	}
	d->things = fxt_grow(d->things, &d->capacity, d->count + 1, sizeof(*d->things));
	d->things[d->count] = (struct fxt_diff_thing){
		.kind = kind, .name = fxt_strdup(name), .parent = parent, .category = FXT_DIFF_NONE,
		.weight = usual_weight, .by = FXT_DIFF_NONE};
	one = fxt_alloc(1, sizeof(*one));
	*one = (struct fxt_diff_hash){.key = key, .thing = (uint32_t)d->count++};
	HASH_ADD_KEYPTR(hh, d->hash, one->key, strlen(one->key), one);
	return one->thing;
}

void fxt_diff_add(struct fxt_diff *d, uint32_t thing, enum fxt_diff_quantity quantity, size_t run,
		  double value)
{
	struct fxt_diff_figure *x = &d->things[thing].figures[quantity];

	if (!x->values)
		x->values = fxt_alloc(d->run_count, sizeof(*x->values));
	x->values[run] += value;
}

void fxt_diff_noisy(struct fxt_diff *d, uint32_t thing, enum fxt_diff_quantity quantity)
{
	d->things[thing].figures[quantity].is_noisy = true;
}

void fxt_diff_free(struct fxt_diff *d)
{
	struct fxt_diff_hash *one, *next;

	HASH_ITER(hh, d->hash, one, next) {
		HASH_DEL(d->hash, one);
		free(one->key);
		free(one);
	}
	for (size_t i = 0; i < d->count; i++) {
		free(d->things[i].name);
		for (unsigned q = 0; q < FXT_DIFF_QUANTITIES; q++)
			free(d->things[i].figures[q].values);
	}
	free(d->things);
	free(d->order);
	free(d->runs);
	*d = (struct fxt_diff){0};
}
