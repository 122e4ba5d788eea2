/* Shows which signals a wrapper hands on:
 *
 *	wait		prints "ready", then each signal that comes, with its value, until the last comes
 *	send PID	sends PID every signal that a wrapper may hand on, the real-time ones with values
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int is_left_out(int number)
{
	static const int left_out[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU, SIGSEGV,
				       SIGBUS,	SIGILL,	 SIGFPE,  SIGTRAP, SIGSYS,  SIGCONT};

	for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
		if (number == left_out[i])
			return 1;
	return number >= 32 && number < SIGRTMIN;
}

static int wait_for_signals(void)
{
	sigset_t all;
	siginfo_t info;
	/* A wrapper that is ended by one of them leaves this process behind. */
	const struct timespec patience = {.tv_sec = 30};

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	puts("ready");
	fflush(stdout);
	for (;;) {
		if (sigtimedwait(&all, &info, &patience) < 0)
			return 1;
		printf("%d %d\n", info.si_signo, info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
		if (info.si_signo == SIGRTMAX)
			return 0;
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "wait"))
		return wait_for_signals();
	if (argc != 3 || strcmp(argv[1], "send"))
		return 2;
	for (int i = 1; i <= SIGRTMAX; i++) {
		union sigval value = {.sival_int = i * 1001};

		if (!is_left_out(i) &&
		    (i < SIGRTMIN ? kill(atoi(argv[2]), i) : sigqueue(atoi(argv[2]), i, value)) != 0)
			perror(argv[2]);
	}
	return 0;
}
