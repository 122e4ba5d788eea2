/* Makes children in every way, waits for them in every way, and prints what a trace of it has: arrows,
 * "cause -> effect count", and lifetimes, "process:child begun ended open", followed by what their ends
 * say. An end by _exit() is no slice and is called "thread"; the end of a shell is called "END".
 *
 *	parents COUNT           makes so many children of each kind
 *	parents handler COUNT   some threads fork so many each, and a handler in any of them reaps these
 *	parents sessions COUNT  makes so many daemons, and children with a terminal of their own
 *	parents systems COUNT   some threads run so many commands each, at once
 *	parents left COUNT      leaves so many behind, asleep, and waits to be killed with them
 *	parents end HOW         is a child, and ends: by exit, or returning
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "need.h"

extern char **environ;

enum { STATUS = 3, STACK_BYTES = 256 << 10, THREADS = 4 };

static const char *program;
static long count, ended, signalled;

static void tell(const char *cause, const char *effect, long times)
{
	printf("%s -> %s %ld\n", cause, effect, times);
}

/* -- Waiting ----------------------------------------------------------------------------------- */

static void by_wait(pid_t child)
{
	int status;

	need(wait(&status) == child && WIFEXITED(status));
}

static void by_waitpid(pid_t child)
{
	need(waitpid(child, NULL, 0) == child);
}

static void by_wait3(pid_t child)
{
	struct rusage usage;
	int status;

	need(wait3(&status, 0, &usage) == child && WIFEXITED(status));
}

static void by_wait4(pid_t child)
{
	int status;

	need(wait4(child, &status, WUNTRACED, NULL) == child && WIFEXITED(status));
}

/* Looks at the end of the child, and then takes it. */
static void by_waitid(pid_t child)
{
	siginfo_t info;

	need(!waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) && info.si_pid == child);
	need(!waitid(P_ALL, 0, NULL, WEXITED));
}

/* -- Making ------------------------------------------------------------------------------------ */

/* Makes traced calls in a child that executes no program, because a child that records nothing at all has no
 * file for its first moment (ends.sh silent). */
static void do_something(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static int in_clone(void *unused)
{
	do_something();
	_exit(unused ? 1 : STATUS);
}

static pid_t cloned(void)
{
	static char stack[STACK_BYTES] __attribute__((aligned(16)));

	return clone(in_clone, stack + sizeof(stack), SIGCHLD, NULL);
}

static pid_t spawned(const char *how, int by_path)
{
	char *argv[] = {(char *)(size_t)program, "end", (char *)(size_t)how, NULL};
	pid_t child;

	need(!(by_path ? posix_spawn(&child, program, NULL, NULL, argv, environ) :
			 posix_spawnp(&child, program, NULL, NULL, argv, environ)));
	return child;
}

static pid_t forked(pid_t (*fork_as)(void), const char *how, int executes)
{
	pid_t child = fork_as();

	if (child)
		return child;
	if (executes)
		execl(program, program, "end", how, (char *)NULL);
	do_something();
	if (!strcmp(how, "exit"))
		exit(STATUS);
	if (!strcmp(how, "quick_exit"))
		quick_exit(STATUS);
	if (!strcmp(how, "_Exit"))
		_Exit(STATUS);
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	_exit(STATUS);
}

/* Makes a child by the number of the system call. The child ends by number as well. */
static pid_t made_by_number(void)
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (!child) {
		do_something();
		syscall(SYS_exit_group, STATUS);
	}
	return child;
}

/* The child of a vfork: in a function of its own, which it does not return from. */
static __attribute__((noinline)) pid_t vforked(void)
{
	pid_t child = vfork();

	if (!child) {
		execl("/nonexistent", program, (char *)NULL);
		execl(program, program, "end", "return", (char *)NULL);
		_exit(1);
	}
	return child;
}

static void run_all(void)
{
	char text[256];
	FILE *file;
	long i;

	for (i = 0; i < count; i++) {
		by_wait(forked(fork, "exit", 0));
		by_waitpid(forked(fork, "_exit", 0));
		by_waitid(forked(_Fork, "_exit", 0));
		by_wait3(cloned());
		by_wait4(spawned("return", 1));
		by_wait(spawned("exit", 0));
		by_waitpid(forked(fork, "exit", 1));
		by_waitpid(vforked());
		by_waitpid(forked(fork, "kill", 0));
		by_wait(forked(fork, "quick_exit", 0));
		by_wait4(forked(fork, "_Exit", 0));
		by_waitid(made_by_number());
		need(WEXITSTATUS(system("exit 3")) == STATUS);
		snprintf(text, sizeof(text), "exec %s end return", program);
		file = popen(text, "r");
		need(file && WEXITSTATUS(pclose(file)) == STATUS);
	}
	tell("fork", "thread", 6 * count);
	tell("_Fork", "thread", count);
	tell("clone", "thread", 2 * count);
	tell("posix_spawn", "thread", count);
	tell("posix_spawnp", "thread", count);
	tell("execl", "thread", count);
	tell("system", "thread", count);
	tell("popen", "thread", count);
	tell("exit", "wait", 2 * count);
	tell("exit", "waitpid", count);
	tell("thread", "waitpid", 2 * count);
	tell("thread", "waitid", 2 * count);
	tell("thread", "wait3", count);
	tell("quick_exit", "wait", count);
	tell("thread", "wait4", 2 * count);
	tell("END", "system", count);
	tell("END", "pclose", count);
	ended = 13 * count;
	signalled = count;
}

