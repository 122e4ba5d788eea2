/* A thread takes lines from a queue of 16 and ships them. The fault: it ends at the first line it does not
 * understand, and the producer waits for room in the queue. */
#include "beside.h"

#include <pthread.h>

enum { ROOM = 16 };

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t filled = PTHREAD_COND_INITIALIZER, freed = PTHREAD_COND_INITIALIZER;
int queue[ROOM];
unsigned head, tail;

void put_line(int line)
{
	pthread_mutex_lock(&lock);
	while (head - tail == ROOM)
		pthread_cond_wait(&freed, &lock); /* FAULT */
	queue[head++ % ROOM] = line;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
}

int next_line(void)
{
	int line;

	pthread_mutex_lock(&lock);
	while (head == tail)
		pthread_cond_wait(&filled, &lock);
	line = queue[tail++ % ROOM];
	pthread_cond_signal(&freed);
	pthread_mutex_unlock(&lock);
	return line;
}

void *ship_lines(void *unused)
{
	while (next_line() != 300)
		work(10);
	return unused;
}

int main(void)
{
	pthread_t shipper;

	pthread_create(&shipper, NULL, ship_lines, NULL);
	for (int line = 0; line < 10000; line++) {
		work(10);
		if (line == 300)
			ready();
		put_line(line);
	}
	return 0;
}
