/* Makes the wrappers of calls that take locks and give them up: lock.def. See docs/waits.md. */
/* See writer/lane.h and engine.h. */
#define FXT_EMISSION inline __attribute__((always_inline))
#define FXT_QUICK_EVENTS
#include <pthread.h>
#include <threads.h>

#include "lock_wait.h"

#include "agent/base/stack.h"
#include "agent/emit/call_stack.h"
#include "agent/base/koid.h"
#include "interpose/engine/forms.h"

/* -- What a lock says of itself --------------------------------------------------------------- */

/* Bits of glibc's locks. */
enum {
	KIND_MASK = 3,                  /* the type in a mutex' kind: PTHREAD_MUTEX_RECURSIVE and others */
	KIND_PROTECT = 0x40,
	TID_MASK = 0x3fffffff,          /* a thread's id, or 0, 1 and 2, in a mutex' word */
	CEILING_MASK = 0x7ff80000,      /* the priority ceiling, in the same word */
	WRITE_PHASE = 1,                /* these three: a read-write lock's count of readers */
	WRITE_LOCKED = 2,
	READER_SHIFT = 3,
};

bool fxt_mutex_answers_holder(const pthread_mutex_t *mutex)
{
	int type = mutex->__data.__kind & KIND_MASK;

	return type == PTHREAD_MUTEX_RECURSIVE_NP || type == PTHREAD_MUTEX_ERRORCHECK_NP;
}

bool fxt_mutex_is_taken(const struct fxt_thread *thread, const pthread_mutex_t *mutex)
{
	int word = *(const volatile int *)&mutex->__data.__lock & TID_MASK;

	if (mutex->__data.__kind & KIND_PROTECT)
		word &= ~CEILING_MASK;
	return word && (fxt_mutex_holder(mutex) != thread->own_tid || !fxt_mutex_answers_holder(mutex));
}

