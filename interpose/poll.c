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
	if (result_ >= 0 && (fd) < 0)                   \
		FXT_OPENED(result_, what, of);          \
	return result_

#define FXT_TABLE "poll.def"
#include "wrappers.inc"
#define FXT_REALS fxt_reals_poll
#include "reals.inc"
