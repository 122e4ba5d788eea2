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

enum { MOST_WAITING = 1024, MOST_SEEN = 2048 };

/* How long the bystander may get a signal after fxt record, or before. Who sends to one process after the
 * other may lose the processor in between. */
static const uint64_t MOMENT_NS = 100000000;

/* A signal that fxt record has got: it was sent between two times, the second of which is when it was
 * taken. */
struct waiting {
	siginfo_t info;
	uint64_t after_ns, at_ns;
	bool has_reached;               /* the bystander has got it, and so has the child */
};

/* A signal that the bystander has got, at at_ns or before. */
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
	/* of the thread alone, the oldest first; and when no signal was left to take */
	uint64_t empty_ns;
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

static struct sigaction at_full_file;   /* the action of SIGXFSZ before fxt_signals_spare() */

void fxt_signals_spare(void)
{
	const struct sigaction ignored = {.sa_handler = SIG_IGN};

	sigaction(SIGXFSZ, &ignored, &at_full_file);
}

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
		if (i == SIGXFSZ)
			s->actions[i] = at_full_file;
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
	sigaction(SIGXFSZ, &s->actions[SIGXFSZ], NULL);
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

/* Forgets what the bystander has got too long ago to be the same as a signal that is still to be taken. */
static void forget(struct fxt_signals *s)
{
	size_t kept = 0, i;

	for (i = 0; i < s->seen_count; i++)
		if (s->seen[i].at_ns + MOMENT_NS > s->empty_ns)
			s->seen[kept++] = s->seen[i];
	s->seen_count = kept;
}

/* Notes whether the bystander is known to have got the signal as well. A real-time signal waits as often as
 * it was sent, so one of the bystander's is one of these. Others are one as long as they wait. */
static void compare(struct fxt_signals *s, struct waiting *one)
{
	size_t i;

	for (i = 0; i < s->seen_count && !one->has_reached; i++) {
		if (s->seen[i].signal.number != one->info.si_signo ||
		    s->seen[i].signal.sender != one->info.si_pid ||
		    s->seen[i].at_ns + MOMENT_NS <= one->after_ns)
			continue;
		if (one->info.si_signo >= SIGRTMIN)
			memmove(s->seen + i, s->seen + i + 1, (--s->seen_count - i) * sizeof(*s->seen));
		one->has_reached = true;
	}
}

/* Asks the bystander, and notes which of the signals that wait it has got too. What finds no room waits with
 * the bystander. */
static void ask(struct fxt_signals *s, uint64_t now_ns)
{
	struct fxt_seen_signal fresh[FXT_BYSTANDER_MOST];
	size_t count = FXT_BYSTANDER_MOST, i;

	while (count == FXT_BYSTANDER_MOST && s->seen_count + count <= MOST_SEEN) {
		count = fxt_bystander_ask(&s->bystander, fresh);
		for (i = 0; i < count; i++)
			s->seen[s->seen_count++] = (struct seen){fresh[i], now_ns};
	}
	for (i = 0; i < s->waiting_count; i++)
		compare(s, &s->waiting[i]);
}

/* Adds a signal that may have to be handed on. */
static void add_waiting(struct fxt_signals *s, const siginfo_t *info)
{
	struct waiting *one = &s->waiting[s->waiting_count++];

	*one = (struct waiting){
		.info = *info, .after_ns = s->empty_ns, .at_ns = fxt_clock_ns(CLOCK_MONOTONIC)};
	compare(s, one);
}

/* Hands on what has waited for a moment. */
static void settle(struct fxt_signals *s)
{
	uint64_t now_ns = fxt_clock_ns(CLOCK_MONOTONIC);
	size_t due = 0;

	while (due < s->waiting_count && s->waiting[due].at_ns + MOMENT_NS <= now_ns)
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

/* Takes the next signal. Returns false if none has come: within a step, where others wait or may be the same
 * as one that the bystander has got. */
static bool take(struct fxt_signals *s, siginfo_t *info)
{
	static const struct timespec none, step = {0, 2000000};
	uint64_t now_ns = fxt_clock_ns(CLOCK_MONOTONIC);

	if (sigtimedwait(&s->taken, info, &none) > 0)
		return true;
	s->empty_ns = now_ns;
	forget(s);
	if (s->waiting_count || s->seen_count)
		return sigtimedwait(&s->taken, info, &step) > 0;
	return sigwaitinfo(&s->taken, info) > 0;
}

static void *hand_on(void *context)
{
	static const struct timespec step = {0, 2000000};
	struct fxt_signals *s = context;
	siginfo_t info;

	for (;;) {
		/* The kernel keeps what finds no room here. */
		while (s->waiting_count == MOST_WAITING) {
			nanosleep(&step, NULL);
			settle(s);
		}
		if (take(s, &info)) {
			if (ends_job(s, &info))
				fxt_descendants_leave(s->descendants);
			if (info.si_code <= 0 && info.si_pid != getpid() && info.si_pid != s->child)
				add_waiting(s, &info);
		}
		settle(s);
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
