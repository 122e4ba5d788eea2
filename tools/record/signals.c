/* See signals.h. A thread takes the signals, and waits for a moment with each: a process that signals all of
 * a unit sends to one after the other, and so the bystander may get its own after fxt record.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bystander.h"
#include "descendants.h"
#include "tools/common/kernel_clock.h"
#include "tools/common/message.h"

enum { MOST_WAITING = 256, MOST_SEEN = 1024 };

/* How long the bystander may get a signal after fxt record, or before. */
static const uint64_t MOMENT_NS = 20000000;

struct waiting {
	siginfo_t info;
	uint64_t at_ns;
	bool has_reached;               /* the bystander has got it, and so has the child */
};

struct seen {
	struct fxt_seen_signal signal;
	uint64_t at_ns;
};

struct fxt_signals {
	struct sigaction *actions;      /* those before, by signal number */
	sigset_t before, taken;         /* the mask before; the signals that the thread takes */
	int kept;
	struct fxt_bystander bystander; /* without one, all is handed on */
	pthread_t thread;
	pthread_mutex_t lock;           /* of the child, which may end, and of the bystander */
	volatile pid_t child;           /* 0: it has ended */
	struct fxt_descendants *descendants;
	/* of the thread alone, the oldest first */
	struct waiting waiting[MOST_WAITING];
	size_t waiting_count;
	struct seen seen[MOST_SEEN];
	size_t seen_count;
};

bool fxt_signals_is_own(int number)
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

/* -- Taking and giving back ---------------------------------------------------------------------- */

struct fxt_signals *fxt_signals_take(int kept, void (*note)(int number))
{
	struct fxt_signals *s = fxt_alloc(1, sizeof(*s));
	struct sigaction plain = {.sa_handler = SIG_DFL};
	struct sigaction noting = {.sa_handler = note, .sa_flags = SA_RESTART};
	sigset_t all;

	sigfillset(&all);
	sigemptyset(&s->taken);
	sigprocmask(SIG_BLOCK, &all, &s->before);
	s->kept = kept;
	s->bystander.connection = -1;
	pthread_mutex_init(&s->lock, NULL);
	s->actions = fxt_alloc((size_t)SIGRTMAX + 1, sizeof(*s->actions));
	for (int i = 1; i <= SIGRTMAX; i++) {
		sigaction(i, NULL, &s->actions[i]);
		/* Signals that are ignored stay so, because nohup sets that at the user's wish. */
		if (!fxt_signals_is_own(i) && i != kept && s->actions[i].sa_handler != SIG_IGN)
			sigaddset(&s->taken, i);
	}
	if (kept)
		sigaction(kept, &noting, NULL);
	/* A process that ignores SIGCHLD is not told how its children ended. */
	sigaction(SIGCHLD, &plain, NULL);
	return s;
}

void fxt_signals_give_back(const struct fxt_signals *s)
{
	if (s->kept)
		sigaction(s->kept, &s->actions[s->kept], NULL);
	sigaction(SIGCHLD, &s->actions[SIGCHLD], NULL);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
}

/* -- Handing on ---------------------------------------------------------------------------------- */

/* Returns whether the child is stopped. Whoever continues a job continues all of it, so a program that is
 * still stopped has not got SIGCONT itself. */
