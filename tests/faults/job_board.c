/* Hands jobs to 48 threads. The fault: each job wakes all of them, and all but one find nothing to do. */
#include "beside.h"

#include <pthread.h>

enum { WORKERS = 48 };

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t arrived = PTHREAD_COND_INITIALIZER, served = PTHREAD_COND_INITIALIZER;
int jobs, done;

void post_job(void)
{
	pthread_mutex_lock(&lock);
	jobs++;
	pthread_cond_broadcast(&arrived); /* FAULT */
	pthread_mutex_unlock(&lock);
}

int take_job(void)
{
	int job;

	pthread_mutex_lock(&lock);
	while (jobs == 0)
		pthread_cond_wait(&arrived, &lock);
	job = jobs < 0 ? -1 : jobs--;
	pthread_mutex_unlock(&lock);
	return job;
}

void *worker(void *unused)
{
	while (take_job() >= 0) {
		work(30);
		pthread_mutex_lock(&lock);
		done++;
		pthread_cond_signal(&served);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (int job = 0; job < 300; job++) {
		post_job();
		pthread_mutex_lock(&lock);
		while (done <= job)
			pthread_cond_wait(&served, &lock);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	jobs = -1;
	pthread_cond_broadcast(&arrived);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
