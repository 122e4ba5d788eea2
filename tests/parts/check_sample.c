/* This tests the samples of counters (agent/emit/sample.h): when they are taken and what they say, by which
 * descriptor the resident memory is read, and who may close it. /proc is the kernel's own here; what it says
 * is compared with what the C library says. The file's text is included, so that parts of /proc can be
 * hidden. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/heap.h"
#include "part.h"
#include "suite.h"
#include "writer/apart.h"
#include "writer/sys.h"

/* What this test makes of the kernel. */
static struct {
	bool hides_task, hides_fd, is_old;      /* an old one does not count descriptors */
	bool hides_statm, is_not_alone;
	const char *statm;                      /* a file in the place of that one */
} kernel;

static int see(const char *path, struct stat *status)
{
	int error = fxt_sys_lstat(path, status);

	if ((kernel.hides_task && strstr(path, "task")) || (kernel.hides_fd && strstr(path, "/fd")))
		return -2;
	if (kernel.is_old && strstr(path, "/fd"))
		status->st_size = 0;
	return error;
}

static int open_file(const char *path, int flags, mode_t mode)
{
	return kernel.hides_statm ? -2 : fxt_sys_open(kernel.statm ? kernel.statm : path, flags, mode);
}

static long read_file(const char *path, void *out, size_t bytes)
{
	return kernel.hides_statm ? -2 : fxt_read_file(kernel.statm ? kernel.statm : path, out, bytes);
}

static bool opens_here(void)
{
	return !kernel.is_not_alone;
}

#define fxt_sys_lstat see
#define fxt_sys_open open_file
#define fxt_read_file read_file
#define fxt_opens_here opens_here
#include "agent/emit/sample.c"
#undef fxt_sys_lstat
#undef fxt_sys_open

static struct fxt_moved moved;
static uint32_t known;
struct fxt_heap fxt_heap;

struct fxt_moved fxt_threads_moved(void)
{
	return moved;
}

uint32_t fxt_threads_known(void)
{
	return known;
}

/* Returns how many descriptors this process has, without the one that this takes. */
static unsigned descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	ck_assert(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 3;
}

static void setup(void)
{
	part_setup();
	fxt_agent.buffer.fd = -1;
	memset(&kernel, 0, sizeof(kernel));
	memset(&sample_state, 0, sizeof(sample_state));
	is_shared = false;
	moved = (struct fxt_moved){0};
	known = 1;
	fxt_heap.sized = 0;
}

/* -- What a sample says -------------------------------------------------------------------------- */

/* Returns the value of a counter that was sampled, or -1. */
static long counter(const char *text, const char *name)
{
	char begin[80];
	const char *found;

	snprintf(begin, sizeof(begin), "counter counter:%s @", name);
	found = strstr(text, begin);
	return found ? atol(strchr(found, '=') + 1) : -1;
}

