/* See sample.h. A sample takes some 4 microseconds of system calls in 10 ms. The file with the resident
 * memory is opened while the process has one thread, and stays open: descriptor.h of agent/process keeps its
 * descriptor out of the program's way. A process with several threads could open it only by a helper
 * (writer/apart.h). */
#include "sample.h"

#include <sys/auxv.h>

#include "agent/base/heap.h"
#include "deferred.h"
#include "emit.h"
#include "writer/apart.h"

enum {
	SAMPLE_NS = 10 * 1000 * 1000,
	/* A sample adds up what all threads have moved. It comes less often where there are more than a
	 * thousand of them. */
	SAMPLE_THREAD_NS = 10 * 1000,
	STATM_BYTES = 128,
	HIGH_DESCRIPTOR = 1000,         /* programs use lower ones */
};

static const char statm[] = "/proc/self/statm";

#define NOT_KNOWN UINT64_MAX            /* a value that is not to be had this time */

static struct {
	_Atomic uint64_t next_ns;
	/* a reading that has failed once is not tried again */
	atomic_bool rss_failed, threads_failed, descriptors_failed;
} sample_state;

void fxt_sample_again(void)
{
	atomic_store_explicit(&sample_state.next_ns, 0, memory_order_relaxed);
}

void fxt_sample_after_fork(void)
{
	atomic_store_explicit(&sample_state.next_ns, fxt_clock_kernel_ns() + SAMPLE_NS, memory_order_relaxed);
}

static bool is_due(uint64_t now_ns)
{
	return fxt_is_on(FXT_CAT_counter) &&
		now_ns >= atomic_load_explicit(&sample_state.next_ns, memory_order_relaxed);
}

void fxt_sample_renewed(struct fxt_thread *thread, uint64_t now_ns)
{
	if (is_due(now_ns))
		fxt_deferred_ask(thread);
}

/* Writes a counter's value, of which only the heap's may be negative. Returns false if there is no room. */
static bool put(struct fxt_thread *thread, uint64_t now_ns, uint64_t name, uint64_t argument, int64_t value)
{
	const uint64_t names = fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_counter, name);
	uint64_t *at = fxt_reserve_extra(thread, now_ns, 2);

	if (!at)
		return false;
	at = value < 0 ? fxt_put_long(at, argument, value) : fxt_put_uint(at, argument, (uint64_t)value);
	*at++ = 0;      /* the counter's id: there is one of this name in the process */
	fxt_commit(thread, at,
		   fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(FXT_EVENT_COUNTER) | fxt_event_args(1) |
		   names);
	return true;
}

bool fxt_sample_is_file(const struct stat *status)
{
	return status->st_dev == fxt_agent.statm_device && status->st_ino == fxt_agent.statm_inode;
}

bool fxt_sample_has(int fd)
{
	struct stat status;

	return fd >= 0 && fd == atomic_load(&fxt_agent.statm_fd) && !fxt_sys_fstat(fd, &status) &&
	       fxt_sample_is_file(&status);
}

static bool is_shared;                  /* the table of descriptors is the parent's too */

void fxt_sample_is_shared(void)
{
	is_shared = true;
}

void fxt_sample_drop(int fd)
{
	if (is_shared || !fxt_sample_has(fd) || (uint32_t)fxt_sys_getpid() != fxt_agent.pid)
		return;
	atomic_store(&fxt_agent.statm_fd, -1);
	fxt_sys_close(fd);
}

void fxt_sample_move(int fd, int above)
{
	int moved;

	if (!fxt_sample_has(fd) || (uint32_t)fxt_sys_getpid() != fxt_agent.pid)
		return;
	moved = fxt_file_dup_high(fd, above);
	/* Whoever reads meanwhile has either number, and both are open. */
	atomic_store(&fxt_agent.statm_fd, moved < 0 ? -1 : moved);
	fxt_sys_close(fd);
}

/* Returns whether the file is open, and this process's own. A forked child has its parent's. */
static bool is_kept(void)
{
	return fxt_agent.statm_pid == fxt_agent.pid && fxt_sample_has(fxt_agent.statm_fd);
}

/* Opens the file to keep it, where nobody sees that. */
static void keep_statm(void)
{
	struct stat status;
	int opened = fxt_sys_open(statm, O_RDONLY | O_CLOEXEC, 0), fd;

	if (opened < 0)
		return;
	fd = fxt_file_move_high(opened);
	/* A number that could not be moved is one that the program would miss. */
	if (fd == opened || fd < HIGH_DESCRIPTOR || fxt_sys_fstat(fd, &status)) {
		fxt_sys_close(fd);
		return;
	}
	fxt_sample_drop(fxt_agent.statm_fd);
	fxt_agent.statm_device = status.st_dev;
	fxt_agent.statm_inode = status.st_ino;
	fxt_agent.statm_pid = fxt_agent.pid;
	atomic_store(&fxt_agent.statm_fd, fd);
}

