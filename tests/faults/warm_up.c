/* A thread warms a cache up while another waits for it. The fault: the wait is a loop of short sleeps. */
#include "beside.h"

#include <pthread.h>
#include <stdatomic.h>

atomic_bool is_warm;

void *warm_cache(void *unused)
{
	for (int i = 0; i < 250; i++)
		work(1000);
	is_warm = true;
	return unused;
}

void await_cache(void)
{
	while (!is_warm)
		usleep(1000); /* FAULT */
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, warm_cache, NULL);
	await_cache();
	work(500);
	pthread_join(thread, NULL);
	return 0;
}