START_TEST(a_sample_says_what_the_process_has)
{
	static char text[4000];
	long rss, page = sysconf(_SC_PAGESIZE);
	char *memory;

	moved = (struct fxt_moved){7, UINT64_C(5000000000), -12};
	part_thread.last_ns = 2000;
	fxt_sample(&part_thread, 2000);
	strcpy(text, part_said());
	ck_assert(strstr(text, "counter counter:read bytes @2001 bytes=7u #0\n"
			       "counter counter:written bytes @2001 bytes=5000000000ul #0\n"
			       "counter counter:threads @2001 count=1u #0\n"
			       "counter counter:rss @2001 bytes="));
	ck_assert_int_eq(counter(text, "descriptors"), (long)descriptors() - 1);
	rss = counter(text, "rss");
	EXPECT(rss > page && rss % page == 0 && counter(text, "heap bytes") == -1);
	ck_assert_int_eq(part_thread.lanes->events, 5);
	/* Once in 10 ms. */
	part_thread.last_ns = 2000 + SAMPLE_NS - 2;
	fxt_sample(&part_thread, part_thread.last_ns);
	fxt_sample_renewed(&part_thread, part_thread.last_ns);
	SAID("");
	EXPECT(!part_thread.commit);
	/* The clock is read again when it is the thread's turn. */
	part_thread.last_ns = 2000 + SAMPLE_NS - 1;
	fxt_sample(&part_thread, 2000 + SAMPLE_NS + 1);
	SAID("");
	fxt_sample_renewed(&part_thread, 2000 + SAMPLE_NS + 1);
	EXPECT(part_thread.commit == (FXT_COMMIT_WATCHED | FXT_COMMIT_DEFERRED));
	part_thread.commit = 0;
	memory = mmap(NULL, 1000 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(memory, 1, 1000 * (size_t)page);
	fxt_heap.sized = 1;
	fxt_sample(&part_thread, 2000 + SAMPLE_NS + 1);
	strcpy(text, part_said());
	EXPECT(strstr(text, "counter counter:heap bytes @10002001 bytes=-12 #0\n"));
	EXPECT(counter(text, "rss") - rss > 900 * page && counter(text, "rss") - rss < 1100 * page);
	munmap(memory, 1000 * (size_t)page);
	/* It is due at once when recording begins again, and later in a child. */
	fxt_sample_again();
	fxt_sample_renewed(&part_thread, part_thread.last_ns);
	EXPECT(part_thread.commit);
	part_thread.commit = 0;
	fxt_sample_after_fork();
	fxt_sample_renewed(&part_thread, part_thread.last_ns + SAMPLE_NS - 1);
	EXPECT(!part_thread.commit);
	fxt_sample_renewed(&part_thread, part_thread.last_ns + SAMPLE_NS);
	EXPECT(part_thread.commit);
	/* Nobody samples what is off. */
	fxt_sample_again();
	part_thread.commit = 0;
	atomic_store(&fxt_gate.mask, UINT32_MAX & ~(unsigned)FXT_CAT_counter);
	fxt_sample_renewed(&part_thread, part_thread.last_ns);
	fxt_sample(&part_thread, part_thread.last_ns);
	EXPECT(!part_thread.commit && !*part_said());
}
END_TEST

START_TEST(many_threads_are_sampled_less_often)
{
	known = 1001;
	fxt_sample(&part_thread, part_thread.last_ns);
	EXPECT(*part_said() && sample_state.next_ns == part_thread.last_ns + 1001 * SAMPLE_THREAD_NS);
	fxt_sample_again();
	known = 1000;
	fxt_sample(&part_thread, part_thread.last_ns);
	EXPECT(sample_state.next_ns == part_thread.last_ns + SAMPLE_NS);
}
END_TEST

static void *wait_for_end(void *lock)
{
	pthread_mutex_lock(lock);
	return NULL;
}

START_TEST(threads_are_counted)
{
	pthread_mutex_t locks[5];
	pthread_t threads[5];
	unsigned i;

	for (i = 0; i < 5; i++) {
		pthread_mutex_init(&locks[i], NULL);
		pthread_mutex_lock(&locks[i]);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, wait_for_end, &locks[i]), 0);
	}
	fxt_sample(&part_thread, part_thread.last_ns);
	ck_assert_int_eq(counter(part_said(), "threads"), 6);
	for (i = 0; i < 5; i++) {
		pthread_mutex_unlock(&locks[i]);
		pthread_join(threads[i], NULL);
	}
}
END_TEST

START_TEST(what_cannot_be_read_is_not_tried_again)
{
	const char *text;

	kernel.hides_task = kernel.hides_fd = kernel.hides_statm = true;
	fxt_sample(&part_thread, part_thread.last_ns);
	SAID("counter counter:read bytes @1001 bytes=0u #0\n"
	     "counter counter:written bytes @1001 bytes=0u #0\n");
	memset(&kernel, 0, sizeof(kernel));
	fxt_sample_again();
	fxt_sample(&part_thread, part_thread.last_ns);
	SAID("counter counter:read bytes @1002 bytes=0u #0\n"
	     "counter counter:written bytes @1002 bytes=0u #0\n");
	setup();
	kernel.is_old = true;
	fxt_sample(&part_thread, part_thread.last_ns);
	text = part_said();
	EXPECT(counter(text, "descriptors") == -1 && counter(text, "threads") == 1 &&
	       counter(text, "rss") > 0);
	EXPECT(sample_state.descriptors_failed && !sample_state.rss_failed);
	/* Beside other threads a file that was not opened before is not read, now. */
	fxt_sample_drop(fxt_agent.statm_fd);
	kernel.is_not_alone = true;
	fxt_sample_again();
	fxt_sample(&part_thread, part_thread.last_ns);
	EXPECT(counter(part_said(), "rss") == -1 && !sample_state.rss_failed);
	/* A filter of system calls may kill for one. */
	setup();
	fxt_filter_begins();
	fxt_sample(&part_thread, part_thread.last_ns);
	SAID("counter counter:read bytes @1001 bytes=0u #0\n"
	     "counter counter:written bytes @1001 bytes=0u #0\n");
	/* If there is no room, nothing is read. */
	setup();
	part_lane(1);
	kernel.hides_task = true;
	fxt_sample(&part_thread, part_thread.last_ns);
	EXPECT(!sample_state.threads_failed && !part.lost[FXT_LOSS_ROOM]);
}
END_TEST

