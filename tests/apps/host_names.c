/* Makes calls of all kinds in a program whose own functions have the names of those that the agent imports
 * from the C library. hosts_libraries.sh makes these functions, from what the agent needs; each is one
 * instruction, which kills. The program itself calls none of them. It has a variable `environ` that nobody
 * has filled. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

enum { MARKS = 10 };

char **environ;

static void handle(int signal)
{
	(void)signal;
}

static void *work(void *semaphore)
{
	sem_post(semaphore);
	return malloc(100000);
}

static void files(void)
{
	char line[100];
	DIR *directory = opendir("/");
	FILE *stream = fopen("/proc/self/stat", "r");
	int fd = open("/no/such/file", O_RDONLY), ends[2];

	if (fd >= 0 || !directory || !stream || !fgets(line, sizeof(line), stream) || fclose(stream) ||
	    closedir(directory) || pipe(ends) || write(ends[1], line, 1) != 1 ||
	    read(ends[0], line, 1) != 1 || close(ends[0]) || close(ends[1]))
		abort();
	fprintf(stderr, "%s %d %.2f %Lg\n", "text", 1, 2.5, (long double)3);
	perror("perror");
	psignal(SIGUSR1, "psignal");
}

static void threads(void)
{
	struct sigaction action = {.sa_handler = handle};
	pthread_t thread;
	sem_t semaphore;
	void *block;

	if (sigaction(SIGUSR1, &action, NULL) || raise(SIGUSR1) || sem_init(&semaphore, 0, 0) ||
	    pthread_create(&thread, NULL, work, &semaphore) || sem_wait(&semaphore) ||
	    pthread_join(thread, &block))
		abort();
	free(block);
}

static void processes(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	if (child < 0 || waitpid(child, NULL, 0) != child || system("true"))
		abort();
}

int main(void)
{
	void *mapping = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_barrier_t barrier;
	int i;

	files();
	threads();
	processes();
	munmap(mapping, 1 << 20);
	for (i = 0; i < MARKS; i++)
		pthread_barrier_init(&barrier, NULL, 1);
	printf("marks %d\n", MARKS);
	return 0;
}
