/* Four threads shade the tiles of pictures and wait for each other after each picture. The fault: the
 * tiles are unequal, and three wait for the one that has most of them. */
#include "beside.h"

#include <pthread.h>

pthread_barrier_t picture_done;

void shade_sky(void)
{
	work(100);
}

void shade_forest(void)
{
	work(12000); /* FAULT */
}

void *shade(void *part)
{
	for (int picture = 0; picture < 15; picture++) {
		if (part)
			shade_forest();
		else
			shade_sky();
		pthread_barrier_wait(&picture_done);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[4];

	pthread_barrier_init(&picture_done, NULL, 4);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, shade, i == 3 ? &picture_done : NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
