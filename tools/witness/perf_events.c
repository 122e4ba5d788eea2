/* See perf_events.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "perf_events.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/common/message.h"

enum {
	/* Which part of the memory that may be locked the rings have. With a seventh, a ring of 64 KiB and
	 * the page in front fit into the usual 516 KiB of a processor; with an eighth they would not. */
	SHARE = 7,
	MOST_RING_BYTES = 64 << 10,
	MOST_STACK_BYTES = 16384,       /* of the stack in a sample */
	USUAL_MLOCK_KB = 516,
	WAKE_PART = 4,                  /* the reader is woken when so much of a ring is full: a quarter */
	SLACK_MS = 5,                   /* how late it may be then */
};

/* The kernel says since Linux 6.0 how many records of an event found no room. */
static const uint64_t SAYS_LOST = UINT64_C(1) << 4;

static const uint64_t SAMPLE_TYPE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
				    PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

/* -- Opening ----------------------------------------------------------------------------------- */

uint64_t fxt_perf_ring_bytes(uint64_t mlock_bytes, uint64_t limit_bytes, uint64_t processors, uint64_t page)
{
	uint64_t all = mlock_bytes * processors, each, bytes = MOST_RING_BYTES;

	each = (all < limit_bytes ? all : limit_bytes) / SHARE / processors;
	while (bytes >= page && bytes + page > each)
		bytes /= 2;
	return bytes >= page ? bytes : 0;
}

/* Returns the share of this run. */
static uint64_t ring_bytes(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	FILE *file = fopen("/proc/sys/kernel/perf_event_mlock_kb", "re");
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
	unsigned kilobytes = USUAL_MLOCK_KB;

	if (file) {
		if (fscanf(file, "%u", &kilobytes) != 1)
			kilobytes = USUAL_MLOCK_KB;
		fclose(file);
	}
	getrlimit(RLIMIT_MEMLOCK, &limit);
	return fxt_perf_ring_bytes((uint64_t)kilobytes << 10, limit.rlim_cur,
				   processors > 0 ? (uint64_t)processors : 1,
				   (uint64_t)sysconf(_SC_PAGESIZE));
}

/* Returns how much of a stack a sample has. What is left of a ring when the reader is woken has room for the
 * samples of the next SLACK_MS, and a quarter of it for other records. */
static uint32_t stack_bytes(uint64_t ring, unsigned hz)
{
	uint64_t bytes = (ring - ring / WAKE_PART) / (1 + (uint64_t)hz * SLACK_MS / 1000);

	bytes = bytes < MOST_STACK_BYTES ? bytes : MOST_STACK_BYTES;
	return (uint32_t)(bytes / 2 + bytes / 4) & ~7U;
}

/* Describes the events, whose rings have so many bytes. */
static void describe(struct perf_event_attr *attr, unsigned hz, bool on_exec, uint64_t ring)
{
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(*attr),
		.config = hz ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_DUMMY,
		.sample_freq = hz,
		.sample_type = SAMPLE_TYPE,
		.disabled = on_exec,
		.inherit = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.freq = hz != 0,
		.enable_on_exec = on_exec,
		.watermark = 1,
		.sample_id_all = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.context_switch = 1,
		.sample_regs_user = FXT_PERF_REGISTERS,
		.sample_stack_user = stack_bytes(ring, hz),
		.wakeup_watermark = (uint32_t)(ring / WAKE_PART),
		.read_format = SAYS_LOST,
		.clockid = CLOCK_BOOTTIME,
	};
}

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Opens the event of a processor, with its ring. Returns 0 or an errno, which is ENOBUFS if the ring could
 * not be had. */
static int open_ring(struct fxt_perf *perf, struct perf_event_attr *attr, pid_t pid, int cpu)
{
	struct fxt_perf_ring *ring = &perf->rings[perf->count];

	ring->fd = open_event(attr, pid, cpu);
	if (ring->fd < 0)
		return errno;
	ring->cpu = (uint32_t)cpu;
	ring->bytes = perf->ring_bytes;
	ring->page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE) + ring->bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED, ring->fd, 0);
	if (ring->page != MAP_FAILED) {
		perf->count++;
		return 0;
	}
	close(ring->fd);
	return ENOBUFS;
}

/* Opens the events of a thread, one for each processor. The first thread's have the rings, and those of
 * others write to these. Returns 0 or an errno. */
