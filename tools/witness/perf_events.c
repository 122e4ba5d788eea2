/* See perf_events.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "perf_events.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/common/kernel_clock.h"
#include "tools/common/message.h"

enum {
	/* An ordinary user may lock 516 KiB for each processor (kernel.perf_event_mlock_kb): the page in
	 * front and a ring of 512 KiB. */
	MOST_PAGES = 128,
	LEAST_PAGES = 16,               /* for some samples */
	STACK_BYTES = 16384,            /* of the stack in a sample */
};

/* A record is in its ring this long after its time at the latest. */
static const uint64_t LATE_NS = 1000000;

static const uint64_t SAMPLE_TYPE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
				    PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

/* -- Opening ----------------------------------------------------------------------------------- */

/* Describes the events. A ring that is half full wakes whoever waits for it. */
static void describe(struct perf_event_attr *attr, unsigned hz, bool on_exec)
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
		.sample_stack_user = STACK_BYTES,
		.clockid = CLOCK_BOOTTIME,
	};
}

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Maps the ring of an event: as large as this user may have it. Returns false with errno. */
static bool map_ring(struct fxt_perf_ring *ring)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages;

	for (pages = MOST_PAGES; pages >= LEAST_PAGES; pages /= 2) {
		ring->page = mmap(NULL, (1 + pages) * page, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
		ring->bytes = pages * page;
		if (ring->page != MAP_FAILED)
			return true;
	}
	ring->page = NULL;
	return false;
}

/* Opens the event of a processor, with its ring. Returns 0 or an errno. */
static int open_ring(struct fxt_perf *perf, struct perf_event_attr *attr, pid_t pid, int cpu)
{
	struct fxt_perf_ring *ring = &perf->rings[perf->count];
	int error;

	ring->fd = open_event(attr, pid, cpu);
	if (ring->fd < 0)
		return errno;
	ring->cpu = (uint32_t)cpu;
	if (map_ring(ring)) {
		perf->count++;
		return 0;
	}
	error = errno;
	close(ring->fd);
	return error;
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

int fxt_perf_open(struct fxt_perf *perf, pid_t pid, unsigned hz, bool on_exec)
{
	long processors = sysconf(_SC_NPROCESSORS_CONF);
	struct perf_event_attr attr;
	int error = 0;

	*perf = (struct fxt_perf){.is_enough = true, .samples_kernel = hz != 0};
	describe(&attr, hz, on_exec);
	raise_limit();
	perf->rings = fxt_alloc(processors > 0 ? (size_t)processors : 1, sizeof(*perf->rings));
	for (int cpu = 0; cpu < processors; cpu++) {
		error = open_ring(perf, &attr, pid, cpu);
		/* Only some users may look into the kernel. */
		if ((error == EACCES || error == EPERM) && !attr.exclude_kernel) {
			attr.exclude_kernel = 1;
			perf->samples_kernel = false;
			error = open_ring(perf, &attr, pid, cpu);
		}
		/* A processor that is switched off has no event. */
		if (error == ENODEV)
			error = 0;
		if (error)
			break;
	}
	if (!error && !perf->count)
		error = ENODEV;
	if (error)
		fxt_perf_close(perf);
	else if (!on_exec)
		open_threads(perf, &attr, pid);
	return error;
}

void fxt_perf_close(struct fxt_perf *perf)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < perf->other_count; i++)
		close(perf->others[i]);
	for (size_t i = 0; i < perf->count; i++) {
		munmap(perf->rings[i].page, page + perf->rings[i].bytes);
		close(perf->rings[i].fd);
		free(perf->rings[i].queue);
	}
	free(perf->others);
	free(perf->rings);
	*perf = (struct fxt_perf){0};
}

bool fxt_perf_wait(const struct fxt_perf *perf, int fd, int milliseconds)
{
	struct pollfd *list = fxt_alloc(perf->count + 1, sizeof(*list));
	bool is_over;

	for (size_t i = 0; i < perf->count; i++)
		list[i] = (struct pollfd){.fd = perf->rings[i].fd, .events = POLLIN};
	list[perf->count] = (struct pollfd){.fd = fd, .events = POLLIN};
	is_over = poll(list, perf->count + 1, milliseconds) > 0 && list[perf->count].revents;
	/* The events of a process that is over are always ready, so the time is waited out. */
	for (size_t i = 0; i < perf->count && !is_over; i++) {
		if (!(list[i].revents & POLLHUP))
			continue;
		is_over = poll(&list[perf->count], 1, milliseconds) > 0;
		break;
	}
	free(list);
	return is_over;
}

/* -- Taking records ---------------------------------------------------------------------------- */

