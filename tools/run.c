/* Runs the traced command. See run.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "message.h"
#include "program.h"

static const int ignored[] = {SIGINT, SIGQUIT};
static const int passed_on[] = {SIGTERM, SIGHUP};

enum { IGNORED = 2, PASSED_ON = 2 };

static volatile sig_atomic_t child;

static void pass_on(int number)
{
	int error = errno;

	if (child > 0)
		kill(child, number);
	errno = error;
}

struct saved {
	struct sigaction actions[IGNORED + PASSED_ON];
	sigset_t mask;
};

/* Signals stay blocked until the child is known: one that came earlier would be passed on to nobody. */
static void take_signals(struct saved *saved)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN},
			 forward = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
	sigset_t block;

	sigemptyset(&block);
	for (int i = 0; i < PASSED_ON; i++)
		sigaddset(&block, passed_on[i]);
	sigprocmask(SIG_BLOCK, &block, &saved->mask);
	for (int i = 0; i < IGNORED; i++)
		sigaction(ignored[i], &ignore, &saved->actions[i]);
	for (int i = 0; i < PASSED_ON; i++) {
		sigaction(passed_on[i], NULL, &saved->actions[IGNORED + i]);
		/* nohup's SIG_IGN is the user's wish. */
		if (saved->actions[IGNORED + i].sa_handler != SIG_IGN)
			sigaction(passed_on[i], &forward, NULL);
	}
}

static void give_signals_back(const struct saved *saved)
{
	for (int i = 0; i < IGNORED; i++)
		sigaction(ignored[i], &saved->actions[i], NULL);
	for (int i = 0; i < PASSED_ON; i++)
		sigaction(passed_on[i], &saved->actions[IGNORED + i], NULL);
	sigprocmask(SIG_SETMASK, &saved->mask, NULL);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void become(char **argv, const struct saved *saved, int report)
{
	ssize_t n;
	int error;

	give_signals_back(saved);
	execvp(argv[0], argv);
	error = errno;
	n = write(report, &error, sizeof(error));
	(void)n;
	_exit(FXT_STATUS_CANNOT_RUN);
}

static void wait_for(struct fxt_run *run)
{
	int status;

	while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR)
		;
	run->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	run->status = run->signal ? 128 + run->signal : WEXITSTATUS(status);
}

int fxt_run(char **argv, struct fxt_run *run)
{
	struct saved saved;
	int report[2];
	int error = 0;
	ssize_t n;
	uint64_t start_ns = now_ns();

	if (pipe2(report, O_CLOEXEC) != 0) {
		fxt_error(NULL, "pipe: %s", strerror(errno));
		return FXT_STATUS_FAILED;
	}
	take_signals(&saved);
	run->pid = fork();
	if (run->pid == 0)
		become(argv, &saved, report[1]);
	close(report[1]);
	if (run->pid < 0) {
		fxt_error(NULL, "fork: %s", strerror(errno));
		close(report[0]);
		return FXT_STATUS_FAILED;
	}
	child = run->pid;
	sigprocmask(SIG_SETMASK, &saved.mask, NULL);
	do
		n = read(report[0], &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(report[0]);
	wait_for(run);
	child = 0;
	run->wall_ns = now_ns() - start_ns;
	if (n != sizeof(error))
		return 0;
	fxt_error(argv[0], "%s", strerror(error));
	return error == ENOENT ? FXT_STATUS_NOT_FOUND : FXT_STATUS_CANNOT_RUN;
}
