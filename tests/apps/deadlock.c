/* Two threads that wait for each other for ever: each has taken one lock and wants the other's.
 *
 *	deadlock		says "ready" when both are asleep
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

pthread_mutex_t accounts_lock = PTHREAD_MUTEX_INITIALIZER, log_lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_barrier_t both_have_one;
static atomic_int tids[2];

/* Noinline: these names are what a reader is told. */
static __attribute__((noinline, noclone)) void transfer(void)
{
	pthread_mutex_lock(&accounts_lock);
	pthread_barrier_wait(&both_have_one);
	pthread_mutex_lock(&log_lock);
	abort();
}

static __attribute__((noinline, noclone)) void rotate_log(void)
{
	pthread_mutex_lock(&log_lock);
	pthread_barrier_wait(&both_have_one);
	pthread_mutex_lock(&accounts_lock);
	abort();
}

static void *run(void *number)
{
	pthread_setname_np(pthread_self(), number ? "rotator" : "payer");
	atomic_store(&tids[number != NULL], (int)syscall(SYS_gettid));
	number ? rotate_log() : transfer();
	return NULL;
}

/* In the lock: it waits for nothing else any more. */
static bool is_in_futex(int tid)
{
	char path[64], text[256] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	file = fopen(path, "re");
	if (!file)
		abort();
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return atoi(text) == SYS_futex && strncmp(text, "running", 7) != 0;
}

int main(void)
{
	pthread_t threads[2];
	int asleep;

	if (pthread_barrier_init(&both_have_one, NULL, 3) || pthread_create(&threads[0], NULL, run, NULL) ||
	    pthread_create(&threads[1], NULL, run, threads))
		return 1;
	pthread_barrier_wait(&both_have_one);
	do
		asleep = is_in_futex(atomic_load(&tids[0])) + is_in_futex(atomic_load(&tids[1]));
	while (asleep < 2);
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
