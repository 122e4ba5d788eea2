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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/common/kernel_clock.h"
#include "tools/common/message.h"
#include "tools/programs/program.h"

static volatile sig_atomic_t child;
/* A signal that is kept here, or 0, and how often it has come. */
static volatile sig_atomic_t kept, kept_count;

/* The signal actions and the mask that this process had before, for the child. */
struct saved {
	struct sigaction *actions;      /* the actions, by signal number */
	sigset_t mask;
};

/* Returns whether this process keeps the signal for itself: those that cannot be caught, those for
 * faults of this process, that of its own child, and those that stop a job, which the program gets from
 * the terminal as this process does. */
static bool is_own(int number)
{
	static const int own[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU,
				  SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,  SIGTRAP, SIGSYS};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (own[i] == number)
			return true;
	}
	/* The signals from 32 up to the first real-time one belong to the C library. */
	return number >= 32 && number < SIGRTMIN;
}

/* Returns whether the program is stopped. Whoever continues a job continues all of it, so a program that
 * is still stopped has not got SIGCONT itself. */
static bool is_stopped(pid_t pid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* The handler of signals: it hands on those that another process sent to this one. A signal of the
 * kernel comes from the terminal, which tells the program as well; and one that the program sent to its
 * whole group it has got already. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	pid_t pid = (pid_t)child;
	int error = errno;

	(void)context;
	if (number == kept)
		kept_count++;
	else if (pid > 0 && info->si_code <= 0 && info->si_pid != getpid() && info->si_pid != pid &&
		 (number != SIGCONT || is_stopped(pid))) {
		if (info->si_code == SI_QUEUE)
			sigqueue(pid, number, info->si_value);
		else
			kill(pid, number);
	}
	errno = error;
}

bool fxt_run_keep(const char *text)
{
	const char *name = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
	char *end;
	long given = strtol(text, &end, 10);

	for (int i = 1; i <= SIGRTMAX && !kept; i++) {
		const char *abbreviation = sigabbrev_np(i);

		if (!is_own(i) && ((*text && !*end && given == i) ||
				   (abbreviation && strcmp(abbreviation, name) == 0)))
			kept = i;
	}
	return kept;
}

unsigned fxt_run_kept(void)
{
	return (unsigned)kept_count;
}

/* Takes all signals, which stay blocked until the child is known, because one that came earlier would be
 * lost. */
static void take_signals(struct saved *saved)
{
	struct sigaction forward = {.sa_sigaction = pass_on, .sa_flags = SA_RESTART | SA_SIGINFO},
			 plain = {.sa_handler = SIG_DFL};
	sigset_t all;

	sigfillset(&all);
	sigfillset(&forward.sa_mask);
	sigprocmask(SIG_BLOCK, &all, &saved->mask);
	saved->actions = fxt_alloc((size_t)SIGRTMAX + 1, sizeof(*saved->actions));
	for (int i = 1; i <= SIGRTMAX; i++) {
		sigaction(i, NULL, &saved->actions[i]);
		/* Signals that are ignored stay so, because nohup sets that at the user's wish. */
		if (!is_own(i) && (i == kept || saved->actions[i].sa_handler != SIG_IGN))
			sigaction(i, &forward, NULL);
	}
	/* A process that ignores SIGCHLD is not told how its children ended. */
	sigaction(SIGCHLD, &plain, NULL);
}

/* Gives the child the signal actions and the mask that it would have without fxt. Signals that came
 * meanwhile arrive when the mask is restored. */
static void give_signals_back(const struct saved *saved)
{
	for (int i = 1; i <= SIGRTMAX; i++) {
		if (!is_own(i) || i == SIGCHLD)
			sigaction(i, &saved->actions[i], NULL);
	}
	sigprocmask(SIG_SETMASK, &saved->mask, NULL);
}

/* Unblocks signals in the parent, also those that the user has blocked, which could not be handed on
 * otherwise. */
static void let_signals_in(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
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
	int status = 0;

	while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR)
		;
	run->end_ns = fxt_clock_ns(CLOCK_BOOTTIME);
	run->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	run->status = run->signal ? 128 + run->signal : WEXITSTATUS(status);
}

int fxt_run(char **argv, struct fxt_run *run, fxt_run_meanwhile *meanwhile, void *context)
{
	struct saved saved;
	int report[2];
	int error = 0;
	ssize_t n;
	uint64_t start_ns = fxt_clock_ns(CLOCK_MONOTONIC);

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
		free(saved.actions);
		let_signals_in();
		close(report[0]);
		return FXT_STATUS_FAILED;
	}
	child = run->pid;
	free(saved.actions);
	let_signals_in();
	do
		n = read(report[0], &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(report[0]);
	if (meanwhile)
		meanwhile(context, run->pid);
	wait_for(run);
	child = 0;
	run->wall_ns = fxt_clock_ns(CLOCK_MONOTONIC) - start_ns;
	if (n != sizeof(error))
		return 0;
	fxt_error(argv[0], "%s", strerror(error));
	return error == ENOENT ? FXT_STATUS_NOT_FOUND : FXT_STATUS_CANNOT_RUN;
}
