/* How many of something there were over time. See trend.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "trend.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"

/* The first stretches are this long: 64 of them are a thousandth of a second. */
enum { SHORTEST_NS = 16384 };

/* A stretch begins at a multiple of its length. */
static uint64_t begin_of_stretch(const struct fxt_trend *t, uint64_t at_ns)
{
	return at_ns - at_ns % t->stretch_ns;
}

static void double_stretches(struct fxt_trend *t)
{
	int64_t change[FXT_TREND_STRETCHES] = {0};

	t->stretch_ns *= 2;
	for (int i = 0; i < FXT_TREND_STRETCHES; i++)
		change[(i + (begin_of_stretch(t, t->begin_ns) != t->begin_ns)) / 2] += t->change[i];
	t->begin_ns = begin_of_stretch(t, t->begin_ns);
	memcpy(t->change, change, sizeof(change));
}

/* Returns how many stretches have to be kept, from the first on. */
static uint64_t stretches_used(const struct fxt_trend *t)
{
	uint64_t used = FXT_TREND_STRETCHES;

	while (used && t->change[used - 1] == 0)
		used--;
	return used;
}

/* Begins with the stretch of an earlier time. */
static void begin_earlier(struct fxt_trend *t, uint64_t at_ns)
{
	uint64_t by, used;

	while (by = (t->begin_ns - begin_of_stretch(t, at_ns)) / t->stretch_ns, used = stretches_used(t),
	       by > FXT_TREND_STRETCHES - used)
		double_stretches(t);
	memmove(&t->change[by], t->change, used * sizeof(t->change[0]));
	memset(t->change, 0, by * sizeof(t->change[0]));
	t->begin_ns -= by * t->stretch_ns;
}

static void add_to_stretch(struct fxt_trend *t, uint64_t at_ns, int64_t by)
{
	if (at_ns < t->begin_ns)
		begin_earlier(t, at_ns);
	while ((at_ns - t->begin_ns) / t->stretch_ns >= FXT_TREND_STRETCHES)
		double_stretches(t);
	t->change[(at_ns - t->begin_ns) / t->stretch_ns] += by;
}

void fxt_trend_add(struct fxt_trend *t, uint64_t at_ns, int64_t by)
{
	if (!t->change && t->few_count < FXT_TREND_FEW) {
		t->few[t->few_count++] = (struct fxt_trend_change){at_ns, by};
		return;
	}
	if (!t->change) {
		t->change = fxt_alloc(FXT_TREND_STRETCHES, sizeof(*t->change));
		t->stretch_ns = SHORTEST_NS;
		t->begin_ns = begin_of_stretch(t, at_ns);
		for (unsigned i = 0; i < t->few_count; i++)
			add_to_stretch(t, t->few[i].at_ns, t->few[i].by);
	}
	add_to_stretch(t, at_ns, by);
}

void fxt_trend_merge(struct fxt_trend *t, const struct fxt_trend *other)
{
	for (unsigned i = 0; !other->change && i < other->few_count; i++)
		fxt_trend_add(t, other->few[i].at_ns, other->few[i].by);
	for (int i = 0; other->change && i < FXT_TREND_STRETCHES; i++)
		if (other->change[i])
			fxt_trend_add(t, other->begin_ns + (uint64_t)i * other->stretch_ns, other->change[i]);
}

int64_t fxt_trend_at(const struct fxt_trend *t, uint64_t at_ns)
{
	int64_t sum = 0;

	if (!t->change) {
		for (unsigned i = 0; i < t->few_count; i++)
			sum += t->few[i].at_ns <= at_ns ? t->few[i].by : 0;
		return sum;
	}
	if (at_ns < t->begin_ns)
		return 0;
	for (uint64_t i = 0; i < FXT_TREND_STRETCHES && i <= (at_ns - t->begin_ns) / t->stretch_ns; i++)
		sum += t->change[i];
	return sum;
}

/* Does the same as fxt_trend_most() for a trend of few changes. */
static int64_t most_of_few(const struct fxt_trend *t, uint64_t *at_ns)
{
	int64_t most = 0;

	*at_ns = 0;
	for (unsigned i = 0; i < t->few_count; i++) {
		int64_t sum = fxt_trend_at(t, t->few[i].at_ns);

		if (sum > most || (sum == most && most > 0 && t->few[i].at_ns < *at_ns)) {
			most = sum;
			*at_ns = t->few[i].at_ns;
		}
	}
	return most;
}

int64_t fxt_trend_most(const struct fxt_trend *t, uint64_t *at_ns)
{
	int64_t sum = 0, most = 0;

	if (!t->change)
		return most_of_few(t, at_ns);
	*at_ns = t->begin_ns;
	for (int i = 0; i < FXT_TREND_STRETCHES; i++) {
		sum += t->change[i];
		if (sum > most) {
			most = sum;
			*at_ns = t->begin_ns + (uint64_t)(i + 1) * t->stretch_ns;
		}
	}
	return most;
}

bool fxt_trend_grows(const struct fxt_trend *t, uint64_t from_ns, uint64_t to_ns, struct fxt_growth *growth)
{
	int64_t before = 0;
	int idle = 0;

	*growth = (struct fxt_growth){0};
	growth->most = fxt_trend_most(t, &growth->until_ns);
	if (growth->most <= 0 || to_ns <= from_ns || growth->until_ns <= from_ns)
		return false;
	if (growth->until_ns > to_ns)
		growth->until_ns = to_ns;
	if ((growth->until_ns - from_ns) / 2 < (to_ns - from_ns) / 3)
		return false;
	for (int i = 0; i < FXT_TREND_PARTS; i++) {
		uint64_t at = from_ns + (growth->until_ns - from_ns) / FXT_TREND_PARTS * (uint64_t)(i + 1);
		int64_t now = i + 1 < FXT_TREND_PARTS ? fxt_trend_at(t, at) : growth->most;

		growth->part[i] = now - before;
		before = now;
		idle += growth->part[i] < growth->most / FXT_TREND_PARTS / 4;
	}
	return idle <= FXT_TREND_IDLE;
}

void fxt_trend_free(struct fxt_trend *t)
{
	free(t->change);
	*t = (struct fxt_trend){0};
}
