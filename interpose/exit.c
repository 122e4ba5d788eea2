/* The ends of a process that run no destructor of ours: the trace is whole without this, and small with it. */
#include <stdlib.h>
#include <unistd.h>

#include "interpose.h"

FXT_REAL(void, _exit, (int status), (status))
FXT_REAL(void, _Exit, (int status), (status))

FXT_EXPORT void _exit(int status)
{
	fxt_agent_exit();
	real__exit(status);
	__builtin_unreachable();
}

FXT_EXPORT void _Exit(int status)
{
	fxt_agent_exit();
	real__Exit(status);
	__builtin_unreachable();
}

const struct fxt_real fxt_reals_exit[] = {
	{"_exit", NULL, (void **)&real__exit},
	{"_Exit", NULL, (void **)&real__Exit},
	{NULL, NULL, NULL},
};
