/* Makes the wrapper of prctl(), and what syscall() does for the system calls prctl and seccomp. By these a
 * program forbids itself system calls, or reading the processor's counter. They are not recorded: the agent
 * looks at them, so that it stays within what remains allowed (agent/process/seccomp.h). A thread also names
 * itself by prctl(), which becomes its name in the trace. Any context.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/emit/threads.h"
#include "agent/process/lifecycle.h"
#include "agent/process/seccomp.h"
#include "interpose/engine/interpose.h"
#include "interpose/signals/fatal.h"

typedef unsigned long word;

/* Prepares for a filter: what the agent will not be allowed it does no more, or gives back now. */
static struct fxt_before_filter expect(const struct sock_fprog *filter)
{
	bool may_set = fxt_fatal_may_set();
	struct fxt_before_filter before = fxt_seccomp_expect(filter);

	if (may_set)
		fxt_fatal_filtered(before.forbidden);
	return before;
}

/* Returns the filter at an address, or NULL if it cannot be read: the kernel refuses it then too. */
static const struct sock_fprog *filter_at(word address)
{
	static const struct fxt_thread nobody;
	const struct sock_fprog *filter = (const struct sock_fprog *)address;

	if (!fxt_readable(&nobody, filter, sizeof(*filter)) ||
	    !fxt_readable(&nobody, filter->filter, filter->len * sizeof(*filter->filter)))
		return NULL;
	return filter;
}

/* -- prctl --------------------------------------------------------------------------------------------- */

FXT_REAL(int, prctl, (int option, word a, word b, word c, word d), (option, a, b, c, d))

static FXT_COLD int prctl_seccomp(word mode, word filter_address, word c, word d)
{
	bool strict = mode == SECCOMP_MODE_STRICT;
	const struct sock_fprog *filter = strict ? NULL : filter_at(filter_address);
	struct fxt_before_filter before;
	int result;

	if (strict || filter)
		before = expect(filter);
	result = real_prctl(PR_SET_SECCOMP, mode, filter_address, c, d);
	if (result && (strict || filter))
		fxt_seccomp_restore(before);
	return result;
}

#if defined(__x86_64__)
#define TSC(mode, call)					\
	bool is_new = false;				\
	int result;					\
							\
	if ((mode) == PR_TSC_SIGSEGV)			\
		is_new = fxt_agent_suspend(FXT_SUSPENDED_TSC,					\
			"what the program does while a thread of it may not read the TSC");	\
	result = call;					\
	/* The child of a vfork has its parent's variables, and changes nothing for its parent. */	\
	if ((result ? is_new : (mode) == PR_TSC_ENABLE) && !fxt_may_not_lock())			\
		fxt_gate_resume(FXT_SUSPENDED_TSC);

static FXT_COLD int prctl_tsc(word mode, word b, word c, word d)
{
	TSC(mode, real_prctl(PR_SET_TSC, mode, b, c, d))
	return result;
}
#endif

/* Tells the name that the calling thread has given itself. */
static void named(const char *name)
{
	struct fxt_thread *thread = fxt_is_on(FXT_CAT_pthread) ? fxt_enter_on() : NULL;

	if (thread && thread->ready && !fxt_may_not_lock())
		fxt_thread_tell_name(thread, thread, name);
}

static FXT_COLD int prctl_name(word name, word b, word c, word d)
{
	int result = real_prctl(PR_SET_NAME, name, b, c, d);

	if (!result)
		named((const char *)name);
	return result;
}

FXT_EXPORT int prctl(int option, ...)
{
	word a, b, c, d;
	va_list list;

	va_start(list, option);
	a = va_arg(list, word);
	b = va_arg(list, word);
	c = va_arg(list, word);
	d = va_arg(list, word);
	va_end(list);
	if (FXT_UNLIKELY(option == PR_SET_SECCOMP))
		return prctl_seccomp(a, b, c, d);
#if defined(__x86_64__)
	if (FXT_UNLIKELY(option == PR_SET_TSC))
		return prctl_tsc(a, b, c, d);
#endif
	FXT_RELOCATED(prctl);
	if (FXT_UNLIKELY(option == PR_SET_NAME))
		return prctl_name(a, b, c, d);
	return real_prctl(option, a, b, c, d);
}

/* -- By number: see syscall.h ------------------------------------------------------------------- */

static void made_within(struct fxt_by_number *call, bool strict, const struct sock_fprog *filter)
{
	struct fxt_before_filter before;

	if (strict || filter)
		before = expect(filter);
	if (fxt_by_number_make(call) < 0 && (strict || filter))
		fxt_seccomp_restore(before);
}

FXT_BY_HAND_NUMBER(seccomp)
{
	made_within(call, call->args[0] == SECCOMP_SET_MODE_STRICT,
		    call->args[0] == SECCOMP_SET_MODE_FILTER ? filter_at((word)call->args[2]) : NULL);
}

FXT_BY_HAND_NUMBER(prctl)
{
	bool is_seccomp = call->args[0] == PR_SET_SECCOMP,
	     strict = is_seccomp && call->args[1] == SECCOMP_MODE_STRICT;

#if defined(__x86_64__)
	if (FXT_UNLIKELY((int)call->args[0] == PR_SET_TSC)) {
		TSC(call->args[1], (int)fxt_by_number_make(call))
		return;
	}
#endif
	made_within(call, strict, is_seccomp && !strict ? filter_at((word)call->args[2]) : NULL);
	if (FXT_UNLIKELY((int)call->args[0] == PR_SET_NAME) && !call->result)
		named((const char *)call->args[1]);
}

const struct fxt_real fxt_reals_prctl[] = {
	{"prctl", NULL, (void **)&real_prctl},
	{NULL, NULL, NULL},
};
