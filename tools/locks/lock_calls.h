/* Knows which calls take locks and give them up: mutexes, read-write locks and spin locks of POSIX, and the
 * mutexes of C11. What a call does follows from its row in interpose/tables/.
 *
 * The files of this folder find locks that are taken in a circle, for fxt report. lock_scan.h looks in the
 * report's first pass whether there may be any. Only then lock_replay.h goes through the calls about locks
 * in the order of time, and lock_circles.h finds the circles in what that has noted. lock_stacks.h has what
 * each thread holds, for both.
 */
#ifndef FXT_TOOLS_LOCK_CALLS_H
#define FXT_TOOLS_LOCK_CALLS_H

#include "tools/reading/reader.h"

enum fxt_lock_act {
	FXT_LOCK_NOT_ASKED,
	FXT_LOCK_NO_ACT,                /* the call is not about locks */
	FXT_LOCK_TAKES,                 /* it takes the lock, and waits as long as that needs */
	FXT_LOCK_TRIES,                 /* it takes the lock or fails, at once or after some time */
	FXT_LOCK_GIVES_UP,
	FXT_LOCK_WAITS,                 /* it waits for a condition, gives the mutex up and takes it again */
	FXT_LOCK_MAKES,
	FXT_LOCK_DESTROYS,
};

/* What a call does. */
struct fxt_lock_call {
	uint8_t act;                    /* enum fxt_lock_act */
	bool is_shared;                 /* it takes the lock for reading */
};

/* The calls by the symbol of their name. At the beginning all members are zero. */
struct fxt_lock_calls {
	struct fxt_lock_call *by_symbol;
	size_t count, capacity;
	uint32_t pthread;               /* the symbol of the category; 0: it was not met yet */
};

/* Looks a name up that was not met before. The address holds until the next name is looked up. */
const struct fxt_lock_call *fxt_lock_call_find(struct fxt_lock_calls *calls, struct fxt_reader *r,
					       const struct fxt_text *name);

/* Returns what the call of this name does. */
static inline const struct fxt_lock_call *fxt_lock_call(struct fxt_lock_calls *calls, struct fxt_reader *r,
							const struct fxt_text *name)
{
	uint32_t symbol = name->symbol ? *name->symbol : 0;

	return symbol < calls->count && calls->by_symbol[symbol].act ? &calls->by_symbol[symbol]
								     : fxt_lock_call_find(calls, r, name);
}

/* Returns whether the call takes a lock or gives one up. */
static inline bool fxt_lock_call_moves(const struct fxt_lock_call *call)
{
	return call->act >= FXT_LOCK_TAKES && call->act <= FXT_LOCK_WAITS;
}

/* Does what fxt_lock_call_done() does, for a call that has other arguments than a lock, or a category whose
 * symbol was not met. */
bool fxt_lock_call_done_or_not(struct fxt_lock_calls *calls, struct fxt_reader *r,
			       const struct fxt_record *rec, const struct fxt_lock_call *call,
			       uint64_t *lock);

/* Returns whether the finished call is about a lock and did what its name says. Sets *lock to the address of
 * the lock then. */
static inline bool fxt_lock_call_done(struct fxt_lock_calls *calls, struct fxt_reader *r,
				      const struct fxt_record *rec, const struct fxt_lock_call *call,
				      uint64_t *lock)
{
	/* Nearly all calls have the lock alone, and take no lock that others hold. */
	if (rec->arg_count == 1 && rec->args[0].type == FXT_ARG_POINTER && call->act != FXT_LOCK_NO_ACT &&
	    calls->pthread && rec->category.symbol && *rec->category.symbol == calls->pthread &&
	    rec->extra >= rec->ticks) {
		*lock = rec->args[0].u;
		return true;
	}
	return fxt_lock_call_done_or_not(calls, r, rec, call, lock);
}

/* Returns the argument that is the lock, or NULL. */
const struct fxt_argument *fxt_lock_argument(const struct fxt_record *rec, const struct fxt_lock_call *call);

void fxt_lock_calls_free(struct fxt_lock_calls *calls);

#endif
