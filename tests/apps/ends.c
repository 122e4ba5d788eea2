/* In this program processes end in many ways, while they are in functions and calls. It is compiled with
 * -finstrument-functions.
 *
 *	ends exec PROGRAM ...	tries a program that is not there, then becomes this one, from within
 *				functions
 *	ends vfork		a child of vfork executes, from within a function; its parent then makes calls
 *				that do not block
 *	ends handler		a handler that interrupts pselect() forks, and the child ends in the handler
 *	ends returns		the same, but the child returns from the handler, and goes on behind pselect()
 *	ends computes STATUS	returns from main() with this status, after having computed for 50 ms since
 *				its last call
 *	ends silent		a child ends with status 7 and without a call before, and its parent then
 *				returns 4
 *	ends killed		a child is killed and reaped, and then the parent makes one call more
 *	ends left COUNT [FIFO]	children that leave COUNT descriptors, blocks and threads, and a child: one
 *				exits, one is killed, one executes /bin/true; and with FIFO one still runs
 *				when all is over, until it can read a byte there. Each marks its trace by
 *				access("exits"), access("killed"), ...
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "need.h"

enum { CALLS = 5, SIZE = 20000, COMPUTES_NS = 50000000, BLOCK = 100000 };

static volatile pid_t child = -1;
static int child_returns;

static void allocate(size_t size, int times)
{
	while (times--) {
		void *volatile block = malloc(size);

		free(block);
	}
}

static void become(char **argv)
{
	execve("/nonexistent/program", argv, environ);
	execve(argv[0], argv, environ);
}

static int leave(char **argv)
{
	become(argv);
	return 9;
}

static void run_true(void)
{
	execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
	_exit(9);
}

static int vforks(void)
{
	int status;
	pid_t pid = vfork();

	if (!pid)
		run_true();
	allocate(SIZE, CALLS);
	need(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3);
	return 0;
}

/* NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c): the child allocates in it, as postgres does. */
static void on_signal(int signum)
{
	(void)signum;
	child = fork();
	if (child || child_returns)
		return;
	allocate(SIZE + 1, CALLS);
	_exit(5);
}

static int forks_in_handler(void)
{
	/* The signal is blocked except during pselect(), so it interrupts that call however late this thread
	 * is. */
	struct itimerspec at = {.it_value = {0, 50000000}};
	sigset_t blocked, none;
	timer_t timer;
	int status;

	sigemptyset(&none);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGALRM);
	need(signal(SIGALRM, on_signal) != SIG_ERR && !sigprocmask(SIG_BLOCK, &blocked, NULL));
	need(!timer_create(CLOCK_MONOTONIC, NULL, &timer) && !timer_settime(timer, 0, &at, NULL));
	need(pselect(0, NULL, NULL, NULL, NULL, &none) == -1 && errno == EINTR);
	if (!child) {
		allocate(SIZE + 2, CALLS);
		exit(5);
	}
	need(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5);
	return 0;
}

/* Computes after its last recorded call: clock_gettime() is not recorded. */
static int computes(int status)
{
	struct timespec from, now;

	allocate(SIZE, CALLS);
	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < COMPUTES_NS);
	return status;
}

static int kills(void)
{
	int status, ends[2];
	char byte;

	need(!pipe(ends));
	child = fork();
	if (!child) {
		allocate(SIZE + 1, CALLS);
		need(write(ends[1], "", 1) == 1);
		for (;;)
			pause();
	}
	need(read(ends[0], &byte, 1) == 1);
	need(!kill(child, SIGKILL));
	need(waitpid(child, &status, 0) == child && WTERMSIG(status) == SIGKILL);
	allocate(SIZE, 1);
	return 0;
}

/* The function is not instrumented, because entering a function is a record, too. */
static __attribute__((no_instrument_function)) pid_t make_silent(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(7);
	return pid;
}

static int is_silent(void)
{
	int status;
	pid_t pid = make_silent();

	need(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
	return 4;
}

/* -- Things that are left ----------------------------------------------------------------------- */

static sem_t has_begun;

static void *pauses(void *unused)
{
	(void)unused;
	sem_post(&has_begun);
	for (;;)
		pause();
	return NULL;
}

/* Makes a child that ends when its parent has no descriptors any more. */
static void leave_a_child(void)
{
	int ends[2];
	char byte;
	pid_t pid;

	need(!pipe2(ends, O_CLOEXEC));
	pid = fork();
	need(pid != -1);
	if (pid) {
		close(ends[0]);
		return;
	}
	close(ends[1]);
	need(read(ends[0], &byte, 1) == 0);
	_exit(0);
}

static void leave_open(int count)
{
	for (int i = 0; i < count; i++) {
		static void *volatile block;
		pthread_t thread;

		need(open("/dev/null", O_RDONLY | O_CLOEXEC) != -1);
		block = malloc(BLOCK);
		need(block != NULL);
		need(!pthread_create(&thread, NULL, pauses, NULL));
		while (sem_wait(&has_begun))
			;
	}
	leave_a_child();
}

static void leaves(const char *how, int count, const char *fifo, int ready)
{
	int held = fifo ? open(fifo, O_RDONLY) : -1;
	char byte;

	access(how, F_OK);
	need(!sem_init(&has_begun, 0, 0));
	leave_open(count);
	need(write(ready, "", 1) == 1);
	if (!strcmp(how, "executes"))
		execl("/bin/true", "true", (char *)NULL);
	else if (!strcmp(how, "runs"))
		need(read(held, &byte, 1) == 1);
	else if (!strcmp(how, "killed"))
		pauses(NULL);
	exit(0);
}

static int leave_things(int count, const char *fifo)
{
	static const char *const ways[] = {"exits", "killed", "executes", "runs"};
	int ready[2], gone[2];
	char byte;

	need(!pipe2(ready, O_CLOEXEC) && !pipe2(gone, O_CLOEXEC));
	for (int i = 0; i < (fifo ? 4 : 3); i++) {
		int runs = i == 3;
		pid_t pid;

		/* Neither this process nor the child that still runs holds the end that is written to. All
		 * others do until they end, so that this process sees their ends. */
		if (runs)
			close(gone[1]);
		pid = fork();
		need(pid != -1);
		if (!pid)
			leaves(ways[i], count, runs ? fifo : NULL, ready[1]);
		need(read(ready[0], &byte, 1) == 1);
		need(strcmp(ways[i], "killed") != 0 || !kill(pid, SIGKILL));
		need(runs || waitpid(pid, NULL, 0) == pid);
	}
	if (!fifo)
		close(gone[1]);
	need(read(gone[0], &byte, 1) == 0);
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "exec"))
		return leave(argv + 2);
	if (!strcmp(how, "vfork"))
		return vforks();
	child_returns = !strcmp(how, "returns");
	if (child_returns || !strcmp(how, "handler"))
		return forks_in_handler();
	if (!strcmp(how, "computes"))
		return computes(argc > 2 ? atoi(argv[2]) : 0);
	if (!strcmp(how, "silent"))
		return is_silent();
	if (!strcmp(how, "killed"))
		return kills();
	if (!strcmp(how, "left") && argc > 2)
		return leave_things(atoi(argv[2]), argv[3]);
	return 2;
}
