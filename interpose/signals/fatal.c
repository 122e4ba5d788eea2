/* See fatal.h.
 *
 * Where the program has the default action, the kernel has our handler with SA_RESETHAND, so the default
 * action is in force again as soon as the handler runs, without a system call. Where the program has a
 * handler for SIGBUS, the kernel has the program's flags and mask with ours, so the program's handler runs on
 * the stack and with the mask that it asked for; our handler calls it as the kernel would. SA_RESETHAND is
 * left out then and done by hand, because a fault of ours is not the program's.
 */
#include "fatal.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include "agent/base/stack.h"
#include "agent/process/crash.h"
#include "signal.h"

enum {
	RESTORER = 0x04000000,          /* SA_RESTORER, which the C library adds where the kernel wants it */
	FIRST_PID = 1,                  /* the kernel drops what is sent to this process by default */
	REST_BYTES = 2048,              /* the handler's frames take less */
};

typedef void (*action)(int);

static const int signals[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGPIPE, SIGSYS};
enum {
	SIGNALS = sizeof(signals) / sizeof(*signals),
	/* what the handler needs: enum fxt_forbidden */
	NEEDED = FXT_NO_LOCKS | FXT_NO_SIGNAL | FXT_NO_RETURN,
};

/* These are the actions that the program has set last, for each signal. A handler reads the newest one while
 * another thread sets the next one. */
enum { KEPT = 4 };
static struct kept_actions {
	struct kept {
		action handler;
		unsigned added, removed;        /* flags that the kernel has for us, and that it lacks */
		uint64_t mask;
	} list[KEPT];
	atomic_uint newest;             /* how many were kept so far */
} kept[SIGNALS];

static atomic_bool is_started;
static atomic_bool is_guarded;          /* the trace is a file that is mapped */
static atomic_bool has_small_stack;     /* fxt_fatal_on_stack() has given signals back */
static atomic_bool is_given_back;       /* fxt_fatal_filtered() has */

/* Returns which of our signals this is, or SIGNALS. */
static unsigned place_of(int signum)
{
	unsigned i;

	for (i = 0; i < SIGNALS && signals[i] != signum; i++)
		;
	return i;
}

bool fxt_fatal_is(int signum)
{
	return place_of(signum) < SIGNALS;
}

static struct kept last(int signum)
{
	struct kept_actions *of = &kept[place_of(signum)];
	struct kept copy;
	unsigned number;

	do {
		number = atomic_load_explicit(&of->newest, memory_order_acquire);
		copy = of->list[number % KEPT];
		atomic_thread_fence(memory_order_acquire);
	} while (atomic_load_explicit(&of->newest, memory_order_relaxed) - number >= KEPT - 1);
	return copy;
}

/* Keeps what the program has set. The caller holds fatal_lock. */
static void keep(int signum, struct kept next)
{
	struct kept_actions *of = &kept[place_of(signum)];
	unsigned number = atomic_load_explicit(&of->newest, memory_order_relaxed) + 1;

	of->list[number % KEPT] = next;
	atomic_store_explicit(&of->newest, number, memory_order_release);
}

/* Returns whether the kernel has our handler for the trace's sake, whatever the program has set. */
static bool guards(int signum)
{
	return signum == SIGBUS && atomic_load_explicit(&is_guarded, memory_order_relaxed);
}

static uint64_t *mask_of(sigset_t *set)
{
	return (uint64_t *)(void *)set;
}

/* -- The handler --------------------------------------------------------------------------------- */

static void on_fault(int signum, siginfo_t *info, void *data);

/* Sends the signal again, as it came, to the calling thread, which gets it when it is not blocked any
 * more. */
static void send_again(int signum, siginfo_t *info)
{
	if (FXT_SYSCALL4(SYS_rt_tgsigqueueinfo, fxt_sys_getpid(), fxt_sys_gettid(), signum, info))
		FXT_SYSCALL3(SYS_tgkill, fxt_sys_getpid(), fxt_sys_gettid(), signum);
}

