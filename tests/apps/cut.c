/* In this program one thread executes another program while the others are in calls. It is compiled with
 * -finstrument-functions.
 *
 *	cut COUNT TIMES LAST
 *
 * COUNT threads block, each in a call of its own choice, or are busy. Then the first thread, or one more
 * that the first waits for, executes `cut COUNT TIMES-1 LAST`. With TIMES at 0 it does LAST instead: it
 * executes /bin/true (`exec`), exits (`exit`), or kills the process (`signal`).
 *
 * It prints a line for each call that is in progress then, in any order: what ends it, and the call.
 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"
#include "random.h"

enum { MOST = 64, MOST_BUSY = 2, TEXT_BYTES = 12 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, free_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t nothing;
static int word, ends[2];
static atomic_int tids[MOST], first_tid, is_busy;

/* Stores the id of the calling thread, without a call that is recorded. */
static void here(atomic_int *tid)
{
	atomic_store(tid, (int)unseen(SYS_gettid));
}

static void reads(void)
{
	char byte;

	read(ends[0], &byte, 1);
}

static void polls(void)
{
	struct pollfd one = {.fd = ends[0], .events = POLLIN};

	poll(&one, 1, -1);
}

static void sleeps(void)
{
	nanosleep(&(struct timespec){.tv_sec = 1000}, NULL);
}

static void locks(void)
{
	pthread_mutex_lock(&lock);
}

static void awaits(void)
{
	sem_wait(&nothing);
}

static void hears(void)
{
	pthread_mutex_lock(&free_lock);
	pthread_cond_wait(&never, &free_lock);
}

static void sleeps_on_word(void)
{
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

/* Makes calls until the process ends, so also after the last calls of the other threads. */
static void is_at_work(void)
{
	for (;;) {
		void *volatile block = malloc(100);

		free(block);
		atomic_store(&is_busy, 1);
		for (int i = 0; i < 20; i++)
			let_others_run();
	}
}

static const struct way {
	void (*block)(void);
	const char *call;
} ways[] = {
	{reads, "io:read"},
	{polls, "net:poll"},
	{sleeps, "time:nanosleep"},
	{locks, "pthread:pthread_mutex_lock"},
	{awaits, "pthread:sem_wait"},
	{hears, "pthread:pthread_cond_wait"},
	{sleeps_on_word, "pthread:futex_wait"},
	{is_at_work, NULL},
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]), BUSY = WAYS - 1 };

static const struct way *way_of[MOST];

static void *stays(void *place)
{
	int i = (int)(intptr_t)place;

	here(&tids[i]);
	way_of[i]->block();
	abort();
}

static void until_asleep(atomic_int *tid)
{
	while (!atomic_load(tid))
		let_others_run();
	wait_until_asleep(atomic_load(tid));
}

/* -- The end of the program --------------------------------------------------------------------- */

static struct {
	char **argv;
	int count, times;
	const char *how; /* what ends the calls */
	int by_first; /* the first thread ends them */
} plan;

static __attribute__((noreturn)) void leaves(void)
{
	char times[TEXT_BYTES];

	for (int i = 0; i < plan.count; i++) {
		if (way_of[i] != &ways[BUSY])
			until_asleep(&tids[i]);
		while (way_of[i] == &ways[BUSY] && !atomic_load(&is_busy))
			let_others_run();
	}
	if (!plan.by_first)
		until_asleep(&first_tid);
	if (plan.times) {
		snprintf(times, sizeof(times), "%d", plan.times - 1);
		execl("/proc/self/exe", "cut", plan.argv[1], times, plan.argv[3], (char *)NULL);
	} else if (!strcmp(plan.how, "exec")) {
		execl("/bin/true", "true", (char *)NULL);
	} else if (!strcmp(plan.how, "exit")) {
		exit(0);
	} else {
		kill(getpid(), SIGKILL);
	}
	abort();
}

static void *leaves_for_first(void *unused)
{
	(void)unused;
	leaves();
}

static void say(const char *call)
{
	if (call)
		printf("%s %s\n", plan.how, call);
}

static void starts(pthread_t *thread, void *(*run)(void *), void *argument)
{
	if (pthread_create(thread, NULL, run, argument))
		abort();
}

int main(int argc, char **argv)
{
	int busy = 0;
	pthread_t thread;

	if (argc != 4 || atoi(argv[1]) > MOST || pipe(ends) || sem_init(&nothing, 0, 0))
		return 2;
	plan.argv = argv;
	plan.count = atoi(argv[1]);
	plan.times = atoi(argv[2]);
	plan.how = plan.times ? "exec" : argv[3];
	random_seed(0);
	random_seed(1 + (uint64_t)plan.times);
	plan.by_first = (int)random_below(2);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < plan.count; i++) {
		way_of[i] = &ways[random_below(busy < MOST_BUSY ? WAYS : BUSY)];
		busy += way_of[i] == &ways[BUSY];
		say(way_of[i]->call);
	}
	if (!plan.by_first)
		say("pthread:pthread_join");
	if (!plan.times && !strcmp(plan.how, "signal"))
		say("process:kill");
	fflush(stdout);
	for (int i = 0; i < plan.count; i++)
		starts(&thread, stays, (void *)(intptr_t)i);
	if (plan.by_first)
		leaves();
	starts(&thread, leaves_for_first, NULL);
	here(&first_tid);
	pthread_join(thread, NULL);
	return 1;
}
