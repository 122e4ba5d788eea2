/* Does the same for a long time. It has things from its beginning that it gives back late, and others that
 * it gets on the way: descriptors, blocks, and threads that wait for each other. It gives everything back
 * in the end. Each round asks for /nowhere/ROUND. With a file GATE it waits for a line in that before the
 * rest of the last round, with all that it has.
 *
 * usage: lasts ROUNDS [GATE] */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "random.h"
#include "unseen.h"

enum { HELD = 64, EACH = 97 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long asked, answered;

/* Answers each question, and ends at a negative one. */
static void *answers(void *argument)
{
	(void)argument;
	pthread_mutex_lock(&lock);
	for (;;) {
		while (asked == answered)
			pthread_cond_wait(&changed, &lock);
		if (asked < 0)
			break;
		answered = asked;
		pthread_cond_signal(&changed);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void ask(long question)
{
	pthread_mutex_lock(&lock);
	asked = question;
	pthread_cond_signal(&changed);
	while (question > 0 && answered != question)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/* Gives back what is held in this place, and gets something new. */
static void renew(int *fd, void **block)
{
	if (*fd >= 0)
		close(*fd);
	free(*block);
	*fd = open("/dev/null", O_RDONLY);
	*block = malloc(200000);
}

int main(int argc, char **argv)
{
	int first[HELD], fds[HELD];
	void *blocks[HELD] = {NULL};
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	pthread_t thread;
	char path[64], byte;

	random_seed(0);
	for (int i = 0; i < HELD; i++) {
		first[i] = open("/dev/zero", O_RDONLY);
		fds[i] = -1;
	}
	pthread_create(&thread, NULL, answers, NULL);
	for (long i = 0; i < rounds; i++) {
		snprintf(path, sizeof(path), "/nowhere/%ld", i);
		access(path, F_OK);
		if (i % EACH)
			continue;
		ask(i + 1);
		renew(&fds[random_below(HELD)], &blocks[random_below(HELD)]);
		/* What is from the beginning goes all along. */
		if (i / EACH % (rounds / EACH / HELD + 1) == 0) {
			int one = (int)(i / EACH / (rounds / EACH / HELD + 1));

			close(first[one]);
			first[one] = -1;
		}
	}
	if (argc > 2) {
		int gate = (int)unseen(SYS_openat, AT_FDCWD, argv[2], O_RDONLY, 0);

		if (gate < 0 || unseen(SYS_read, gate, &byte, 1) != 1)
			return 1;
	}
	ask(-1);
	pthread_join(thread, NULL);
	for (int i = 0; i < HELD; i++) {
		if (first[i] >= 0)
			close(first[i]);
		if (fds[i] >= 0)
			close(fds[i]);
		free(blocks[i]);
	}
	return 0;
}
