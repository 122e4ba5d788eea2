/* Sends notices, each by a thread. The fault: nobody joins the threads, so their stacks stay. */
#include "beside.h"

#include <pthread.h>

void *send_notice(void *unused)
{
	work(50);
	return unused;
}

void notify(void)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, send_notice, NULL) == 0, "pthread_create"); /* FAULT */
}

int main(void)
{
	for (int order = 0; order < 250; order++) {
		work(200);
		notify();
	}
	return 0;
}
