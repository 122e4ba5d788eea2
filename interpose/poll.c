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

#define FXT_TABLE "poll.def"
#include "wrappers.inc"
#define FXT_REALS fxt_reals_poll
#include "reals.inc"
