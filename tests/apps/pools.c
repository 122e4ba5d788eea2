/* A pool of threads works on a queue, and it is known whose task wakes whom. Prints the arrows that its
 * trace has, "cause -> effect count".
 *
 *	pools KIND COUNT	cond, sem; so many tasks
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "asleep.h"
#include "need.h"

enum { WORKERS = 4 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long count;

/* Tasks come in bursts of 1 to WORKERS, to workers that all sleep, so each task wakes one. A task is over
 * when all of its burst have begun; otherwise a worker could come back for a task that another was woken
 * for. Workers come back one at a time, because otherwise they would wait for each other. */
static struct {
	bool has_semaphore;
	sem_t ready;                    /* counts tasks; without it the mutex and the condition are used */
	atomic_long made, taken;        /* tasks */
	atomic_long begun;              /* tasks whose worker has given up what it took to get it */
	atomic_long before;             /* tasks made before the burst */
	atomic_long back;               /* how often a worker began to wait */
	atomic_bool closed;
	atomic_int joined;              /* the worker that is waited for to end */
	int owner;
	int last_back;                  /* the thread that began to wait last */
} pool;

/* Returns a task's number, or 0 if no more will come. */
static long take_task(int me)
{
	long task;

	if (pool.has_semaphore) {
		pool.last_back = me;
		atomic_fetch_add(&pool.back, 1);
		need(!sem_wait(&pool.ready));
		return atomic_load(&pool.closed) ? 0 : atomic_fetch_add(&pool.taken, 1) + 1;
	}
	pthread_mutex_lock(&mutex);
	pool.last_back = me;
	atomic_fetch_add(&pool.back, 1);
	while (atomic_load(&pool.taken) == atomic_load(&pool.made) && !atomic_load(&pool.closed))
		pthread_cond_wait(&cond, &mutex);
	task = atomic_load(&pool.closed) ? 0 : atomic_fetch_add(&pool.taken, 1) + 1;
	pthread_mutex_unlock(&mutex);
	return task;
}

/* Returns when workers have begun to wait so many times and the last of them sleeps. */
static void wait_until_back(long times)
{
	while (atomic_load(&pool.back) < times)
		let_others_run();
	wait_until_asleep(pool.last_back);
}

static void *work(void *number)
{
	int me = (int)syscall(SYS_gettid);
	long task;

	while ((task = take_task(me)) != 0) {
		atomic_fetch_add(&pool.begun, 1);
		while (atomic_load(&pool.begun) < atomic_load(&pool.made))
			let_others_run();
		/* The first worker to come back finds nobody on the way: all others sleep, or have a task. */
		if (task > atomic_load(&pool.before) + 1)
			wait_until_back(WORKERS + task - 1);
	}
	/* A worker ends only when somebody waits for its end. */
	while (atomic_load(&pool.joined) != (int)(size_t)number)
		let_others_run();
	wait_until_asleep(pool.owner);
	return NULL;
}

static void make_tasks(long many)
{
	long i;

	atomic_store(&pool.before, atomic_load(&pool.made));
	if (pool.has_semaphore) {
		atomic_fetch_add(&pool.made, many);
		for (i = 0; i < many; i++)
			need(!sem_post(&pool.ready));
		return;
	}
	pthread_mutex_lock(&mutex);
	atomic_fetch_add(&pool.made, many);
	for (i = 0; i < many; i++)
		pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
}

static void close_pool(void)
{
	int i;

	atomic_store(&pool.closed, true);
	if (pool.has_semaphore) {
		for (i = 0; i < WORKERS; i++)
			need(!sem_post(&pool.ready));
		return;
	}
	pthread_mutex_lock(&mutex);
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
}

static void run_pool(bool has_semaphore)
{
	pthread_t threads[WORKERS];
	long made, many;
	int i;

	pool.has_semaphore = has_semaphore;
	pool.owner = (int)syscall(SYS_gettid);
	atomic_store(&pool.joined, -1);
	sem_init(&pool.ready, 0, 0);
	for (i = 0; i < WORKERS; i++) {
		need(!pthread_create(&threads[i], NULL, work, (void *)(size_t)i));
		wait_until_back(i + 1);
	}
	for (made = 0; made < count; made += many) {
		many = 1 + made % WORKERS;
		if (many > count - made)
			many = count - made;
		make_tasks(many);
		wait_until_back(WORKERS + made + many);
	}
	close_pool();
	for (i = 0; i < WORKERS; i++) {
		atomic_store(&pool.joined, i);
		pthread_join(threads[i], NULL);
	}
	if (has_semaphore)
		printf("sem_post -> sem_wait %ld\n", count + WORKERS);
	else
		printf("pthread_cond_signal -> pthread_cond_wait %ld\n"
		       "pthread_cond_broadcast -> pthread_cond_wait %d\n"
		       "pthread_mutex_unlock -> pthread_cond_wait %ld\n",
		       count, WORKERS, count + WORKERS);
	printf("pthread_create -> thread %d\nthread -> pthread_join %d\n", WORKERS, WORKERS);
}

int main(int argc, char **argv)
{
	count = argc > 2 ? atol(argv[2]) : 1;
	run_pool(argc > 1 && !strcmp(argv[1], "sem"));
	return 0;
}
