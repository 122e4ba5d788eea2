/* Waiting for descriptors, and the descriptors that are made for that: poll.def. */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include "interpose.h"

/* FD_UNLESS: FD, but where the call has changed what descriptor `fd` stands for. */
#define KEEP_FD_UNLESS(fd, what, of) KEEP_INT
#define FAILURE_FD_UNLESS(fd, what, of) FAILURE_INT
#define RESULT_FD_UNLESS(fd, what, of) RESULT_INT
#define GIVE_FD_UNLESS(fd, what, of)                    \
	if (result_ >= 0 && (fd) < 0) {                 \
		FXT_OPENED(result_, what, of);          \
		FXT_SECOND(NEW_##what, , )              \
	}                                               \
	return result_

#define NEW_signalfd , fxt_endpoint_signals(thread_, result_);
#define NEW_eventfd , fxt_endpoint_event(thread_, (int)result_, initval, flags & EFD_SEMAPHORE);

/* EVENTS_READ, EVENTS_WRITTEN: an eventfd's count, by calls that return 0. */
enum { COUNT_BYTES = sizeof(eventfd_t) };
#define KEEP_EVENTS_READ(fd, value) KEEP_INT
#define FAILURE_EVENTS_READ(fd, value) FAILURE_INT
#define RESULT_EVENTS_READ(fd, value) RESULT_INT
#define GIVE_EVENTS_READ(fd, value) GIVE_INT
#define ENTER_EVENTS_READ(fd, value) ENTER_READ(fd)
#define LEAVE_EVENTS_READ(fd, value) , fxt_has_read(thread_, &reading_, result_ ? -1 : COUNT_BYTES, value, 0);
#define END_EVENTS_READ(fd, value) END_READ(fd)
#define ARROW_EVENTS_READ(fd, value) ARROW_READ(fd)
#define KEEP_EVENTS_WRITTEN(fd, value) KEEP_INT
#define FAILURE_EVENTS_WRITTEN(fd, value) FAILURE_INT
#define RESULT_EVENTS_WRITTEN(fd, value) RESULT_INT
#define GIVE_EVENTS_WRITTEN(fd, value) GIVE_INT
#define ENTER_EVENTS_WRITTEN(fd, value) ENTER_WRITTEN(fd)
#define LEAVE_EVENTS_WRITTEN(fd, value) , fxt_wrote(thread_, &writing_, result_ ? -1 : COUNT_BYTES, &(value));

#define FXT_TABLE "poll.def"
#include "wrappers.inc"
#define FXT_REALS fxt_reals_poll
#include "reals.inc"
