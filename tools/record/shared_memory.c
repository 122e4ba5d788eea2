/* Makes the memory that the processes of a run share. It is a memory file, which has no name that could
 * be left behind, however this process ends. See shared.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tools/record/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/common/message.h"
#include "tools/record/reaper.h"
#include "writer/run/run_memory.h"

int fxt_shared_make(char **path)
{
	int fd = memfd_create(FXT_SHARED_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	/* The size is sealed, because a process that made the memory shorter would kill those that use it. */
	if (ftruncate(fd, FXT_SHARED_BYTES) != 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
		close(fd);
		return -1;
	}
	*path = fxt_format("/proc/%d/fd/%d", (int)getpid(), fd);
	return fd;
}

/* NULL: nobody needs to know. */
static struct fxt_adopter *adopter;

void fxt_shared_adopts(int fd)
{
	long page_bytes = sysconf(_SC_PAGESIZE);
	char *page = mmap(NULL, (size_t)page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		return;
	adopter = (struct fxt_adopter *)(void *)(page + FXT_ADOPTER_OFFSET);
	atomic_store(&adopter->reaper, 1);
	fxt_reaper_find(&adopter->reaper);
	atomic_store(&adopter->pid, (uint32_t)getpid());
}

void fxt_shared_commands(void)
{
	if (adopter)
		atomic_store(&adopter->command, (uint32_t)getpid());
}
