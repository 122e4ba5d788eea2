/* Runs the traced command. See run.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "descendants.h"
#include "init.h"
#include "shared_memory.h"
#include "signals.h"
#include "tools/common/host_clock.h"
#include "tools/common/kernel_clock.h"
#include "tools/common/message.h"
#include "tools/programs/program.h"

/* A signal that is kept here, or 0, and how often it has come. */
static volatile sig_atomic_t kept, kept_count;

static void note(int number)
{
	(void)number;
	kept_count++;
}

bool fxt_run_keep(const char *text)
{
	const char *name = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
	char *end;
	long given = strtol(text, &end, 10);

	for (int i = 1; i <= SIGRTMAX && !kept; i++) {
		const char *abbreviation = sigabbrev_np(i);

		if (!fxt_signals_is_own(i) && ((*text && !*end && given == i) ||
				   (abbreviation && strcmp(abbreviation, name) == 0)))
			kept = i;
	}
	return kept;
}

unsigned fxt_run_kept(void)
{
	return (unsigned)kept_count;
}

/* Makes a variable that has the number of the process `from` have that of this process. */
static void follow_pid(const char *name, pid_t from)
{
	const char *value = getenv(name);
	char *own;

	if (!value || strtol(value, NULL, 10) != from)
		return;
	own = fxt_format("%d", (int)getpid());
	setenv(name, own, 1);
	free(own);
}

void fxt_run_follow_pid(pid_t from)
{
	const char *sockets = getenv("LISTEN_PID");

	/* This number of the process cannot be made to fit, and programs do without. */
	if (sockets && strtol(sockets, NULL, 10) == from)
		unsetenv("LISTEN_PIDFDID");
	follow_pid("LISTEN_PID", from);
	follow_pid("WATCHDOG_PID", from);
}

static void become(char **argv, const struct fxt_signals *signals, pid_t stands_for, int report)
{
	ssize_t n;
	int error;

	fxt_run_follow_pid(stands_for);
	fxt_init_hand_over();
	fxt_shared_commands();
	fxt_signals_give_back(signals);
	execvp(argv[0], argv);
	error = errno;
	n = write(report, &error, sizeof(error));
	(void)n;
	_exit(FXT_STATUS_CANNOT_RUN);
}

static void wait_for(struct fxt_run *run, struct fxt_signals *signals)
{
	int status = 0;

	fxt_signals_reap(signals, &status);
	run->end_ns = fxt_host_now_ns();
	run->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	run->status = run->signal ? 128 + run->signal : WEXITSTATUS(status);
}

unsigned fxt_run_descriptors(unsigned most)
{
	struct rlimit limit;
	unsigned free = 0;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return most;
	for (int fd = 0; free < most && (rlim_t)fd < limit.rlim_cur; fd++)
		free += fcntl(fd, F_GETFD) < 0;
	return free;
}

int fxt_run_refused(const char *program, int error)
{
	fxt_error(program, "%s", strerror(error));
	return error == ENOENT ? FXT_STATUS_NOT_FOUND : FXT_STATUS_CANNOT_RUN;
}

int fxt_run(char **argv, struct fxt_run *run, pid_t stands_for, fxt_run_meanwhile *meanwhile,
	    fxt_run_afterwards *afterwards, void *context)
{
	struct fxt_descendants *descendants = fxt_descendants_adopt();
	struct fxt_signals *signals;
	int report[2];
	int error = 0;
	ssize_t n;
	uint64_t start_ns = fxt_clock_ns(CLOCK_MONOTONIC);

	if (pipe2(report, O_CLOEXEC) != 0) {
		fxt_error(NULL, "pipe: %s", strerror(errno));
		return FXT_STATUS_FAILED;
	}
	signals = fxt_signals_take(kept, note);
	run->pid = fork();
	if (run->pid == 0)
		become(argv, signals, stands_for, report[1]);
	close(report[1]);
	if (run->pid < 0)
		fxt_error(NULL, "fork: %s", strerror(errno));
	fxt_signals_hand_on(signals, run->pid, descendants);
	if (run->pid < 0) {
		close(report[0]);
		return FXT_STATUS_FAILED;
	}
	fxt_descendants_begin(descendants, run->pid, run->other);
	do
		n = read(report[0], &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(report[0]);
	if (meanwhile)
		meanwhile(context, run->pid);
	wait_for(run, signals);
	fxt_descendants_reaped(descendants);
	if (n != sizeof(error))
		afterwards(context, descendants);
	run->wall_ns = fxt_clock_ns(CLOCK_MONOTONIC) - start_ns;
	return n == sizeof(error) ? fxt_run_refused(argv[0], error) : 0;
}