static int open_thread(struct fxt_perf *perf, struct perf_event_attr *attr, pid_t tid)
{
	for (size_t i = 0; i < perf->count; i++) {
		int fd = open_event(attr, tid, (int)perf->rings[i].cpu);

		if (fd < 0)
			return errno;
		perf->others = fxt_grow(perf->others, &perf->other_capacity, perf->other_count + 1,
					sizeof(*perf->others));
		perf->others[perf->other_count++] = fd;
		if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, perf->rings[i].fd) != 0)
			return errno;
	}
	return 0;
}

/* Opens the events of all threads of a process but `pid` itself, which has them already. Threads that begin
 * meanwhile inherit them, or are found. */
static void open_threads(struct fxt_perf *perf, struct perf_event_attr *attr, pid_t pid)
{
	char *path = fxt_format("/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	const struct dirent *task;

	free(path);
	while (tasks && (task = readdir(tasks))) {
		pid_t tid = (pid_t)strtol(task->d_name, NULL, 10);
		int error = tid > 0 && tid != pid ? open_thread(perf, attr, tid) : 0;

		/* A thread that has ended meanwhile is not missed. */
		if (error && error != ESRCH)
			perf->is_enough = false;
	}
	if (tasks)
		closedir(tasks);
}

static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Opens the event of a processor as far as this user and this kernel let it. Returns 0 or an errno. */
static int open_processor(struct fxt_perf *perf, struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int error = open_ring(perf, attr, pid, cpu);

	if (error == EINVAL && attr->read_format) {
		attr->read_format = 0;
		error = open_ring(perf, attr, pid, cpu);
	}
	/* Only some users may look into the kernel. */
	if ((error == EACCES || error == EPERM) && !attr->exclude_kernel) {
		attr->exclude_kernel = 1;
		perf->samples_kernel = false;
		error = open_ring(perf, attr, pid, cpu);
	}
	/* A processor that is switched off has no event. */
	return error == ENODEV ? 0 : error;
}

/* Opens the events with rings of this size. Returns 0, or an errno with nothing open. */
static int open_all(struct fxt_perf *perf, struct perf_event_attr *attr, pid_t pid, uint64_t bytes)
{
	long processors = sysconf(_SC_NPROCESSORS_CONF);
	int error = 0;

	*perf = (struct fxt_perf){.is_enough = true, .samples_kernel = attr->sample_freq != 0, .full = -1,
				  .stop = -1, .ring_bytes = bytes, .stack_bytes = attr->sample_stack_user};
	perf->rings = fxt_alloc(processors > 0 ? (size_t)processors : 1, sizeof(*perf->rings));
	for (int cpu = 0; cpu < processors && !error; cpu++)
		error = open_processor(perf, attr, pid, cpu);
	if (!error && !perf->count)
		error = ENODEV;
	perf->says_lost = attr->read_format;
	if (error)
		fxt_perf_close(perf);
	return error;
}

int fxt_perf_open(struct fxt_perf *perf, pid_t pid, unsigned hz, bool on_exec)
{
	struct perf_event_attr attr;
	uint64_t bytes, page = (uint64_t)sysconf(_SC_PAGESIZE);
	int error = ENOBUFS;

	raise_limit();
	for (bytes = ring_bytes(); error == ENOBUFS && bytes >= page; bytes /= 2) {
		describe(&attr, hz, on_exec, bytes);
		error = open_all(perf, &attr, pid, bytes);
	}
	if (!error && !on_exec)
		open_threads(perf, &attr, pid);
	if (!error && !fxt_perf_begin_reading(perf)) {
		fxt_perf_close(perf);
		error = EAGAIN;
	}
	return error;
}

/* Returns how many records of an event found no room. */
static uint64_t lost_of(int fd)
{
	uint64_t values[2];

	return read(fd, values, sizeof(values)) == (ssize_t)sizeof(values) ? values[1] : 0;
}

uint64_t fxt_perf_lost(const struct fxt_perf *perf)
{
	uint64_t lost = 0;

	for (size_t i = 0; perf->says_lost && i < perf->count; i++)
		lost += lost_of(perf->rings[i].fd);
	for (size_t i = 0; perf->says_lost && i < perf->other_count; i++)
		lost += lost_of(perf->others[i]);
	return lost;
}

void fxt_perf_close(struct fxt_perf *perf)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	fxt_perf_end_reading(perf);
	for (size_t i = 0; i < perf->other_count; i++)
		close(perf->others[i]);
	for (size_t i = 0; i < perf->count; i++) {
		munmap(perf->rings[i].page, page + perf->rings[i].bytes);
		close(perf->rings[i].fd);
		free(perf->rings[i].queue);
		free(perf->rings[i].fresh);
	}
	free(perf->others);
	free(perf->rings);
	*perf = (struct fxt_perf){0};
}