/* Does what SA_RESETHAND asks for: the action is the default one from now on. Returns false if another
 * thread's signal was faster. In the child of a vfork the action is the child's own. */
static bool reset(int signum, action handler)
{
	const struct sigaction by_default = {.sa_handler = SIG_DFL};
	struct kept now;
	uint64_t mask;
	bool is_first;

	if (fxt_is_forbidden(FXT_NO_LOCKS) || fxt_agent.pid != (uint32_t)fxt_sys_getpid())
		return !fxt_signal_action(signum, &by_default, NULL);
	mask = fxt_lock(&fxt_agent.fatal_lock);
	now = last(signum);
	is_first = now.handler == handler;
	now.handler = SIG_DFL;
	if (is_first)
		keep(signum, now);
	fxt_unlock(&fxt_agent.fatal_lock, mask);
	return is_first;
}

/* Returns whether the thread had blocked every signal that it can, for work of the agent in which no handler
 * may run. */
static bool is_within_agent(const ucontext_t *context)
{
	const uint64_t never = UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1);

	return (*(const uint64_t *)&context->uc_sigmask | never) == fxt_blocked_signals;
}

#if defined(__x86_64__)

/* Goes back by an instruction that was made and has raised the signal, so that it raises the signal once
 * more: a breakpoint, or a system call that a filter has trapped. Returns false if it is none of these. */
static bool go_back(int signum, const siginfo_t *info, ucontext_t *context)
{
	enum { BREAKPOINT = 0xcc, SYSCALL_BYTES = 2, TRAPPED_BY_FILTER = 1 /* SYS_SECCOMP */ };
	greg_t *ip = &context->uc_mcontext.gregs[REG_RIP];

	if (signum == SIGTRAP && info->si_code == SI_KERNEL && fxt_sys_can_read((uintptr_t)*ip - 1) &&
	    *((const uint8_t *)*ip - 1) == BREAKPOINT) {
		*ip -= 1;
		return true;
	}
	if (signum == SIGSYS && info->si_code == TRAPPED_BY_FILTER &&
	    (uintptr_t)info->si_call_addr == (uintptr_t)*ip) {
		*ip -= SYSCALL_BYTES;
		return true;
	}
	return false;
}

#else

static bool go_back(int signum, const siginfo_t *info, ucontext_t *context)
{
	(void)signum;
	(void)info;
	(void)context;
	return false;
}

#endif

/* Returns whether the instruction that was interrupted faults again when it is made again. The kernel sends
 * a SIGSEGV with SI_KERNEL also where no instruction has faulted: where a handler found no room. */
static bool faults_again(int signum, const siginfo_t *info)
{
	return info->si_code > 0 && info->si_code != SI_KERNEL &&
	       (signum == SIGSEGV || signum == SIGILL || signum == SIGFPE ||
		(signum == SIGBUS && info->si_code != BUS_MCEERR_AO));
}

/* Drops a signal that was sent to a process that survives it, and sets our handler again. */
static void drop(int signum)
{
	struct sigaction ours;
	uint64_t mask;

	if (guards(signum) || fxt_is_forbidden(FXT_NO_LOCKS))
		return;
	mask = fxt_lock(&fxt_agent.fatal_lock);
	if (!fxt_signal_action(signum, NULL, &ours) && ours.sa_handler == SIG_DFL) {
		ours.sa_sigaction = on_fault;
		fxt_signal_action(signum, &ours, NULL);
	}
	fxt_unlock(&fxt_agent.fatal_lock, mask);
}

/* Does what the default action would: the process ends when the handler returns, by the same instruction
 * where that can be, or else by the signal that is sent again. */
