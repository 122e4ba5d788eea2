/* Sets the action of a signal, or cancels a thread, and then makes many calls that are recorded, between
 * two marks: close(-1001) and close(-2001).
 *
 *	handlers none|WAY [ignore]      WAY is one of those in the table; with `ignore` it sets SIG_IGN
 *
 * The test counts how often signals are blocked between the marks.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "need.h"

/* The C library has these, and no header declares them any more. */
int __sigaction(int signum, const struct sigaction *act, struct sigaction *oldact);
sighandler_t bsd_signal(int signum, sighandler_t handler);
sighandler_t sysv_signal(int signum, sighandler_t handler);
sighandler_t __sysv_signal(int signum, sighandler_t handler);

enum { PAIRS = 160000 };

static void handle(int number)
{
	(void)number;
}

static void by_sigaction(sighandler_t handler)
{
	need(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handler}, NULL) == 0);
}

static void by___sigaction(sighandler_t handler)
{
	need(__sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handler}, NULL) == 0);
}

static void by_signal(sighandler_t handler)
{
	need(signal(SIGUSR1, handler) != SIG_ERR);
}

static void by_ssignal(sighandler_t handler)
{
	need(ssignal(SIGUSR1, handler) != SIG_ERR);
}

static void by_bsd_signal(sighandler_t handler)
{
	need(bsd_signal(SIGUSR1, handler) != SIG_ERR);
}

static void by_sysv_signal(sighandler_t handler)
{
	need(sysv_signal(SIGUSR1, handler) != SIG_ERR);
}

static void by___sysv_signal(sighandler_t handler)
{
	need(__sysv_signal(SIGUSR1, handler) != SIG_ERR);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void by_sigset(sighandler_t handler)
{
	need(sigset(SIGUSR1, handler) != SIG_ERR);
}

/* As the kernel has the structure on the processors that the agent runs on. */
static void by_number(sighandler_t handler)
{
	const struct {
		sighandler_t handler;
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = {.handler = handler};

	need(syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, sizeof(action.mask)) == 0);
}

static void *wait_for_cancel(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static void by_pthread_cancel(sighandler_t handler)
{
	pthread_t thread;

	(void)handler;
	need(pthread_create(&thread, NULL, wait_for_cancel, NULL) == 0);
	need(pthread_cancel(thread) == 0 && pthread_join(thread, NULL) == 0);
}

static const struct {
	const char *name;
	void (*set)(sighandler_t handler);
} ways[] = {
	{"sigaction", by_sigaction},     {"__sigaction", by___sigaction},
	{"signal", by_signal},           {"ssignal", by_ssignal},
	{"bsd_signal", by_bsd_signal},   {"sysv_signal", by_sysv_signal},
	{"__sysv_signal", by___sysv_signal}, {"sigset", by_sigset},
	{"number", by_number},           {"pthread_cancel", by_pthread_cancel},
};

int main(int argc, char **argv)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	bool ignores = argc > 2;
	unsigned i, known = argc < 2 || !strcmp(argv[1], "none");

	for (i = 0; argc > 1 && i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(argv[1], ways[i].name))
			continue;
		known = 1;
		ways[i].set(ignores ? SIG_IGN : handle);
	}
	need(known);
	close(-1001);
	for (i = 0; i < PAIRS; i++) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
	close(-2001);
	printf("%d\n", 2 * PAIRS);
	return 0;
}
