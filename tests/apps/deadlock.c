/* In this program two threads wait for each other for ever: each has taken one lock and wants the other's.
 *
 *	deadlock		says "ready" when both are asleep
 *	deadlock join		one waits for the end of another, which wants a lock of it
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

/* The functions are not inlined, because the report names them. */
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

/* Says when both threads are asleep. A third thread runs this. */
static void *watch(void *unused)
{
	wait_until_in(SYS_futex, &tids[0]);
	wait_until_in(SYS_futex, &tids[1]);
	puts("ready");
	fflush(stdout);
	return unused;
}

static void *work(void *unused)
{
	pthread_setname_np(pthread_self(), "worker");
	atomic_store(&tids[1], (int)syscall(SYS_gettid));
	pthread_mutex_lock(&log_lock);
	return unused;
}

static __attribute__((noinline, noclone)) int shut_down(void)
{
	pthread_t worker, watcher;

	pthread_setname_np(pthread_self(), "owner");
	atomic_store(&tids[0], (int)syscall(SYS_gettid));
	pthread_mutex_lock(&log_lock);
	if (pthread_create(&worker, NULL, work, NULL) || pthread_create(&watcher, NULL, watch, NULL))
		return 1;
	pthread_join(worker, NULL);
	abort();
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	(void)argv;
	if (argc > 1)
		return shut_down();
	if (pthread_barrier_init(&both_have_one, NULL, 3) || pthread_create(&threads[0], NULL, run, NULL) ||
	    pthread_create(&threads[1], NULL, run, threads))
		return 1;
	pthread_barrier_wait(&both_have_one);
	/* Then both sleep in the locks: they wait for nothing else any more. */
	wait_until_in(SYS_futex, &tids[0]);
	wait_until_in(SYS_futex, &tids[1]);
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
