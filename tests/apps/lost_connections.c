/* What a program does to the connection that leads to its manager, without knowing of it. Calls are numbered,
 * as those of sequence.c: calloc(1, 0), calloc(2, 0), ... so a trace says which of them it has.
 *
 *	lost_connections duplicated COUNT	puts a file of its own on every number that its limit allows,
 *						in random order
 *	lost_connections closed COUNT		closes all numbers from 3 on by a system call that is not seen
 *	lost_connections shared COUNT		makes children that share its descriptors, and have memory of
 *						their own, in all ways; some close what they find
 *	lost_connections apart COUNT		has threads that leave the table of descriptors, and close
 *						and replace numbers in their own
 *	lost_connections asleep COUNT		makes children whose first call sleeps, and looks where
 *	lost_connections vforks COUNT		makes nearly all calls in children by vfork, which can ask the
 *						manager for nothing
 *	lost_connections killed COUNT		makes children by vfork that the kernel kills when they touch
 *						the pages of a chunk which nobody has used yet
 *
 * It makes COUNT calls, some before and some afterwards, and prints what a bare run prints. What is drawn
 * follows from FXT_SEED (random.h). */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random.h"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"      /* vfork */

enum { CHILDREN = 20, STACK_BYTES = 64 << 10, UNSHARE = 2 /* CLOSE_RANGE_UNSHARE */ };

static unsigned made;

static void make_calls(unsigned to)
{
	while (made < to) {
		void *volatile block = calloc(++made, 0);

		free(block);
	}
}

