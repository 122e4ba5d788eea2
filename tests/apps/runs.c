/* This program runs another one: `runs PLACE FORM PROGRAM [ARGUMENT]`. PLACE is where the call is made: in
 * the process itself, in the child of a fork or a vfork, in a thread, on a small stack, or in a handler on an
 * alternate stack. FORM is the call, and whether the environment is its own, as `execve`, or has nothing in
 * it, as `execve-bare`. It prints the errno of a call that failed, and exits with what the program did.
 *
 * `runs numbers PROGRAM` asks in vain for the program to be executed, again and again, while another thread
 * closes descriptor 0 and opens it again: the thread has to get that number every time.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *form;
static char *program, **arguments, **variables;
static char *nothing[] = {NULL};

static int spawned(int error, pid_t child)
{
	int status;

	if (error) {
		printf("error %d\n", error);
		return 9;
	}
	if (waitpid(child, &status, 0) != child)
		return 8;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 7;
}

static bool is_form(const char *name)
{
	return !strncmp(form, name, strlen(name)) && (!form[strlen(name)] || form[strlen(name)] == '-');
}

static int spawn_elsewhere(void)
{
	posix_spawn_file_actions_t actions;
	static char folder[4096];
	char *slash;
	pid_t child = 0;
	int error;

	snprintf(folder, sizeof(folder), "%s", program);
	slash = strrchr(folder, '/');
	*slash = '\0';
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addchdir_np(&actions, "/");
	posix_spawn_file_actions_addchdir_np(&actions, folder);
	error = posix_spawn(&child, slash + 1, &actions, NULL, arguments, variables);
	posix_spawn_file_actions_destroy(&actions);
	return spawned(error, child);
}

/* Makes the call. Returns if it failed, or if it made a child. */
static int run(void)
{
	int how = strstr(form, "-path") ? O_PATH : O_RDONLY;
	pid_t child = 0;

	if (!strcmp(form, "system"))
		return WEXITSTATUS(system(program));
	if (is_form("posix_spawn") || is_form("posix_spawnp"))
		return spawned((is_form("posix_spawn") ? posix_spawn : posix_spawnp)(
				       &child, program, NULL, NULL, arguments, variables), child);
	if (is_form("spawn_elsewhere"))
		return spawn_elsewhere();
	if (is_form("execve"))
		execve(program, arguments, variables);
	if (is_form("execvpe"))
		execvpe(program, arguments, variables);
	if (is_form("execvp"))
		execvp(program, arguments);
	if (is_form("execlp"))
		execlp(program, arguments[0], arguments[1], (char *)NULL);
	if (is_form("execv"))
		execv(program, arguments);
	if (is_form("execl"))
		execl(program, arguments[0], arguments[1], (char *)NULL);
	if (is_form("fexecve"))
		fexecve(open(program, how), arguments, variables);
	if (is_form("execveat"))
		execveat(open(program, how), "", arguments, variables, AT_EMPTY_PATH);
	if (is_form("syscall"))
		syscall(SYS_execve, program, arguments, variables);
	if (is_form("relative")) {
		char *slash = strrchr(program, '/');

		*slash = '\0';
		syscall(SYS_execveat, open(program, how | O_DIRECTORY), slash + 1, arguments, variables, 0);
	}
	dprintf(1, "error %d\n", errno);
	return 9;
}

static void *run_in_thread(void *result)
{
	*(int *)result = run();
	return result;
}

static void run_in_handler(int signum)
{
	(void)signum;
	_exit(run());
}

static int in_thread(size_t stack_bytes)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int result = 6;

	pthread_attr_init(&attributes);
	if (stack_bytes)
		pthread_attr_setstacksize(&attributes, stack_bytes);
	if (pthread_create(&thread, &attributes, run_in_thread, &result) || pthread_join(thread, NULL))
		return 6;
	return result;
}

static int in_handler(void)
{
	struct sigaction action = {.sa_handler = run_in_handler, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_size = 64 * 1024};

	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	return 6;
}

static int in_place(const char *place)
{
	pid_t child;

	if (!strcmp(place, "itself"))
		return run();
	if (!strcmp(place, "thread"))
		return in_thread(0);
	if (!strcmp(place, "small"))
		return in_thread((size_t)sysconf(_SC_THREAD_STACK_MIN));
	if (!strcmp(place, "handler"))
		return in_handler();
	child = !strcmp(place, "vfork") ? vfork() : fork();
	if (!child)
		_exit(run());
	return spawned(child < 0, child);
}

/* -- Numbers of descriptors ------------------------------------------------------------------------- */

static atomic_bool is_over;

static void *open_and_close(void *wrong)
{
	while (!atomic_load(&is_over)) {
		int fd;

		close(0);
		fd = open("/dev/null", O_RDONLY);
		if (fd)
			++*(int *)wrong;
		if (fd > 0)
			close(fd);
	}
	return wrong;
}

static int numbers(char *path)
{
	enum { CALLS = 2000 };
	pthread_t thread;
	int wrong = 0, i, failed = 0;

	if (pthread_create(&thread, NULL, open_and_close, &wrong))
		return 6;
	for (i = 0; i < CALLS; i++)
		failed += execve(path, nothing, environ) == -1 && errno == ENOENT;
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	printf("%d calls failed, %d times another number\n", failed, wrong);
	return failed == CALLS && !wrong ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "numbers"))
		return numbers(argv[2]);
	if (argc < 4)
		return 6;
	setvbuf(stdout, NULL, _IONBF, 0);
	form = argv[2];
	program = argv[3];
	arguments = argv + 3;
	variables = strstr(form, "-bare") ? nothing : environ;
	return in_place(argv[1]);
}