/* -- By several threads ------------------------------------------------------------------------ */

static atomic_long reaped;

/* The signal may come before fork() has returned. */
static void reap(int unused)
{
	(void)unused;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		atomic_fetch_add(&reaped, 1);
}

static void *fork_some(void *unused)
{
	long i;

	for (i = 0; i < count; i++)
		if (!fork()) {
			do_something();
			_exit(STATUS);
		}
	return unused;
}

static void *run_some(void *unused)
{
	long i;

	for (i = 0; i < count; i++)
		need(WEXITSTATUS(system("exit 3")) == STATUS);
	return unused;
}

static void in_threads(void *(*function)(void *))
{
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		need(!pthread_create(&threads[i], NULL, function, NULL));
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("process:child %ld %ld 0 status=3*%ld\n", THREADS * count, THREADS * count, THREADS * count);
}

static void by_handler(void)
{
	signal(SIGCHLD, reap);
	in_threads(fork_some);
	while (atomic_load(&reaped) < THREADS * count)
		reap(0);
	tell("fork", "thread", THREADS * count);
	tell("thread", "waitpid", THREADS * count);
}

static void by_commands(void)
{
	in_threads(run_some);
	tell("system", "thread", THREADS * count);
	tell("END", "system", THREADS * count);
}

/* -- Of their own terminal, or of none --------------------------------------------------------- */

/* This child ends in daemon(). Its own child closes `done` and ends later; its descriptor 0 is not its
 * parent's. */
static void become_daemon(int done)
{
	char byte;

	need(!daemon(1, 0) && !read(0, &byte, 1));
	close(done);
	exit(STATUS);
}

static void in_sessions(void)
{
	int ends[2], unread[2], terminal, status;
	long i, terminals = 0;
	pid_t child;
	char byte = 0;

	need(!pipe(unread) && dup2(unread[0], 0) == 0);
	for (i = 0; i < count; i++) {
		need(!pipe(ends) && write(unread[1], &byte, 1) == 1);
		child = fork();
		if (!child)
			become_daemon(ends[1]);
		close(ends[1]);
		need(waitpid(child, &status, 0) == child && !status);
		need(!read(ends[0], &byte, 1) && !close(ends[0]));
		need(read(unread[0], &byte, 1) == 1);
		child = forkpty(&terminal, NULL, NULL, NULL);
		if (!child) {
			do_something();
			_exit(STATUS);
		}
		if (child < 0)
			continue;
		by_wait(child);
		close(terminal);
		terminals++;
	}
	tell("fork", "thread", count);
	tell("daemon", "thread", count);
	tell("daemon", "waitpid", count);
	tell("write", "read", count);
	if (terminals) {
		tell("forkpty", "thread", terminals);
		tell("thread", "wait", terminals);
	}
	printf("process:child %ld %ld 0 status=0*%ld", count + terminals, count + terminals, count);
	if (terminals)
		printf(" status=3*%ld", terminals);
	printf("\n");
}

static void leave_behind(void)
{
	pid_t parent = getpid();
	long i;

	for (i = 0; i < count; i++)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			/* If the parent was killed before that, this child is alone for ever, with all its
			 * descriptors. */
			while (getppid() == parent)
				pause();
			_exit(0);
		}
	printf("process:child %ld 0 %ld\n", count, count);
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	program = argv[0];
	if (argc > 2 && !strcmp(argv[1], "end")) {
		if (!strcmp(argv[2], "exit"))
			exit(STATUS);
		return STATUS;
	}
	count = argc > 1 ? atol(argv[argc - 1]) : 1;
	if (argc > 2 && !strcmp(argv[1], "left"))
		leave_behind();
	if (argc > 2) {
		if (!strcmp(argv[1], "handler"))
			by_handler();
		else if (!strcmp(argv[1], "sessions"))
			in_sessions();
		else
			by_commands();
		return 0;
	}
	run_all();
	printf("process:child %ld %ld 0 signal=9*%ld status=3*%ld\n", ended + signalled, ended + signalled,
	       signalled, ended);
	return 0;
}
