/* See lock_calls.h. The table of calls is made from the tables of interpose/. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "lock_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <threads.h>

#include "interpose/engine/each.h"
#include "tools/common/message.h"

/* What a row's word in the place of BLOCKS() and QUICK says; FXT_LOCK_NO_ACT for a word that is not here. */
#define ACT_LOCKS(try) , FXT_LOCK_TAKES
#define ACT_LOCKS_UNTIL(taken) , FXT_LOCK_TRIES
#define ACT_TRIES , FXT_LOCK_TRIES
#define ACT_UNLOCKS , FXT_LOCK_GIVES_UP
#define ACT_COND_WAITS , FXT_LOCK_WAITS

static const struct {
	const char *name;
	enum fxt_lock_act act;
} table[] = {
#define CALL(category, type, name, blocks, ...) {#name, FXT_SECOND(ACT_##blocks, FXT_LOCK_NO_ACT, )},
#include "interpose/engine/rows.inc"
#include "interpose/tables/lock.def"
#include "interpose/tables/sync.def"
#include "interpose/engine/unrows.inc"

	/* The rows of these are written by hand. */
	{"pthread_cond_wait", FXT_LOCK_WAITS},
	{"pthread_cond_timedwait", FXT_LOCK_WAITS},

	/* The rows of these say nothing that those for semaphores and conditions do not say too. */
	{"pthread_mutex_init", FXT_LOCK_MAKES},
	{"pthread_mutex_destroy", FXT_LOCK_DESTROYS},
	{"pthread_rwlock_init", FXT_LOCK_MAKES},
	{"pthread_rwlock_destroy", FXT_LOCK_DESTROYS},
	{"pthread_spin_init", FXT_LOCK_MAKES},
	{"pthread_spin_destroy", FXT_LOCK_DESTROYS},
	{"mtx_init", FXT_LOCK_MAKES},
	{"mtx_destroy", FXT_LOCK_DESTROYS},
};

static struct fxt_lock_call find(const struct fxt_text *name)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (fxt_text_is(name, table[i].name))
			return (struct fxt_lock_call){.act = (uint8_t)table[i].act,
						      .is_shared = strstr(table[i].name, "rdlock") != NULL};
	}
	return (struct fxt_lock_call){.act = FXT_LOCK_NO_ACT};
}

const struct fxt_lock_call *fxt_lock_call_find(struct fxt_lock_calls *calls, struct fxt_reader *r,
					       const struct fxt_text *name)
{
	uint32_t symbol = fxt_symbol(r, name);

	calls->by_symbol = fxt_reach(calls->by_symbol, &calls->capacity, &calls->count, symbol,
				     sizeof(*calls->by_symbol));
	if (!calls->by_symbol[symbol].act)
		calls->by_symbol[symbol] = find(name);
	return &calls->by_symbol[symbol];
}

const struct fxt_argument *fxt_lock_argument(const struct fxt_record *rec, const struct fxt_lock_call *call)
{
	const struct fxt_argument *lock = rec->arg_count ? &rec->args[0] : NULL;

	if (call->act == FXT_LOCK_WAITS)
		lock = fxt_argument(rec, "mutex");
	return lock && lock->type == FXT_ARG_POINTER ? lock : NULL;
}

/* Returns whether the call did what its name says. POSIX's calls have an `errno` only if they failed, C11's
 * return a `ret`. */
static bool has_succeeded(const struct fxt_record *rec, enum fxt_lock_act act)
{
	uint64_t error = fxt_argument_or(rec, "errno", 0);
	uint64_t ret = fxt_argument_or(rec, "ret", thrd_success);

	if (act == FXT_LOCK_WAITS && (error == ETIMEDOUT || ret == thrd_timedout))
		return true;
	return (error == 0 || error == EOWNERDEAD) && ret == thrd_success;
}

bool fxt_lock_call_done_or_not(struct fxt_lock_calls *calls, struct fxt_reader *r,
			       const struct fxt_record *rec, const struct fxt_lock_call *call,
			       uint64_t *lock)
{
	const struct fxt_argument *a;

	if (call->act == FXT_LOCK_NO_ACT || !fxt_text_is(&rec->category, "pthread") ||
	    rec->extra < rec->ticks || !has_succeeded(rec, (enum fxt_lock_act)call->act))
		return false;
	calls->pthread = fxt_symbol(r, &rec->category);
	a = fxt_lock_argument(rec, call);
	if (!a)
		return false;
	*lock = a->u;
	return true;
}

void fxt_lock_calls_free(struct fxt_lock_calls *calls)
{
	free(calls->by_symbol);
	*calls = (struct fxt_lock_calls){0};
}
