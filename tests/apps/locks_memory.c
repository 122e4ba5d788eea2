/* This program locks memory in the ways that have a limit, and says of each whether it could: an io_uring
 * with a registered buffer of KIB (0: there is none), the rings of performance events, and all that the
 * limit lets it have by mlock(). The first two are counted for the user, so what others of his have locked
 * leaves less, and that of an io_uring is given back some time after its process has ended.
 *
 * usage: locks_memory KIB */
#include <errno.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "need.h"

static void say(const char *what, bool is_done)
{
	printf("%s: %s\n", what, is_done ? "done" : strerror(errno));
}

static void *memory(size_t bytes)
{
	void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(made != MAP_FAILED);
	return made;
}

static void use_io_uring(size_t bytes)
{
	struct io_uring_params parameters = {0};
	struct iovec buffer = {memory(bytes), bytes};
	int fd = (int)syscall(SYS_io_uring_setup, 64, &parameters);

	say("io_uring_setup", fd >= 0);
	if (fd >= 0)
		say("its buffer",
		    syscall(SYS_io_uring_register, fd, IORING_REGISTER_BUFFERS, &buffer, 1) == 0);
}

/* Maps what an ordinary user may have of each processor. */
static void use_perf(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
				       .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1, .exclude_hv = 1};
	long page = sysconf(_SC_PAGESIZE), bytes = page + (512 << 10);

	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		say("perf_event_open", fd >= 0);
		if (fd >= 0)
			say("its ring", mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
					     0) != MAP_FAILED);
	}
}

int main(int argc, char **argv)
{
	struct rlimit limit;
	size_t bytes;

	need(argc == 2 && getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
	bytes = (size_t)atol(argv[1]) << 10;
	if (bytes)
		use_io_uring(bytes);
	use_perf();
	bytes = limit.rlim_cur < (64 << 20) ? limit.rlim_cur : 1 << 20;
	say("mlock", mlock(memory(bytes), bytes) == 0);
	return 0;
}
