/* Starts a worker process while a thread writes a log. The fault: the log's lock may be held when it
 * forks; here it is, and the child waits for it for ever. */
#include "beside.h"

#include <pthread.h>
#include <sys/wait.h>

pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_barrier_t step;

void write_log(void)
{
	pthread_mutex_lock(&log_lock);
	work(100);
	pthread_mutex_unlock(&log_lock);
}

void *rotate_log(void *unused)
{
	pthread_mutex_lock(&log_lock);
	pthread_barrier_wait(&step);
	work(2000);
	pthread_barrier_wait(&step);
	pthread_mutex_unlock(&log_lock);
	return unused;
}

pid_t start_worker(void)
{
	pid_t child = fork(); /* FAULT */

	if (child == 0) {
		write_log();
		_exit(0);
	}
	return child;
}

int main(void)
{
	pthread_t thread;
	pid_t child;

	pthread_barrier_init(&step, NULL, 2);
	write_log();
	pthread_create(&thread, NULL, rotate_log, NULL);
	pthread_barrier_wait(&step);
	child = start_worker();
	pthread_barrier_wait(&step);
	pthread_join(thread, NULL);
	ready();
	waitpid(child, NULL, 0);
	return 0;
}
