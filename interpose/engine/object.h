/* Says how the tables record objects that have names (agent/objects/label.h). The kind of object follows from
 * its type. A parameter that points to an object is one of
 *
 *	USED    its value is recorded, and the trace is told of the object when it is first used
 *	NEW     the call makes the object: its value is recorded, and its name as the argument `object`; the
 *	        name of an object that is made again and again is recorded once
 *	OLD     the call destroys the object: value and name are recorded, and the object is forgotten. Of a
 *	        stream only the value is recorded
 *	WAITED  as USED, and the name is recorded if the wrapper finds that the call waits: FXT_WAITED()
 *
 * These parameters name the object that the call returns; the argument `object` says the name:
 *
 *	OPENS           a path, command or name, which is recorded as TEXT
 *	OPENS_FD        a descriptor, which is recorded as INT
 *	OPENS_IT        anything that is not recorded
 */
#ifndef FXT_OBJECT_H
#define FXT_OBJECT_H

#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <threads.h>

#include "agent/objects/label.h"
#include "interpose.h"

#define FXT_KIND_OF(object)							\
	_Generic((object),							\
		 pthread_mutex_t *: FXT_LABEL_MUTEX, mtx_t *: FXT_LABEL_MUTEX,	\
		 pthread_cond_t *: FXT_LABEL_COND, cnd_t *: FXT_LABEL_COND,	\
		 pthread_rwlock_t *: FXT_LABEL_RWLOCK,				\
		 pthread_spinlock_t *: FXT_LABEL_SPINLOCK,			\
		 sem_t *: FXT_LABEL_SEM,					\
		 pthread_barrier_t *: FXT_LABEL_BARRIER,			\
		 FILE *: FXT_LABEL_FILE,					\
		 DIR *: FXT_LABEL_DIR)

#define FXT_PLACE ((uintptr_t)__builtin_return_address(0))

#define COUNT_USED 1
#define COUNT_NEW 1
#define COUNT_OLD 1
#define COUNT_WAITED 1

#define WORDS_USED(name) 2
#define WORDS_NEW(name) (2 + (fxt_label_is_said(&name##_label) ? fxt_label_words(&name##_label) : 0))
#define WORDS_OLD(name) WORDS_NEW(name)
#define WORDS_WAITED(name) (2 + fxt_label_words(&name##_label))

/* This is done before the time of the call's start is read. */
#define FIRST_USED , BEFORE_USED
#define FIRST_NEW , BEFORE_NEW
#define FIRST_OLD , BEFORE_OLD
#define FIRST_WAITED , BEFORE_WAITED
#define BEFORE_USED(name) fxt_label_use(thread_, FXT_KIND_OF(name), (uintptr_t)(name), FXT_PLACE);
#define BEFORE_NEW(name)                        \
	struct fxt_label name##_label =         \
		fxt_label_made(thread_, FXT_KIND_OF(name), (uintptr_t)(name), FXT_PLACE);
#define BEFORE_OLD(name)                        \
	struct fxt_label name##_label =         \
		fxt_label_forget(FXT_KIND_OF(name), (uintptr_t)(name));
#define BEFORE_WAITED(name)                     \
	struct fxt_label name##_label = {NULL}; \
	BEFORE_USED(name)

#define FXT_WAITED(name) name##_label = fxt_label_of(FXT_KIND_OF(name), (uintptr_t)(name))

#define MEASURE_USED(name)
#define MEASURE_NEW(name)
#define MEASURE_OLD(name)
#define MEASURE_WAITED(name)

#define PUT_USED(name) PUT_PTR(name)
#define PUT_NEW(name)                                           \
	PUT_PTR(name)                                           \
	if (fxt_label_is_said(&name##_label)) {                 \
		at_ = fxt_put_label(at_, &name##_label);        \
		arguments_++;                                   \
	}
#define PUT_OLD(name) PUT_NEW(name)
#define PUT_WAITED(name)                                        \
	PUT_PTR(name)                                           \
	if (name##_label.text) {                                \
		at_ = fxt_put_label(at_, &name##_label);        \
		arguments_++;                                   \
	}

/* -- Objects that the call opens --------------------------------------------------------------- */

#define COUNT_OPENS 1
#define COUNT_OPENS_FD 1
#define COUNT_OPENS_IT 0

#define WORDS_OPENS(name) (WORDS_TEXT(name) + fxt_label_words(&opened_))
#define WORDS_OPENS_FD(name) (1 + fxt_label_words(&opened_))
#define WORDS_OPENS_IT(name) fxt_label_words(&opened_)

#define FXT_FD_OF(result) _Generic((result), FILE *: fxt_stream_fd, DIR *: fxt_directory_fd)(result)

static inline int fxt_stream_fd(const void *stream)
{
	return ((const FILE *)stream)->_fileno;
}

static inline int fxt_directory_fd(void *directory)
{
	return dirfd(directory);
}

#define FXT_NAMED(path)											\
	struct fxt_label opened_ = {NULL};								\
	if (result_)											\
		opened_ = fxt_label_opened(thread_, FXT_KIND_OF(result_), (uintptr_t)result_,		\
					   FXT_PLACE, end_ns_, path, FXT_FD_OF(result_));
#define MEASURE_OPENS(name)     \
	MEASURE_TEXT(name)      \
	FXT_NAMED(name)
#define MEASURE_OPENS_FD(name) FXT_NAMED(NULL)
#define MEASURE_OPENS_IT(name) FXT_NAMED(NULL)

#define PUT_OPENS(name) PUT_TEXT(name) PUT_OPENS_IT(name)
#define PUT_OPENS_FD(name) PUT_INT(name) PUT_OPENS_IT(name)
#define PUT_OPENS_IT(name)                              \
	if (opened_.text) {                             \
		at_ = fxt_put_label(at_, &opened_);     \
		arguments_++;                           \
	}

#endif