static bool is_stopped(pid_t pid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

static void send_on(struct fxt_signals *s, const siginfo_t *info)
{
	if (s->child > 0 && (info->si_signo != SIGCONT || is_stopped(s->child))) {
		if (info->si_code == SI_QUEUE)
			sigqueue(s->child, info->si_signo, info->si_value);
		else
			kill(s->child, info->si_signo);
	}
}

/* Asks the bystander, and notes which of the signals that wait it has got too. One that it has got before fxt
 * record is remembered for a moment. */
static void ask(struct fxt_signals *s, uint64_t now_ns)
{
	struct fxt_seen_signal fresh[FXT_BYSTANDER_MOST];
	size_t count, kept = 0, i, k;

	for (i = 0; i < s->seen_count; i++)
		if (s->seen[i].at_ns + 2 * MOMENT_NS > now_ns)
			s->seen[kept++] = s->seen[i];
	s->seen_count = kept;
	do {
		count = fxt_bystander_ask(&s->bystander, fresh);
		for (i = 0; i < count && s->seen_count < MOST_SEEN; i++)
			s->seen[s->seen_count++] = (struct seen){fresh[i], now_ns};
	} while (count == FXT_BYSTANDER_MOST);
	for (i = 0; i < s->waiting_count; i++) {
		struct waiting *one = &s->waiting[i];

		for (k = 0; k < s->seen_count && !one->has_reached; k++)
			one->has_reached = s->seen[k].signal.number == one->info.si_signo &&
					   s->seen[k].signal.sender == one->info.si_pid &&
					   one->at_ns < s->seen[k].at_ns + MOMENT_NS;
	}
}

/* Hands on what has waited for a moment. */
static void settle(struct fxt_signals *s, bool is_all)
{
	uint64_t now_ns = fxt_clock_ns(CLOCK_MONOTONIC);
	size_t due = 0;

	while (due < s->waiting_count && (is_all || s->waiting[due].at_ns + MOMENT_NS <= now_ns))
		due++;
	if (!due)
		return;
	pthread_mutex_lock(&s->lock);
	ask(s, now_ns);
	for (size_t i = 0; i < due; i++)
		if (!s->waiting[i].has_reached)
			send_on(s, &s->waiting[i].info);
	pthread_mutex_unlock(&s->lock);
	s->waiting_count -= due;
	memmove(s->waiting, s->waiting + due, s->waiting_count * sizeof(*s->waiting));
}

/* Returns whether the signal is meant to end a job, whoever has sent it. */
static bool ends_job(const struct fxt_signals *s, const siginfo_t *info)
{
	switch (info->si_signo) {
	case SIGINT:
	case SIGTERM:
	case SIGQUIT:
	case SIGHUP: return info->si_code > 0 || info->si_pid != s->child || !s->child;
	default: return false;
	}
}

static void *hand_on(void *context)
{
	struct fxt_signals *s = context;
	const struct timespec step = {0, 2000000}, *wait;
	siginfo_t info;

	for (;;) {
		bool has_come;

		wait = s->waiting_count ? &step : NULL;
		has_come = (wait ? sigtimedwait(&s->taken, &info, wait) : sigwaitinfo(&s->taken, &info)) > 0;
		if (has_come && ends_job(s, &info))
			fxt_descendants_leave(s->descendants);
		if (has_come && info.si_code <= 0 && info.si_pid != getpid() && info.si_pid != s->child) {
			if (s->waiting_count == MOST_WAITING)
				settle(s, true);
			s->waiting[s->waiting_count++] =
				(struct waiting){.info = info, .at_ns = fxt_clock_ns(CLOCK_MONOTONIC)};
		}
		settle(s, false);
	}
	return NULL;
}

void fxt_signals_hand_on(struct fxt_signals *s, pid_t child, struct fxt_descendants *descendants)
{
	s->child = child;
	s->descendants = descendants;
	if (child > 0)
		fxt_bystander_begin(&s->bystander);
	pthread_create(&s->thread, NULL, hand_on, s);
	/* Signals that the user has blocked are taken too, for they could not be handed on otherwise. */
	pthread_sigmask(SIG_SETMASK, &s->taken, NULL);
}

void fxt_signals_reap(struct fxt_signals *s, int *status)
{
	siginfo_t info;

	while (waitid(P_PID, (id_t)s->child, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
		;
	pthread_mutex_lock(&s->lock);
	while (waitpid(s->child, status, 0) < 0 && errno == EINTR)
		;
	s->child = 0;
	fxt_bystander_end(&s->bystander);
	pthread_mutex_unlock(&s->lock);
}
