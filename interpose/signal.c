/* What signals do: signal.def. One of them may be the agent's, and the program must not see that.
 *
 * While it is ours the program is told that it has the default action, which it had before and which it may set again. From the
 * moment the program ignores or handles it the signal is the program's for good.
 */
#include <signal.h>

#include "agent/control.h"
#include "interpose.h"
#include "signal.h"

typedef void (*action)(int);

FXT_REAL(int, sigaction, (int signum, const struct sigaction *act, struct sigaction *oldact), (signum, act, oldact))
FXT_REAL(int, __sigaction, (int signum, const struct sigaction *act, struct sigaction *oldact), (signum, act, oldact))
FXT_REAL(action, signal, (int signum, action handler), (signum, handler))
FXT_REAL(action, ssignal, (int signum, action handler), (signum, handler))
FXT_REAL(action, bsd_signal, (int signum, action handler), (signum, handler))
FXT_REAL(action, sysv_signal, (int signum, action handler), (signum, handler))
FXT_REAL(action, __sysv_signal, (int signum, action handler), (signum, handler))
FXT_REAL(action, sigset, (int signum, action handler), (signum, handler))
FXT_REAL(int, sigignore, (int signum), (signum))

/* The signal that is ours; 0: none, or not any more. */
static atomic_int own;

static void on_signal(int signum)
{
	(void)signum;
	fxt_control_signal();
}

void fxt_signal_start(void)
{
	struct sigaction old, ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
	int signum = fxt_agent.config.signal;

	if (!signum || real_sigaction(signum, NULL, &old) || old.sa_handler != SIG_DFL)
		return;
	/* The handler saves with every signal blocked anyway. */
	sigfillset(&ours.sa_mask);
	if (!real_sigaction(signum, &ours, NULL))
		atomic_store(&own, signum);
}

/* Whether the signal is ours and stays it, the program setting or asking for its default action. */
static bool stays_ours(int signum, bool sets, action handler)
{
	if (!signum || signum != atomic_load_explicit(&own, memory_order_relaxed))
		return false;
	return !sets || handler == SIG_DFL;
}

/* Whether it was ours until now. The caller is about to take it. */
static bool give_up(int signum)
{
	int ours = signum;

	return signum && atomic_compare_exchange_strong(&own, &ours, 0);
}

static int guarded_sigaction(int signum, const struct sigaction *act, struct sigaction *oldact)
{
	bool was_ours;
	int result;

	if (stays_ours(signum, act != NULL, act ? act->sa_handler : SIG_DFL)) {
		if (oldact)
			*oldact = (struct sigaction){.sa_handler = SIG_DFL};
		return 0;
	}
	was_ours = give_up(signum);
	result = real_sigaction(signum, act, oldact);
	if (was_ours && oldact && !result)
		*oldact = (struct sigaction){.sa_handler = SIG_DFL};
	return result;
}

#define GUARDED(symbol)                                                 \
	static action guarded_##symbol(int signum, action handler)   \
	{                                                               \
		bool was_ours;                                          \
									\
		if (stays_ours(signum, true, handler))                  \
			return SIG_DFL;                                 \
		was_ours = give_up(signum);                             \
		handler = real_##symbol(signum, handler);               \
		return was_ours && handler == on_signal ? SIG_DFL : handler; \
	}

GUARDED(signal)
GUARDED(ssignal)
GUARDED(bsd_signal)
GUARDED(sysv_signal)
GUARDED(__sysv_signal)

/* SIG_HOLD blocks the signal and changes no action, but what it returns is the action. */
static action guarded_sigset(int signum, action disp)
{
	bool was_ours;

	if (stays_ours(signum, true, disp))
		return SIG_DFL;
	was_ours = disp != SIG_HOLD && give_up(signum);
	disp = real_sigset(signum, disp);
	return (was_ours || signum == atomic_load_explicit(&own, memory_order_relaxed)) && disp == on_signal ? SIG_DFL : disp;
}

static int guarded_sigignore(int signum)
{
	give_up(signum);
	return real_sigignore(signum);
}

#define HANDLER(symbol)                                                                                        \
	FXT_WRAP_AROUND(process, action, symbol, signal, guarded_##symbol, QUICK, PLAIN_PTR, (int, signum, INT), \
			(action, handler, PTR))

FXT_WRAP_AROUND(process, int, sigaction, sigaction, guarded_sigaction, QUICK, INT, (int, signum, INT),
		(const struct sigaction *, act, SKIP), (struct sigaction *, oldact, SKIP))
FXT_WRAP_AROUND(process, int, __sigaction, sigaction, guarded_sigaction, QUICK, INT, (int, signum, INT),
		(const struct sigaction *, act, SKIP), (struct sigaction *, oldact, SKIP))
HANDLER(signal)
HANDLER(ssignal)
HANDLER(bsd_signal)
HANDLER(sysv_signal)
HANDLER(__sysv_signal)
FXT_WRAP_AROUND(process, action, sigset, sigset, guarded_sigset, QUICK, PLAIN_PTR, (int, signum, INT), (action, disp, PTR))
FXT_WRAP_AROUND(process, int, sigignore, sigignore, guarded_sigignore, QUICK, INT, (int, signum, INT))

const struct fxt_real fxt_reals_signal[] = {
	{"sigaction", NULL, (void **)&real_sigaction},
	{"__sigaction", NULL, (void **)&real___sigaction},
	{"signal", NULL, (void **)&real_signal},
	{"ssignal", NULL, (void **)&real_ssignal},
	{"bsd_signal", NULL, (void **)&real_bsd_signal},
	{"sysv_signal", NULL, (void **)&real_sysv_signal},
	{"__sysv_signal", NULL, (void **)&real___sysv_signal},
	{"sigset", NULL, (void **)&real_sigset},
	{"sigignore", NULL, (void **)&real_sigignore},
	{NULL, NULL, NULL},
};
