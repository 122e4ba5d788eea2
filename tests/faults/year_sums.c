/* Adds up the years in a thread each. The fault: one year has as much as all others, and all wait for it. */
#include "beside.h"

#include <pthread.h>

void add_year(void)
{
	work(2000);
}

void add_archive(void)
{
	work(120000); /* FAULT */
}

void *add_up(void *year)
{
	if (year)
		add_archive();
	else
		add_year();
	return NULL;
}

int main(void)
{
	pthread_t threads[5];

	for (int i = 0; i < 5; i++)
		pthread_create(&threads[i], NULL, add_up, i == 1 ? &threads : NULL);
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