static void act_by_default(int signum, siginfo_t *info, ucontext_t *context)
{
	const struct sigaction by_default = {.sa_handler = SIG_DFL};
	struct sigaction now;

	if (info->si_code <= 0 && fxt_sys_getpid() == FIRST_PID) {
		drop(signum);
		return;
	}
	fxt_crash_record(info, context);
	/* Somebody may have found our handler by a system call of its own, and call it from its own one. */
	if (guards(signum) ||
	    (!fxt_is_filtered() && !fxt_signal_action(signum, NULL, &now) && now.sa_handler != SIG_DFL))
		fxt_signal_action(signum, &by_default, NULL);
	if (!faults_again(signum, info) && !go_back(signum, info, context))
		send_again(signum, info);
}

static void on_fault(int signum, siginfo_t *info, void *data)
{
	ucontext_t *context = data;
	int error = errno;
	struct kept now;

	if (guards(signum) && info->si_code > 0 &&
	    fxt_buffer_fault(&fxt_agent.buffer, (uintptr_t)info->si_addr))
		return;
	/* A signal that is not a fault is put off until that work is over. */
	if (signum == SIGBUS && info->si_code <= 0 && is_within_agent(context)) {
		*mask_of(&context->uc_sigmask) |= UINT64_C(1) << (SIGBUS - 1);
		send_again(signum, info);
		return;
	}
	now = last(signum);
	if (now.handler == SIG_DFL || (now.removed && !reset(signum, now.handler))) {
		act_by_default(signum, info, context);
		errno = error;
		return;
	}
	errno = error;
	((void (*)(int, siginfo_t *, void *))(void *)now.handler)(signum, info, data);
}

/* -- What the program sets and sees ----------------------------------------------------------------- */

bool fxt_fatal_is_ours(action handler)
{
	return handler == (action)(void *)on_fault;
}

void fxt_fatal_show(int signum, action *handler, unsigned long *flags, void (**restorer)(void),
		    uint64_t *mask)
{
	struct kept now = last(signum);

	*handler = now.handler;
	*flags = (*flags & ~(unsigned long)now.added) | now.removed;
	*mask = now.mask;
	if (now.added & RESTORER)
		*restorer = NULL;
}

/* Puts what the program has set into `act`, which is the kernel's. */
static void show(int signum, struct sigaction *act)
{
	unsigned long flags = (unsigned)act->sa_flags;

	if (!fxt_fatal_is_ours(act->sa_handler))
		return;
	fxt_fatal_show(signum, &act->sa_handler, &flags, &act->sa_restorer, mask_of(&act->sa_mask));
	act->sa_flags = (int)flags;
}

/* Makes the action that the kernel is to have where the program has set `set`. Returns false if it is to have
 * that. The kernel sends SIGSEGV where a handler finds no room on the stack: this makes no difference to that
 * signal, but to the others. */
static bool make_ours(int signum, const struct sigaction *set, struct sigaction *ours)
{
	unsigned long flags = (unsigned)set->sa_flags;

	if (set->sa_handler == SIG_IGN || (set->sa_handler != SIG_DFL && !guards(signum)) ||
	    (!guards(signum) && (atomic_load(&is_given_back) ||
				 (signum != SIGSEGV && atomic_load(&has_small_stack)))))
		return false;
	*ours = *set;
	ours->sa_sigaction = on_fault;
	if (set->sa_handler == SIG_DFL) {
		/* Nobody said on which stack ours may run: the thread's own may be too short, or be what is
		 * broken. No handler of the program may run meanwhile: it could leave by longjmp. A system
		 * call that was interrupted ends, so that the core file has the instruction behind it; but
		 * the first process of a container goes on with it. */
		flags = (flags | SA_ONSTACK | SA_RESETHAND) & ~(unsigned long)(SA_RESTART | SA_NODEFER);
		if (fxt_agent.pid == FIRST_PID)
			flags |= SA_RESTART;
		*mask_of(&ours->sa_mask) = fxt_blocked_signals;
	}
	if (guards(signum))
		flags &= ~(unsigned long)SA_RESETHAND;
	ours->sa_flags = (int)(flags | SA_SIGINFO);
	return true;
}

