/* Threads that let each other go on, and know how often: prints arrows that a trace of it has, "cause -> effect count".
 *
 *	causes KIND COUNT	mutex, rwlock, spin, mtx, cond, broadcast, sem, barrier, threads, thrds
 *
 * Of a lock: each is given up while the other thread is known to wait for it, so COUNT waits are ended by COUNT calls. (Not of one that
 * spins: there the last may not have begun to.) Of a semaphore it is not known how often there was one to be had at once.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

enum { WAITERS = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static mtx_t c11;
static sem_t asked, answered;
static pthread_barrier_t barrier;
static long count, waiting, turn, generation;
static atomic_int other_tid, stage;

static void need(bool condition)
{
	if (!condition)
		abort();
}

static void lock(const char *kind)
{
	if (!strcmp(kind, "mutex"))
		pthread_mutex_lock(&mutex);
	else if (!strcmp(kind, "rwlock"))
		pthread_rwlock_wrlock(&rwlock);
	else if (!strcmp(kind, "spin"))
		pthread_spin_lock(&spin);
	else
		mtx_lock(&c11);
}

static void unlock(const char *kind)
{
	if (!strcmp(kind, "mutex"))
		pthread_mutex_unlock(&mutex);
	else if (!strcmp(kind, "rwlock"))
		pthread_rwlock_unlock(&rwlock);
	else if (!strcmp(kind, "spin"))
		pthread_spin_unlock(&spin);
	else
		mtx_unlock(&c11);
}

/* Until a thread sleeps in the kernel, which is where it waits for a lock. */
static void wait_until_asleep(int tid)
{
	char path[64], text[512], *state;
	FILE *file;
	size_t bytes;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	do {
		file = fopen(path, "re");
		need(file);
		bytes = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
		text[bytes] = '\0';
		state = strrchr(text, ')');
		need(state);
	} while (state[2] != 'S');
}

/* -- Locks ------------------------------------------------------------------------------------- */

static void *want(void *kind)
{
	long i;

	atomic_store(&other_tid, (int)syscall(SYS_gettid));
	for (i = 0; i < count; i++) {
		while (atomic_load(&stage) != 1)
			;
		atomic_store(&stage, 2);
		lock(kind);
		unlock(kind);
		atomic_store(&stage, 0);
	}
	return NULL;
}

static void hand_over(const char *kind)
{
	pthread_t thread;
	long i;
	int spins;

	need(!pthread_create(&thread, NULL, want, (void *)(size_t)kind));
	for (i = 0; i < count; i++) {
		lock(kind);
		atomic_store(&stage, 1);
		while (atomic_load(&stage) != 2)
			;
		/* One that spins does not sleep; some time on it will be at it. */
		if (strcmp(kind, "spin"))
			wait_until_asleep(atomic_load(&other_tid));
		else
			for (spins = 0; spins < 200; spins++)
				syscall(SYS_sched_yield);
		unlock(kind);
		while (atomic_load(&stage))
			;
	}
	pthread_join(thread, NULL);
}

/* -- Conditions -------------------------------------------------------------------------------- */

static void *ping_pong(void *me)
{
	long i;

	for (i = 0; i < count; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != (me != NULL)) {
			waiting++;
			pthread_cond_wait(&cond, &mutex);
		}
		turn = !turn;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void *await_broadcast(void *unused)
{
	long i;

	for (i = 1; i <= count; i++) {
		pthread_mutex_lock(&mutex);
		waiting++;
		while (generation < i)
			pthread_cond_wait(&cond, &mutex);
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

static void broadcast(void)
{
	long i, there;

	for (i = 1; i <= count; i++) {
		do {
			pthread_mutex_lock(&mutex);
			there = waiting;
			if (there == i * WAITERS) {
				generation = i;
				pthread_cond_broadcast(&cond);
			}
			pthread_mutex_unlock(&mutex);
		} while (there != i * WAITERS);
	}
}

/* -- Semaphores, barriers, threads ------------------------------------------------------------- */

static void *answer(void *unused)
{
	long i;

	for (i = 0; i < count; i++) {
		need(!sem_wait(&asked));
		need(!sem_post(&answered));
	}
	return unused;
}

static void *meet(void *unused)
{
	long i;

	for (i = 0; i < count; i++)
		pthread_barrier_wait(&barrier);
	return unused;
}

static void *end(void *unused)
{
	return unused;
}

static int end_c11(void *unused)
{
	return unused != NULL;
}

static void run(void *(*first)(void *), void *(*second)(void *))
{
	pthread_t threads[2];

	need(!pthread_create(&threads[0], NULL, first, NULL) && !pthread_create(&threads[1], NULL, second, threads));
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	pthread_t threads[WAITERS];
	long i;

	count = argc > 2 ? atol(argv[2]) : 1;
	pthread_spin_init(&spin, 0);
	mtx_init(&c11, mtx_plain);
	if (!strcmp(kind, "mutex") || !strcmp(kind, "rwlock") || !strcmp(kind, "spin") || !strcmp(kind, "mtx")) {
		const char *prefix = !strcmp(kind, "mtx") ? "mtx" : kind;

		hand_over(kind);
		printf("%s%s_unlock -> %s%s_%s %ld\n", strcmp(prefix, "mtx") ? "pthread_" : "", prefix,
		       strcmp(prefix, "mtx") ? "pthread_" : "", prefix, strcmp(kind, "rwlock") ? "lock" : "wrlock", count);
	} else if (!strcmp(kind, "cond")) {
		run(ping_pong, ping_pong);
		printf("pthread_cond_signal -> pthread_cond_wait %ld\npthread_create -> thread 2\n", waiting);
	} else if (!strcmp(kind, "broadcast")) {
		for (i = 0; i < WAITERS; i++)
			need(!pthread_create(&threads[i], NULL, await_broadcast, NULL));
		broadcast();
		for (i = 0; i < WAITERS; i++)
			pthread_join(threads[i], NULL);
		printf("pthread_cond_broadcast -> pthread_cond_wait %ld\npthread_create -> thread %d\n", count * WAITERS, WAITERS);
	} else if (!strcmp(kind, "sem")) {
		sem_init(&asked, 0, 0);
		sem_init(&answered, 0, 0);
		need(!pthread_create(&threads[0], NULL, answer, NULL));
		for (i = 0; i < count; i++) {
			need(!sem_post(&asked));
			need(!sem_wait(&answered));
		}
		pthread_join(threads[0], NULL);
	} else if (!strcmp(kind, "barrier")) {
		pthread_barrier_init(&barrier, NULL, WAITERS);
		for (i = 0; i < WAITERS; i++)
			need(!pthread_create(&threads[i], NULL, meet, NULL));
		for (i = 0; i < WAITERS; i++)
			pthread_join(threads[i], NULL);
		printf("pthread_barrier_wait -> pthread_barrier_wait %ld\npthread_create -> thread %d\n", count * (WAITERS - 1),
		       WAITERS);
	} else if (!strcmp(kind, "thrds")) {
		thrd_t thread;

		for (i = 0; i < count; i++) {
			need(thrd_create(&thread, end_c11, NULL) == thrd_success);
			need(thrd_join(thread, NULL) == thrd_success);
		}
		printf("thrd_create -> thread %ld\n", count);
	} else {
		for (i = 0; i < count; i++) {
			need(!pthread_create(&threads[0], NULL, end, NULL));
			pthread_join(threads[0], NULL);
		}
		printf("pthread_create -> thread %ld\n", count);
	}
	return 0;
}
