/* How many of something there were over time: the net sum of what was added and taken away, in stretches of
 * time. Stretches become twice as long when time outgrows them, so memory is constant. Changes may be told in
 * any order. */
#ifndef FXT_TOOLS_TREND_H
#define FXT_TOOLS_TREND_H

#include <stdbool.h>
#include <stdint.h>

enum { FXT_TREND_STRETCHES = 64 };

/* A change at a time. */
struct fxt_trend_change {
	uint64_t at_ns;
	int64_t by;
};

/* Most trends of a trace with many processes have few changes, which are kept one by one. */
enum { FXT_TREND_FEW = 4 };

/* When nothing has been told, all members are zero. */
struct fxt_trend {
	struct fxt_trend_change few[FXT_TREND_FEW];     /* in the order in which they were told */
	unsigned few_count;
	/* NULL: there are few changes, and a stretch is as short as can be */
	int64_t *change;
	uint64_t begin_ns, stretch_ns;
};

void fxt_trend_add(struct fxt_trend *t, uint64_t at_ns, int64_t change);
/* Adds all changes of another trend. */
void fxt_trend_merge(struct fxt_trend *t, const struct fxt_trend *other);
/* Returns how many there were at the end of the stretch that has this time. */
int64_t fxt_trend_at(const struct fxt_trend *t, uint64_t at_ns);
/* Returns the most that there were at the end of a stretch, and sets *at_ns to the end of the first such. */
int64_t fxt_trend_most(const struct fxt_trend *t, uint64_t *at_ns);

/* Growth from a time to the moment at which most were there, in as many parts of equal length. */
enum { FXT_TREND_PARTS = 4, FXT_TREND_IDLE = 1 };
struct fxt_growth {
	uint64_t until_ns;              /* that moment */
	int64_t most;
	int64_t part[FXT_TREND_PARTS];  /* how many more there were at the end of each part */
};

/* Returns whether they became more and more: in each part by a quarter of an equal share at least, and up to
 * a moment in the last third of the time from `from_ns` to `to_ns`. One part may have less, because a busy
 * machine may keep a program from running for so long. Whatever is made once, at the start or in one phase,
 * is no growth. */
bool fxt_trend_grows(const struct fxt_trend *t, uint64_t from_ns, uint64_t to_ns, struct fxt_growth *growth);
void fxt_trend_free(struct fxt_trend *t);

#endif
