/* See follow_program.h. What the loader needs besides a program that can be traced: that it may read the
 * library, and that limits leave room for it. A program inherits the limits of whoever runs it. */
#include "follow_program.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "agent/base/agent.h"
#include "writer/sys.h"

/* The library takes 5 MiB of addresses, and 2 MiB of them count as data. The C library and its loader have
 * 2.5, and what is recorded needs some: with 11 MiB the library was loaded, and found no memory. */
#define LEAST_ADDRESSES (UINT64_C(16) << 20)
#define LEAST_DATA (UINT64_C(6) << 20)

static bool has_less(int resource, uint64_t bytes)
{
	struct rlimit limit;

	return !fxt_sys_getrlimit(resource, &limit) && limit.rlim_cur < bytes;
}

const char *fxt_followed_library(const char *library)
{
	long error = 0;

	if (!fxt_is_forbidden(FXT_NO_APART | FXT_NO_LOCKS))
		error = FXT_SYSCALL3(SYS_faccessat, AT_FDCWD, library, 4 /* R_OK */);
	if (error == -EACCES)
		return "may not read the agent's library";
	if (error)
		return "cannot read the agent's library, whose path does not lead to it here";
	/* Nobody knows whether a filter lets us ask for limits. */
	if (fxt_is_filtered())
		return NULL;
	if (has_less(RLIMIT_AS, LEAST_ADDRESSES))
		return "may have so few addresses (ulimit -v) that the agent's library would take its own";
	if (has_less(RLIMIT_DATA, LEAST_DATA))
		return "may have so little data (ulimit -d) that the agent's library would take its own";
	return NULL;
}
