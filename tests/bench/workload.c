/* This program is measured: it makes a call, or a pair of calls, in a loop on one or more threads.
 *
 *	workload NAME THREADS ROUNDS    ->    nanoseconds of processor time a round, in each thread
 *
 * Each thread has its own mutex, blocks and pipe, so the cost of a call is measured, whatever else the
 * machine does. With `contended` all threads share a mutex and a number, so the cost of contention is
 * measured: there it is the time that passes. With `turns` two threads wake each other by a condition.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void instrumented(void);
void profiled(void);
void patched(void);
void in_library(void);

/* A job has cache lines of its own, so that no thread reads a line that another one writes. */
struct job {
	_Alignas(128) void (*round)(struct job *job);
	long rounds;
	int number, fd, zero;
	double ns;
	int ends[2];
	pthread_mutex_t mutex;
	pthread_barrier_t *start;
	clockid_t clock;
};

static _Alignas(128) struct {
	pthread_mutex_t mutex;
	long number;
	pthread_cond_t changed;
} shared = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static double now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void round_malloc(struct job *job)
{
	void *volatile block = malloc(64);

	(void)job;
	free(block);
}

/* The stacks of these calls have DEEP frames: those of the thread's start, and its own. */
enum { DEEP = 20, STARTING = 4 };

static __attribute__((noinline)) void deeper(struct job *job, int frames)
{
	if (frames)
		deeper(job, frames - 1);
	else
		round_malloc(job);
	/* This is no tail call. */
	__asm__ volatile("");
}

static void round_deep(struct job *job)
{
	deeper(job, DEEP - STARTING);
}

static void round_lock(struct job *job)
{
	pthread_mutex_lock(&job->mutex);
	pthread_mutex_unlock(&job->mutex);
}

static void round_contended(struct job *job)
{
	(void)job;
	pthread_mutex_lock(&shared.mutex);
	shared.number++;
	pthread_mutex_unlock(&shared.mutex);
}

static void round_pipe(struct job *job)
{
	char byte = 'x';

	if (write(job->ends[1], &byte, 1) != 1 || read(job->ends[0], &byte, 1) != 1)
		abort();
}

/* The number of the shared part is that of the thread whose turn it is. */
static void round_turns(struct job *job)
{
	pthread_mutex_lock(&shared.mutex);
	while (shared.number != job->number)
		pthread_cond_wait(&shared.changed, &shared.mutex);
	shared.number = !job->number;
	pthread_cond_signal(&shared.changed);
	pthread_mutex_unlock(&shared.mutex);
}

static void round_zero(struct job *job)
{
	char bytes[64];

	if (read(job->zero, bytes, sizeof(bytes)) != sizeof(bytes))
		abort();
}

static void round_fork(struct job *job)
{
	pid_t child = fork();

	(void)job;
	if (!child)
		_exit(0);
	if (child < 0 || waitpid(child, NULL, 0) != child)
		abort();
}

static void *nothing(void *arg)
{
	return arg;
}

static void round_thread(struct job *job)
{
	pthread_t thread;

	(void)job;
	if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
		abort();
}

static void round_write(struct job *job)
{
	if (write(job->fd, "x", 1) != 1)
		abort();
}

static void round_function(struct job *job)
{
	(void)job;
	instrumented();
}

static void round_profiled(struct job *job)
{
	(void)job;
	profiled();
}

static void round_patched(struct job *job)
{
	(void)job;
	patched();
}

static void round_library(struct job *job)
{
	(void)job;
	in_library();
}

static void *run(void *arg)
{
	struct job *job = arg;
	double start;
	long i;

	/* The first part is not counted: the agent learns the clock's scale, and the caches fill. */
	for (i = 0; i < job->rounds / 4; i++)
		job->round(job);
	pthread_barrier_wait(job->start);
	start = now_ns(job->clock);
	for (i = 0; i < job->rounds; i++)
		job->round(job);
	job->ns = (now_ns(job->clock) - start) / (double)job->rounds;
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*round)(struct job *job);
	} names[] = {{"malloc", round_malloc}, {"deep", round_deep}, {"lock", round_lock},
		     {"write", round_write}, {"contended", round_contended}, {"pipe", round_pipe},
		     {"function", round_function}, {"turns", round_turns}, {"zero", round_zero},
		     {"fork", round_fork}, {"thread", round_thread},
		     {"profiled", round_profiled}, {"patched", round_patched}, {"library", round_library}};
	struct job jobs[16] = {0};
	pthread_t threads[16];
	pthread_barrier_t start;
	double sum = 0;
	int count, i;
	size_t n;

	if (argc != 4 || (count = atoi(argv[2])) < 1 || count > 16)
		return 2;
	pthread_barrier_init(&start, NULL, (unsigned)count);
	for (i = 0; i < count; i++) {
		for (n = 0; n < sizeof(names) / sizeof(*names); n++)
			if (!strcmp(names[n].name, argv[1]))
				jobs[i].round = names[n].round;
		if (!jobs[i].round)
			return 2;
		jobs[i].rounds = atol(argv[3]);
		jobs[i].clock = jobs[i].round == round_contended ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
		jobs[i].number = i;
		jobs[i].fd = open("/dev/null", O_WRONLY);
		jobs[i].zero = open("/dev/zero", O_RDONLY);
		if (pipe(jobs[i].ends))
			return 1;
		jobs[i].start = &start;
		pthread_mutex_init(&jobs[i].mutex, NULL);
		if (pthread_create(&threads[i], NULL, run, &jobs[i]))
			return 1;
	}
	for (i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		sum += jobs[i].ns;
	}
	printf("%.3f\n", sum / count);
	return 0;
}
