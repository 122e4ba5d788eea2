/* The command in fxt record's own place. Whoever started fxt record knows its process id: systemd has put it
 * into LISTEN_PID, takes messages from it alone (NotifyAccess=main), and signals it; others write it into a
 * file. So this process becomes the command, and the recorder is made beforehand: forked twice, so that it
 * is a child of whoever takes orphans, and no child of the command. The command gets its environment from
 * the recorder through a pipe. See keep_pid.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "keep_pid.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init.h"
#include "record.h"
#include "tools/common/host_clock.h"
#include "tools/common/kernel_clock.h"
#include "tools/common/message.h"
#include "tools/programs/program.h"

extern char **environ;

static bool is_own_pid(const char *name)
{
	const char *value = getenv(name);

	return value && strtol(value, NULL, 10) == getpid();
}

bool fxt_keep_wanted(const struct fxt_record_options *o)
{
	const char *notify = getenv("NOTIFY_SOCKET");

	if (o->keep != FXT_KEEP_BY_ITSELF)
		return o->keep == FXT_KEEP_ALWAYS;
	/* A signal that toggles is for fxt record, and orphans would become the command's: so the
	 * recorder. */
	return !o->is_toggled && !fxt_init_adopts() &&
	       (is_own_pid("LISTEN_PID") || is_own_pid("WATCHDOG_PID") || (notify && *notify));
}

/* -- The process that becomes the command ---------------------------------------------------------- */

/* Reads so many bytes. Returns false if there are fewer. */
static bool read_all(int fd, void *to, size_t bytes)
{
	for (ssize_t n; bytes; bytes -= (size_t)n, to = (char *)to + n) {
		do
			n = read(fd, to, bytes);
		while (n < 0 && errno == EINTR);
		if (n <= 0)
			return false;
	}
	return true;
}

/* Takes the environment: how many bytes, and these. Returns NULL if the recorder has failed. */
static char **take_environment(int fd)
{
	size_t bytes, count = 0, capacity = 0;
	char **list = NULL, *text;

	if (!read_all(fd, &bytes, sizeof(bytes)))
		return NULL;
	text = fxt_alloc(bytes + 1, 1);
	if (!read_all(fd, text, bytes))
		return NULL;
	for (char *at = text; at < text + bytes; at += strlen(at) + 1) {
		list = fxt_grow(list, &capacity, count + 2, sizeof(*list));
		list[count++] = at;
	}
	list = fxt_grow(list, &capacity, count + 1, sizeof(*list));
	list[count] = NULL;
	return list;
}

static _Noreturn void become(char **argv, int environment, int report)
{
	char **list = take_environment(environment);
	ssize_t n;
	int error;

	/* The recorder has said why. */
	if (!list)
		_exit(FXT_STATUS_FAILED);
	execvpe(argv[0], argv, list);
	error = errno;
	n = write(report, &error, sizeof(error));
	(void)n;
	_exit(fxt_run_refused(argv[0], error));
}

/* -- The recorder ---------------------------------------------------------------------------------- */

/* Becomes a process that nobody sees: nothing that is open is the command's, and signals to a whole unit,
 * or of a terminal, do not end it. */
static void step_aside(const struct fxt_kept *k, bool has_output)
{
	static const int first = STDERR_FILENO + 1;
	int low = k->environment < k->report ? k->environment : k->report;
	int high = k->environment < k->report ? k->report : k->environment;
	int none = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t no_signals;

	for (int i = 1; i <= SIGRTMAX; i++)
		signal(i, i == SIGCHLD || i == SIGSEGV || i == SIGBUS || i == SIGILL || i == SIGFPE ||
						  i == SIGTRAP || i == SIGSYS
					  ? SIG_DFL
					  : SIG_IGN);
	sigemptyset(&no_signals);
	sigprocmask(SIG_SETMASK, &no_signals, NULL);
	setsid();
	if (none >= 0) {
		dup2(none, STDIN_FILENO);
		if (!has_output)
			dup2(none, STDOUT_FILENO);
	}
	if (low > first)
		close_range((unsigned)first, (unsigned)low - 1, 0);
	if (high > low + 1)
		close_range((unsigned)low + 1, (unsigned)high - 1, 0);
	close_range((unsigned)high + 1, ~0U, 0);
}

