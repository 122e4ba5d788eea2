/* A thread reads from a connection until the program stops it. The fault: it is stopped by closing the
 * descriptor that it reads from; the number may be another file's by then, and on a socket the read goes
 * on. */
#include "beside.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>

int connection[2];
sem_t listening;

void *listen_to(void *unused)
{
	char bytes[64];

	sem_post(&listening);
	while (read(connection[0], bytes, sizeof bytes) > 0)
		work(10);
	return unused;
}

void stop_listening(void)
{
	close(connection[0]); /* FAULT */
}

int main(void)
{
	pthread_t thread;

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, connection) == 0, "socketpair");
	sem_init(&listening, 0, 0);
	pthread_create(&thread, NULL, listen_to, NULL);
	sem_wait(&listening);
	for (int i = 0; i < 20; i++) {
		work(3000);
		must(write(connection[1], "hello", 5) == 5, "hello");
	}
	work(20000);
	stop_listening();
	work(5000);
	close(connection[1]);
	pthread_join(thread, NULL);
	return 0;
}
