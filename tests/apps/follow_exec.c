/* This program becomes itself, or starts itself, by one form of exec: `follow_exec FORM [VARIABLE=VALUE...]`,
 * with an environment of those variables alone. Forms that take the process's own environment clear it first.
 * The program that is run, `follow_exec leaf`, prints its arguments and those variables of its environment
 * that are not the agent's. It makes LEAF_BLOCKS allocations of 20001 bytes, and exits with 4. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAF_BLOCKS = 7 };

static char *arguments[] = {"follow_exec", "leaf", "and more", NULL};

static int leaf(char **argv)
{
	char **variable;
	int i;

	for (; *argv; argv++)
		printf("argument %s\n", *argv);
	for (variable = environ; *variable; variable++)
		if (strncmp(*variable, "FXT_", 4) && strncmp(*variable, "LD_PRELOAD=", 11))
			printf("variable %s\n", *variable);
	for (i = 0; i < LEAF_BLOCKS; i++) {
		void *volatile block = malloc(20001);

		free(block);
	}
	return 4;
}

/* Waits for the child, and returns its status, which becomes this program's. */
static int finish(int error, pid_t child)
{
	int status;

	if (error || waitpid(child, &status, 0) != child)
		return 9;
	printf("child ended with %d\n", WEXITSTATUS(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 8;
}

static int spawn(const char *path, char **envp)
{
	posix_spawn_file_actions_t actions;
	pid_t child;
	int error;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, 1, 2);
	error = posix_spawn(&child, path, &actions, NULL, arguments, envp);
	posix_spawn_file_actions_destroy(&actions);
	return finish(error, child);
}

static int spawn_in_path(const char *path, char **envp)
{
	pid_t child = 0;
	int error = posix_spawnp(&child, path, NULL, NULL, arguments, envp);

	return finish(error, child);
}

static int run(const char *form, char *path, char **envp)
{
	if (!strcmp(form, "execve"))
		execve(path, arguments, envp);
	if (!strcmp(form, "execve-null"))
		execve(path, arguments, NULL);
	if (!strcmp(form, "execvpe"))
		execvpe(path, arguments, envp);
	if (!strcmp(form, "execle"))
		execle(path, arguments[0], arguments[1], arguments[2], (char *)NULL, envp);
	if (!strcmp(form, "fexecve"))
		fexecve(open(path, O_RDONLY | O_CLOEXEC), arguments, envp);
	if (!strcmp(form, "execveat"))
		execveat(AT_FDCWD, path, arguments, envp, 0);
	if (!strcmp(form, "syscall"))
		syscall(SYS_execve, path, arguments, envp);
	if (!strcmp(form, "syscall-at"))
		syscall(SYS_execveat, AT_FDCWD, path, arguments, envp, 0);
	if (!strcmp(form, "posix_spawn"))
		return spawn(path, envp);
	if (!strcmp(form, "posix_spawnp"))
		return spawn_in_path(path, envp);
	/* The forms below take the process's own environment. */
	clearenv();
	while (*envp)
		putenv(*envp++);
	if (!strcmp(form, "execv"))
		execv(path, arguments);
	if (!strcmp(form, "execvp"))
		execvp(path, arguments);
	if (!strcmp(form, "execl"))
		execl(path, arguments[0], arguments[1], arguments[2], (char *)NULL);
	if (!strcmp(form, "execlp"))
		execlp(path, arguments[0], arguments[1], arguments[2], (char *)NULL);
	return 7;
}

static void say_refused(int result)
{
	int error = errno;

	printf("%d %d\n", result, error);
}

/* Makes calls that the kernel refuses. They fail as without the agent, and the program goes on. */
static int refused(char *path)
{
	/* The compiler must not see that this address is bad. */
	char *volatile unmapped = (char *)16;
	char *nowhere[] = {unmapped, NULL};

	say_refused(execve(path, arguments, (char **)unmapped));
	say_refused(execve(path, arguments, nowhere));
	say_refused(execve("/nonexistent", arguments, arguments + 3));
	say_refused(execve(unmapped, arguments, arguments + 3));
	say_refused(execl("/nonexistent", "x", (char *)NULL));
	printf("%d\n", posix_spawn(NULL, "/nonexistent", NULL, NULL, arguments, arguments + 3));
	return 5;
}

/* The array is larger than a small thread's stack. */
static char *many[20000 + 1];

static char **many_variables(int count)
{
	int i;

	for (i = 0; i < count; i++)
		many[i] = "A=1";
	return many;
}

static int large(char *path)
{
	execve(path, arguments, many_variables(20000));
	return 7;
}

static void *on_small_stack(void *path)
{
	char **variables = many_variables(1500);
	pid_t child;
	int i, error = posix_spawn(&child, path, NULL, NULL, arguments, variables);

	finish(error, child);
	for (i = 0; i < 2; i++) {
		child = vfork();
		if (!child) {
			execve(path, arguments, variables);
			_exit(7);
		}
		finish(child < 0, child);
	}
	return NULL;
}

static int small(char *path)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	if (pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) ||
	    pthread_create(&thread, &attributes, on_small_stack, path) || pthread_join(thread, NULL))
		return 7;
	return 0;
}

int main(int argc, char **argv)
{
	char path[4096];
	ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (argc < 2 || bytes < 0)
		return 6;
	path[bytes] = '\0';
	if (!strcmp(argv[1], "leaf"))
		return leaf(argv);
	if (!strcmp(argv[1], "refused"))
		return refused(path);
	if (!strcmp(argv[1], "large"))
		return large(path);
	if (!strcmp(argv[1], "small"))
		return small(path);
	return run(argv[1], path, argv + 2);
}