/* Moves what the ring has to the queue. */
static void drain(struct fxt_perf_ring *ring)
{
	const unsigned char *data = (const unsigned char *)ring->page + sysconf(_SC_PAGESIZE);
	uint64_t tail = ring->page->data_tail;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	size_t bytes = (size_t)(head - tail), at = tail & (ring->bytes - 1), first;

	if (!bytes)
		return;
	if (ring->begin) {
		memmove(ring->queue, ring->queue + ring->begin, ring->end - ring->begin);
		ring->end -= ring->begin;
		ring->begin = 0;
	}
	ring->queue = fxt_grow(ring->queue, &ring->capacity, ring->end + bytes, 1);
	first = bytes < ring->bytes - at ? bytes : ring->bytes - at;
	memcpy(ring->queue + ring->end, data + at, first);
	memcpy(ring->queue + ring->end + first, data, bytes - first);
	ring->end += bytes;
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

/* Decodes a sample. Returns false if it is cut short. */
static bool decode_sample(struct fxt_perf_record *record, const uint64_t *at, size_t words)
{
	const uint64_t *end = at + words;
	uint64_t abi, bytes;

	if (words < 5)
		return false;
	record->ip = at[0];
	record->pid = (uint32_t)at[1];
	record->tid = (uint32_t)(at[1] >> 32);
	record->time_ns = at[2];
	record->cpu = (uint32_t)at[3];
	abi = at[4];
	at += 5;
	if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
		if (end - at < FXT_PERF_REGISTER_COUNT)
			return false;
		if (abi == PERF_SAMPLE_REGS_ABI_64)
			record->registers = at;
		at += FXT_PERF_REGISTER_COUNT;
	}
	if (at == end)
		return true;
	bytes = *at++;
	if (!bytes)
		return true;
	if (bytes > (size_t)(end - at) * 8 || (size_t)(end - at) * 8 - bytes < 8)
		return false;
	record->stack = (const unsigned char *)at;
	/* Behind the copy stands how much of it was there. */
	memcpy(&record->stack_bytes, record->stack + bytes, 8);
	if (record->stack_bytes > bytes)
		record->stack_bytes = bytes;
	return true;
}

/* Decodes the record at `header`. Records other than samples end with whose they are, and when. */
static bool decode(struct fxt_perf_record *record, const struct perf_event_header *header)
{
	const uint64_t *words = (const uint64_t *)(header + 1);
	size_t count = (header->size - sizeof(*header)) / 8;

	*record = (struct fxt_perf_record){.header = header};
	if (header->type == PERF_RECORD_SAMPLE)
		return decode_sample(record, words, count);
	if (count < 3)
		return false;
	words += count - 3;
	record->pid = (uint32_t)words[0];
	record->tid = (uint32_t)(words[0] >> 32);
	record->time_ns = words[1];
	record->cpu = (uint32_t)words[2];
	return true;
}

/* Decodes the next record of the queue. Records that make no sense are passed over. Returns false if there is
 * none. */
static bool look(struct fxt_perf_ring *ring, struct fxt_perf_record *record)
{
	while (ring->end - ring->begin >= sizeof(struct perf_event_header)) {
		const struct perf_event_header *header =
			(const struct perf_event_header *)(ring->queue + ring->begin);

		if (header->size < sizeof(*header) || header->size > ring->end - ring->begin) {
			ring->begin = ring->end;
			return false;
		}
		if (decode(record, header))
			return true;
		ring->begin += header->size;
	}
	return false;
}

void fxt_perf_take(struct fxt_perf *perf, bool is_end, fxt_perf_handler *handler, void *context)
{
	uint64_t until_ns = is_end ? UINT64_MAX : fxt_clock_ns(CLOCK_BOOTTIME) - LATE_NS;
	struct fxt_perf_record *heads = fxt_alloc(perf->count, sizeof(*heads));
	bool *has = fxt_alloc(perf->count, sizeof(*has));
	size_t i, oldest;

	for (i = 0; i < perf->count; i++) {
		drain(&perf->rings[i]);
		has[i] = look(&perf->rings[i], &heads[i]);
	}
	for (;;) {
		oldest = perf->count;
		for (i = 0; i < perf->count; i++)
			if (has[i] && (oldest == perf->count || heads[i].time_ns < heads[oldest].time_ns))
				oldest = i;
		if (oldest == perf->count || heads[oldest].time_ns >= until_ns)
			break;
		handler(context, &heads[oldest]);
		perf->rings[oldest].begin += heads[oldest].header->size;
		has[oldest] = look(&perf->rings[oldest], &heads[oldest]);
	}
	free(heads);
	free(has);
}
