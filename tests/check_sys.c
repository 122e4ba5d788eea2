/* This tests what writer/sys.c asks the kernel for: memory that is not locked although the program locks all,
 * what becomes of a refusal, and the sleep of who waits for a lock. FXT_SEED names the choices. */
#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "apps/random.h"
#include "lock.h"
#include "suite.h"
#include "syscalls_fixture.h"

enum { PAGE = 4096, ROUNDS = 300, PAGES_MOST = 60 };

/* Returns a number of /proc/self/status, in KiB, or -1. Nothing is allocated, as that would be locked. */
static long status_of(const char *name)
{
	static char text[8192];
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t bytes = read(fd, text, sizeof(text) - 1);
	const char *found;

	close(fd);
	text[bytes > 0 ? bytes : 0] = 0;
	found = strstr(text, name);
	return found ? atol(found + strlen(name)) : -1;
}

/* -- Locked memory --------------------------------------------------------------------------------- */

/* The program locks all that is mapped from now on. Returns false if it may not. */
static bool lock_all(void)
{
	fxt_sys_memory_lock_begins();
	return !mlockall(MCL_FUTURE);
}

START_TEST(memory_is_not_locked)
{
	unsigned char *memory;
	unsigned round;
	size_t bytes, at;
	long locked;

	random_seed(0);
	if (!lock_all())
		return;
	status_of("VmLck:");
	locked = status_of("VmLck:");
	for (round = 0; round < ROUNDS; round++) {
		bytes = 1 + random_below(random_below(2) ? 2 * PAGE : PAGES_MOST * PAGE);
		memory = fxt_sys_memory(bytes);
		ck_assert_ptr_nonnull(memory);
		for (at = 0; at < bytes; at += 1 + random_below(PAGE)) {
			if (memory[at])
				ck_abort_msg("byte %zu of %zu is not zero", at, bytes);
			memory[at] = 1;
		}
		memory[bytes - 1] = 1;
		ck_assert_int_eq(status_of("VmLck:"), locked);
		if (random_below(4))
			ck_assert_int_eq(fxt_sys_munmap(memory, bytes), 0);
	}
}
END_TEST

/* A file is neither locked nor touched when it is mapped. */
START_TEST(files_are_not_locked)
{
	int fd = memfd_create("file", MFD_CLOEXEC), error = 0;
	char *memory, *other;
	struct stat status;
	unsigned round;
	size_t bytes;
	long locked;

	random_seed(0);
	if (!lock_all())
		return;
	status_of("VmLck:");
	locked = status_of("VmLck:");
	for (round = 0; round < ROUNDS; round++) {
		bytes = PAGE * (1 + random_below(PAGES_MOST));
		ck_assert_int_eq(ftruncate(fd, 0) | ftruncate(fd, (off_t)bytes), 0);
		memory = fxt_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0, &error);
		ck_assert_ptr_nonnull(memory);
		ck_assert_int_eq(fstat(fd, &status), 0);
		ck_assert_int_eq(status.st_blocks, 0);
		ck_assert_int_eq(status_of("VmLck:"), locked);
		memory[random_below(bytes)] = 1;
		other = fxt_sys_mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0, &error);
		ck_assert_ptr_nonnull(other);
		ck_assert_mem_eq(memory, other, bytes);
		ck_assert_int_eq(fxt_sys_munmap(memory, bytes) | fxt_sys_munmap(other, bytes), 0);
	}
	close(fd);
}
END_TEST

/* -- Refusals -------------------------------------------------------------------------------------- */

static unsigned calls, refused_at;
static long refusal;

/* Refuses the calls that map, from one of them on. */
static bool refuse(long number, const long *arguments, long *result)
{
	(void)arguments;
	if ((number != SYS_mmap && number != SYS_mremap && number != SYS_mprotect) || ++calls < refused_at)
		return false;
	*result = refusal;
	return true;
}

/* Memory that the kernel refuses is none, and nothing of it is left. */
START_TEST(refused_memory)
{
	int fd = memfd_create("file", MFD_CLOEXEC), error;
	const bool is_file = _i & 1, is_locked = _i & 2;
	unsigned round;
	long before;
	size_t bytes;
	void *memory;

	random_seed(0);
	if (is_locked)
		fxt_sys_memory_lock_begins();
	status_of("VmSize:");
	for (round = 0; round < ROUNDS; round++) {
		bytes = PAGE * (2 + random_below(PAGES_MOST));
		ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
		/* What is mapped for good is there after the first round. */
		refused_at = round ? 1 + (unsigned)random_below(3) : UINT_MAX;
		refusal = -1 - (long)random_below(4095);
		calls = 0;
		error = 0;
		before = status_of("VmSize:");
		answers = refuse;
		memory = fxt_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				      is_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, is_file ? fd : -1,
				      0, &error);
		answers = NULL;
		ck_assert_int_eq(memory == NULL, calls >= refused_at);
		if (memory) {
			memset(memory, 1, bytes);
			ck_assert_int_eq(fxt_sys_munmap(memory, bytes), 0);
		} else {
			ck_assert_int_eq(error, refusal);
		}
		if (round)
			ck_assert_int_eq(status_of("VmSize:"), before);
	}
	close(fd);
}
END_TEST

/* -- Waiting --------------------------------------------------------------------------------------- */

static struct fxt_lock lock;
static unsigned sleeps;

/* Plays the kernel to somebody who waits, and the holder, who gives the lock back some time. */
static bool sleep_on(long number, const long *arguments, long *result)
{
	if (number != SYS_futex)
		return false;
	ck_assert_int_eq(arguments[1] & ~128, 0);               /* FUTEX_WAIT, perhaps private */
	ck_assert_ptr_eq((void *)arguments[0], &lock.taken);
	/* It would not sleep if the word were another one. */
	ck_assert_int_eq(arguments[2], atomic_load(&lock.taken));
	ck_assert_ptr_nonnull((void *)arguments[3]);
	if (++sleeps == refused_at)
		atomic_store(&lock.taken, 0);
	*result = random_below(2) ? 0 : -EINTR;
	return true;
}

START_TEST(who_waits_sleeps)
{
	unsigned round;

	random_seed(0);
	answers = sleep_on;
	for (round = 0; round < ROUNDS; round++) {
		sleeps = 0;
		refused_at = 1 + (unsigned)random_below(5);
		atomic_store(&lock.taken, 1 + (int)random_below(2));
		fxt_lock_wait(&lock);
		ck_assert_uint_eq(sleeps, refused_at);
		ck_assert_int_eq(atomic_load(&lock.taken), 2);
	}
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("sys");

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, memory_is_not_locked);
	tcase_add_test(tests, files_are_not_locked);
	tcase_add_loop_test(tests, refused_memory, 0, 4);
	tcase_add_test(tests, who_waits_sleeps);
	return RUN_SUITE("system calls", tests);
}