bool fxt_rwlock_is_taken(const struct fxt_thread *thread, const pthread_rwlock_t *rwlock, bool to_write)
{
	unsigned word = *(const volatile unsigned *)&rwlock->__data.__readers;
	bool is_written = (word & WRITE_LOCKED) != 0, is_read = word >> READER_SHIFT && !(word & WRITE_PHASE);

	/* The lock's own writer is refused at once. */
	if (fxt_rwlock_holder(rwlock) == thread->own_tid)
		return false;
	if (to_write)
		return is_written || is_read;
	/* A writer that waits for readers to leave keeps out others only where it is preferred. */
	return is_written &&
	       (word & WRITE_PHASE || rwlock->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
}

/* -- What is written down ----------------------------------------------------------------------- */

enum { PLACE_MAX_BYTES = 200 };

/* Returns the function that a place lies in. There is no search while the thread holds a lock: a function
 * that is not known then will be at the next such call. */
static struct fxt_lock_place function_at(struct fxt_thread *thread, uintptr_t place)
{
	struct fxt_lock_place at;

	at.name = fxt_label_place(thread, place, &at.bytes);
	if (at.bytes > PLACE_MAX_BYTES)
		at.bytes = PLACE_MAX_BYTES;
	return at;
}

/* Describes a lock, for the arguments: its name, how long it has been held and by whom; and how many
 * arguments there are, those of the places included. */
struct description {
	struct fxt_label object;
	uint64_t held_ns;
	uint32_t holder;
	unsigned arguments;
};

static size_t measure(struct description *d, const struct fxt_lock_wait *wait, uint64_t now_ns)
{
	d->held_ns = wait->held.lock && now_ns > wait->held.since_ns ? now_ns - wait->held.since_ns : 0;
	d->object = fxt_label_of(wait->kind, wait->lock);
	return 2 + fxt_label_words(&d->object) + (2 + fxt_words_of(wait->at.bytes)) + 2 + 2 +
	       (2 + fxt_words_of(wait->held_at.bytes)) + 1 + FXT_STACK_WORDS;
}

/* Returns the number in the trace of another thread of this process, if that is known; otherwise its id. */
static uint32_t koid_of_other(uint32_t tid)
{
	const struct fxt_thread *thread = fxt_koid_differs() ? fxt_threads_find(tid) : NULL;

	return thread ? thread->tid : tid;
}

static uint64_t *describe(uint64_t *at, struct description *d, const struct fxt_lock_wait *wait)
{
	at = fxt_put_pointer(at, wait->parameter, (const void *)wait->lock);
	d->arguments = 1;
	if (d->object.text) {
		at = fxt_put_label(at, &d->object);
		d->arguments++;
	}
	if (wait->at.name) {
		at = fxt_put_text(at, FXT_STR_at, wait->at.name, wait->at.bytes);
		d->arguments++;
	}
	if (d->holder) {
		at = fxt_put_uint(at, FXT_STR_holder, koid_of_other(d->holder));
		d->arguments++;
	}
	if (d->held_ns) {
		at = fxt_put_uint(at, FXT_STR_held_ns, d->held_ns);
		d->arguments++;
	}
	if (wait->held_at.name) {
		at = fxt_put_text(at, FXT_STR_held_at, wait->held_at.name, wait->held_at.bytes);
		d->arguments++;
	}
	return at;
}

/* Returns whether the thread has the lock itself and the call tells it so: then nobody waits. If the call
 * does not tell it, the thread waits for itself. */
static bool is_refused(const struct fxt_thread *thread, const struct fxt_lock_wait *wait)
{
	if (wait->holder != thread->own_tid)
		return false;
	return wait->kind == FXT_LABEL_RWLOCK ||
	       fxt_mutex_answers_holder((const pthread_mutex_t *)wait->lock);
}

void fxt_lock_wait_begin(struct fxt_thread *thread, struct fxt_lock_wait *wait)
{
	struct description d = {.holder = wait->holder};
	uint64_t now_ns = fxt_now(thread), *at;
	uint32_t stack;

	wait->held.lock = 0;
	if (is_refused(thread, wait)) {
		wait->holder = 0;
		return;
	}
	if (fxt_stack_is_short())
		return;
	if (!wait->holder || !fxt_held_lock_by(wait->holder, wait->lock, &wait->held))
		wait->held.lock = 0;
	wait->at = function_at(thread, wait->place);
	if (wait->held.lock)
		wait->held_at = function_at(thread, wait->held.place);
	/* The instant is written at once, because the wait may never end. */
	stack = fxt_call_stack(thread);
	at = fxt_reserve_extra(thread, now_ns, measure(&d, wait, now_ns));
	if (at) {
		at = describe(at, &d, wait);
		at = fxt_put_stack(at, FXT_STR_stack, stack);
		fxt_commit_extra(thread, at,
				 fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(FXT_EVENT_INSTANT) |
					 fxt_event_args(d.arguments + (stack != 0)) |
					 fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_agent,
						      FXT_STR_contended));
		fxt_call_stack_tell(thread, stack);
	}
	if (wait->kind == FXT_LABEL_RWLOCK)
		fxt_wait_enter(thread, wait->object, 0);
	else
		fxt_wait_enter_lock(thread, wait->lock);
}

void fxt_lock_wait_end(struct fxt_thread *thread, struct fxt_lock_wait *wait, int result)
{
	uint64_t after_ns, end_ns = fxt_end_after(thread, wait->open, &after_ns), *at;
	struct description d = {.holder = wait->holder};
	struct fxt_cause cause = {0};
	bool is_caused = (wait->kind == FXT_LABEL_RWLOCK ? fxt_wait_leave : fxt_wait_leave_lock)(
				 thread, wait->object, wait->start_ns, end_ns, &cause) &&
			 fxt_is_got(result);
	uintptr_t held_place = wait->held.place;

	/* The thread that gave the lock up in the end had it last. */
	if (is_caused) {
		d.holder = cause.tid;
		wait->held = (struct fxt_held_lock){cause.since_ns ? wait->lock : 0, cause.since_ns,
						    cause.place};
	}
	if (fxt_is_got(result))
		fxt_held_lock_push(thread, wait->lock, end_ns, wait->place);
	if (wait->held.lock && (!wait->held_at.name || wait->held.place != held_place))
		wait->held_at = function_at(thread, wait->held.place);
	else if (!wait->held.lock)
		wait->held_at.name = NULL;
	at = fxt_room(thread, wait->start_ns, end_ns, measure(&d, wait, is_caused ? cause.at_ns : end_ns),
		      fxt_category_of(wait->names));
	if (!at)
		return;
	at = describe(at, &d, wait);
	if (is_caused && cause.stack) {
		at = fxt_put_stack(at, FXT_STR_held_stack, cause.stack);
		d.arguments++;
	}
	if (wait->is_c11) {
		at = fxt_put_int(at, FXT_STR_ret, result);
		d.arguments++;
	} else if (result) {
		at = fxt_put_errno(thread, at, result);
		d.arguments++;
	}
	fxt_complete(thread, at, end_ns, wait->names, d.arguments);
	fxt_flow_resume(thread, after_ns, end_ns, &cause, is_caused);
	/* The thread that gave the lock up has told its stack, but in a ring it is told in its own chunk. */
	if (is_caused)
		fxt_call_stack_tell(thread, cause.stack);
}

