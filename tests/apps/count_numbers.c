/* This program makes system calls by way of syscall(), and prints how often which call of the C library has
 * to be in the trace for them (counts.h).
 *
 * It makes the call of every number that the tables have, with arguments that no call likes, and writes each
 * result on standard error, which has to be the same bare and traced. Then common calls do what they are for.
 * Everything that they made is gone in the end.
 *
 *	count_numbers ROUNDS
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "interpose/engine/syscall_numbers.h"

/* A number of the tables, with the names of its system call and of its event. */
struct number {
	long number;
	const char *name, *event;
};

static const struct number numbers[] = {
#define SYSTEM_CALL(category, type, name, ...) {SYS_##name, #name, #category ":" #name},
#define BY_NUMBER(category, type, name, event, ...) {SYS_##name, #name, #category ":" #event},
#define BY_NUMBER_ALONE SYSTEM_CALL
#include "interpose/engine/rows.inc"
#include "interpose/tables/calls.def"
#include "interpose/engine/unrows.inc"
};
enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

#define CALLS(X) X(none, none)
#include "counts.h"

static unsigned long made[NUMBERS];
static unsigned long futex_waits, futex_wakes, futexes;

/* Makes the call, and counts it. */
#define MAKE(name, ...) (made[index_of(#name)]++, syscall(SYS_##name, __VA_ARGS__))

static int index_of(const char *name)
{
	int i;

	for (i = 0; i < NUMBERS; i++)
		if (!strcmp(numbers[i].name, name))
			return i;
	NEED(!name);
	return -1;
}

/* -- With bad arguments --------------------------------------------------------------------------- */

/* These calls do something whatever they are given: wait, write to all disks, set a timer, make a queue. */
static const char *const effective[] = {"pause", "sync", "alarm", "msgget", "semget", "shmget"};

static bool is_effective(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(effective) / sizeof(effective[0]); i++)
		if (!strcmp(effective[i], name))
			return true;
	return false;
}

/* Returns whether the call's result differs from run to run. */
static bool is_random(const char *name)
{
	return !strcmp(name, "brk") || !strcmp(name, "getppid");
}

static void misuse_all(void)
{
	char line[100];
	long result;
	int i, error;

	for (i = 0; i < NUMBERS; i++) {
		if (is_effective(numbers[i].name) || numbers[i].number >= FXT_NUMBERS)
			continue;
		errno = 0;
		made[i]++;
		result = syscall(numbers[i].number, -1L, -1L, -1L, -1L, -1L, -1L);
		error = errno;
		if (result > 2 && !is_random(numbers[i].name))
			NEED(MAKE(close, result) == 0);
		say(2, line,
		    (size_t)snprintf(line, sizeof(line), "%s %ld %d\n", numbers[i].name,
				     is_random(numbers[i].name) ? 0 : result, error));
	}
	futexes++;
	NEED(syscall(SYS_futex, -1L, -1L, -1L, -1L, -1L, -1L) == -1);
	/* The tables have none of these. */
	NEED(syscall(SYS_prctl, -1L, -1L, -1L, -1L, -1L) == -1 && errno == EINVAL);
	NEED(syscall(-1L) == -1 && errno == ENOSYS);
	NEED(syscall((long)FXT_NUMBERS, -1L) == -1 && errno == ENOSYS);
	NEED(syscall(SYS_gettid) == syscall(SYS_getpid));
}

/* -- With good arguments ---------------------------------------------------------------------------- */

