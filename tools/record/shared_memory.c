/* See shared_memory.h. A memory file: it has no name that could be left behind, however this process ends. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/common/message.h"

enum { SHARED_BYTES = 1 << 20 };        /* as in agent/arrows/shared.h; pages that nobody uses take none */

int fxt_shared_make(char **path)
{
	int fd = memfd_create("fxt", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	/* A process that made it shorter would kill those that use it. */
	if (ftruncate(fd, SHARED_BYTES) != 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
		close(fd);
		return -1;
	}
	*path = fxt_format("/proc/%d/fd/%d", (int)getpid(), fd);
	return fd;
}
