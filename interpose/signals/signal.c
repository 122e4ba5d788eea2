/* Makes the wrappers of calls that set the actions of signals: signal.def. One signal may be the agent's own
 * (FXT_SIGNAL), and the program must not see that. So are those by which a program
 * dies of what it did itself: fatal.h.
 *
 * While a signal is ours the program is told that it has the default action. Whatever action the program
 * sets, the default one included, is the kernel's from then on: a program that sets the default action says
 * what the signal shall do, whoever sends it. Only the kernel knows that a signal is ours, so a child of
 * vfork() and a program that sets its actions unseen change nothing here that has to be kept in step.
 *
 * A signal that another process sends is a request. For every other one the handler does what the default
 * action would do: for a signal that the process sends itself, by raise() or by a timer, for one that the
 * kernel sends, and in a child that does not record.
 */
#include <signal.h>

#include "agent/process/control.h"
#include "fatal.h"
#include "interpose/engine/interpose.h"
#include "signal.h"

typedef void (*action)(int);

FXT_REAL(int, sigaction, (int signum, const struct sigaction *act, struct sigaction *oldact),
	 (signum, act, oldact))
FXT_REAL(int, __sigaction, (int signum, const struct sigaction *act, struct sigaction *oldact),
	 (signum, act, oldact))
FXT_REAL(action, signal, (int signum, action handler), (signum, handler))
FXT_REAL(action, ssignal, (int signum, action handler), (signum, handler))
FXT_REAL(action, bsd_signal, (int signum, action handler), (signum, handler))
FXT_REAL(action, sysv_signal, (int signum, action handler), (signum, handler))
FXT_REAL(action, __sysv_signal, (int signum, action handler), (signum, handler))
FXT_REAL(action, sigset, (int signum, action handler), (signum, handler))

enum { FIRST_OWN_SIGNAL = 32, LAST_OWN_SIGNAL = 33 };

/* Returns whether another process sent the signal: by kill(), tgkill() or sigqueue(). */
static bool is_request(const siginfo_t *info)
{
	return (info->si_code == SI_USER || info->si_code == SI_TKILL || info->si_code == SI_QUEUE) &&
	       info->si_pid != fxt_sys_getpid();
}

/* Does what the default action would. Unless that is to ignore the signal, the signal comes again, with its
 * default action, when the handler returns: until then it is blocked. */
static void act_by_default(int signum)
{
	const struct sigaction by_default = {.sa_handler = SIG_DFL};

	if (signum == SIGCHLD || signum == SIGCONT || signum == SIGURG || signum == SIGWINCH)
		return;
	real_sigaction(signum, &by_default, NULL);
	FXT_SYSCALL3(SYS_tgkill, fxt_sys_getpid(), fxt_sys_gettid(), signum);
}

static void on_signal(int signum, siginfo_t *info, void *context)
{
	int error = errno;

	(void)context;
	if (!is_request(info) || !fxt_control_signal())
		act_by_default(signum);
	else
		fxt_fatal_start();
	errno = error;
}

static bool is_ours(action handler)
{
	return handler == (action)(void *)on_signal;
}

void fxt_signal_start(void)
{
	struct sigaction old,
		ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	int signum = fxt_agent.config.signal;

	if (!signum || real_sigaction(signum, NULL, &old) || old.sa_handler != SIG_DFL)
		return;
	/* The handler saves with every signal blocked anyway. */
	sigfillset(&ours.sa_mask);
	real_sigaction(signum, &ours, NULL);
}

int fxt_signal_action(int signum, const struct sigaction *act, struct sigaction *oldact)
{
	return real_sigaction(signum, act, oldact);
}

/* Puts what the program has set into `act`, if the kernel has a handler of ours. */
static void show(int signum, struct sigaction *act)
{
	unsigned long flags = (unsigned)act->sa_flags;

	if (fxt_fatal_is_ours(act->sa_handler)) {
		fxt_fatal_show(signum, &act->sa_handler, &flags, &act->sa_restorer,
			       (uint64_t *)(void *)&act->sa_mask);
		act->sa_flags = (int)flags;
	}
	if (is_ours(act->sa_handler))
		*act = (struct sigaction){.sa_handler = SIG_DFL};
}

