/* Makes the wrappers of calls that make and destroy locks, semaphores and threads: pthread.def. What is
 * variadic, or can only be recorded when the call has returned, is written by hand. */
/* The header gives this function the assembler name of its successor. Here each name stands for itself. */
#define pthread_mutex_consistent_np pthread_mutex_consistent_of_the_header
#include <pthread.h>
#undef pthread_mutex_consistent_np
#include <semaphore.h>
#include <stdarg.h>

#include "interpose/engine/interpose.h"
#include "interpose/engine/object.h"
#include "thread_start.h"

#define FXT_TABLE "interpose/tables/pthread.def"
#include "interpose/engine/wrappers.inc"

typedef void *(*start_routine_fn)(void *);

FXT_REAL(int, pthread_create,
	 (pthread_t *thread, const pthread_attr_t *attr, start_routine_fn routine, void *arg),
	 (thread, attr, routine, arg))

/* -- Making threads ---------------------------------------------------------------------------- */

/* Makes a thread that begins in thread_start.c. That is done also while nothing is recorded: something may be
 * before the thread ends. */
static int create(struct fxt_thread *self, pthread_t *thread, const pthread_attr_t *attr,
		  start_routine_fn routine, void *arg)
{
	struct fxt_start *start = fxt_start_take(self, attr, arg);
	int result;

	if (!start)
		return real_pthread_create(thread, attr, routine, arg);
	start->routine.posix = routine;
	result = real_pthread_create(thread, attr, fxt_start_posix, start);
	if (result)
		fxt_start_give_back(start);
	return result;
}

/* pthread_create() is written by hand: what identifies the new thread is known only after the call. */
FXT_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, start_routine_fn routine,
			      void *arg)
{
	struct fxt_thread *self = fxt_enter(FXT_CAT_pthread);
	uint64_t start_ns, end_ns, *at;
	int result;

	if (!self)
		return create(NULL, thread, attr, routine, arg);
	start_ns = fxt_now(self);
	result = create(self, thread, attr, routine, arg);
	end_ns = fxt_end(self, NULL);
	at = fxt_room(self, start_ns, end_ns, 6, FXT_BIT_pthread);
	if (at) {
		at = fxt_put_pointer(at, FXT_STR_start_routine, (const void *)routine);
		at = result ? fxt_put_errno(self, at, result)
			    : fxt_put_uint(at, FXT_STR_thread, (uint64_t)*thread);
		fxt_complete(self, at, end_ns, FXT_NAMES(pthread, pthread_create), 2);
	}
	return result;
}

FXT_REAL(int, pthread_setname_np, (pthread_t thread, const char *name), (thread, name))

FXT_EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
	struct fxt_thread *self = fxt_enter(FXT_CAT_pthread);
	uint64_t start_ns, end_ns, *at;
	int result;

	if (!self)
		return real_pthread_setname_np(thread, name);
	start_ns = fxt_now(self);
	result = real_pthread_setname_np(thread, name);
	end_ns = fxt_end(self, NULL);
	if (!result)
		fxt_thread_renamed(self, (uintptr_t)thread, name);
	at = fxt_room(self, start_ns, end_ns, 8, FXT_BIT_pthread);
	if (at) {
		at = fxt_put_uint(at, FXT_STR_thread, (uint64_t)thread);
		at = fxt_put_text(at, FXT_STR_name, name, result ? 0 : strnlen(name, 15));
		if (result)
			at = fxt_put_errno(self, at, result);
		fxt_complete(self, at, end_ns, FXT_NAMES(pthread, pthread_setname_np), result ? 3 : 2);
	}
	return result;
}

typedef sem_t *sem_pointer;

FXT_REAL(sem_pointer, sem_open, (const char *name, int flags, mode_t mode, unsigned value),
	 (name, flags, mode, value))

FXT_EXPORT sem_t *sem_open(const char *name, int flags, ...)
{
	struct fxt_thread *self = fxt_enter(FXT_CAT_pthread);
	uint64_t start_ns, end_ns, *at;
	struct fxt_label label = {NULL};
	unsigned value = 0;
	mode_t mode = 0;
	size_t bytes;
	sem_t *result;
	va_list list;

	if (flags & O_CREAT) {
		va_start(list, flags);
		mode = va_arg(list, mode_t);
		value = va_arg(list, unsigned);
		va_end(list);
	}
	if (!self)
		return real_sem_open(name, flags, mode, value);
	start_ns = fxt_now(self);
	result = real_sem_open(name, flags, mode, value);
	end_ns = fxt_end(self, NULL);
	bytes = fxt_text_bytes(name);
	if (result != SEM_FAILED)
		label = fxt_label_opened(self, FXT_LABEL_SEM, (uintptr_t)result, FXT_PLACE, end_ns, name, -1);
	at = fxt_room(self, start_ns, end_ns, 6 + fxt_words_of(bytes) + fxt_label_words(&label),
		      FXT_BIT_pthread);
	if (at) {
		at = fxt_put_text(at, FXT_STR_name, name, bytes);
		if (label.text)
			at = fxt_put_label(at, &label);
		at = fxt_put_pointer(at, FXT_STR_ret, result);
		if (result == SEM_FAILED)
			at = fxt_put_errno(self, at, errno);
		fxt_complete(self, at, end_ns, FXT_NAMES(pthread, sem_open),
			     2 + (label.text != NULL) + (result == SEM_FAILED));
	}
	return result;
}

#define FXT_REALS fxt_reals_pthread
#include "interpose/engine/reals.inc"
