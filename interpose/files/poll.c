/* Makes the wrappers of calls that wait for descriptors, or make descriptors to be waited for: poll.def. */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include "interpose/engine/interpose.h"

/* FD_UNLESS(fd, ...): an FD if `fd` is negative; otherwise the call made none, but changed what descriptor
 * `fd` stands for. */
#define FAILURE_FD_UNLESS(fd, what, of) FAILURE_INT
#define RESULT_FD_UNLESS(fd, what, of) RESULT_INT
#define CALLEE_FD_UNLESS(fd, what, of) , opening_
#define AROUND_FD_UNLESS(fd, what, of) , FXT_OPENS_NUMBER
#define AFTER_FD_UNLESS(fd, what, of)		\
	, if (result_ >= 0 && (fd) < 0) {	\
		FXT_OPENED(result_, what, of);	\
		FXT_SECOND(NEW_##what, , )	\
	}

#define NEW_signalfd , fxt_endpoint_signals(thread_, result_);
#define NEW_eventfd , fxt_endpoint_event(thread_, (int)result_, initval, flags & EFD_SEMAPHORE);

/* EVENTS_READ, EVENTS_WRITTEN: an INT, of a call that reads or writes an eventfd's count and returns 0. */
enum { COUNT_BYTES = sizeof(eventfd_t) };
#define FAILURE_EVENTS_READ(fd, value) FAILURE_INT
#define RESULT_EVENTS_READ(fd, value) RESULT_INT
#define ENTER_EVENTS_READ(fd, value) ENTER_READ(fd)
#define LEAVE_EVENTS_READ(fd, value) , fxt_has_read(thread_, &reading_, result_ ? -1 : COUNT_BYTES, value, 0);
#define END_EVENTS_READ(fd, value) END_READ(fd)
#define ARROW_EVENTS_READ(fd, value) ARROW_READ(fd)
#define FAILURE_EVENTS_WRITTEN(fd, value) FAILURE_INT
#define RESULT_EVENTS_WRITTEN(fd, value) RESULT_INT
#define ENTER_EVENTS_WRITTEN(fd, value) ENTER_WRITTEN(fd)
#define LEAVE_EVENTS_WRITTEN(fd, value) , fxt_wrote(thread_, &writing_, result_ ? -1 : COUNT_BYTES, &(value));

/* POLLED: an INT, of a call that answers in a list of descriptors. For ours, the answer is changed to that
 * for a closed one. The program's array is neither written nor read before the call, because only the kernel
 * knows whether that is possible. */
#define FAILURE_POLLED(fds, nfds) FAILURE_INT
#define RESULT_POLLED(fds, nfds) RESULT_INT
#define CALLEE_POLLED(fds, nfds) , polling_
#define AROUND_POLLED(fds, nfds) , POLLING

static int polled(struct pollfd *fds, nfds_t nfds, int result)
{
	nfds_t i;

	for (i = 0; result >= 0 && i < nfds; i++) {
		if (FXT_LIKELY(fds[i].fd < 0 || fxt_descriptor_given(fds[i].fd) == fds[i].fd))
			continue;
		result += !fds[i].revents;
		fds[i].revents = POLLNVAL;
	}
	return result;
}

#define POLLING(type, symbol, ...)                                                              \
	static int polling_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))                           \
	{                                                                                       \
		return polled(fds, nfds, real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__)));         \
	}

#define FXT_NUMBER_poll , POLL_BY_NUMBER
#define FXT_NUMBER_ppoll , POLL_BY_NUMBER
#define POLL_BY_NUMBER(...) FXT_APPLY(POLLED_BY_NUMBER, __VA_ARGS__)
#define POLLED_BY_NUMBER(fds, nfds, ...) \
	((int)(call_->result = polled(fds, nfds, (int)fxt_by_number_make(call_))))

/* SELECTED: an INT, of a call that answers in sets of descriptors. Ours leaves its number if that is in one
 * of the sets. Only few programs get that far, because `nfds` has to be above the number. */
#define FAILURE_SELECTED FAILURE_INT
#define RESULT_SELECTED RESULT_INT
#define CALLEE_SELECTED , selecting_
#define AROUND_SELECTED , SELECTING

static bool has(const fd_set *set, int fd)
{
	const fd_mask *word = set ? (const fd_mask *)set + fd / NFDBITS : NULL;

	return word && fxt_sys_can_read((uintptr_t)word) && *word & (fd_mask)1 << fd % NFDBITS;
}

static inline void select_without(int ours, int nfds, const fd_set *readfds, const fd_set *writefds,
				  const fd_set *exceptfds)
{
	if (FXT_UNLIKELY(nfds > ours) && ours >= 0 &&
	    (has(readfds, ours) || has(writefds, ours) || has(exceptfds, ours)))
		fxt_descriptor_leave(ours);
}

static inline void select_without_ours(int nfds, const fd_set *readfds, const fd_set *writefds,
				       const fd_set *exceptfds)
{
	select_without(fxt_agent.buffer.fd, nfds, readfds, writefds, exceptfds);
	select_without(fxt_agent.statm_fd, nfds, readfds, writefds, exceptfds);
}

#define SELECTING(...) \
	FXT_FIRST_DO(selecting_, select_without_ours(nfds, readfds, writefds, exceptfds), __VA_ARGS__)

#define FXT_NUMBER_select , SELECT_BY_NUMBER
#define FXT_NUMBER_pselect6 , SELECT_BY_NUMBER
#define SELECT_BY_NUMBER(...) FXT_APPLY(SELECTED_BY_NUMBER, __VA_ARGS__)
#define SELECTED_BY_NUMBER(nfds, readfds, writefds, exceptfds, ...) \
	(select_without_ours(nfds, readfds, writefds, exceptfds), real_by_number())

#define FXT_TABLE "interpose/tables/poll.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_poll
#include "interpose/engine/reals.inc"
