/* Says what a wrapper writes down before and after it waits for a condition, and makes the forms that sync.c
 * and pthread_cond.c share. */
#ifndef FXT_SYNC_H
#define FXT_SYNC_H

#include "interpose/engine/forms.h"
#include "lock_wait.h"

struct fxt_cond_wait {
	struct fxt_in_progress *open;
	uint64_t start_ns;
	uintptr_t cond, mutex;
	uintptr_t place;                /* where the mutex was taken, and is taken again; 0: not known */
	uint64_t after_ns;              /* the thread's last time before the end of the call */
	struct fxt_cause causes[FXT_CAUSES_MAX];
	unsigned cause_count;
};

/* Writes down that the call is about to give the mutex up. The members of `wait` above `place` are set. */
FXT_COLD void fxt_cond_wait_begin(struct fxt_thread *thread, struct fxt_cond_wait *wait);

/* Writes down that the call is over, and the mutex taken again. Returns the time; the call's event comes
 * next, then fxt_cond_wait_resume(), which writes the arrows. */
FXT_COLD uint64_t fxt_cond_wait_end(struct fxt_thread *thread, struct fxt_cond_wait *wait);
FXT_COLD void fxt_cond_wait_resume(struct fxt_thread *thread, const struct fxt_cond_wait *wait,
				   uint64_t end_ns);

#define FORM_COND_WAITS(kind, symbol, cond, ...)							\
	struct fxt_in_progress *open_ = BLOCKS(cond);							\
	struct fxt_cond_wait wait_ = {open_, start_ns_, (uintptr_t)(cond), (uintptr_t)mutex,		\
				      0, 0, {{0}}, 0};							\
													\
	fxt_cond_wait_begin(thread_, &wait_);								\
	result_ = real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));						\
	end_ns_ = fxt_cond_wait_end(thread_, &wait_);							\
	FXT_WAITED(cond);										\
	FXT_FORM_RECORD(kind, __VA_ARGS__);								\
	fxt_cond_wait_resume(thread_, &wait_, end_ns_);

/* This is the form of a call that lets those that wait go on. That is written down before the call, because
 * they may go on before it returns. */
#define FXT_FORM_RELEASE(how, kind, symbol, object, ...)					\
	if (fxt_is_waited_for((uintptr_t)(object)))						\
		fxt_flow_release(thread_, (uintptr_t)(object), how, (struct fxt_cause){0});	\
	result_ = real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__));					\
	end_ns_ = fxt_now_at_end(thread_);							\
	FXT_FORM_RECORD(kind, __VA_ARGS__);
#define FORM_POSTS(...) FXT_FORM_RELEASE(FXT_RELEASE_ONE, __VA_ARGS__)
#define FORM_WAKES_ALL(...) FXT_FORM_RELEASE(FXT_RELEASE_ALL, __VA_ARGS__)

#endif
