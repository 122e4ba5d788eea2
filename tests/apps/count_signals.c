/* This program makes a known number of calls of signals, timers and processes, and prints how many
 * (counts.h).
 *
 *	count_signals ROUNDS
 */
#define CALLS(X)                                                                                        \
	X(process, sigaction) X(process, signal) X(process, sigset) X(process, sigignore)               \
	X(process, pause) X(process, sigsuspend) X(process, sigwait) X(process, sigwaitinfo)            \
	X(process, sigtimedwait) X(process, sigpause) X(process, sigprocmask)                           \
	X(process, pthread_sigmask) X(process, sighold) X(process, sigrelse) X(process, sigblock)       \
	X(process, sigsetmask) X(process, siginterrupt) X(process, sigaltstack) X(process, kill)        \
	X(process, killpg) X(process, tgkill) X(process, raise) X(process, sigqueue)                    \
	X(process, fork) X(process, _Fork) X(process, vfork) X(process, clone) X(process, wait)         \
	X(process, waitpid) X(process, wait3) X(process, wait4) X(process, waitid) X(process, system)   \
	X(process, posix_spawn) X(process, posix_spawnp) X(process, unshare) X(process, setns)          \
	X(process, posix_spawn_file_actions_adddup2) X(process, posix_spawn_file_actions_addfchdir_np)  \
	X(process, posix_spawn_file_actions_addtcsetpgrp_np)                                            \
	X(process, pidfd_open) X(process, pidfd_getfd) X(process, pidfd_send_signal)                    \
	X(process, process_mrelease) X(process, forkpty) X(time, alarm) X(time, ualarm)                 \
	X(time, setitimer) X(time, timer_create) X(time, timer_settime) X(time, timer_delete)

#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "counts.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static volatile sig_atomic_t handled;

static void handle(int signum)
{
	handled = signum;
}

/* -- Signals -------------------------------------------------------------------------------------- */

static void set_actions(void)
{
	struct sigaction action = {.sa_handler = handle};

	NEED(CALL(sigaction, SIGUSR1, &action, NULL) == 0);
	NEED(CALL(sigaction, 999, &action, NULL) == -1 && errno == EINVAL);
	NEED(CALL(signal, SIGALRM, handle) != SIG_ERR);
	NEED(CALL(sigset, SIGURG, handle) != SIG_ERR);
	NEED(CALL(sigignore, SIGURG) == 0);
	NEED(CALL(siginterrupt, SIGALRM, 1) == 0);
	NEED(CALL(sigaltstack, NULL, NULL) == 0);
}

static void hold_back(void)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	NEED(CALL(sigprocmask, SIG_BLOCK, &set, &old) == 0);
	NEED(CALL(pthread_sigmask, SIG_SETMASK, &old, NULL) == 0);
	NEED(CALL(pthread_sigmask, 999, &old, NULL) == EINVAL);
	NEED(CALL(sighold, SIGUSR1) == 0 && CALL(sigrelse, SIGUSR1) == 0);
	CALL(sigsetmask, CALL(sigblock, 0));
}

/* Each signal is blocked when it is sent, so it is there before anybody waits for it. */
static void wait_for_signals(void)
{
	const union sigval value = {.sival_int = (int)random_number(31)};
	struct timespec second = {1 + (time_t)random_number(40), 0}, none = {0, 0};
	sigset_t set, empty;
	siginfo_t info;
	int signum;

	sigemptyset(&empty);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	NEED(CALL(sigprocmask, SIG_BLOCK, &set, NULL) == 0);
	NEED(CALL(raise, SIGUSR1) == 0);
	NEED(CALL(sigwait, &set, &signum) == 0 && signum == SIGUSR1);
	NEED(CALL(kill, getpid(), SIGUSR1) == 0);
	NEED(CALL(sigwaitinfo, &set, &info) == SIGUSR1);
	NEED(CALL(sigqueue, getpid(), SIGUSR1, value) == 0);
	NEED(CALL(sigtimedwait, &set, &info, &second) == SIGUSR1 &&
	     info.si_value.sival_int == value.sival_int);
	NEED(CALL(sigtimedwait, &set, &info, &none) == -1 && errno == EAGAIN);
	NEED(CALL(tgkill, getpid(), gettid(), SIGUSR1) == 0);
	NEED(CALL(sigsuspend, &empty) == -1 && errno == EINTR && handled == SIGUSR1);
	NEED(CALL(raise, SIGUSR1) == 0);
	NEED(CALL(sigpause, SIGUSR1) == -1 && errno == EINTR);
	NEED(CALL(sigprocmask, SIG_UNBLOCK, &set, NULL) == 0);
	NEED(CALL(kill, getpid(), 999) == -1 && errno == EINVAL);
	NEED(CALL(killpg, getpgrp(), 0) == 0);
}

