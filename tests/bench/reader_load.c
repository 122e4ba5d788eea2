/* Fills a trace for tests/bench/readers: four threads, each of which goes through rounds of memory, locks and
 * files. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4 };

static pthread_mutex_t mutexes[THREADS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
					   PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static long rounds;

static __attribute__((noinline)) char *take_memory(long i)
{
	char *block = malloc((size_t)(16 + i * 7 % 4000));

	if (!block)
		abort();
	memset(block, 1, 16);
	return block;
}

static __attribute__((noinline)) void take_lock(long i)
{
	pthread_mutex_lock(&mutexes[i % THREADS]);
	pthread_mutex_unlock(&mutexes[i % THREADS]);
}

static void *work(void *number)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	long self = (long)number;
	char bytes[64];

	for (long i = 0; i < rounds; i++) {
		char *block = take_memory(i + self);

		take_lock(i + self);
		take_lock(self);
		if (i % 4 == 0 && (read(zero, bytes, sizeof(bytes)) < 0 || write(null, bytes, 8) < 0))
			abort();
		free(block);
	}
	close(zero);
	close(null);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	rounds = argc > 1 ? atol(argv[1]) : 1000;
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
