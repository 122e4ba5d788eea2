/* Opens and closes a till, in the morning and in the evening. The fault: who opens it locks the till and then
 * the safe, who closes it the safe and then the till. Each time somebody else has the second lock for a
 * while. */
#include "beside.h"

#include <pthread.h>
#include <semaphore.h>

pthread_mutex_t till = PTHREAD_MUTEX_INITIALIZER, safe = PTHREAD_MUTEX_INITIALIZER;
sem_t is_counted;

void *count_money(void *lock)
{
	pthread_mutex_lock(lock);
	sem_post(&is_counted);
	usleep(10000);
	pthread_mutex_unlock(lock);
	return NULL;
}

void *open_till(void *unused)
{
	pthread_mutex_lock(&till);
	pthread_mutex_lock(&safe); /* FAULT */
	work(100);
	pthread_mutex_unlock(&safe);
	pthread_mutex_unlock(&till);
	return unused;
}

void *close_till(void *unused)
{
	pthread_mutex_lock(&safe);
	pthread_mutex_lock(&till); /* FAULT */
	work(100);
	pthread_mutex_unlock(&till);
	pthread_mutex_unlock(&safe);
	return unused;
}

void do_while_counting(void *(*what)(void *), pthread_mutex_t *counted)
{
	pthread_t counting, doing;

	pthread_create(&counting, NULL, count_money, counted);
	sem_wait(&is_counted);
	pthread_create(&doing, NULL, what, NULL);
	pthread_join(counting, NULL);
	pthread_join(doing, NULL);
}

int main(void)
{
	sem_init(&is_counted, 0, 0);
	work(100000);
	do_while_counting(open_till, &safe);
	do_while_counting(close_till, &till);
	return 0;
}
