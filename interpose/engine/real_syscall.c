/* Calls the C library's syscall(), which makes every system call that is asked for by number: see syscall.h.
 * Any context may call this. */
#include <unistd.h>

#include "interpose.h"

FXT_REAL(long, syscall, (long number, long a, long b, long c, long d, long e, long f),
	 (number, a, b, c, d, e, f))

long fxt_by_number_make(struct fxt_by_number *call)
{
	const long *args = call->args;

	return call->result = FXT_OPENING(-1, real_syscall(call->number, args[0], args[1], args[2], args[3],
							   args[4], args[5]));
}

const struct fxt_real fxt_reals_syscall[] = {
	{"syscall", NULL, (void **)&real_syscall},
	{NULL, NULL, NULL},
};
