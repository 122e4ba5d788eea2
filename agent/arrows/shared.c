/* See shared.h. fxt_shared_start() takes some 10 microseconds, and touches only the memory's first page. */
#include "shared.h"

#include <fcntl.h>
#include <string.h>

#include "agent/base/connection.h"
#include "agent/base/koid.h"
#include "agent/emit/clock.h"
#include "writer/sys.h"

#define VARIABLE "FXT_SHARED="

/* MAGIC is "fxtshare". The first word of the memory is made of it, the version and the size: a process that
 * expects another word does not use the memory. The version grows when the layout of anything in the memory
 * changes. */
#define MAGIC UINT64_C(0x6572616873747866)
enum { VERSION = 2 };

struct fxt_shared *fxt_shared;
/* The memory's begun_ns, or the start of this process if earlier. No other process can change this copy. */
static uint64_t begun_ns;
static bool is_run;

bool fxt_shared_is_run(void)
{
	return is_run;
}

bool fxt_shared_may_be(uint64_t at_ns, uint64_t now_ns)
{
	return at_ns >= begun_ns && at_ns <= now_ns;
}

/* Tells whether the path is a link with the text of a memory file of `fxt record`. The file is going to be
 * opened for writing, and the path may lead to another file than when FXT_SHARED was set: `fxt record` may be
 * gone, and another process may have its pid. */
static bool is_memory_file(const char *path)
{
	static const char expected[] = "/memfd:" FXT_SHARED_NAME " (deleted)";
	char target[sizeof(expected)];

	return fxt_sys_readlink(path, target, sizeof(target)) == (int)sizeof(expected) - 1 &&
	       !memcmp(target, expected, sizeof(expected) - 1);
}

/* Tells whether the file has its full size and is sealed. If another process could shrink it, touching the
 * mapping might raise SIGBUS. */
static bool is_whole(int fd)
{
	long seals = FXT_SYSCALL3(SYS_fcntl, fd, F_GET_SEALS, 0);
	struct stat status;

	return seals > 0 && seals & F_SEAL_SHRINK && !fxt_sys_fstat(fd, &status) &&
		status.st_size >= FXT_SHARED_BYTES;
}

static struct fxt_shared *map(int fd, int flags)
{
	int error;
	void *memory = fxt_sys_mmap(NULL, FXT_SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0,
				    &error);

	if (memory)
		fxt_sys_madvise(memory, FXT_SHARED_BYTES, MADV_DONTDUMP);
	return memory;
}

static struct fxt_shared *map_inherited(const char *path)
{
	struct fxt_shared *memory = NULL;
	int fd = is_memory_file(path) ? fxt_sys_open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0)
				      : -1;

	/* The path is that of a process of another user, or leads nowhere behind another root. */
	if (fd < 0)
		fd = fxt_run_shared();
	if (fd < 0)
		return NULL;
	if (is_whole(fd))
		memory = map(fd, 0);
	fxt_sys_close(fd);
	return memory;
}

uint32_t fxt_shared_parent(uint32_t parent)
{
	const struct fxt_adopter *adopter = is_run && fxt_shared ? &fxt_shared->adopter : NULL;
	uint32_t reaper = adopter ? atomic_load_explicit(&adopter->reaper, memory_order_relaxed) : 0;

	/* A number says nothing in another namespace. */
	if (!reaper || !parent || parent != atomic_load_explicit(&adopter->pid, memory_order_relaxed) ||
	    fxt_koid_differs() ||
	    (uint32_t)fxt_sys_getpid() == atomic_load_explicit(&adopter->command, memory_order_relaxed))
		return parent;
	return reaper;
}

void fxt_shared_start(char **environment)
{
	const uint64_t magic = MAGIC ^ ((uint64_t)VERSION << 32 | (uint64_t)FXT_SHARED_BYTES);
	struct fxt_shared *memory;
	uint64_t found = 0, now_ns = fxt_clock_kernel_ns();

	for (; *environment && strncmp(*environment, VARIABLE, strlen(VARIABLE)); environment++)
		;
	/* If FXT_SHARED names memory that this process cannot have (behind a chroot, or of another user),
	 * the process makes no memory of its own. A stream to a process that has the named memory would then
	 * be counted in two places, and each place would have the calls of one side only. */
	is_run = *environment && (*environment)[strlen(VARIABLE)];
	memory = is_run ? map_inherited(*environment + strlen(VARIABLE))
			: map(-1, MAP_ANONYMOUS | MAP_NORESERVE);
	if (!memory)
		return;
	if (!atomic_compare_exchange_strong(&memory->magic, &found, magic) && found != magic) {
		fxt_sys_munmap(memory, FXT_SHARED_BYTES);
		return;
	}
	begun_ns = 0;
	if (atomic_compare_exchange_strong(&memory->begun_ns, &begun_ns, now_ns) || begun_ns > now_ns)
		begun_ns = now_ns;
	fxt_shared = memory;
}