/* Moves a descriptor away from the standard ones, which the command may not have. */
static int away(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	close(fd);
	return high;
}

static bool pipe_away(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	ends[0] = away(ends[0]);
	ends[1] = away(ends[1]);
	return ends[0] >= 0 && ends[1] >= 0;
}

/* Forks without a signal to this process at the child's end: one that is blocked would wait for the
 * command. */
static pid_t fork_silently(void)
{
	return (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
}

void fxt_keep_begin(struct fxt_kept *k, const struct fxt_record_options *o)
{
	bool has_output = o->out && !fxt_parts_is_for_file(o->out);
	int environment[2], report[2];
	pid_t own = getpid(), between;

	*k = (struct fxt_kept){.pid = own, .process = (int)syscall(SYS_pidfd_open, own, 0)};
	if (k->process < 0 || !pipe_away(environment) || !pipe_away(report) ||
	    (between = fork_silently()) < 0) {
		fxt_error(NULL, "the process that records cannot be made: %s", strerror(errno));
		exit(FXT_STATUS_FAILED);
	}
	if (between) {
		while (waitpid(between, NULL, __WALL) < 0 && errno == EINTR)
			;
		close(k->process);
		close(environment[1]);
		close(report[0]);
		become(o->command, environment[0], report[1]);
	}
	/* The first fork ends, so the second is nobody's child. It is without a message if there is no
	 * second: the command's process then finds the pipe at its end. */
	if (fork() != 0)
		_exit(0);
	k->environment = environment[1];
	k->report = report[0];
	close(environment[0]);
	close(report[1]);
	close(k->process);
	step_aside(k, has_output);
	k->process = (int)syscall(SYS_pidfd_open, own, 0);
}

static void write_all(int fd, const void *from, size_t bytes)
{
	for (ssize_t n; bytes; bytes -= (size_t)n, from = (const char *)from + n) {
		do
			n = write(fd, from, bytes);
		while (n < 0 && errno == EINTR);
		if (n <= 0)
			return;
	}
}

static void give_environment(int fd)
{
	size_t bytes = 0;

	for (char **one = environ; *one; one++)
		bytes += strlen(*one) + 1;
	write_all(fd, &bytes, sizeof(bytes));
	for (char **one = environ; *one; one++)
		write_all(fd, *one, strlen(*one) + 1);
	close(fd);
}

/* Asks the kernel how the process has ended, which is no child of this one. Returns a wait status, or -1. */
static int status_of(int process)
{
	/* As in linux/pidfd.h, from Linux 6.15 on. */
	struct {
		uint64_t mask, cgroup;
		uint32_t pid, tgid, ppid, uids[8];
		int32_t exit_code;
	} info = {.mask = 1 << 3};

	if (ioctl(process, _IOWR(0xff, 11, info), &info) != 0 || !(info.mask & 1 << 3))
		return -1;
	return info.exit_code;
}

int fxt_keep_run(struct fxt_kept *k, struct fxt_run *run, fxt_run_meanwhile *meanwhile, void *context)
{
	struct pollfd one = {.fd = k->process, .events = POLLIN};
	uint64_t start_ns = fxt_clock_ns(CLOCK_MONOTONIC);
	int error = 0, status;
	ssize_t n;

	run->pid = k->pid;
	give_environment(k->environment);
	do
		n = read(k->report, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(k->report);
	if (n == sizeof(error))
		return FXT_STATUS_CANNOT_RUN;
	if (meanwhile)
		meanwhile(context, k->pid);
	while (poll(&one, 1, -1) < 0 && errno == EINTR)
		;
	run->end_ns = fxt_host_now_ns();
	run->wall_ns = fxt_clock_ns(CLOCK_MONOTONIC) - start_ns;
	status = status_of(k->process);
	close(k->process);
	run->is_untold = status < 0;
	run->signal = !run->is_untold && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	run->status = run->is_untold ? -1 : run->signal ? 128 + run->signal : WEXITSTATUS(status);
	return 0;
}