void fxt_sample_before_thread(void)
{
	uint64_t mask;

	if (!fxt_is_on(FXT_CAT_counter) || fxt_agent.statm_pid == fxt_agent.pid)
		return;
	mask = fxt_sys_block_signals();
	if (fxt_opens_here())
		keep_statm();
	/* One attempt is enough. What is open then is the file of this process's parent. */
	if (fxt_agent.statm_pid != fxt_agent.pid) {
		fxt_sample_drop(fxt_agent.statm_fd);
		fxt_agent.statm_pid = fxt_agent.pid;
	}
	fxt_sys_restore_signals(mask);
}

static long read_statm(char *text)
{
	if (!is_kept() && fxt_opens_here())
		keep_statm();
	if (is_kept())
		return FXT_SYSCALL4(SYS_pread64, fxt_agent.statm_fd, text, STATM_BYTES, 0);
	return fxt_opens_here() ? fxt_read_file(statm, text, STATM_BYTES) : 0;
}

/* Reads the resident memory: the second number of statm, in pages. */
static bool read_rss(uint64_t *pages)
{
	char text[STATM_BYTES];
	long bytes = read_statm(text), at = 0;

	if (bytes < 0)
		return false;
	while (at < bytes && text[at] != ' ')
		at++;
	*pages = 0;
	for (at++; at < bytes && text[at] >= '0' && text[at] <= '9'; at++)
		*pages = *pages * 10 + (uint64_t)(text[at] - '0');
	if (!bytes)
		*pages = NOT_KNOWN;
	return *pages != 0;
}

/* Reads the number of threads. The directory has a link for each, and the two that every directory has. */
static bool read_threads(uint64_t *count)
{
	struct stat status;

	if (fxt_sys_lstat("/proc/self/task", &status) || status.st_nlink < 3)
		return false;
	*count = status.st_nlink - 2;
	return true;
}

/* Reads the number of descriptors, which is the directory's size since Linux 6.2. Before that the size is
 * 0, and they would have to be listed. The agent's own descriptors do not count. */
static bool read_descriptors(uint64_t *count)
{
	struct stat status;

	if (fxt_sys_lstat("/proc/self/fd", &status) || status.st_size < 1)
		return false;
	*count = (uint64_t)status.st_size - (fxt_agent.buffer.fd >= 0) - (fxt_agent.statm_fd >= 0);
	return true;
}

static void put_read(struct fxt_thread *thread, uint64_t now_ns, atomic_bool *failed,
		     bool (*read)(uint64_t *), uint64_t name, uint64_t argument, uint64_t unit)
{
	uint64_t value;

	if (fxt_is_filtered() || atomic_load_explicit(failed, memory_order_relaxed))
		return;
	if (!read(&value))
		atomic_store_explicit(failed, true, memory_order_relaxed);
	else if (value != NOT_KNOWN)
		put(thread, now_ns, name, argument, (int64_t)(value * unit));
}

void fxt_sample(struct fxt_thread *thread, uint64_t now_ns)
{
	uint64_t next_ns = atomic_load_explicit(&sample_state.next_ns, memory_order_relaxed);
	uint64_t pause_ns = fxt_threads_known() * (uint64_t)SAMPLE_THREAD_NS;
	struct fxt_moved moved;

	if (!is_due(now_ns))
		return;
	if (pause_ns < SAMPLE_NS)
		pause_ns = SAMPLE_NS;
	now_ns = fxt_now(thread);
	if (now_ns < next_ns ||
	    !atomic_compare_exchange_strong_explicit(&sample_state.next_ns, &next_ns, now_ns + pause_ns,
						     memory_order_relaxed, memory_order_relaxed))
		return;
	moved = fxt_threads_moved();
	/* If this cannot be written, the other counters are not read. */
	if (!put(thread, now_ns, FXT_STR_read, FXT_STR_bytes, (int64_t)moved.read))
		return;
	put(thread, now_ns, FXT_STR_written, FXT_STR_bytes, (int64_t)moved.written);
	if (fxt_heap.sized)
		put(thread, now_ns, FXT_STR_heap_bytes, FXT_STR_bytes, moved.heap);
	put_read(thread, now_ns, &sample_state.threads_failed, read_threads, FXT_STR_threads, FXT_STR_count,
		 1);
	put_read(thread, now_ns, &sample_state.rss_failed, read_rss, FXT_STR_rss, FXT_STR_bytes,
		 getauxval(AT_PAGESZ));
	put_read(thread, now_ns, &sample_state.descriptors_failed, read_descriptors, FXT_STR_descriptors,
		 FXT_STR_count, 1);
}
