/* Computes blocks in threads. The fault: there are far more threads than processors. */
#include "beside.h"

#include <pthread.h>

void *crunch_block(void *unused)
{
	for (int i = 0; i < 20; i++)
		work(600);
	return unused;
}

int main(void)
{
	pthread_t threads[48];

	for (int i = 0; i < 48; i++)
		pthread_create(&threads[i], NULL, crunch_block, NULL); /* FAULT */
	for (int i = 0; i < 48; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
