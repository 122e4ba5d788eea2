/* This program has three threads: one waits for a lock, which the second holds while it waits for the third.
 *
 *	chain			customer -> pantry_lock, held by cook -> delivered, posted by farmer
 *
 * The farmer delivers once the two others sleep in these waits.
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

/* The functions are not inlined, because the report names them. */
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
	/* Once their ids are known, these waits are all that the two sleep in. The cook, who is looked at
	 * first, still sleeps when the customer does. */
	wait_until_in(SYS_futex, &cook_tid);
	wait_until_in(SYS_futex, &customer_tid);
	/* Beside these two waits, one in a call and one that is not traced, all else that the threads do is
	 * short, on however busy a machine. */
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
