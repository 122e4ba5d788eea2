/* Makes the wrappers of calls that send signals, and of those that wait for them: signal_delivery.def. Arrows
 * lead from the ones to the others: agent/arrows/signal_senders.h. */
#include <pthread.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "agent/arrows/signal_senders.h"
#include "fatal.h"
#include "interpose/engine/forms.h"

FXT_EXPORT int __sigsuspend(const sigset_t *mask);

enum { NSIG_BYTES = 8 };                /* the size of a set of signals in the kernel */

/* -- Sending ----------------------------------------------------------------------------------- */

#define BODY_SENDS(to, kind, symbol, ...)								\
	struct fxt_in_progress *open_ = BLOCKS(SENDS_SHOWN to);						\
	uint64_t sent_ = fxt_signal_sent(SENDS_PROCESS to, (uint64_t)SENDS_THREAD to, sig);		\
													\
	fxt_fatal_sends(sig);										\
	result_ = FXT_BY_REAL(symbol, __VA_ARGS__);							\
	if (result_)											\
		fxt_signal_unsent(sent_);								\
	end_ns_ = fxt_end(thread_, open_);								\
	FXT_FORM_RECORD(kind, __VA_ARGS__);

#define SENDS(shown, process_id, thread_id) SENDS, (shown, process_id, thread_id)
#define SENDS_SHOWN(shown, process_id, thread_id) shown
#define SENDS_PROCESS(shown, process_id, thread_id) process_id
#define SENDS_THREAD(shown, process_id, thread_id) thread_id

/* Returns the number by which kill() knows the group that killpg() is given: 0 is the caller's own group, and
 * a negative number is refused. */
static int group_of(int pgrp)
{
	return pgrp < 0 ? FXT_SENT_TO_ALL : -pgrp;
}

/* Returns which process a signal to `pidfd` is for. With flags it is for one thread, or for a group, whatever
 * the descriptor stands for. */
static int process_of(int pidfd, unsigned flags)
{
	return flags ? FXT_SENT_TO_ALL : fxt_signal_pidfd(pidfd);
}

/* -- Waiting ----------------------------------------------------------------------------------- */

/* Ends each of the bodies: records the call's event, and the arrow if the sender is `known`. */
#define AWAITED(kind, known, ...)                                                                       \
	do {                                                                                            \
		struct fxt_cause cause_;                                                                \
		bool waits_;                                                                            \
													\
		end_ns_ = fxt_end_after(thread_, open_, &after_ns_);                                    \
		waits_ = known;                                                                         \
		FXT_FORM_RECORD_WAIT(kind, __VA_ARGS__)                                                 \
	} while (0)

/* Makes the body of a call that has no argument to show while it is in progress. It shows the thread's own
 * number. */
#define BODY_PAUSES(shown, kind, symbol, ...)								\
	sigset_t mask_;											\
	struct fxt_in_progress *open_ =									\
		(fxt_in_progress_ready(thread_),							\
		 fxt_in_progress_push(thread_, (uintptr_t)__builtin_frame_address(0), 0, 0, start_ns_,	\
				      names_, fxt_arg_header(FXT_ARG_INT64, 2, FXT_STR_##shown),	\
				      (uint64_t)thread_->shown));					\
													\
	result_ = real_##symbol();									\
	AWAITED(kind,											\
		(sigemptyset(&mask_),									\
		 FXT_SYSCALL4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask_, NSIG_BYTES) == 0) &&		\
			fxt_signal_handled(thread_, start_ns_, &mask_, &cause_),			\
		__VA_ARGS__);

#define BODY_SUSPENDS(shown, kind, symbol, ...)								\
	struct fxt_in_progress *open_ = BLOCKS(shown);							\
													\
	result_ = FXT_BY_REAL(symbol, __VA_ARGS__);							\
	AWAITED(kind, errno == EINTR && fxt_signal_handled(thread_, start_ns_, mask, &cause_), __VA_ARGS__);

/* Makes the body of a call that takes a signal. It asks for the sender if the program does not. */
#define TAKE(open, kind, symbol, ...)									\
	struct fxt_in_progress *open_ = open;								\
	siginfo_t info_, *given_ = info;								\
													\
	info = given_ ? given_ : &info_;								\
	FXT_GIVE(symbol, 1, info)									\
	result_ = FXT_BY_REAL(symbol, __VA_ARGS__);							\
	if (given_ && result_ > 0)									\
		info_ = *given_;									\
	info = given_;											\
	AWAITED(kind, result_ > 0 && fxt_signal_received(thread_, start_ns_, &info_, &cause_), __VA_ARGS__);

#define BODY_TAKES(shown, kind, symbol, ...) TAKE(BLOCKS(shown), kind, symbol, __VA_ARGS__)
#define BODY_TAKES_IN(shown, kind, symbol, ...) TAKE(BLOCKS_FOR(shown), kind, symbol, __VA_ARGS__)

/* Does what sigwait() does in the C library, which does not tell who sent the signal. */
static int wait_for_number(int (*wait_for)(const sigset_t *, siginfo_t *), const sigset_t *set, int *sig,
			   siginfo_t *info)
{
	int signum;

	do
		signum = wait_for(set, info);
	while (signum == -1 && errno == EINTR);
	if (signum == -1)
		return errno;
	*sig = signum;
	return 0;
}

#define BODY_TAKES_NUMBER(shown, kind, symbol, ...)							\
	struct fxt_in_progress *open_ = BLOCKS(shown);							\
	siginfo_t info_;										\
													\
	result_ = wait_for_number(real_sigwaitinfo, set, sig, &info_);					\
	AWAITED(kind, !result_ && fxt_signal_received(thread_, start_ns_, &info_, &cause_), __VA_ARGS__);

#define PAUSES(shown) PAUSES, shown
#define SUSPENDS(shown) SUSPENDS, shown
#define TAKES(shown) TAKES, shown
#define TAKES_IN(shown) TAKES_IN, shown
#define TAKES_NUMBER(shown) TAKES_NUMBER, shown

#define CALL FXT_BY_CALL
#define ALIAS FXT_BY_ALIAS
#define SYSTEM_CALL FXT_BY_SYSTEM_CALL
#define BY_NUMBER FXT_BY_NUMBERED
#define BY_NUMBER_ALONE FXT_BY_NUMBERED_ALONE
#include "interpose/engine/rows.inc"
#include "interpose/tables/signal_delivery.def"
#include "interpose/engine/unrows.inc"

#define FXT_TABLE "interpose/tables/signal_delivery.def"
#define FXT_REALS fxt_reals_signal_delivery
#include "interpose/engine/reals.inc"