START_TEST(the_resident_memory_is_the_second_number)
{
	static const struct {
		const char *text;
		long pages;             /* -1: it is not known, and not asked for again */
	} tests[] = {{"12345 678 9 1 0 2 0\n", 678}, {"1 9\n", 9}, {"7 10", 10}, {"7 0 5", -1},
		     {"7", -1}, {"x y", -1}, {"5 1234567x", 1234567}, {" 5 6", 5}};
	char path[] = "/tmp/statmXXXXXX";
	int fd = mkstemp(path);
	unsigned i;

	ck_assert_int_ge(fd, 0);
	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		ck_assert_int_eq(ftruncate(fd, 0), 0);
		ck_assert_int_eq(pwrite(fd, tests[i].text, strlen(tests[i].text), 0),
				 (int)strlen(tests[i].text));
		setup();
		kernel.statm = path;
		fxt_sample(&part_thread, part_thread.last_ns);
		ck_assert_int_eq(counter(part_said(), "rss"),
				 tests[i].pages < 0 ? -1 : tests[i].pages * sysconf(_SC_PAGESIZE));
		EXPECT(sample_state.rss_failed == (tests[i].pages < 0));
		fxt_sample_drop(fxt_agent.statm_fd);
	}
	unlink(path);
}
END_TEST

/* -- The descriptor ------------------------------------------------------------------------------ */

START_TEST(the_file_stays_open_out_of_the_way)
{
	unsigned before = descriptors();
	struct stat own, other;
	int fd, null = open("/dev/null", O_RDONLY);

	fxt_sample_before_thread();
	fd = fxt_agent.statm_fd;
	EXPECT(fd >= HIGH_DESCRIPTOR && descriptors() == before + 2);
	EXPECT(fcntl(fd, F_GETFD) == FD_CLOEXEC && fxt_agent.statm_pid == (uint32_t)getpid());
	EXPECT(fxt_sample_has(fd) && !fxt_sample_has(fd + 1) && !fxt_sample_has(-1) && !fxt_sample_has(null));
	ck_assert_int_eq(fstat(fd, &own), 0);
	ck_assert_int_eq(fstat(null, &other), 0);
	EXPECT(fxt_sample_is_file(&own) && !fxt_sample_is_file(&other));
	other = own;
	other.st_dev++;
	EXPECT(!fxt_sample_is_file(&other));
	other = own;
	other.st_ino++;
	EXPECT(!fxt_sample_is_file(&other));
	/* It is not opened twice. */
	fxt_sample_before_thread();
	fxt_sample(&part_thread, part_thread.last_ns);
	EXPECT(fxt_agent.statm_fd == fd && descriptors() == before + 2);
	/* The counter of descriptors leaves out the agent's own. */
	ck_assert_int_eq(counter(part_said(), "descriptors"), before + 1);
	fxt_agent.buffer.fd = null;
	fxt_sample_again();
	fxt_sample(&part_thread, part_thread.last_ns);
	ck_assert_int_eq(counter(part_said(), "descriptors"), before);
	/* The program puts another file there. */
	ck_assert_int_eq(dup2(null, fd), fd);
	EXPECT(!fxt_sample_has(fd));
	fxt_sample_drop(fd);
	EXPECT(fcntl(fd, F_GETFD) >= 0 && fxt_agent.statm_fd == fd);
	fxt_sample_move(fd, 3);
	EXPECT(fcntl(fd, F_GETFD) >= 0 && fxt_agent.statm_fd == fd);
	/* The next sample opens it once more. */
	fxt_sample_again();
	fxt_sample(&part_thread, part_thread.last_ns);
	EXPECT(fxt_agent.statm_fd != fd && fxt_sample_has(fxt_agent.statm_fd));
}
END_TEST