static void use_timers(void)
{
	const struct itimerval soon = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
	const struct itimerspec later = {.it_value = {3600 + (time_t)random_number(30), 0}};
	struct sigevent event = {.sigev_notify = SIGEV_NONE};
	timer_t timer;

	NEED(CALL(timer_create, CLOCK_MONOTONIC, &event, &timer) == 0);
	NEED(CALL(timer_settime, timer, 0, &later, NULL) == 0);
	NEED(CALL(timer_delete, timer) == 0);
	NEED(CALL(timer_create, 999, &event, &timer) == -1 && errno == EINVAL);
	NEED(CALL(alarm, 3600 + (unsigned)random_number(20)) == 0 && CALL(alarm, 0) > 0);
	CALL(ualarm, 0, 0);
	/* The timer goes off again and again, because its first signal may come before anybody waits. */
	NEED(CALL(setitimer, ITIMER_REAL, &soon, NULL) == 0);
	NEED(CALL(pause) == -1 && errno == EINTR && handled == SIGALRM);
	NEED(CALL(setitimer, ITIMER_REAL, &never, NULL) == 0);
}

/* -- Processes ------------------------------------------------------------------------------------ */

/* Ends a child with a system call that is not traced, so that no call of a child has to be counted. */
__attribute__((noreturn)) static void end_child(void)
{
	unseen(SYS_exit_group, 3);
	__builtin_unreachable();
}

static int body(void *argument)
{
	(void)argument;
	end_child();
}

static void wait_for(pid_t child)
{
	static int way;
	int status = 0;
	siginfo_t info;
	pid_t found;

	NEED(child > 0);
	switch (way++ % 5) {
	case 0:
		found = CALL(wait, &status);
		break;
	case 1:
		found = CALL(waitpid, child, &status, 0);
		break;
	case 2:
		found = CALL(wait3, &status, 0, NULL);
		break;
	case 3:
		found = CALL(wait4, child, &status, 0, NULL);
		break;
	default:
		NEED(CALL(waitid, P_PID, (id_t)child, &info, WEXITED) == 0 && info.si_status == 3);
		return;
	}
	NEED(found == child && WEXITSTATUS(status) == 3);
}

static void make_processes(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	char shell[] = "sh", option[] = "-c", command[MIDDLE_MOST + 20],
	     *argv[] = {shell, option, command, NULL};
	posix_spawn_file_actions_t actions;
	int terminal = -1;
	pid_t child;

	snprintf(command, sizeof(command), "exit 3 # %s", random_word(MIDDLE_MOST));
	child = CALL(fork);
	if (!child)
		end_child();
	wait_for(child);
	child = CALL(_Fork);
	if (!child)
		end_child();
	wait_for(child);
	child = CALL(vfork);
	if (!child)
		end_child();
	wait_for(child);
	wait_for(CALL(clone, body, stack + sizeof(stack), SIGCHLD, NULL));
	child = CALL(forkpty, &terminal, NULL, NULL, NULL);
	if (!child)
		end_child();
	if (child > 0) {
		wait_for(child);
		unseen(SYS_close, terminal);
	}
	NEED(CALL(posix_spawn, &child, path_to("/bin/sh"), NULL, NULL, argv, environ) == 0);
	wait_for(child);
	NEED(CALL(posix_spawnp, &child, "sh", NULL, NULL, argv, environ) == 0);
	wait_for(child);
	NEED(CALL(posix_spawn, &child, path_to("/none"), NULL, NULL, argv, environ) == ENOENT);
	NEED(!posix_spawn_file_actions_init(&actions));
	NEED(!CALL(posix_spawn_file_actions_adddup2, &actions, 1, 2));
	NEED(CALL(posix_spawn_file_actions_adddup2, &actions, -1, 2) == EBADF);
	NEED(!CALL(posix_spawn_file_actions_addfchdir_np, &actions, 0));
	NEED(!CALL(posix_spawn_file_actions_addtcsetpgrp_np, &actions, 0));
	posix_spawn_file_actions_destroy(&actions);
	NEED(CALL(system, command) == 3 << 8);
	NEED(CALL(waitpid, -1, NULL, 0) == -1 && errno == ECHILD);
}

static void use_descriptors(void)
{
	int self = CALL(pidfd_open, getpid(), 0);

	CALL(pidfd_getfd, self, -1, 0);
	NEED(CALL(pidfd_send_signal, -1, 0, NULL, 0) == -1);
	NEED(CALL(process_mrelease, -1, 0) == -1);
	NEED(CALL(unshare, 0) == 0);
	NEED(CALL(setns, -1, 0) == -1);
	unseen(SYS_close, self);
}

static void use_all(void)
{
	set_actions();
	hold_back();
	wait_for_signals();
	use_timers();
	make_processes();
	use_descriptors();
}

int main(int argc, char **argv)
{
	random_seed(0);
	run_rounds(argc > 1 ? atol(argv[1]) : 1, use_all);
	return 0;
}
