/* Says what a wrapper writes down before and after it waits for a lock. The wrappers of conditions use some
 * of it. */
#ifndef FXT_LOCK_WAIT_H
#define FXT_LOCK_WAIT_H

#include <pthread.h>
#include <threads.h>

#include "agent/arrows/flow.h"
#include "agent/emit/held_locks.h"
#include "interpose/engine/interpose.h"
#include "interpose/engine/object.h"

/* The function that a call is made in. */
struct fxt_lock_place {
	const char *name;               /* not terminated; NULL: it is not known */
	size_t bytes;
};

struct fxt_lock_wait {
	struct fxt_in_progress *open;
	uint64_t start_ns;
	uint64_t names;
	uint64_t parameter;             /* the name of the parameter that is the lock, a string index */
	enum fxt_label_kind kind;
	uintptr_t lock;
	uintptr_t object;               /* what is waited for, as wait.h has it */
	uintptr_t place;                /* the return address of the call */
	bool is_c11;                    /* the result is no error number */
	uint32_t holder;                /* the thread that holds it, as it says itself; 0: not known */
	struct fxt_held_lock held;      /* what that thread knows of the lock; held.lock 0: nothing */
	struct fxt_lock_place at;       /* the function of `place` */
	struct fxt_lock_place held_at;  /* the function of held.place */
};

/* Initializes a struct fxt_lock_wait in a wrapper that has thread_, names_ and start_ns_. The lock is not
 * free, and the call is shown in progress by `open_`. */
#define FXT_LOCK_WAIT(open_, lock_, object_)								\
	{												\
		.open = open_, .start_ns = start_ns_, .names = names_, .parameter = FXT_STR_##lock_,	\
		.kind = FXT_KIND_OF(lock_),								\
		.lock = (uintptr_t)(lock_), .object = (object_),					\
		.place = (uintptr_t)__builtin_return_address(0),					\
		.holder = fxt_holder(lock_), .is_c11 = fxt_is_c11(lock_),				\
	}

/* Writes down that the thread begins to wait, and who is in the way, if that is known. */
FXT_COLD void fxt_lock_wait_begin(struct fxt_thread *thread, struct fxt_lock_wait *wait);

/* Writes the event of the call, which has returned `result`, an error number, and the arrow from the thread
 * that let it go on. */
FXT_COLD void fxt_lock_wait_end(struct fxt_thread *thread, struct fxt_lock_wait *wait, int result);

/* Writes down that the thread is about to give a lock up, with this call stack (0: it is not known yet).
 * Called if somebody may wait for the lock. */
FXT_COLD void fxt_lock_let_go(struct fxt_thread *thread, uintptr_t lock, enum fxt_label_kind kind,
			      uint32_t stack);

/* These functions read what the C library itself keeps in a lock: who has it, and whether a thread that wants
 * it would have to wait. A lock may change hands right after the look, so they decide what is said about a
 * call and never what is done. */
static inline uint32_t fxt_mutex_holder(const pthread_mutex_t *mutex)
{
	return (uint32_t)*(const volatile int *)&mutex->__data.__owner;
}

static inline uint32_t fxt_rwlock_holder(const pthread_rwlock_t *rwlock)
{
	return (uint32_t)*(const volatile int *)&rwlock->__data.__cur_writer;
}

/* In glibc C11's mutex is a pthread_mutex_t under another name. */
_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "mtx_t is a pthread_mutex_t in glibc");
static inline uint32_t fxt_mtx_holder(const mtx_t *mutex)
{
	return fxt_mutex_holder((const pthread_mutex_t *)mutex);
}

static inline uint32_t fxt_no_holder(const volatile void *lock)
{
	(void)lock;
	return 0;
}

#define fxt_holder(lock)										\
	_Generic((lock), pthread_mutex_t *: fxt_mutex_holder, pthread_rwlock_t *: fxt_rwlock_holder,	\
		 mtx_t *: fxt_mtx_holder, default: fxt_no_holder)(lock)

/* These return whether the C library takes such a clock, and such a limit by it, and so goes on to look at
 * the object that a call is about. Where it takes the clock it reads the limit, as the second does. */
static inline bool fxt_clock_is_known(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

static inline bool fxt_limit_is_valid(clockid_t clock, const struct timespec *limit)
{
	return fxt_clock_is_known(clock) && limit->tv_nsec >= 0 && limit->tv_nsec < 1000000000;
}

/* Returns whether a mutex that its own holder wants again is given or refused at once. */
bool fxt_mutex_answers_holder(const pthread_mutex_t *mutex);

/* These return whether the thread would have to wait for the lock. */
bool fxt_mutex_is_taken(const struct fxt_thread *thread, const pthread_mutex_t *mutex);
bool fxt_rwlock_is_taken(const struct fxt_thread *thread, const pthread_rwlock_t *rwlock, bool to_write);

#define fxt_is_c11(lock) _Generic((lock), mtx_t *: true, default: false)

/* Returns whether a call has got the lock: EOWNERDEAD gives it too. */
static inline bool fxt_is_got(int result)
{
	return FXT_LIKELY(!result) || result == EOWNERDEAD;
}

#endif
