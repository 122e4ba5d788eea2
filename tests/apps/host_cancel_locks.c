/* In this program threads that have a cancellation pending make each call that takes a lock, a semaphore or a
 * condition, or joins. It prints whether the thread was cancelled there, and what became of a semaphore, so
 * that a bare run and a traced one can be compared line by line. */
#include <errno.h>
#include <semaphore.h>
#include <stdint.h>
#include <threads.h>
#include <time.h>

#include "host.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static pthread_mutex_t cancel_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t cancel_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cancel_cond = PTHREAD_COND_INITIALIZER;
static mtx_t cancel_mtx;
static sem_t cancel_sem;
static pthread_t ended, running;
static pthread_barrier_t end_of_running;
static atomic_int ended_tid;

static const char *const cancel_names[] = {
	"sem_wait", "sem_timedwait", "sem_clockwait", "sem_trywait", "sem_timedwait, bad time",
	"sem_clockwait, bad time", "sem_clockwait, bad clock", "sem_timedwait, none", "sem_clockwait, none",
	"pthread_mutex_lock", "pthread_mutex_timedlock", "pthread_mutex_clocklock", "pthread_rwlock_rdlock",
	"pthread_rwlock_timedwrlock", "mtx_lock", "mtx_timedlock", "pthread_cond_timedwait",
	"pthread_cond_clockwait, bad clock", "pthread_join", "pthread_timedjoin_np",
	"pthread_clockjoin_np", "pthread_tryjoin_np", "pthread_join, running",
	"pthread_timedjoin_np, running", "pthread_clockjoin_np, running", "pthread_tryjoin_np, running",
	"pthread_clockjoin_np, bad clock",
};
enum { JOINS_ENDED = 18, JOINS_RUNNING = 22 };

static void *wait_to_end(void *barrier)
{
	pthread_barrier_wait(barrier);
	return NULL;
}

static void *tell_tid(void *arg)
{
	ended_tid = gettid();
	return arg;
}

/* Makes a thread and returns when it is gone, not only over, so that a join has nothing to wait for. */
static void make_ended(void)
{
	ended_tid = 0;
	need(!pthread_create(&ended, NULL, tell_tid, NULL));
	while (!ended_tid || !tgkill(getpid(), ended_tid, 0))
		sched_yield();
}

static void call_number(unsigned number)
{
	static const struct timespec past = {1, 0}, far = {1L << 40, 0}, bad = {1, -1};

	switch (number) {
	case 0: sem_wait(&cancel_sem); break;
	case 1: sem_timedwait(&cancel_sem, &far); break;
	case 2: sem_clockwait(&cancel_sem, CLOCK_MONOTONIC, &far); break;
	case 3: sem_trywait(&cancel_sem); break;
	case 4: sem_timedwait(&cancel_sem, &bad); break;
	case 5: sem_clockwait(&cancel_sem, CLOCK_MONOTONIC, &bad); break;
	case 6: sem_clockwait(&cancel_sem, 12345, &far); break;
	case 7: sem_wait(&cancel_sem), sem_timedwait(&cancel_sem, &past); break;
	case 8: sem_trywait(&cancel_sem), sem_clockwait(&cancel_sem, CLOCK_MONOTONIC, &past); break;
	case 9: pthread_mutex_lock(&cancel_mutex); break;
	case 10: pthread_mutex_timedlock(&cancel_mutex, &far); break;
	case 11: pthread_mutex_clocklock(&cancel_mutex, CLOCK_MONOTONIC, &far); break;
	case 12: pthread_rwlock_rdlock(&cancel_rwlock); break;
	case 13: pthread_rwlock_timedwrlock(&cancel_rwlock, &far); break;
	case 14: mtx_lock(&cancel_mtx); break;
	case 15: mtx_timedlock(&cancel_mtx, &far); break;
	case 16:
		pthread_mutex_lock(&cancel_mutex), pthread_cond_timedwait(&cancel_cond, &cancel_mutex, &past);
		break;
	case 17:
		pthread_mutex_lock(&cancel_mutex),
			pthread_cond_clockwait(&cancel_cond, &cancel_mutex, 12345, &past);
		break;
	case 18: pthread_join(ended, NULL); break;
	case 19: pthread_timedjoin_np(ended, NULL, &far); break;
	case 20: pthread_clockjoin_np(ended, NULL, CLOCK_MONOTONIC, &far); break;
	case 21: pthread_tryjoin_np(ended, NULL); break;
	case 22: pthread_join(running, NULL); break;
	case 23: pthread_timedjoin_np(running, NULL, &far); break;
	case 24: pthread_clockjoin_np(running, NULL, CLOCK_MONOTONIC, &far); break;
	case 25: pthread_tryjoin_np(running, NULL); break;
	default: pthread_clockjoin_np(running, NULL, 12345, &far); break;
	}
}

static void *be_cancelled(void *number)
{
	need(!pthread_cancel(pthread_self()));
	call_number((unsigned)(uintptr_t)number);
	return NULL;
}

/* Makes each of the calls in a thread that has a cancellation pending. */
static void cancellations(void)
{
	unsigned i;

	mark_barrier(&end_of_running);
	need(!pthread_create(&running, NULL, wait_to_end, &end_of_running));
	for (i = 0; i < COUNT(cancel_names); i++) {
		pthread_t thread;
		void *result;
		int value;

		need(!pthread_mutex_init(&cancel_mutex, NULL) && !pthread_rwlock_init(&cancel_rwlock, NULL));
		need(mtx_init(&cancel_mtx, mtx_timed) == thrd_success && !sem_init(&cancel_sem, 0, 1));
		make_ended();
		need(!pthread_create(&thread, NULL, be_cancelled, (void *)(uintptr_t)i));
		need(!pthread_join(thread, &result));
		need(!sem_getvalue(&cancel_sem, &value));
		printf(" %s: %s, value %d\n", cancel_names[i],
		       result == PTHREAD_CANCELED ? "cancelled" : "not cancelled", value);
		/* Some of the calls have joined the thread that ended. */
		if (i < JOINS_ENDED || i >= JOINS_RUNNING)
			need(!pthread_join(ended, NULL));
	}
	pthread_barrier_wait(&end_of_running);
	need(!pthread_join(running, NULL));
}

int main(void)
{
	share_marks();
	cancellations();
	fflush(stdout);
	print_marks();
}
