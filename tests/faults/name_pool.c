/* Three workers ask a slow server for names. The fault: there are far more names than workers, and all of
 * these wait for the server. */
#include "beside.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { WORKERS = 3, NAMES = 45 };

sem_t asked, known;
bool is_over;

/* Answers each question after a while. */
void serve(int fd)
{
	char line[8];

	while (read(fd, line, sizeof line) > 0) {
		usleep(20000);
		must(write(fd, line, sizeof line) > 0, "answer");
	}
	_exit(0);
}

void ask_server(int fd)
{
	char line[8] = "name";

	must(write(fd, line, sizeof line) > 0, "question");
	must(read(fd, line, sizeof line) > 0, "answer"); /* FAULT */
}

void *worker(void *connection)
{
	for (;;) {
		sem_wait(&asked);
		if (is_over)
			return NULL;
		ask_server(*(int *)connection);
		sem_post(&known);
	}
}

int main(void)
{
	pthread_t threads[WORKERS];
	int ends[WORKERS][2];

	sem_init(&asked, 0, 0);
	sem_init(&known, 0, 0);
	for (int i = 0; i < WORKERS; i++) {
		must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends[i]) == 0, "socketpair");
		if (fork() == 0) {
			for (int k = 0; k <= i; k++)
				close(ends[k][0]);
			serve(ends[i][1]);
		}
		close(ends[i][1]);
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, &ends[i][0]);
	for (int i = 0; i < NAMES; i++)
		sem_post(&asked);
	for (int i = 0; i < NAMES; i++)
		sem_wait(&known);
	is_over = true;
	for (int i = 0; i < WORKERS; i++)
		sem_post(&asked);
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(threads[i], NULL);
		close(ends[i][0]);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
