/* Computes the parts of a picture in threads. The fault: each thread is joined before the next one starts. */
#include "beside.h"

#include <pthread.h>

void *compute_part(void *unused)
{
	work(6000);
	return unused;
}

void run_part(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, compute_part, NULL); /* FAULT */
	pthread_join(thread, NULL); /* FAULT */
}

int main(void)
{
	for (int part = 0; part < 24; part++)
		run_part();
	return 0;
}
