/* In this program threads give out, duplicate and close the same few numbers without agreeing on it, as
 * faulty programs do. It ends well.
 *
 *	descriptor_races THREADS STEPS          FXT_SEED says what each does
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "random.h"

enum { FIRST = 200, NUMBERS = 4, MOST_THREADS = 16 };

static long steps;

static void *race(void *argument)
{
	long i;

	random_seed((uint64_t)(size_t)argument);
	for (i = 0; i < steps; i++) {
		int number = FIRST + (int)random_below(NUMBERS), ends[2], fd = -1;

		switch (random_below(6)) {
		case 0: fd = open("/dev/null", O_RDONLY); break;
		case 1: fd = socket(AF_UNIX, SOCK_STREAM, 0); break;
		case 2: fd = eventfd(0, 0); break;
		case 3:
			if (!pipe(ends)) {
				close(ends[0]);
				fd = ends[1];
			}
			break;
		case 4: dup2(FIRST + (int)random_below(NUMBERS), number); break;
		default: close(number);
		}
		if (fd >= 0) {
			dup2(fd, number);
			close(fd);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST_THREADS];
	int count = argc > 1 ? atoi(argv[1]) : 4, i;

	steps = argc > 2 ? atol(argv[2]) : 1000;
	random_seed(0);
	if (count > MOST_THREADS)
		return 2;
	for (i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, race, (void *)(size_t)(i + 1)))
			return 1;
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
