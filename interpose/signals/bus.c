/* See bus.h. The kernel has the program's flags and mask with our handler, so a handler of the program runs
 * on the stack and with the mask that it asked for; our handler calls it as the kernel would. SA_RESETHAND is
 * left out and done by hand, because a fault of ours is not the program's.
 */
#include "bus.h"

#include <errno.h>
#include <ucontext.h>

#include "agent/base/agent.h"
#include "signal.h"

enum { RESTORER = 0x04000000 };         /* SA_RESTORER, which the C library adds where the kernel wants it */

typedef void (*action)(int);

/* These are the actions that the program has set last. A handler reads the newest one while another thread
 * sets the next one. */
enum { KEPT = 16 };
static struct kept {
	action handler;
	unsigned long added, removed;   /* flags that the kernel has for our sake, and that it lacks */
} kept[KEPT];
static atomic_uint newest;              /* how many were kept so far */
static atomic_bool is_guarded;

static struct kept last(void)
{
	struct kept copy;
	unsigned number;

	do {
		number = atomic_load_explicit(&newest, memory_order_acquire);
		copy = kept[number % KEPT];
		atomic_thread_fence(memory_order_acquire);
	} while (atomic_load_explicit(&newest, memory_order_relaxed) - number >= KEPT - 1);
	return copy;
}

/* Keeps what the program has set. The caller holds bus_lock. */
static void keep(struct kept next)
{
	unsigned number = atomic_load_explicit(&newest, memory_order_relaxed) + 1;

	kept[number % KEPT] = next;
	atomic_store_explicit(&newest, number, memory_order_release);
}

/* -- The handler --------------------------------------------------------------------------------- */

/* Sends the signal again, as it came, to the calling thread, which gets it when it is not blocked any
 * more. */
static void send_again(siginfo_t *info)
{
	if (FXT_SYSCALL4(SYS_rt_tgsigqueueinfo, fxt_sys_getpid(), fxt_sys_gettid(), SIGBUS, info))
		FXT_SYSCALL3(SYS_tgkill, fxt_sys_getpid(), fxt_sys_gettid(), SIGBUS);
}

/* Does what the default action would: the process ends when the handler returns, by the signal that is sent
 * again, or by the same fault. */
static void act_by_default(siginfo_t *info)
{
	const struct sigaction by_default = {.sa_handler = SIG_DFL};

	fxt_signal_action(SIGBUS, &by_default, NULL);
	send_again(info);
}

/* Does what SA_RESETHAND asks for: the action is the default one from now on. Returns false if another
 * thread's signal was faster. In the child of a vfork the action is the child's own. */
static bool reset(action handler)
{
	const struct sigaction by_default = {.sa_handler = SIG_DFL};
	struct kept now;
	uint64_t mask;
	bool is_first;

	if (fxt_is_forbidden(FXT_NO_LOCKS) || fxt_agent.pid != (uint32_t)fxt_sys_getpid())
		return !fxt_signal_action(SIGBUS, &by_default, NULL);
	mask = fxt_lock(&fxt_agent.bus_lock);
	now = last();
	is_first = now.handler == handler;
	now.handler = SIG_DFL;
	if (is_first)
		keep(now);
	fxt_unlock(&fxt_agent.bus_lock, mask);
	return is_first;
}

/* Returns whether the thread had blocked every signal that it can, for work of the agent in which no handler
 * may run. */
static bool is_within_agent(const ucontext_t *context)
{
	const uint64_t never = UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1);

	return (*(const uint64_t *)&context->uc_sigmask | never) == fxt_blocked_signals;
}

static void on_bus(int signum, siginfo_t *info, void *data)
{
	ucontext_t *context = data;
	int error = errno;
	struct kept now;

	if (info->si_code > 0 && fxt_buffer_fault(&fxt_agent.buffer, (uintptr_t)info->si_addr))
		return;
	/* A signal that is not a fault is put off until that work is over. */
	if (info->si_code <= 0 && is_within_agent(context)) {
		*(uint64_t *)&context->uc_sigmask |= UINT64_C(1) << (SIGBUS - 1);
		send_again(info);
		return;
	}
	now = last();
	if (now.handler == SIG_DFL || (now.removed && !reset(now.handler))) {
		act_by_default(info);
		errno = error;
		return;
	}
	errno = error;
	((void (*)(int, siginfo_t *, void *))(void *)now.handler)(signum, info, data);
}

/* -- What the program sets and sees ----------------------------------------------------------------- */

bool fxt_bus_is_ours(action handler)
{
	return handler == (action)(void *)on_bus;
}

void fxt_bus_show(action *handler, unsigned long *flags, void (**restorer)(void))
{
	struct kept now = last();

	*handler = now.handler;
	*flags = (*flags & ~now.added) | now.removed;
	if (now.added & RESTORER)
		*restorer = NULL;
}

void fxt_bus_set(void)
{
	struct sigaction set, ours;
	uint64_t mask;

	if (!atomic_load(&is_guarded) || fxt_is_forbidden(FXT_NO_LOCKS) ||
	    fxt_agent.pid != (uint32_t)fxt_sys_getpid())
		return;
	mask = fxt_lock(&fxt_agent.bus_lock);
	if (!fxt_signal_action(SIGBUS, NULL, &set) && set.sa_handler != SIG_IGN &&
	    !fxt_bus_is_ours(set.sa_handler)) {
		unsigned long before = (unsigned)set.sa_flags,
			      after = (before | SA_SIGINFO) & ~(unsigned long)SA_RESETHAND;

		/* If the program has no handler, nobody said on which stack ours may run: the thread's own
		 * may be too short, or be what is broken. */
		if (set.sa_handler == SIG_DFL)
			after |= SA_ONSTACK;
		ours = set;
		ours.sa_sigaction = on_bus;
		ours.sa_flags = (int)after;
		keep((struct kept){set.sa_handler, (after | RESTORER) & ~before, before & ~after});
		fxt_signal_action(SIGBUS, &ours, NULL);
	}
	fxt_unlock(&fxt_agent.bus_lock, mask);
}

void fxt_bus_start(void)
{
	if (!fxt_agent_has_file() || fxt_agent.buffer.in_memory || atomic_exchange(&is_guarded, true))
		return;
	fxt_bus_set();
	fxt_blocked_signals &= ~(UINT64_C(1) << (SIGBUS - 1));
}