static void use_descriptors(void)
{
	char bytes[64] = "some bytes";
	struct iovec vector = {bytes, sizeof(bytes)};
	int ends[2], file, other;

	NEED((file = (int)MAKE(openat, AT_FDCWD, "/dev/zero", O_RDWR, 0)) > 2);
	NEED(MAKE(read, file, bytes, sizeof(bytes)) == sizeof(bytes));
	NEED(MAKE(write, file, bytes, 5L) == 5);
	NEED(MAKE(readv, file, &vector, 1) == sizeof(bytes));
	NEED(MAKE(pread64, file, bytes, 7L, 3L) == 7);
	NEED((other = (int)MAKE(dup, file)) > file);
	NEED(MAKE(dup3, file, other, O_CLOEXEC) == other);
	NEED(MAKE(close, other) == 0);
	NEED((other = (int)MAKE(fcntl, file, F_DUPFD_CLOEXEC, 50L)) >= 50);
	NEED(MAKE(close_range, other, other, 0) == 0 || errno == ENOSYS);
	NEED(MAKE(close, other) == -1 && errno == EBADF);
	NEED(MAKE(close, file) == 0);
	NEED(syscall(SYS_pipe2, ends, O_CLOEXEC) == 0);
	NEED(MAKE(write, ends[1], bytes, 5L) == 5 && MAKE(read, ends[0], bytes, 9L) == 5);
	NEED(MAKE(close, ends[0]) == 0 && MAKE(close, ends[1]) == 0);
	NEED(MAKE(socketpair, AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	NEED(MAKE(sendto, ends[0], bytes, 5L, 0, NULL, 0) == 5 &&
	     MAKE(recvfrom, ends[1], bytes, 9L, 0, NULL, NULL) == 5);
	NEED(MAKE(shutdown, ends[0], SHUT_RDWR) == 0);
	NEED(MAKE(close, ends[0]) == 0 && MAKE(close, ends[1]) == 0);
	NEED(MAKE(openat, AT_FDCWD, "/none", O_RDONLY, 0) == -1 && errno == ENOENT);
}

static void use_events(void)
{
	struct timespec moment = {0, 1000};
	struct epoll_event event = {.events = EPOLLIN};
	uint64_t count = 0;
	int poll, source;

	NEED((source = (int)MAKE(eventfd2, 3L, 0)) > 2 && (poll = (int)MAKE(epoll_create1, 0)) > 2);
	NEED(MAKE(epoll_ctl, poll, EPOLL_CTL_ADD, source, &event) == 0);
	NEED(MAKE(epoll_pwait, poll, &event, 1, -1, NULL, 8L) == 1);
	NEED(MAKE(read, source, &count, sizeof(count)) == sizeof(count) && count == 3);
	NEED(MAKE(epoll_pwait, poll, &event, 1, 0, NULL, 8L) == 0);
	NEED(MAKE(ppoll, NULL, 0, &moment, NULL, 8L) == 0);
	NEED(MAKE(nanosleep, &moment, NULL) == 0);
	NEED(MAKE(clock_nanosleep, CLOCK_MONOTONIC, 0, &moment, NULL) == 0);
	NEED(MAKE(close, poll) == 0 && MAKE(close, source) == 0);
}

static void use_memory(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *at = (char *)MAKE(mmap, NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				0L);

	NEED(at != MAP_FAILED);
	at[page] = 1;
	NEED(MAKE(mprotect, at, page, PROT_READ) == 0);
	at = (char *)MAKE(mremap, at + page, 3 * page, 9 * page, MREMAP_MAYMOVE, NULL);
	NEED(at != MAP_FAILED && at[0] == 1);
	NEED(MAKE(munmap, at, 9 * page) == 0);
}

/* -- Threads and processes ---------------------------------------------------------------------------- */

static _Atomic uint32_t word;
static atomic_int asleep;

static long futex(int op, uint32_t value, const struct timespec *timeout)
{
	__atomic_fetch_add(op == FUTEX_WAIT_PRIVATE ? &futex_waits : &futex_wakes, 1, __ATOMIC_RELAXED);
	return syscall(SYS_futex, &word, op, value, timeout, NULL, 0);
}

static void *sleep_on_word(void *argument)
{
	atomic_store(&asleep, 1);
	/* It waits once, whether the word is set before or afterwards: what is printed is compared. */
	do
		if (futex(FUTEX_WAIT_PRIVATE, 0, NULL))
			NEED(errno == EAGAIN || errno == EINTR);
	while (!atomic_load(&word));
	return argument;
}

static void use_futex(void)
{
	struct timespec moment = {0, 1000};
	pthread_t thread;

	atomic_store(&word, 0);
	NEED(futex(FUTEX_WAIT_PRIVATE, 0, &moment) == -1 && errno == ETIMEDOUT);
	NEED(futex(FUTEX_WAIT_PRIVATE, 1, NULL) == -1 && errno == EAGAIN);
	NEED(create_thread(&thread, sleep_on_word, NULL) == 0);
	while (!atomic_load(&asleep))
		unseen(SYS_sched_yield);
	atomic_store(&word, 1);
	NEED(futex(FUTEX_WAKE_PRIVATE, 1, NULL) >= 0);
	NEED(join_thread(thread) == 0);
}

/* read(), nanosleep() and the like are cancellation points; syscall() is none. */
static void *is_cancelled(void *reached)
{
	struct timespec moment = {0, 1000};
	char byte;

	pthread_cancel(pthread_self());
	MAKE(nanosleep, &moment, NULL);
	MAKE(read, -1, &byte, 1L);
	*(int *)reached = 1;
	pthread_testcancel();
	return reached;
}

static void use_cancellation(void)
{
	pthread_t thread;
	int reached = 0;

	NEED(create_thread(&thread, is_cancelled, &reached) == 0 && join_thread(thread) == 0);
	NEED(reached);
}

static unsigned long forks;

static void use_processes(void)
{
	uint64_t no_flags[8] = {0};
	siginfo_t info;
	int status = 0;
	long child;

	child = syscall(SYS_clone, (long)SIGCHLD, NULL, NULL, NULL, NULL);
	if (!child)
		unseen(SYS_exit_group, 3);
	forks++;
	NEED(child > 0 && MAKE(wait4, child, &status, 0, NULL) == child && WEXITSTATUS(status) == 3);
	child = syscall(SYS_clone, (long)SIGCHLD, NULL, NULL, NULL, NULL);
	if (!child)
		unseen(SYS_exit_group, 4);
	forks++;
	/* The program does not ask the first and the last of these calls how the child ended, but the wrapper
	 * wants to know. */
	NEED(child > 0 && MAKE(waitid, P_PID, child, NULL, WEXITED | WNOWAIT, NULL) == 0);
	NEED(MAKE(waitid, P_PID, child, &info, WEXITED | WNOWAIT, NULL) == 0 && info.si_status == 4);
	NEED(MAKE(wait4, child, NULL, 0, NULL) == child);
	NEED(syscall(SYS_clone3, no_flags, 0L) == -1);
	NEED(MAKE(kill, getpid(), 0) == 0);
	NEED(MAKE(tgkill, getpid(), getpid(), 0) == 0);
}

/* -- The list ------------------------------------------------------------------------------------------ */

static void print_line(const char *event, unsigned long count)
{
	char line[100];

	if (count)
		say(1, line, (size_t)snprintf(line, sizeof(line), "%s %lu\n", event, count));
}

/* Prints a line for each event. Several numbers may have the same event. */
static void print_made(unsigned long rounds)
{
	unsigned long count;
	int i, k;

	for (i = 0; i < NUMBERS; i++) {
		count = 0;
		for (k = 0; k < i && strcmp(numbers[k].event, numbers[i].event) != 0; k++)
			;
		if (k < i)
			continue;
		for (k = i; k < NUMBERS; k++)
			if (!strcmp(numbers[k].event, numbers[i].event))
				count += made[k];
		print_line(numbers[i].event, count);
	}
	print_line("pthread:futex_wait", futex_waits);
	print_line("pthread:futex_wake", futex_wakes);
	print_line("pthread:futex", futexes);
	print_line("io:pipe2", rounds);
	print_line("process:clone", forks);
	print_line("process:clone3", rounds);
	print_line("pthread:pthread_create", 2 * rounds);
	print_line("pthread:pthread_join", 2 * rounds);
	print_line("pthread:pthread_cancel", rounds);
	print_counts();
}

int main(int argc, char **argv)
{
	long i, rounds = argc > 1 ? atol(argv[1]) : 1;

	random_seed(0);
	misuse_all();
	for (i = 0; i < rounds; i++) {
		use_descriptors();
		use_events();
		use_memory();
		use_futex();
		use_cancellation();
		use_processes();
	}
	print_made((unsigned long)rounds);
	return 0;
}
