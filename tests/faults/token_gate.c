/* Threads use a token that has to be made new now and then. The fault: who makes it new pauses between its
 * attempts, and holds the token's lock meanwhile. */
#include "beside.h"

#include <pthread.h>

pthread_mutex_t token_lock = PTHREAD_MUTEX_INITIALIZER;
int uses;

void renew_token(void)
{
	for (int attempt = 0; attempt < 3; attempt++)
		usleep(20000); /* FAULT */
}

void use_token(void)
{
	pthread_mutex_lock(&token_lock);
	if (++uses % 10 == 0)
		renew_token();
	pthread_mutex_unlock(&token_lock);
}

void *client(void *unused)
{
	for (int i = 0; i < 25; i++) {
		work(300);
		use_token();
	}
	return unused;
}

int main(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, client, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
