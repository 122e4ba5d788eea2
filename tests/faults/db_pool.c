/* Six threads share two connections to a database. The fault: a connection is kept until its slow answer
 * has come, and four threads wait for one. */
#include "beside.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/wait.h>

sem_t connections;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int free_fds[2], free_count;

void query(int number)
{
	char answer[8];
	int fd;

	sem_wait(&connections);
	pthread_mutex_lock(&lock);
	fd = free_fds[--free_count];
	pthread_mutex_unlock(&lock);
	must(write(fd, &number, sizeof number) == sizeof number, "query");
	must(read(fd, answer, sizeof answer) > 0, "answer"); /* FAULT */
	pthread_mutex_lock(&lock);
	free_fds[free_count++] = fd;
	pthread_mutex_unlock(&lock);
	sem_post(&connections);
}

void *client(void *unused)
{
	for (int i = 0; i < 10; i++) {
		work(50);
		query(i);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[6];

	sem_init(&connections, 0, 2);
	for (int i = 0; i < 2; i++) {
		int ends[2], number;

		must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
		if (fork() == 0) {
			close(ends[0]);
			for (int n = 0; read(ends[1], &number, sizeof number) > 0; n++) {
				usleep(15000);
				must(write(ends[1], "row", 4) == 4, "row");
			}
			_exit(0);
		}
		close(ends[1]);
		free_fds[free_count++] = ends[0];
	}
	for (int i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, client, NULL);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	close(free_fds[0]), close(free_fds[1]);
	while (wait(NULL) > 0)
		;
	return 0;
}