static action shown(int signum, action handler)
{
	struct sigaction act = {.sa_handler = handler};

	show(signum, &act);
	return act.sa_handler;
}

/* Tells the agent of the program's first handler, before it can run. */
static void announce(action handler)
{
	if (handler != SIG_DFL && handler != SIG_IGN)
		fxt_handlers_begin();
}

/* Returns whether the C library looks at the action that the signal is to have. The first two real-time
 * signals are its own. */
static bool is_settable(int signum)
{
	return signum > 0 && signum < NSIG && (signum < FIRST_OWN_SIGNAL || signum > LAST_OWN_SIGNAL);
}

#define GUARDED_SIGACTION(symbol)									\
	static int guarded_##symbol(int signum, const struct sigaction *act, struct sigaction *oldact)	\
	{												\
		int result;										\
													\
		if (act && is_settable(signum))								\
			announce(act->sa_handler);							\
		result = real_##symbol(signum, act, oldact);						\
		if (!result && oldact)									\
			show(signum, oldact);								\
		if (!result && act)									\
			fxt_fatal_set(signum);								\
		return result;										\
	}

GUARDED_SIGACTION(sigaction)
GUARDED_SIGACTION(__sigaction)

#define GUARDED(symbol)                                                         \
	static action guarded_##symbol(int signum, action handler)              \
	{                                                                       \
		announce(handler);                                              \
		handler = shown(signum, real_##symbol(signum, handler));        \
		fxt_fatal_set(signum);                                          \
		return handler;                                                 \
	}

GUARDED(signal)
GUARDED(ssignal)
GUARDED(bsd_signal)
GUARDED(sysv_signal)
GUARDED(__sysv_signal)
GUARDED(sigset)

#define HANDLER(symbol)											\
	FXT_WRAP_AROUND(process, action, symbol, signal, guarded_##symbol, QUICK, PLAIN_PTR,		\
			(int, signum, INT), (action, handler, PTR))

FXT_WRAP_AROUND(process, int, sigaction, sigaction, guarded_sigaction, QUICK, INT, (int, signum, INT),
		(const struct sigaction *, act, SKIP), (struct sigaction *, oldact, SKIP))
FXT_WRAP_AROUND(process, int, __sigaction, sigaction, guarded___sigaction, QUICK, INT, (int, signum, INT),
		(const struct sigaction *, act, SKIP), (struct sigaction *, oldact, SKIP))
HANDLER(signal)
HANDLER(ssignal)
HANDLER(bsd_signal)
HANDLER(sysv_signal)
HANDLER(__sysv_signal)
FXT_WRAP_AROUND(process, action, sigset, sigset, guarded_sigset, QUICK, PLAIN_PTR, (int, signum, INT),
		(action, disp, PTR))

/* -- By number ----------------------------------------------------------------------------------- */

static int action_by_number(struct fxt_by_number *call, int signum, const void *act,
			    struct fxt_kernel_action *oldact)
{
	int result;

	/* `act` is not read: the kernel has not said yet that it can be. */
	if (act)
		fxt_handlers_begin();
	result = (int)fxt_by_number_make(call);
	if (!result && oldact) {
		if (fxt_fatal_is_ours(oldact->handler))
			fxt_fatal_show(signum, &oldact->handler, &oldact->flags, &oldact->restorer,
				       &oldact->mask);
		if (is_ours(oldact->handler))
			oldact->handler = SIG_DFL;
	}
	if (!result && act)
		fxt_fatal_set(signum);
	return result;
}

#define FXT_NUMBER_rt_sigaction , ACTION_BY_NUMBER
#define ACTION_BY_NUMBER(...) FXT_APPLY(ACTION_OF, __VA_ARGS__)
#define ACTION_OF(signum, act, oldact) action_by_number(call_, signum, act, oldact)

#define FXT_TABLE "interpose/tables/signal.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_signal
#include "interpose/engine/reals.inc"
