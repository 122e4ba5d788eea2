/* See crash.h. Runs in signal handlers of the agent, wherever they have interrupted the program or the
 * agent. */
#include "crash.h"

#include <string.h>

#include "agent/base/stack.h"
#include "agent/emit/call_stack.h"
#include "agent/emit/emit.h"
#include "agent/emit/program_text.h"

/* The registers that a signal has interrupted. */
struct registers {
	uint64_t ip, sp;
	const char *access;             /* what the program did to the address of a page fault; or NULL */
};

#if defined(__x86_64__)

static struct registers registers_of(const siginfo_t *info, const ucontext_t *context)
{
	/* bits of a page fault's error code */
	enum { PAGE_FAULT = 14, IS_WRITE = 2, IS_FETCH = 16 };
	const greg_t *all = context->uc_mcontext.gregs;
	struct registers registers = {(uint64_t)all[REG_RIP], (uint64_t)all[REG_RSP], NULL};

	if (info->si_code > 0 && info->si_code != SI_KERNEL && all[REG_TRAPNO] == PAGE_FAULT &&
	    (info->si_signo == SIGSEGV || info->si_signo == SIGBUS))
		registers.access = all[REG_ERR] & IS_FETCH   ? "execute"
				   : all[REG_ERR] & IS_WRITE ? "write"
							     : "read";
	return registers;
}

#else

static struct registers registers_of(const siginfo_t *info, const ucontext_t *context)
{
	(void)info;
	return (struct registers){context->uc_mcontext.pc, context->uc_mcontext.sp, NULL};
}

#endif

/* Returns whether the kernel tells an address for the signal. */
static bool has_address(const siginfo_t *info)
{
	return info->si_code > 0 && info->si_code != SI_KERNEL &&
	       (info->si_signo == SIGSEGV || info->si_signo == SIGBUS || info->si_signo == SIGILL ||
		info->si_signo == SIGFPE || info->si_signo == SIGTRAP);
}

/* Returns whether a process has sent the signal, whose number the kernel tells then. */
static bool has_sender(const siginfo_t *info)
{
	return info->si_code == SI_USER || info->si_code == SI_TKILL || info->si_code == SI_QUEUE;
}

static void put(struct fxt_thread *thread, const siginfo_t *info, const ucontext_t *context)
{
	enum { WORDS = 1 + 1 + 2 + 2 + 2 + 2 + 1 + FXT_STACK_WORDS };
	struct registers registers = registers_of(info, context);
	uint32_t stack = fxt_call_stack(thread);
	unsigned arguments = 4;
	uint64_t *at = fxt_reserve_extra(thread, fxt_now(thread), WORDS);

	if (!at)
		return;
	at = fxt_put_int(at, FXT_STR_signal, info->si_signo);
	at = fxt_put_int(at, FXT_STR_code, info->si_code);
	at = fxt_put_pointer(at, FXT_STR_ip, (const void *)registers.ip);
	at = fxt_put_pointer(at, FXT_STR_sp, (const void *)registers.sp);
	if (has_address(info)) {
		at = fxt_put_pointer(at, FXT_STR_address, info->si_addr);
		arguments++;
	}
	if (registers.access) {
		at = fxt_put_text(at, FXT_STR_access, registers.access, strlen(registers.access));
		arguments++;
	}
	if (has_sender(info)) {
		at = fxt_put_int(at, FXT_STR_pid, info->si_pid);
		arguments++;
	}
	at = fxt_put_stack(at, FXT_STR_stack, stack);
	arguments += stack != 0;
	fxt_commit_extra(thread, at,
			 fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(FXT_EVENT_INSTANT) |
				 fxt_event_args(arguments) |
				 fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_agent, FXT_STR_crash));
	fxt_call_stack_tell(thread, stack);
}

void fxt_crash_record(const siginfo_t *info, const ucontext_t *context)
{
	struct fxt_thread *thread;

	/* The child of a vfork has its parent's variables, and dies alone. A process that may not ask for its
	 * number is no such child: the filter would have killed the vfork. */
	if (!atomic_load_explicit(&fxt_gate.mask, memory_order_relaxed) ||
	    (!fxt_is_forbidden(FXT_NO_LOCKS) && (uint32_t)fxt_sys_getpid() != fxt_agent.pid))
		return;
	thread = fxt_enter_on();
	if (!thread || fxt_stack_is_short())
		return;
	put(thread, info, context);
	fxt_program_text_rest(thread);
}
