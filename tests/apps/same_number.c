/* Makes processes and threads one after the other that all have the same number, prints that, and then a line
 * for each: what it was.
 *
 *	same_number COUNT
 *
 *	quiet           a child that does nothing, and exits with the status 3
 *	killed          a child that asks for /bearer/I, its place in the line, and kills itself
 *	calls           a child that does so some times, and exits with the status 0
 *	executes        a child that does so before and after it executes this program
 *	forks           a child that does so, and whose child does so as /child/I
 *	thread          a thread of the first process that asks for /bearer/I, once
 *	childs_thread   a thread of a child that does; the child has another number
 *
 * The kernel takes the next number behind /proc/sys/kernel/ns_last_pid. Another process may take it first, so
 * the program tries again; what was made in vain ends at once and does nothing. It is to run in a namespace
 * of process ids that has none but its recorder's. The first is one of the children. Exits with the status 77
 * if it may not choose numbers, and with 75 if a thread of the recorder has got the number and lives on: the
 * program is to be run again.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "need.h"
#include "random.h"

enum { MOST_TRIES = 200 };

enum { QUIET, KILLED, CALLS, EXECUTES, FORKS, THREAD, CHILDS_THREAD, KINDS };

static const char *const names[] = {"quiet", "killed", "calls",	       "executes",
				    "forks", "thread", "childs_thread"};
static int last_pid;
static pid_t number; /* 0: it is not chosen yet */
static long place;

/* Has the kernel give `next` next, or the first free number behind it, unless another process is quicker. */
static void ask_for(pid_t next)
{
	char text[16];
	int bytes = snprintf(text, sizeof(text), "%d", (int)next - 1);

	need(unseen(SYS_pwrite64, last_pid, text, bytes, 0) == bytes);
}

static void call(const char *who)
{
	char path[64];

	snprintf(path, sizeof(path), "/%s/%ld", who, place);
	access(path, F_OK);
}

static void calls(void)
{
	for (uint64_t i = 1 + random_below(4); i; i--)
		call("bearer");
}

static pid_t wait_for(pid_t pid)
{
	int status;

	need(pid > 0 && waitpid(pid, &status, 0) == pid);
	return pid;
}

/* Does what a child of this kind does. It does not return. */
static void be(int kind)
{
	char text[32];

	switch (kind) {
	case QUIET:
		_exit(3);
	case KILLED:
		calls();
		raise(SIGKILL);
		break;
	case EXECUTES:
		calls();
		snprintf(text, sizeof(text), "%ld", place);
		execl("/proc/self/exe", "same_number", "again", text, NULL);
		_exit(4);
	case FORKS: {
		pid_t pid;

		calls();
		pid = fork();
		if (!pid)
			call("child");
		else
			wait_for(pid);
		_exit(0);
	}
	default:
		calls();
		_exit(0);
	}
}

static void *run(void *mine)
{
	bool *is_mine = mine;

	*is_mine = unseen(SYS_gettid) == number;
	if (*is_mine)
		calls();
	return NULL;
}

/* Makes a thread. Returns whether it has the number. */
static bool try_thread(void)
{
	pthread_t thread;
	bool is_mine;

	ask_for(number);
	need(pthread_create(&thread, NULL, run, &is_mine) == 0);
	need(pthread_join(thread, NULL) == 0);
	return is_mine;
}

/* Makes one of this kind. Returns whether it had the number. */
static bool try(int kind)
{
	int status;
	pid_t pid;

	if (kind == THREAD)
		return try_thread();
	if (kind == CHILDS_THREAD) {
		ask_for(number + 1);
		pid = fork();
		if (!pid)
			_exit(!try_thread());
		need(pid > 0 && waitpid(pid, &status, 0) == pid);
		return WIFEXITED(status) && !WEXITSTATUS(status);
	}
	if (number)
		ask_for(number);
	pid = fork();
	if (!pid) {
		if (number && getpid() != number)
			_exit(0);
		be(kind);
	}
	wait_for(pid);
	if (number)
		return pid == number;
	number = pid;
	return true;
}

int main(int argc, char **argv)
{
	int kinds[64];
	bool has_been_thread = false;

	need(argc >= 2);
	random_seed(0);
	if (strcmp(argv[1], "again") == 0) {
		place = strtol(argv[2], NULL, 10);
		calls();
		return 0;
	}
	last_pid = open("/proc/sys/kernel/ns_last_pid", O_RDWR | O_CLOEXEC);
	if (last_pid < 0)
		return 77;
	for (long count = strtol(argv[1], NULL, 10); place < count && place < 64; place++) {
		kinds[place] = (int)random_below(place ? KINDS : THREAD);
		if (kinds[place] == THREAD && has_been_thread)
			kinds[place] = CALLS;
		has_been_thread = has_been_thread || kinds[place] == THREAD;
		for (int tries = 0; !try(kinds[place]);)
			if (++tries == MOST_TRIES)
				return 75;
	}
	printf("%d\n", (int)number);
	for (long i = 0; i < place; i++)
		printf("%s\n", names[kinds[i]]);
	return 0;
}
