/* Makes the wrappers of messages, semaphores and memory between processes: ipc.def. The variadic functions
 * are written by hand. */
#include <mqueue.h>
#include <stdarg.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/uio.h>

#include "interpose/engine/mapped.h"

#define CLOSES(type, symbol, ...) FXT_CLOSING(mqdes, type, symbol, __VA_ARGS__)

/* QUEUE_FLAGS: the attributes that a queue gets, of which the flags are recorded: whether the queue may block
 * is all that can be changed. A call that succeeded has read the attributes, so they can be read. */
#define COUNT_QUEUE_FLAGS 0
#define WORDS_QUEUE_FLAGS(name) 2
#define MEASURE_QUEUE_FLAGS(name)
#define PUT_QUEUE_FLAGS(name)								\
	if (!result_ && (name)) {							\
		at_ = fxt_put_long(at_, FXT_STR_##name, (name)->mq_flags);		\
		arguments_++;								\
	}

#define FXT_TABLE "interpose/tables/ipc.def"
#include "interpose/engine/wrappers.inc"

FXT_REAL(mqd_t, mq_open, (const char *name, int oflag, mode_t mode, struct mq_attr *attr),
	 (name, oflag, mode, attr))
FXT_OPENS_NUMBER(mqd_t, mq_open, (const char *, name, TEXT), (int, oflag, INT), (mode_t, mode, SKIP),
	  (struct mq_attr *, attr, SKIP))
FXT_TRACED(io, mqd_t, mq_open, mq_open, opening_mq_open, BLOCKS(name), FD(queue, PATH(name)),
	   (const char *, name, TEXT), (int, oflag, INT), (mode_t, mode, SKIP),
	   (struct mq_attr *, attr, SKIP))

FXT_EXPORT mqd_t mq_open(const char *name, int oflag, ...)
{
	struct mq_attr *attr = NULL;
	mode_t mode = 0;
	va_list list;

	if (oflag & O_CREAT) {
		va_start(list, oflag);
		mode = va_arg(list, mode_t);
		attr = va_arg(list, struct mq_attr *);
		va_end(list);
	}
	return traced_mq_open(name, oflag, mode, attr);
}

/* The last argument is a union of a number and pointers, which is passed like each of them. If the program
 * gives none, nobody looks at it. */
FXT_REAL(int, semctl, (int semid, int semnum, int op, void *argument), (semid, semnum, op, argument))
FXT_TRACED(pthread, int, semctl, semctl, real_semctl, QUICK, INT, (int, semid, INT), (int, semnum, INT),
	   (int, op, INT), (void *, argument, SKIP))

FXT_EXPORT int semctl(int semid, int semnum, int op, ...)
{
	void *argument;
	va_list list;

	va_start(list, op);
	argument = va_arg(list, void *);
	va_end(list);
	return traced_semctl(semid, semnum, op, argument);
}

#define FXT_REALS fxt_reals_ipc
#include "interpose/engine/reals.inc"
