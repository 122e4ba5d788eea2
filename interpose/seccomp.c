/* prctl(), and syscall() as far as it is the same, by which a program forbids itself system calls, or reading the processor's
 * counter. Neither is recorded: they are looked at, so that the agent stays within what remains (agent/seccomp.h). Any context.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/seccomp.h"
#include "interpose.h"
#include "seccomp.h"

typedef unsigned long word;

/* A filter that cannot be read is refused by the kernel too. */
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
	unsigned before = 0;
	int result;

	if (strict || filter)
		before = fxt_seccomp_expect(filter);
	result = real_prctl(PR_SET_SECCOMP, mode, filter_address, c, d);
	if (result && (strict || filter))
		fxt_seccomp_restore(before);
	return result;
}

#if defined(__x86_64__)
static FXT_COLD int prctl_tsc(word mode, word b, word c, word d)
{
	int result;

	if (mode == PR_TSC_SIGSEGV)
		fxt_agent_suspend("the program has made reading the TSC an error: nothing is recorded");
	result = real_prctl(PR_SET_TSC, mode, b, c, d);
	if ((mode == PR_TSC_ENABLE) == !result)
		fxt_agent_resume();
	return result;
}
#endif

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
	return real_prctl(option, a, b, c, d);
}

/* -- syscall: see clone.c ------------------------------------------------------------------------------ */

long fxt_seccomp_by_number(fxt_syscall_fn *real, long number, const long *args)
{
	const struct sock_fprog *filter = NULL;
	unsigned before = 0;
	bool strict = false;
	long result;

	if (number == SYS_seccomp) {
		strict = args[0] == SECCOMP_SET_MODE_STRICT;
		filter = args[0] == SECCOMP_SET_MODE_FILTER ? filter_at((word)args[2]) : NULL;
	} else if (args[0] == PR_SET_SECCOMP) {
		strict = args[1] == SECCOMP_MODE_STRICT;
		filter = strict ? NULL : filter_at((word)args[2]);
	}
	if (strict || filter)
		before = fxt_seccomp_expect(filter);
	result = real(number, args[0], args[1], args[2], args[3], args[4], args[5]);
	if (result < 0 && (strict || filter))
		fxt_seccomp_restore(before);
	return result;
}

const struct fxt_real fxt_reals_seccomp[] = {
	{"prctl", NULL, (void **)&real_prctl},
	{NULL, NULL, NULL},
};
