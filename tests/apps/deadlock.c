/* Two threads that wait for each other for ever: each has taken one lock and wants the other's.
 *
 *	deadlock		says "ready" when both are asleep
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "asleep.h"

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

int main(void)
{
	pthread_t threads[2];
	int asleep;

	if (pthread_barrier_init(&both_have_one, NULL, 3) || pthread_create(&threads[0], NULL, run, NULL) ||
	    pthread_create(&threads[1], NULL, run, threads))
		return 1;
	pthread_barrier_wait(&both_have_one);
	/* In the locks: they wait for nothing else any more. */
	do
		asleep = is_in_futex(atomic_load(&tids[0])) + is_in_futex(atomic_load(&tids[1]));
	while (asleep < 2);
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
