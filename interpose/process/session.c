/* Makes the wrappers of calls that give processes a terminal, or take it from them: session.def. The C
 * library forks, ends and duplicates for them by itself, so what its functions do is known from what they are
 * for.
 */
#include <pty.h>
#include <unistd.h>
#include <utmp.h>

#include "agent/arrows/parent_links.h"
#include "agent/fibers/fiber.h"
#include "agent/process/follow.h"
#include "interpose/engine/interpose.h"
#include "interpose/engine/stderr_text.h"

/* Notes that descriptors 0 to 2 are something else from here on. */
static void standard_streams_move(void)
{
	struct fxt_fd_taken taken;
	int fd;

	for (fd = 0; fd <= 2; fd++) {
		fxt_fd_take(fd, &taken);
		fxt_fd_end(&taken);
		fxt_stderr_moves(-1, fd);
	}
}

/* TERMINALS: an INT, of a call that makes both ends of a terminal. LOGS_IN: an INT, of a call whose
 * descriptor becomes 0 to 2, and is closed if it is none of them. */
#define FAILURE_TERMINALS FAILURE_INT
#define RESULT_TERMINALS RESULT_INT
#define CALLEE_TERMINALS , opening_
#define AROUND_TERMINALS , FXT_OPENS_NUMBER
#define AFTER_TERMINALS						\
	, if (!result_) {					\
		FXT_OPENED(*amaster, terminal, NOTHING);	\
		FXT_OPENED(*aslave, terminal, NOTHING);		\
	}
#define FAILURE_LOGS_IN FAILURE_INT
#define RESULT_LOGS_IN RESULT_INT
#define AFTER_LOGS_IN			\
	, if (!result_)			\
		becomes_terminal(fd);

static void becomes_terminal(int fd)
{
	struct fxt_fd_taken taken;

	standard_streams_move();
	if (fd <= 2)
		return;
	fxt_fd_take(fd, &taken);
	fxt_fd_end(&taken);
	fxt_stderr_moves(-1, fd);
}

#define FXT_TABLE "interpose/tables/session.def"
#include "interpose/engine/wrappers.inc"

/* -- daemon ------------------------------------------------------------------------------------ */

FXT_REAL(int, daemon, (int nochdir, int noclose), (nochdir, noclose))

/* The calling process ends within daemon(), by no call that is seen. So what the thread is in ends before the
 * real call, and goes on if that fails. In the child the call is over when the child begins. */
FXT_EXPORT int daemon(int nochdir, int noclose)
{
	const uint64_t names_ = FXT_NAMES(process, daemon);
	struct fxt_thread *thread_ = fxt_enter(FXT_CAT_process);
	uint64_t start_ns_, end_ns, *at;
	struct fxt_in_progress *open;
	struct fxt_birth birth;
	uint32_t pid;
	int result;

	if (!thread_)
		return real_daemon(nochdir, noclose);
	pid = fxt_agent.pid;
	start_ns_ = fxt_now(thread_);
	open = BLOCKS(nochdir);
	fxt_birth_begin(thread_, &birth, FXT_BIRTH_FORKS);
	fxt_parent_leave(thread_);
	fxt_in_progress_end(thread_, fxt_now(thread_), fxt_get_event_name(names_));
	fxt_fibers_end(thread_->last_ns, fxt_get_event_name(names_));
	result = real_daemon(nochdir, noclose);
	fxt_in_progress_go_on(thread_);
	fxt_fibers_go_on();
	end_ns = fxt_end(thread_, open);
	if ((uint32_t)fxt_sys_getpid() != pid) {
		fxt_in_progress_settle(thread_);
		fxt_birth_forked(&birth);
		if (!noclose && !result)
			standard_streams_move();
		return result;
	}
	fxt_parent_stay();
	fxt_birth_end(thread_, &birth, -1);
	at = fxt_room(thread_, start_ns_, end_ns, 4, FXT_BIT_process);
	if (at) {
		at = fxt_put_int(at, FXT_STR_nochdir, nochdir);
		at = fxt_put_int(at, FXT_STR_noclose, noclose);
		at = fxt_put_int(at, FXT_STR_ret, result);
		at = fxt_put_errno(thread_, at, errno);
		fxt_complete(thread_, at, end_ns, names_, 4);
	}
	return result;
}

/* -- forkpty ----------------------------------------------------------------------------------- */

FXT_REAL(int, forkpty, (int *amaster, char *name, const struct termios *termp, const struct winsize *winp),
	 (amaster, name, termp, winp))

/* The call is recorded in the parent alone, as fork() is. */
FXT_EXPORT int forkpty(int *amaster, char *name, const struct termios *termp, const struct winsize *winp)
{
	const uint64_t names_ = FXT_NAMES(process, forkpty);
	struct fxt_thread *thread_ = fxt_enter(FXT_CAT_process);
	uint64_t start_ns, end_ns_, *at;
	struct fxt_birth birth;
	int child;

	if (!thread_)
		return real_forkpty(amaster, name, termp, winp);
	start_ns = fxt_now(thread_);
	fxt_birth_begin(thread_, &birth, FXT_BIRTH_FORKS);
	child = real_forkpty(amaster, name, termp, winp);
	if (!child) {
		fxt_birth_forked(&birth);
		standard_streams_move();
		return 0;
	}
	end_ns_ = fxt_end(thread_, NULL);
	at = fxt_room(thread_, start_ns, end_ns_, 2, FXT_BIT_process);
	if (at) {
		at = child < 0 ? fxt_put_errno(thread_, at, errno)
			       : fxt_put_int(at, FXT_STR_amaster, *amaster);
		at = fxt_put_int(at, FXT_STR_ret, child);
		fxt_complete(thread_, at, end_ns_, names_, 2);
	}
	fxt_birth_end(thread_, &birth, child);
	if (child > 0) {
		FXT_OPENED(*amaster, terminal, NOTHING);
		fxt_follow_tell_forked();
	}
	return child;
}

#define FXT_REALS fxt_reals_session
#include "interpose/engine/reals.inc"
