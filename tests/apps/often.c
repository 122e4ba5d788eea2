/* Two functions make so many short calls as the first two arguments say, in an order that depends on them; in
 * the main thread (`here`), in two threads (`threads`) or in the process and its child (`fork`). */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long ones, twos;
static int zero;

static __attribute__((noinline)) void one_byte(void)
{
	char bytes[2];

	if (pread(zero, bytes, 1, 0) != 1)
		_exit(3);
	__asm__ volatile("");
}

static __attribute__((noinline)) void two_bytes(void)
{
	char bytes[2];

	if (pread(zero, bytes, 2, 0) != 2)
		_exit(3);
	__asm__ volatile("");
}

static void *work(void *unused)
{
	long one, two;

	/* Each is done in its share of any part of the run. */
	for (one = two = 0; one + two < ones + twos;)
		if (one * twos <= two * ones && one < ones) {
			one_byte();
			one++;
		} else {
			two_bytes();
			two++;
		}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	int status = 0, i;
	pid_t child;

	if (argc != 4)
		return 2;
	ones = atol(argv[1]);
	twos = atol(argv[2]);
	zero = open("/dev/zero", O_RDONLY);
	if (!strcmp(argv[3], "threads")) {
		for (i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, work, NULL);
		for (i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
	} else if (!strcmp(argv[3], "fork")) {
		child = fork();
		work(NULL);
		if (!child)
			_exit(0);
		waitpid(child, &status, 0);
	} else {
		work(NULL);
	}
	return status != 0;
}