/* Keeps `set` as what the program has set, where the kernel has `ours`. The caller holds fatal_lock. */
static void keep_set(int signum, struct sigaction *set, const struct sigaction *ours)
{
	unsigned before = (unsigned)set->sa_flags, after = (unsigned)ours->sa_flags;

	keep(signum, (struct kept){set->sa_handler, (after | RESTORER) & ~before, before & ~after,
				   *mask_of(&set->sa_mask)});
}

bool fxt_fatal_may_set(void)
{
	return atomic_load(&is_started) && !fxt_is_forbidden(FXT_NO_LOCKS) &&
	       fxt_agent.pid == (uint32_t)fxt_sys_getpid();
}

/* Returns whether the calling thread may have no room for our handler of this signal, so that the kernel
 * would send SIGSEGV in its place. SIGBUS stays ours for the file's sake. */
static bool lacks_room(int signum)
{
	return signum != SIGSEGV && !guards(signum) &&
	       fxt_stack_has_less(getauxval(AT_MINSIGSTKSZ) + REST_BYTES);
}

void fxt_fatal_set(int signum)
{
	struct sigaction set, ours;
	uint64_t mask;

	if (!fxt_fatal_is(signum) || !fxt_fatal_may_set())
		return;
	/* A handler may have set the default action to raise the signal again, and have no room for ours. */
	if (lacks_room(signum))
		return;
	mask = fxt_lock(&fxt_agent.fatal_lock);
	if (!fxt_signal_action(signum, NULL, &set)) {
		show(signum, &set);
		if (make_ours(signum, &set, &ours)) {
			keep_set(signum, &set, &ours);
			fxt_signal_action(signum, &ours, NULL);
		}
	}
	fxt_unlock(&fxt_agent.fatal_lock, mask);
}

/* Sets the action that the kernel had before. The C library would add a flag to it. */
static void put_back(int signum, const struct sigaction *set)
{
	const struct fxt_kernel_action act = {set->sa_handler, (unsigned)set->sa_flags, set->sa_restorer,
					      *(const uint64_t *)&set->sa_mask};

	FXT_SYSCALL4(SYS_rt_sigaction, signum, &act, NULL, sizeof(act.mask));
}

/* Takes a signal at the start, by one system call where the program has the default action, as is usual.
 * Signals are blocked. */
static void take(int signum)
{
	struct sigaction set = {.sa_handler = SIG_DFL}, ours;

	if (!make_ours(signum, &set, &ours))
		return;
	keep_set(signum, &set, &ours);
	if (fxt_signal_action(signum, &ours, &set))
		return;
	if (set.sa_handler == SIG_DFL && !(set.sa_flags & ~RESTORER) && !*mask_of(&set.sa_mask))
		return;
	if (!make_ours(signum, &set, &ours)) {
		put_back(signum, &set);
		return;
	}
	keep_set(signum, &set, &ours);
	fxt_signal_action(signum, &ours, NULL);
}

/* Gives a signal back for which the kernel has our handler and the program the default action. There is
 * little stack left, of which the C library's function would take 300 bytes more. */
static void give_back(int signum)
{
	struct fxt_kernel_action act;

	if (FXT_SYSCALL4(SYS_rt_sigaction, signum, NULL, &act, sizeof(act.mask)) ||
	    !fxt_fatal_is_ours(act.handler) || guards(signum))
		return;
	fxt_fatal_show(signum, &act.handler, &act.flags, &act.restorer, &act.mask);
	FXT_SYSCALL4(SYS_rt_sigaction, signum, &act, NULL, sizeof(act.mask));
}

void fxt_fatal_sends(int signum)
{
	uint64_t mask;

	if (!fxt_fatal_is(signum) || !lacks_room(signum) || !fxt_fatal_may_set())
		return;
	mask = fxt_lock(&fxt_agent.fatal_lock);
	give_back(signum);
	fxt_unlock(&fxt_agent.fatal_lock, mask);
}

