/* Three threads, of which one waits for a lock that the second holds while that waits for the third:
 *
 *	chain			customer -> pantry_lock, held by cook -> delivered, posted by farmer
 *
 * The farmer delivers once the others are asleep, in that.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"
#include "unseen.h"

pthread_mutex_t pantry_lock = PTHREAD_MUTEX_INITIALIZER;
sem_t delivered;

static sem_t pantry_is_taken;
static atomic_int customer_tid, cook_tid;

/* Noinline: these names are what a reader is told. */
static __attribute__((noinline, noclone)) void take_supper(void)
{
	pthread_mutex_lock(&pantry_lock);
	pthread_mutex_unlock(&pantry_lock);
}

static __attribute__((noinline, noclone)) void fill_pantry(void)
{
	pthread_mutex_lock(&pantry_lock);
	sem_post(&pantry_is_taken);
	sem_wait(&delivered);
	pthread_mutex_unlock(&pantry_lock);
}

static void *customer(void *unused)
{
	pthread_setname_np(pthread_self(), "customer");
	sem_wait(&pantry_is_taken);
	atomic_store(&customer_tid, (int)syscall(SYS_gettid));
	take_supper();
	return unused;
}

static void *cook(void *unused)
{
	pthread_setname_np(pthread_self(), "cook");
	atomic_store(&cook_tid, (int)syscall(SYS_gettid));
	fill_pantry();
	return unused;
}

static void *farmer(void *unused)
{
	static const struct timespec unseen_time = {0, 150000000};

	pthread_setname_np(pthread_self(), "farmer");
	/* In a lock or a semaphore, which is all that they wait for once their numbers are known. The customer last: the cook sleeps for
	 * longer than that. */
	while (!is_in_futex(atomic_load(&cook_tid)) || !is_in_futex(atomic_load(&customer_tid)))
		;
	/* What the others do besides, on however busy a machine, is short beside their wait; and so is all that is done in calls. */
	usleep(250000);
	unseen(SYS_nanosleep, &unseen_time, NULL);
	sem_post(&delivered);
	return unused;
}

int main(void)
{
	static void *(*const routines[])(void *) = {customer, cook, farmer};
	pthread_t threads[3];
	int i;

	if (sem_init(&delivered, 0, 0) || sem_init(&pantry_is_taken, 0, 0))
		return 1;
	for (i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, routines[i], NULL))
			return 1;
	for (i = 0; i < 3; i++)
		if (pthread_join(threads[i], NULL))
			return 1;
	return 0;
}