START_TEST(the_file_gives_way)
{
	unsigned before = descriptors();
	int fd, moved_to;

	fxt_sample_before_thread();
	fd = fxt_agent.statm_fd;
	fxt_sample_drop(fd + 1);
	EXPECT(fxt_agent.statm_fd == fd);
	fxt_sample_move(fd, fd);
	moved_to = fxt_agent.statm_fd;
	EXPECT(moved_to != fd && fxt_sample_has(moved_to) && fcntl(fd, F_GETFD) < 0);
	EXPECT(fcntl(moved_to, F_GETFD) == FD_CLOEXEC);
	/* In the child of a vfork nothing is closed. */
	fxt_agent.pid++;
	fxt_sample_drop(moved_to);
	fxt_sample_move(moved_to, moved_to);
	EXPECT(fxt_agent.statm_fd == moved_to);
	fxt_agent.pid--;
	/* Nor in a process that has its parent's table. */
	fxt_sample_is_shared();
	fxt_sample_drop(moved_to);
	EXPECT(fxt_agent.statm_fd == moved_to && fxt_sample_has(moved_to));
	is_shared = false;
	fxt_sample_drop(moved_to);
	EXPECT(fxt_agent.statm_fd == -1 && fcntl(moved_to, F_GETFD) < 0 && descriptors() == before);
	fxt_sample_drop(-1);
	EXPECT(fxt_agent.statm_fd == -1);
}
END_TEST

START_TEST(a_child_has_a_file_of_its_own)
{
	int fd, status;
	pid_t child;

	fxt_sample_before_thread();
	fd = fxt_agent.statm_fd;
	child = fork();
	if (!child) {
		struct stat parents, own;

		/* It has its parent's, which is that of another process. */
		fxt_agent.pid = (uint32_t)getpid();
		if (!fxt_sample_has(fd) || is_kept())
			_exit(1);
		fstat(fd, &parents);
		fxt_sample(&part_thread, part_thread.last_ns);
		if (counter(part_said(), "rss") <= 0 || fcntl(fd, F_GETFD) >= 0)
			_exit(2);
		fstat(fxt_agent.statm_fd, &own);
		_exit(!fxt_sample_has(fxt_agent.statm_fd) || own.st_ino == parents.st_ino);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	/* One that makes a thread first, where the file cannot be opened, closes it. */
	fxt_agent.statm_pid++;
	kernel.is_not_alone = true;
	fxt_sample_before_thread();
	EXPECT(fxt_agent.statm_fd == -1 && fxt_agent.statm_pid == fxt_agent.pid && fcntl(fd, F_GETFD) < 0);
	kernel.is_not_alone = false;
	fxt_sample_before_thread();
	EXPECT(fxt_agent.statm_fd == -1);
	fxt_agent.statm_pid++;
	atomic_store(&fxt_gate.mask, UINT32_MAX & ~(unsigned)FXT_CAT_counter);
	fxt_sample_before_thread();
	EXPECT(fxt_agent.statm_fd == -1 && fxt_agent.statm_pid != fxt_agent.pid);
}
END_TEST

int main(void)
{
	TCase *sample = tcase_create("sample"), *file = tcase_create("file");

	tcase_add_checked_fixture(sample, setup, NULL);
	tcase_add_test(sample, a_sample_says_what_the_process_has);
	tcase_add_test(sample, many_threads_are_sampled_less_often);
	tcase_add_test(sample, threads_are_counted);
	tcase_add_test(sample, what_cannot_be_read_is_not_tried_again);
	tcase_add_test(sample, the_resident_memory_is_the_second_number);
	tcase_add_checked_fixture(file, setup, NULL);
	tcase_add_test(file, the_file_stays_open_out_of_the_way);
	tcase_add_test(file, the_file_gives_way);
	tcase_add_test(file, a_child_has_a_file_of_its_own);
	return RUN_SUITE("sample", sample, file);
}