/* Lets those go on that a reader or a writer keeps out. A reader keeps out none but writers, and the last
 * reader to leave lets one in. A writer keeps out all. */
static void let_go_rwlock(struct fxt_thread *thread, uintptr_t lock, struct fxt_cause cause)
{
	fxt_flow_release(thread, fxt_wait_to_write(lock), FXT_RELEASE_LOCK, cause);
	if (fxt_rwlock_holder((const pthread_rwlock_t *)lock) == thread->own_tid)
		fxt_flow_release(thread, lock, FXT_RELEASE_SHARED, cause);
}

void fxt_lock_let_go(struct fxt_thread *thread, uintptr_t lock, enum fxt_label_kind kind, uint32_t stack)
{
	struct fxt_held_lock *held = fxt_held_lock_find(thread, lock);
	struct fxt_cause cause = {0};

	if (held) {
		cause.since_ns = held->since_ns;
		cause.place = held->place;
	}
	cause.stack = stack ? stack : fxt_call_stack(thread);
	fxt_call_stack_tell(thread, cause.stack);
	if (kind == FXT_LABEL_RWLOCK)
		let_go_rwlock(thread, lock, cause);
	else
		fxt_flow_release_lock(thread, lock, cause);
}

/* -- Wrappers ---------------------------------------------------------------------------------- */

/* A try has one of these results, by its kind, if another thread holds the lock. */
#define BUSY_ERROR EBUSY
#define BUSY_PLAIN_INT thrd_busy

#define GOT(kind, lock, ...)			\
	end_ns_ = fxt_now_at_end(thread_);	\
	RECORD_LOCK(kind, lock, __VA_ARGS__)

#define RECORD_LOCK(kind, lock, ...)									\
	if (fxt_is_got(result_))									\
		fxt_held_lock_push(thread_, (uintptr_t)(lock), end_ns_,					\
				   (uintptr_t)__builtin_return_address(0));				\
	FXT_FORM_RECORD(kind, __VA_ARGS__);

#define FORM_TRIES(kind, symbol, lock, ...)                     \
	result_ = real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__)); \
	GOT(kind, lock, __VA_ARGS__)

/* OBJECT_OF(symbol)(lock) is what the call waits for: the lock, or what stands for it where the call wants to
 * write. */
#define OBJECT_OF(symbol) FXT_SECOND(WRITES_##symbol, ITSELF, )
#define ITSELF(lock) (lock)
#define WRITES_pthread_rwlock_wrlock , fxt_wait_to_write
#define WRITES___pthread_rwlock_wrlock , fxt_wait_to_write
#define WRITES_pthread_rwlock_timedwrlock , fxt_wait_to_write
#define WRITES_pthread_rwlock_clockwrlock , fxt_wait_to_write

/* Makes the real call and records it, for a lock that is not free. `shown` is BLOCKS or ENDS_WITH. */
#define WAIT_FOR(shown, symbol, lock, ...)								\
	struct fxt_in_progress *open_ = shown(lock);							\
	struct fxt_lock_wait wait_ = FXT_LOCK_WAIT(open_, lock, OBJECT_OF(symbol)((uintptr_t)(lock)));	\
													\
	fxt_lock_wait_begin(thread_, &wait_);								\
	result_ = real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));						\
	fxt_lock_wait_end(thread_, &wait_, result_);

/* Does what BLOCKS(lock) does, for a call that returns with the lock in hand. Such a call is not explained
 * (explain.h), so it needs no reading before it. */
#define ENDS_WITH(lock)									\
	(start_ns_ = ready_start(thread_, start_ns_), FXT_SHOWS_ONLY(lock))

static uint64_t ready_start(struct fxt_thread *thread, uint64_t start_ns)
{
	if (FXT_LIKELY(thread->ready))
		return start_ns;
	fxt_in_progress_ready(thread);
	return fxt_now(thread);
}

