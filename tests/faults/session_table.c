/* Four threads look up sessions in one table. The fault: every look-up sorts the table anew while it holds
 * the table's lock. */
#include "beside.h"

#include <pthread.h>

pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

void rebuild_order(void)
{
	work(800);
}

void find_session(void)
{
	pthread_mutex_lock(&table_lock);
	rebuild_order(); /* FAULT */
	pthread_mutex_unlock(&table_lock);
}

void *serve(void *unused)
{
	for (int i = 0; i < 60; i++) {
		work(50);
		find_session();
	}
	return unused;
}

int main(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, serve, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
