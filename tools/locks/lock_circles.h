/* Finds circles in the order in which locks were taken, in the situations that lock_replay.h has noted. In a
 * circle each lock was taken while the one before it was held, by as many threads as there are locks. If
 * each of these threads comes as far as holding its first lock, all of them wait for each other for ever.
 *
 * There is no circle where this cannot happen: two of the threads held one and the same lock besides, not
 * both for reading; or one waits for a lock for reading that the next has for reading too. */
#ifndef FXT_TOOLS_LOCK_CIRCLES_H
#define FXT_TOOLS_LOCK_CIRCLES_H

#include "lock_replay.h"

enum {
	FXT_LOCK_CIRCLE_MAX = FXT_LOCK_THREADS_MAX,     /* locks in a circle; longer ones are not found */
	FXT_LOCK_CIRCLES_MAX = 1000,                    /* further circles are not looked for */
};

/* A thread took the lock `then` while it held the lock `first`. */
struct fxt_lock_order {
	uint32_t first, then;           /* numbers of locks */
	uint32_t thread;
	uint64_t first_ns, count;       /* when this thread did so first, and how often */
	uint32_t innermost;             /* node of a stack in which it did, or FXT_NO_FRAME */
};

struct fxt_lock_circle {
	struct fxt_lock_order orders[FXT_LOCK_CIRCLE_MAX];
	size_t count;                   /* of the orders, and so of the locks and threads: from 2 up */
};

/* The circles: shorter ones first, and of those of one length the ones whose locks were used first. */
struct fxt_lock_circles {
	struct fxt_lock_circle *list;
	size_t count, capacity;
};

/* Finds all pairs of locks that were taken in both orders, and longer circles of locks that are in no circle
 * yet. At the beginning all members of `circles` are zero. */
void fxt_lock_circles_find(struct fxt_lock_circles *circles, const struct fxt_lock_replay *replay);
void fxt_lock_circles_free(struct fxt_lock_circles *circles);

#endif
