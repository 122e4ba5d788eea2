/* A thread waits until the settings are loaded. The fault: it waits without looking whether they are, and
 * they were announced before. */
#include "beside.h"

#include <pthread.h>
#include <semaphore.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t loaded = PTHREAD_COND_INITIALIZER;
sem_t opened;
long settings;

void announce_settings(void)
{
	work(500);
	pthread_mutex_lock(&lock);
	settings = 1;
	pthread_cond_signal(&loaded);
	pthread_mutex_unlock(&lock);
	sem_post(&opened);
}

void await_settings(void)
{
	pthread_mutex_lock(&lock);
	pthread_cond_wait(&loaded, &lock); /* FAULT */
	pthread_mutex_unlock(&lock);
}

void *server(void *unused)
{
	work(500);
	sem_wait(&opened);
	await_settings();
	work(500);
	return unused;
}

int main(void)
{
	pthread_t thread;

	sem_init(&opened, 0, 0);
	pthread_create(&thread, NULL, server, NULL);
	announce_settings();
	ready();
	pthread_join(thread, NULL);
	return 0;
}
