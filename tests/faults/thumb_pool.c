/* Two workers make thumbnails for all requests. The fault: both spend their time with the slow upload of
 * what they made, while jobs queue. */
#include "beside.h"

#include <pthread.h>

enum { JOBS = 40 };

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t arrived = PTHREAD_COND_INITIALIZER, served = PTHREAD_COND_INITIALIZER;
int queued, done;
bool is_over;

void upload(void)
{
	usleep(25000); /* FAULT */
}

void make_thumbnail(void)
{
	work(200);
	upload();
}

void *worker(void *unused)
{
	pthread_mutex_lock(&lock);
	while (!is_over) {
		if (queued == 0) {
			pthread_cond_wait(&arrived, &lock);
			continue;
		}
		queued--;
		pthread_mutex_unlock(&lock);
		make_thumbnail();
		pthread_mutex_lock(&lock);
		done++;
		pthread_cond_signal(&served);
	}
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (int job = 0; job < JOBS; job++) {
		work(20);
		pthread_mutex_lock(&lock);
		queued++;
		pthread_cond_signal(&arrived);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	while (done < JOBS)
		pthread_cond_wait(&served, &lock);
	is_over = true;
	pthread_cond_broadcast(&arrived);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
