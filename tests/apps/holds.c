/* This program takes memory, descriptors and threads, and moves bytes. It makes other calls for 50 ms before
 * that, and for 50 ms after that while it still has them. It prints its process id, and how many bytes it has
 * read and written by calls. A child that is forked last makes threads at once, and moves half as many
 * bytes. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEMORY = 64 << 20, DESCRIPTORS = 10, THREADS = 3, BYTES = 1000 };

static pthread_barrier_t barrier;

static void *wait_for_end(void *argument)
{
	pthread_barrier_wait(&barrier);
	return argument;
}

static void linger(void)
{
	int i;

	for (i = 0; i < 50; i++)
		usleep(1000);
}

static void move(int times)
{
	int null = open("/dev/null", O_WRONLY), zero = open("/dev/zero", O_RDONLY), pair[2];
	long got = 0, given = 0;
	char bytes[BYTES];
	int i;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	for (i = 0; i < times; i++) {
		got += read(zero, bytes, sizeof(bytes));
		given += write(null, bytes, sizeof(bytes));
		given += send(pair[0], bytes, sizeof(bytes), 0);
		got += recv(pair[1], bytes, sizeof(bytes), 0);
		/* Failures move nothing. */
		if (read(null, bytes, 1) != -1 || write(-1, bytes, 1) != -1)
			abort();
	}
	/* However long this took, all that was moved and is open is sampled now. */
	linger();
	close(pair[0]);
	close(pair[1]);
	close(null);
	close(zero);
	printf("%d %ld %ld\n", (int)getpid(), got, given);
	fflush(stdout);
}

static pthread_t threads[THREADS];

static void make_threads(void)
{
	int i;

	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, wait_for_end, NULL);
}

static void end_threads(void)
{
	int i;

	pthread_barrier_wait(&barrier);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	char *volatile memory;
	pid_t child;
	int i;

	linger();
	memory = malloc(MEMORY);
	memset(memory, 1, MEMORY);
	make_threads();
	for (i = 0; i < DESCRIPTORS; i++)
		if (dup(0) < 0)
			abort();
	move(100);
	end_threads();
	free(memory);
	child = fork();
	if (!child) {
		make_threads();
		move(50);
		end_threads();
	} else {
		waitpid(child, NULL, 0);
	}
	return 0;
}