/* -- Where there is no handler -------------------------------------------------------------------- */

/* Returns whether these notes have one of Go's linker. */
static bool has_go_note(uintptr_t at, size_t bytes, size_t align)
{
	static const char name[] = "Go\0";
	const uintptr_t end = at + bytes;
	const Elf64_Nhdr *note;

	align = align == sizeof(uint64_t) ? align : sizeof(uint32_t);
	while (end - at >= sizeof(*note) + sizeof(name)) {
		note = (const Elf64_Nhdr *)at;
		if (note->n_namesz == sizeof(name) && !memcmp(note + 1, name, sizeof(name)))
			return true;
		bytes = sizeof(*note) + (note->n_namesz + align - 1) / align * align +
			(note->n_descsz + align - 1) / align * align;
		if (bytes > end - at)
			return false;
		at += bytes;
	}
	return false;
}

/* Returns whether the program was made by Go's linker. Go asks the kernel itself for the handlers that it
 * finds at its start, and hands faults in C code on to them. */
static bool is_go(void)
{
	const Elf64_Phdr *segments = (const Elf64_Phdr *)getauxval(AT_PHDR), *segment;
	const Elf64_Phdr *end = segments ? segments + getauxval(AT_PHNUM) : NULL;
	uintptr_t bias = 0;

	for (segment = segments; segment < end; segment++)
		if (segment->p_type == PT_PHDR)
			bias = (uintptr_t)segments - segment->p_vaddr;
	for (segment = segments; segment < end; segment++)
		if (segment->p_type == PT_NOTE && segment->p_vaddr >= sizeof(Elf64_Ehdr) &&
		    has_go_note(bias + segment->p_vaddr, segment->p_filesz, segment->p_align))
			return true;
	return false;
}

void fxt_fatal_on_stack(size_t bytes)
{
	uint64_t mask;
	unsigned i;

	if (bytes >= 2 * (getauxval(AT_MINSIGSTKSZ) + REST_BYTES) || !fxt_fatal_may_set() ||
	    atomic_exchange(&has_small_stack, true))
		return;
	mask = fxt_lock(&fxt_agent.fatal_lock);
	for (i = 0; i < SIGNALS; i++)
		if (signals[i] != SIGSEGV)
			give_back(signals[i]);
	fxt_unlock(&fxt_agent.fatal_lock, mask);
}

void fxt_fatal_filtered(unsigned before)
{
	unsigned i;

	/* A filter that is in force already may forbid setting actions. */
	if (!fxt_is_forbidden(NEEDED) || before & FXT_NO_OTHERS || atomic_exchange(&is_given_back, true))
		return;
	/* No lock can be taken any more. */
	for (i = 0; i < SIGNALS; i++)
		give_back(signals[i]);
}

void fxt_fatal_start(void)
{
	bool is_file = fxt_agent_has_file() && !fxt_agent.buffer.in_memory,
	     is_first = !atomic_exchange(&is_started, true);
	uint64_t mask;
	unsigned i;

	if (is_first && (fxt_is_forbidden(NEEDED | FXT_NO_OTHERS) || is_go()))
		atomic_store(&is_given_back, true);
	if (is_file && !atomic_exchange(&is_guarded, true)) {
		/* The handlers of the other signals are interrupted by this one. */
		fxt_blocked_signals &= ~(UINT64_C(1) << (SIGBUS - 1));
		for (i = 0; !is_first && i < SIGNALS; i++)
			fxt_fatal_set(signals[i]);
	}
	if (!is_first)
		return;
	mask = fxt_lock(&fxt_agent.fatal_lock);
	for (i = 0; i < SIGNALS; i++)
		take(signals[i]);
	fxt_unlock(&fxt_agent.fatal_lock, mask);
}
