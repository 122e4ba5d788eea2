/* This program makes children in every way but exec (see main()). Allocations of 20000 bytes are the
 * parent's, those of 20001 bytes a child's, and those of 20002 bytes a grandchild's. Each process makes
 * BLOCKS of them before and after each child. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "need.h"

enum { BLOCKS = 10, VFORKS = 5, FAILING_CALLS = 2000 };

static char stack[256 << 10] __attribute__((aligned(16)));
static int alive[2];

static void allocate(size_t size)
{
	int i;

	for (i = 0; i < BLOCKS; i++) {
		void *volatile block = malloc(size);

		free(block);
	}
}

static int status_of(pid_t child)
{
	int status;

	need(child > 0);
	need(waitpid(child, &status, __WALL) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* -- Children with memory of their own ----------------------------------------------------------- */

static int cloned(void *argument)
{
	allocate(*(size_t *)argument);
	return 3;
}

static pid_t make(const char *how)
{
	static size_t size = 20001;
	/* The first form of struct clone_args has these members: flags, pidfd, child_tid, parent_tid,
	 * exit_signal, stack, stack_size, tls. */
	unsigned long args[8] = {[4] = SIGCHLD};

	if (!strcmp(how, "fork"))
		return fork();
	if (!strcmp(how, "_Fork"))
		return _Fork();
#ifdef SYS_fork
	if (!strcmp(how, "SYS_fork"))
		return (pid_t)syscall(SYS_fork);
#endif
	if (!strcmp(how, "SYS_clone"))
		return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0L);
	if (!strcmp(how, "SYS_clone3"))
		return (pid_t)syscall(SYS_clone3, args, sizeof(args));
	if (!strcmp(how, "clone"))
		return clone(cloned, stack + sizeof(stack), SIGCHLD, &size);
	return -2;
}

static int with(const char *how)
{
	pid_t child;
	int i;

	allocate(20000);
	for (i = 0; i < 2; i++) {
		child = make(how);
		if (!child) {
			allocate(20001);
			_exit(3);
		}
		if (child == -1 && errno == ENOSYS)
			return 77;
		need(status_of(child) == 3);
		allocate(20000);
	}
	return 5;
}

/* Returns when all children are gone: each has the other end of the pipe open. */
static int wait_for_all(void)
{
	char byte;

	close(alive[1]);
	need(read(alive[0], &byte, 1) == 0);
	allocate(20000);
	return 5;
}

static int double_fork(void)
{
	pid_t child = fork();

	if (!child) {
		allocate(20001);
		if (!fork()) {
			allocate(20002);
			exit(0);
		}
		_exit(3);
	}
	need(status_of(child) == 3);
	return wait_for_all();
}

static int daemonized(void)
{
	pid_t child = fork();

	if (!child) {
		allocate(20001);
		need(daemon(1, 1) == 0);
		allocate(20002);
		exit(0);
	}
	need(status_of(child) == 0);
	return wait_for_all();
}

/* -- Children in the same memory ------------------------------------------------------------------- */

static __attribute__((noinline)) int wait_deeper(pid_t child)
{
	volatile char room[500];

	room[0] = 0;
	return status_of(child) + room[0];
}

/* Executes a program in children of vfork(). The child's last call succeeds, so it never returns. The
 * parent's next call is further in or further out on the stack. */
static int vforks(char *program)
{
	char *const arguments[] = {program, "leaf", NULL}, *const nothing[] = {NULL};
	int i, status;
	pid_t child;

	allocate(20000);
	for (i = 0; i < VFORKS; i++) {
		child = vfork();
		need(child >= 0);
		if (!child) {
			dup2(2, 1);
			close(0);
			execve("/proc/self/exe", arguments, nothing);
			_exit(9);
		}
		if (i % 2)
			need(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4);
		else
			need(wait_deeper(child) == 4);
		allocate(20000);
	}
	return 5;
}

static int vforks_in_vain(void)
{
	char *const nothing[] = {NULL};
	static volatile int error;
	pid_t child;
	int i;

	allocate(20000);
	for (i = 0; i < VFORKS; i++) {
		child = vfork();
		need(child >= 0);
		if (!child) {
			execve("/nonexistent", nothing, nothing);
			error = errno;
			_exit(6);
		}
		need(wait_deeper(child) == 6 && error == ENOENT);
		allocate(20000);
	}
	return 5;
}

static int executes(void *program)
{
	char *const arguments[] = {program, "leaf", NULL}, *const nothing[] = {NULL};

	close(-1);
	execve("/proc/self/exe", arguments, nothing);
	return 9;
}

/* Makes children as posix_spawn() does: each has a stack of its own. */
static int clone_vfork(char *program)
{
	int i;

	allocate(20000);
	for (i = 0; i < VFORKS; i++) {
		need(status_of(clone(executes, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
				     program)) == 4);
		allocate(20000);
	}
	return 5;
}

/* Makes calls that do no harm to the C library's own data in the storage that the two share. */
static int fails_often(void *argument)
{
	int i;

	for (i = 0; i < FAILING_CALLS; i++)
		close(-1);
	return *(int *)argument;
}

/* Makes a task that runs at once with this one, on the same thread-local storage. With `only_refused` it only
 * makes calls that are refused, so there is no such task. */
static int shares(int only_refused)
{
	static int status = 3;
	pid_t child;

	allocate(20000);
	/* A call that is refused leaves everything as it was. */
	need(clone(fails_often, stack + sizeof(stack), CLONE_VM | CLONE_THREAD, &status) == -1 &&
	     errno == EINVAL);
	need(syscall(SYS_clone, CLONE_VM | CLONE_THREAD, 0L, 0L, 0L, 0L) == -1 && errno == EINVAL);
	allocate(20000);
	if (only_refused)
		return 5;
	child = clone(fails_often, stack + sizeof(stack), CLONE_VM | SIGCHLD, &status);
	fails_often(&status);
	need(status_of(child) == 3);
	/* A child that has memory of its own records again. */
	child = fork();
	if (!child) {
		allocate(20001);
		exit(3);
	}
	need(status_of(child) == 3);
	return 5;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "leaf")) {
		allocate(20001);
		return 4;
	}
	if (!strcmp(what, "double") || !strcmp(what, "daemon")) {
		need(pipe2(alive, O_CLOEXEC) == 0);
		return what[1] == 'o' ? double_fork() : daemonized();
	}
	if (!strcmp(what, "vfork"))
		return vforks(argv[0]);
	if (!strcmp(what, "vfork-fails"))
		return vforks_in_vain();
	if (!strcmp(what, "clone-vfork"))
		return clone_vfork(argv[0]);
	if (!strcmp(what, "shares"))
		return shares(0);
	if (!strcmp(what, "shares-refused"))
		return shares(1);
	return with(what);
}
