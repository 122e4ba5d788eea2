/* Makes calls with a pointer that leads nowhere. Some refuse an earlier argument before anybody looks at the
 * pointer, others look at it. The program prints the result and error number of each. */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/xattr.h>

#include "host.h"

#define NOWHERE ((void *)1)
#define NONE "/nonexistent/x"

#define SHOW(call)                                                              \
	do {                                                                    \
		long result_;                                                   \
										\
		errno = 0;                                                      \
		result_ = (long)(call);                                         \
		printf("%s: %ld, errno %d\n", #call, result_, errno);           \
	} while (0)

int main(void)
{
	mark_times(10);
	SHOW(link(NONE, NOWHERE));
	SHOW(link(NOWHERE, NONE));
	SHOW(linkat(AT_FDCWD, NONE, AT_FDCWD, NOWHERE, 0));
	SHOW(rename(NONE, NOWHERE));
	SHOW(renameat(AT_FDCWD, NONE, AT_FDCWD, NOWHERE));
	SHOW(renameat2(AT_FDCWD, NONE, AT_FDCWD, NOWHERE, 0));
	SHOW(symlink("", NOWHERE));
	SHOW(symlinkat("", AT_FDCWD, NOWHERE));
	SHOW(mount(NULL, NONE, NOWHERE, 0, NULL));
	SHOW(mount(NONE, NOWHERE, NULL, 0, NULL));
	SHOW(getxattr(NONE, NOWHERE, NULL, 0));
	SHOW(lgetxattr(NONE, NOWHERE, NULL, 0));
	SHOW(setxattr(NONE, NOWHERE, NULL, 0, 0));
	SHOW(removexattr(NONE, NOWHERE));
	SHOW(open(NOWHERE, O_RDONLY));
	SHOW(access(NOWHERE, F_OK));
	SHOW(ioctl(1, FIONBIO, NOWHERE));
	mark_times(10);
	fflush(stdout);
	print_marks();
	return 0;
}
