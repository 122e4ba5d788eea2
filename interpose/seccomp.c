/* A process that is about to filter its own system calls: it may be killed for one that its filter does not know. The agent then makes
 * none any more that it can do without. Not recorded. seccomp() itself the C library does not have: clone.c sees it. */
#include <stdarg.h>
#include <sys/prctl.h>

#include "interpose.h"

FXT_REAL(int, prctl, (int option, long a, long b, long c, long d), (option, a, b, c, d))

FXT_EXPORT int prctl(int option, ...)
{
	long args[4];
	va_list list;
	int i;

	/* As many as there can be: the kernel does not look at what was not given. */
	va_start(list, option);
	for (i = 0; i < 4; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (option == PR_SET_SECCOMP)
		fxt_filter_begins();
	return real_prctl(option, args[0], args[1], args[2], args[3]);
}

const struct fxt_real fxt_reals_seccomp[] = {
	{"prctl", NULL, (void **)&real_prctl},
	{NULL, NULL, NULL},
};
