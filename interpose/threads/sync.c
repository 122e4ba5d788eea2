/* Makes the wrappers of calls that wait for semaphores, conditions, threads and barriers, or end such waits:
 * sync.def. See docs/waits.md. */
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include "sync.h"

/* -- Conditions -------------------------------------------------------------------------------- */

void fxt_cond_wait_begin(struct fxt_thread *thread, struct fxt_cond_wait *wait)
{
	struct fxt_held_lock *held = fxt_held_lock_find(thread, wait->mutex);
	uint32_t stack = fxt_wait_enter_blocked(thread, wait->cond, wait->mutex);

	/* Others may wait for the mutex. */
	if (fxt_is_waited_for(wait->mutex))
		fxt_lock_let_go(thread, wait->mutex, FXT_LABEL_MUTEX, stack);
	if (held) {
		wait->place = held->place;
		fxt_held_lock_pop(thread, wait->mutex);
	}
}

uint64_t fxt_cond_wait_end(struct fxt_thread *thread, struct fxt_cond_wait *wait)
{
	uint64_t end_ns;
	struct fxt_cause *cause = wait->causes;

	end_ns = fxt_end_after(thread, wait->open, &wait->after_ns);
	if (wait->place)
		fxt_held_lock_push(thread, wait->mutex, end_ns, wait->place);
	if (fxt_wait_leave(thread, wait->cond, wait->start_ns, end_ns, cause)) {
		wait->cause_count = 1;
		/* The second cause is the thread that released the mutex, which the call has taken again. */
		if (cause->lock && fxt_wait_got_lock(cause->lock, cause->at_ns, end_ns, cause + 1))
			wait->cause_count = 2;
	}
	return end_ns;
}

void fxt_cond_wait_resume(struct fxt_thread *thread, const struct fxt_cond_wait *wait, uint64_t end_ns)
{
	fxt_flow_resume(thread, wait->after_ns, end_ns, wait->causes, wait->cause_count);
}

/* -- Semaphores -------------------------------------------------------------------------------- */

#define FORM_SEM_TRIES(kind, symbol, sem, ...)                  \
	result_ = real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__)); \
	end_ns_ = fxt_now_at_end(thread_);                      \
	FXT_FORM_RECORD(kind, __VA_ARGS__);

/* Takes what can be had at once, so that nobody waits. The real call looks for a cancellation before that, so
 * this does too. */
static inline bool get_at_once(int (*try)(sem_t *), sem_t *sem)
{
	int error = errno;
	bool got;

	pthread_testcancel();
	got = !try(sem);
	errno = error;
	return got;
}

/* Makes the real call; waits_ says whether it will wait, as far as could be seen. */
#define SEM_WAIT(symbol, sem, ...)									\
	struct fxt_in_progress *open_ = BLOCKS(sem);							\
													\
	if (waits_)											\
		fxt_wait_enter_blocked(thread_, (uintptr_t)(sem), 0);					\
	result_ = real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));						\
	end_ns_ = fxt_end_after(thread_, open_, &after_ns_);						\
	if (waits_) {											\
		waits_ = fxt_wait_leave(thread_, (uintptr_t)(sem), start_ns_, end_ns_, &cause_) && !result_; \
		FXT_WAITED(sem);									\
	}

#define FORM_SEM_WAITS(kind, symbol, sem, ...)			\
	struct fxt_cause cause_;				\
	bool waits_ = !get_at_once(real_sem_trywait, sem);	\
								\
	if (!waits_) {						\
		result_ = 0;					\
		end_ns_ = fxt_now_at_end(thread_);		\
	} else {						\
		SEM_WAIT(symbol, sem, __VA_ARGS__)		\
	}							\
	FXT_FORM_RECORD_WAIT(kind, __VA_ARGS__)

/* Returns whether a semaphore has a value, which in glibc is the lower half of a word. This decides what is
 * said of a call, never what is done. */
static inline bool has_value(const sem_t *sem)
{
	return *(const volatile unsigned *)(const void *)sem != 0;
}

/* This is the form of a wait with a time limit. The C library looks at the time and the clock before it takes
 * what is there, and whether it looks for a cancellation differs from one call to the other. So no try goes
 * before the call. */
#define FORM_SEM_WAITS_UNTIL(...) SEM_WAIT_UNTIL(CLOCK_REALTIME, __VA_ARGS__)
#define FORM_SEM_WAITS_BY(...) SEM_WAIT_UNTIL(clock, __VA_ARGS__)
#define SEM_WAIT_UNTIL(clock, kind, symbol, sem, ...)					\
	struct fxt_cause cause_;							\
	bool waits_ = fxt_limit_is_valid(clock, abstime) && !has_value(sem);		\
	SEM_WAIT(symbol, sem, __VA_ARGS__)						\
	FXT_FORM_RECORD_WAIT(kind, __VA_ARGS__)

/* -- Threads ----------------------------------------------------------------------------------- */

/* A thread says that it ends when it gives up its state: agent/emit/thread.c. */
#define FORM_JOINS(kind, symbol, handle, ...)								\
	struct fxt_in_progress *open_ = BLOCKS(handle);							\
	struct fxt_cause cause_;									\
	bool waits_;											\
													\
	fxt_wait_enter_blocked(thread_, (uintptr_t)(handle), 0);					\
	result_ = real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));						\
	end_ns_ = fxt_end_after(thread_, open_, &after_ns_);						\
	waits_ = fxt_wait_leave(thread_, (uintptr_t)(handle), start_ns_, end_ns_, &cause_) && !result_;	\
	FXT_FORM_RECORD_WAIT(kind, __VA_ARGS__)

/* -- Barriers ---------------------------------------------------------------------------------- */

/* The last thread to arrive lets the others go on. If the making of the barrier was not seen, it is not known
 * which is the last. */
#define FORM_ARRIVES(kind, symbol, barrier, ...)							\
	struct fxt_in_progress *open_ = BLOCKS(barrier);						\
	struct fxt_cause cause_;									\
	bool waits_;											\
													\
	if (fxt_wait_arrive((uintptr_t)(barrier), &waits_))						\
		fxt_flow_release(thread_, (uintptr_t)(barrier), FXT_RELEASE_ALL, (struct fxt_cause){0}); \
	result_ = real_##symbol(barrier);								\
	end_ns_ = fxt_end_after(thread_, open_, &after_ns_);						\
	waits_ = waits_ && fxt_wait_end((uintptr_t)(barrier), start_ns_, end_ns_, &cause_);		\
	FXT_WAITED(barrier);										\
	FXT_FORM_RECORD_WAIT(kind, __VA_ARGS__)

#define FORM_SETS_PARTIES(kind, symbol, barrier, ...)                           \
	result_ = real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));                 \
	if (!result_)                                                           \
		fxt_wait_set_parties((uintptr_t)(barrier), count);              \
	end_ns_ = fxt_now_at_end(thread_);                                      \
	FXT_FORM_RECORD(kind, __VA_ARGS__);

#define FORM_FORGETS(kind, symbol, object, ...)                 \
	fxt_wait_forget((uintptr_t)(object));                   \
	result_ = real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__)); \
	end_ns_ = fxt_now_at_end(thread_);                      \
	FXT_FORM_RECORD(kind, __VA_ARGS__);

#define CALL FXT_FORM_CALL
#include "interpose/engine/rows.inc"
#include "interpose/tables/sync.def"
#include "interpose/engine/unrows.inc"

#define FXT_TABLE "interpose/tables/sync.def"
#define FXT_REALS fxt_reals_sync
#include "interpose/engine/reals.inc"
