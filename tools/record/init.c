/* fxt record as the first process of a container, or another that orphans become children of: it does what
 * an init does, and fxt record is its only child beside the orphans. So the processes of fxt record that it
 * waits for are not mixed with others. See init.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "init.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/common/message.h"
#include "tools/programs/program.h"

/* This process, or the one that it is a child of by fxt_init(), was told to adopt. */
static bool is_told;

bool fxt_init_adopts(void)
{
	int adopts = 0;

	return getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &adopts) == 0 && adopts);
}

/* Reaps what has ended, and ends this process if that is the child. */
static void reap(pid_t child)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == child)
			_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/* Signals of the kernel come from the terminal, which tells the child as well. */
static void hand_on(pid_t child, const siginfo_t *info)
{
	if (info->si_code == SI_QUEUE)
		sigqueue(child, info->si_signo, info->si_value);
	else if (info->si_code <= 0)
		kill(child, info->si_signo);
}

void fxt_init(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
	sigset_t all, before;
	struct sigaction plain = {.sa_handler = SIG_DFL}, chld;
	siginfo_t info;
	pid_t child;

	if (!fxt_init_adopts())
		return;
	is_told = getpid() != 1;
	sigfillset(&all);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&all, faults[i]);
	sigprocmask(SIG_SETMASK, &all, &before);
	sigaction(SIGCHLD, &plain, &chld);
	child = fork();
	if (child <= 0) {
		sigaction(SIGCHLD, &chld, NULL);
		sigprocmask(SIG_SETMASK, &before, NULL);
		if (child < 0)
			fxt_error(NULL, "fork: %s", strerror(errno));
		return;
	}
	for (;;) {
		if (sigwaitinfo(&all, &info) > 0 && info.si_signo != SIGCHLD)
			hand_on(child, &info);
		reap(child);
	}
}

void fxt_init_hand_over(void)
{
	if (is_told)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
}
