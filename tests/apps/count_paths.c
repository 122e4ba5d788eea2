/* This program calls access() with paths of random length, and prints how often (counts.h).
 *
 *	count_paths THREADS CALLS [handlers]
 *
 * Each thread makes CALLS calls. With `handlers` a timer also interrupts each of them all the time, and the
 * handler makes such a call too, so records are begun within records of other lengths. No path leads
 * anywhere.
 */
#define CALLS(X) X(io, access)

#include <signal.h>

#include "counts.h"

enum { INTERVAL_NS = 100000 };

static long calls;
static bool has_handlers;
static char nowhere[PATH_MAX];
/* Handlers have random numbers of their own, because they would change those of the thread otherwise. */
static __thread uint64_t handler_state;

static void call(uint64_t *state)
{
	const char *path = path_nowhere(nowhere, random_length_of(state, PATH_MOST));

	NEED(CALL(access, path, F_OK) == -1 && errno == ENOENT);
}

static void handle(int signum)
{
	int kept = errno;

	(void)signum;
	call(&handler_state);
	errno = kept;
}

static void start_timer(timer_t *timer)
{
	const struct itimerspec often = {{0, INTERVAL_NS}, {0, INTERVAL_NS}};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};

	event._sigev_un._tid = gettid();
	NEED(timer_create(CLOCK_MONOTONIC, &event, timer) == 0);
	NEED(timer_settime(*timer, 0, &often, NULL) == 0);
}

static void *work(void *thread)
{
	uint64_t number = 1 + (uint64_t)(uintptr_t)thread;
	timer_t timer;
	long i;

	random_seed(number);
	handler_state = random_state_of(~number);
	if (has_handlers)
		start_timer(&timer);
	for (i = 0; i < calls; i++)
		call(&random_state);
	if (has_handlers)
		NEED(timer_delete(timer) == 0);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
	int threads = argc > 1 ? atoi(argv[1]) : 1;

	calls = argc > 2 ? atol(argv[2]) : 1;
	has_handlers = argc > 3 && !strcmp(argv[3], "handlers");
	random_seed(0);
	path_nowhere_fill(nowhere);
	NEED(sigaction(SIGPROF, &action, NULL) == 0);
	run_threads(threads, work, create_thread, join_thread);
	print_counts();
	return 0;
}