/* Tries to take the lock first: that takes a free lock as the call itself would. */
#define LOCK_BY(try, kind, symbol, lock, ...)		\
	result_ = real_##try(lock);			\
	if (FXT_UNLIKELY(result_ == BUSY_##kind)) {	\
		WAIT_FOR(ENDS_WITH, symbol, lock, __VA_ARGS__) \
	} else {					\
		GOT(kind, lock, __VA_ARGS__)		\
	}
#define FORM_LOCKS(try) FORM_BY_##try
#define FORM_BY_pthread_mutex_trylock(...) LOCK_BY(pthread_mutex_trylock, __VA_ARGS__)
#define FORM_BY_pthread_rwlock_tryrdlock(...) LOCK_BY(pthread_rwlock_tryrdlock, __VA_ARGS__)
#define FORM_BY_pthread_rwlock_trywrlock(...) LOCK_BY(pthread_rwlock_trywrlock, __VA_ARGS__)
#define FORM_BY_pthread_spin_trylock(...) LOCK_BY(pthread_spin_trylock, __VA_ARGS__)
#define FORM_BY_mtx_trylock(...) LOCK_BY(mtx_trylock, __VA_ARGS__)

/* A call with a time limit looks at its clock and its time first, or does not, as the C library sees fit. So
 * no try goes before it, and where they are refused nobody looks at the lock, which may not even be there.
 * Somebody may take the lock after the look, so the call is shown in progress also where the lock is free. */
#define LOCK_UNTIL(is_taken, kind, symbol, lock, ...)			\
	if (is_taken) {							\
		WAIT_FOR(BLOCKS, symbol, lock, __VA_ARGS__)			\
	} else {							\
		struct fxt_in_progress *open_ = BLOCKS(lock);		\
									\
		result_ = real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));	\
		end_ns_ = fxt_end(thread_, open_);			\
		RECORD_LOCK(kind, lock, __VA_ARGS__)			\
	}
#define FORM_LOCKS_UNTIL(taken) FORM_UNTIL_##taken
#define FORM_UNTIL_mutex(...) LOCK_UNTIL(fxt_mutex_is_taken(thread_, mutex), __VA_ARGS__)
#define FORM_UNTIL_mutex_by(...) \
	LOCK_UNTIL(fxt_clock_is_known(clock) && fxt_mutex_is_taken(thread_, mutex), __VA_ARGS__)
#define FORM_UNTIL_rdlock(...) RWLOCK_UNTIL(CLOCK_REALTIME, false, __VA_ARGS__)
#define FORM_UNTIL_wrlock(...) RWLOCK_UNTIL(CLOCK_REALTIME, true, __VA_ARGS__)
#define FORM_UNTIL_rdlock_by(...) RWLOCK_UNTIL(clock, false, __VA_ARGS__)
#define FORM_UNTIL_wrlock_by(...) RWLOCK_UNTIL(clock, true, __VA_ARGS__)
#define RWLOCK_UNTIL(clock, to_write, ...)							\
	LOCK_UNTIL((!abstime || fxt_limit_is_valid(clock, abstime)) &&				\
			   fxt_rwlock_is_taken(thread_, rwlock, to_write), __VA_ARGS__)
#define FORM_UNTIL_mtx(...) \
	LOCK_UNTIL(fxt_mutex_is_taken(thread_, (const pthread_mutex_t *)mutex), __VA_ARGS__)

#define FORM_UNLOCKS(kind, symbol, lock, ...)					\
	if (fxt_is_waited_for((uintptr_t)(lock)))				\
		fxt_lock_let_go(thread_, (uintptr_t)(lock), FXT_KIND_OF(lock), 0);	\
	fxt_held_lock_pop(thread_, (uintptr_t)(lock));				\
	result_ = real_##symbol(lock);						\
	end_ns_ = fxt_now_at_end(thread_);					\
	FXT_FORM_RECORD(kind, __VA_ARGS__);

#define CALL FXT_FORM_CALL
#define ALIAS FXT_FORM_ALIAS
#include "interpose/engine/rows.inc"
#include "interpose/tables/lock.def"
#include "interpose/engine/unrows.inc"

#define FXT_TABLE "interpose/tables/lock.def"
#define FXT_REALS fxt_reals_lock
#include "interpose/engine/reals.inc"