/* Returns how many descriptors the process has, by a listing that nobody changes. */
static unsigned descriptors(void)
{
	char entries[4096];
	long fd = unseen(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY), bytes, at;
	unsigned count = 0;

	while ((bytes = unseen(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
		for (at = 0; at < bytes; at += ((struct dirent64 *)(entries + at))->d_reclen)
			count++;
	unseen(SYS_close, fd);
	return count;
}

static void duplicate_over_all(void)
{
	struct rlimit limit;
	int fd = open("/dev/null", O_RDWR), *numbers, count = 0, taken = 0, i;

	getrlimit(RLIMIT_NOFILE, &limit);
	numbers = malloc(limit.rlim_cur * sizeof(*numbers));
	for (i = 3; i < (int)limit.rlim_cur; i++)
		if (i != fd)
			numbers[count++] = i;
	for (i = count; i-- > 1;) {
		int other = (int)random_below((uint64_t)i + 1), number = numbers[i];

		numbers[i] = numbers[other];
		numbers[other] = number;
	}
	for (i = 0; i < count; i++)
		taken += dup2(fd, numbers[i]) == numbers[i];
	printf("%d of %d numbers are its own\n", taken, count);
	free(numbers);
}

/* -- Children that share descriptors -------------------------------------------------------------- */

enum does { CLOSES_NOTHING, CLOSES, LEAVES_THE_TABLE, WAYS };

static int child(void *given)
{
	enum does does = *(enum does *)given;
	void *volatile block = malloc(100);
	int fd = open("/dev/null", O_RDONLY);

	free(block);
	close(fd);
	if (does == CLOSES)
		close(1000);
	else if (does == LEAVES_THE_TABLE)
		syscall(SYS_close_range, 3, ~0u, UNSHARE);
	unseen(SYS_exit_group, 0);
	return 0;
}

static void *empty(void *unused)
{
	return unused;
}

static void share(void)
{
	static char stack[STACK_BYTES] __attribute__((aligned(16)));
	unsigned before, i, ended = 0;
	pthread_t thread;
	int status;

	/* With the first thread the agent has opened what it opens. */
	pthread_create(&thread, NULL, empty, NULL);
	pthread_join(thread, NULL);
	before = descriptors();
	for (i = 0; i < CHILDREN; i++) {
		enum does does = (enum does)random_below(WAYS);
		long pid;

		switch (random_below(3)) {
		case 0:
			pid = clone(child, stack + sizeof(stack), CLONE_FILES | SIGCHLD, &does);
			break;
		case 1:
			pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
			break;
		default:
			pid = unseen(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
			break;
		}
		if (!pid)
			child(&does);
		ended += waitpid((pid_t)pid, &status, 0) == pid && !status;
		make_calls(made + 10);
	}
	printf("%u children ended, %d descriptors more\n", ended, (int)(descriptors() - before));
}

/* -- Threads with a table of their own ------------------------------------------------------------- */

/* Returns how many descriptors a listing of the thread's table has, without that of the listing. */
static unsigned listed(void)
{
	DIR *directory = opendir("/proc/thread-self/fd");
	unsigned count = 0;

	while (readdir(directory))
		count++;
	closedir(directory);
	return count - 3;
}

/* The agent's numbers are above a thousand, or above the limit. */
static void *work_apart(void *unused)
{
	enum { FIRST = 990, PLACES = 40, MORE = 3 };
	int fd, i;

	switch (random_below(3)) {
	case 0:
		unshare(CLONE_FILES);
		break;
	case 1:
		syscall(SYS_unshare, CLONE_FILES);
		break;
	default:
		syscall(SYS_close_range, 100, ~0u, UNSHARE);
		break;
	}
	make_calls(made + 100);
	if (random_below(2))
		syscall(SYS_close_range, 3, ~0u, 0);
	fd = open("/dev/null", O_RDWR);
	if (random_below(2))
		for (i = 0; i < PLACES; i++)
			dup2(fd, FIRST + i);
	for (i = 0; i < MORE; i++)
		fcntl(fd, F_DUPFD, (int)random_below(FIRST + PLACES));
	make_calls(made + 100);
	printf("first %d, listed %u\n", fd, listed());
	return unused;
}

static void work_in_other_tables(void)
{
	enum { THREADS = 10 };
	pthread_t thread;
	int i;

	for (i = 0; i < THREADS; i++) {
		pthread_create(&thread, NULL, work_apart, NULL);
		pthread_join(thread, NULL);
		make_calls(made + 10);
		printf("%d open, listed %u\n", open("/dev/null", O_RDWR), listed());
	}
}

/* -- Children that sleep -------------------------------------------------------------------------- */

/* Waits until a process is asleep, and returns the number of the system call in which it is. */
static int sleeps_in(pid_t pid)
{
	char path[64], text[256];
	int number = -1;
	FILE *in;

	do {
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		in = fopen(path, "r");
		if (!in || !fgets(text, sizeof(text), in))
			return -1;
		fclose(in);
	} while (!strstr(text, ") S "));
	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	in = fopen(path, "r");
	if (in && fscanf(in, "%d", &number) != 1)
		number = -1;
	if (in)
		fclose(in);
	return number;
}

static void look_at_sleepers(void)
{
	unsigned elsewhere = 0, i;

	for (i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (!pid) {
			pause();
			_exit(0);
		}
		elsewhere += sleeps_in(pid) != SYS_pause;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	printf("%u of %d children slept elsewhere\n", elsewhere, CHILDREN);
}

/* -- Children of vfork ---------------------------------------------------------------------------- */

static void make_calls_in_children(unsigned to)
{
	enum { MOST_CALLS = 600 };
	int status;

	while (made < to) {
		volatile unsigned until = made + (unsigned)random_below(MOST_CALLS);
		pid_t pid = vfork();

		if (!pid) {
			make_calls(until < to ? until : to);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
			puts("a child failed");
			return;
		}
	}
}

/* Nobody but the agent makes this call, and it makes it while it takes a chunk. */
static void die_when_pages_are_touched(void)
{
	static struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	static struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
	static struct rlimit no_core;

	if (unseen(SYS_prlimit64, 0, RLIMIT_CORE, &no_core, 0) ||
	    unseen(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0) ||
	    unseen(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		unseen(SYS_exit_group, 77);
}

/* Each child takes two chunks or three, if it lives. A bare run prints that nobody was killed. */
static void make_children_that_die(void)
{
	enum { MANY = 200, CALLS = 1500 };
	volatile unsigned killed = 0, i;
	int status;

	for (i = 0; i < MANY; i++) {
		pid_t pid = vfork();

		if (!pid) {
			die_when_pages_are_touched();
			for (volatile unsigned left = CALLS; left--;)
				free(malloc(1));
			unseen(SYS_exit_group, 0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || (WIFEXITED(status) && WEXITSTATUS(status)))
			exit(77);
		killed += WIFSIGNALED(status);
	}
	printf("%u children were killed\n", killed);
}

int main(int argc, char **argv)
{
	unsigned count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;

	random_seed(0);
	make_calls((unsigned)random_below(count / 2 + 1));
	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "duplicated"))
		duplicate_over_all();
	else if (!strcmp(argv[1], "closed"))
		unseen(SYS_close_range, 3, ~0u, 0);
	else if (!strcmp(argv[1], "shared"))
		share();
	else if (!strcmp(argv[1], "apart"))
		work_in_other_tables();
	else if (!strcmp(argv[1], "vforks"))
		make_calls_in_children(count);
	else if (!strcmp(argv[1], "killed"))
		make_children_that_die();
	else
		look_at_sleepers();
	make_calls(made > count ? made : count);
	printf("%u calls\n", made);
	return 0;
}
