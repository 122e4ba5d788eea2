/* A throng: many threads are alive at once, and each records a little now and then. Calls are numbered, as
 * those of sequence.c: calloc(1, 0), calloc(2, 0), ... so a trace says which of them it has.
 *
 *	throng THREADS ROUNDS		THREADS threads are alive. In each of ROUNDS rounds each makes 0 to 3
 *					calls, some after all others have slept for a while.
 *	throng THREADS ROUNDS turn	threads are made and joined one after the other, some at a time
 *
 * It prints how many calls it has made. What is drawn follows from FXT_SEED (random.h). */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "random.h"

enum { STACK_BYTES = 64 << 10, AT_A_TIME = 8 };

static atomic_size_t calls;
static unsigned rounds;

/* The rounds: threads sleep on `changed` until `round` is theirs, and the last of a round says so. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static unsigned round_now, busy;

static void make_calls(unsigned count)
{
	while (count--) {
		void *volatile block = calloc(atomic_fetch_add(&calls, 1) + 1, 0);

		free(block);
	}
}

static void *member(void *number)
{
	unsigned round;

	random_seed((uint64_t)(uintptr_t)number);
	for (round = 1; round <= rounds; round++) {
		pthread_mutex_lock(&lock);
		while (round_now < round)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		make_calls((unsigned)random_below(4));
		pthread_mutex_lock(&lock);
		if (!--busy)
			pthread_cond_signal(&done);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *passer(void *number)
{
	random_seed((uint64_t)(uintptr_t)number);
	make_calls((unsigned)random_below(4));
	return NULL;
}

static void begin(pthread_t *thread, void *(*routine)(void *), size_t number)
{
	static pthread_attr_t attributes;
	static int is_set;

	if (!is_set++) {
		pthread_attr_init(&attributes);
		pthread_attr_setstacksize(&attributes, STACK_BYTES);
	}
	if (pthread_create(thread, &attributes, routine, (void *)(uintptr_t)number)) {
		perror("throng: pthread_create");
		exit(1);
	}
}

static void be_alive(size_t count)
{
	pthread_t *threads = malloc(count * sizeof(*threads));
	size_t i;
	unsigned round;

	for (i = 0; i < count; i++)
		begin(&threads[i], member, i + 1);
	for (round = 1; round <= rounds; round++) {
		pthread_mutex_lock(&lock);
		busy = (unsigned)count;
		round_now = round;
		pthread_cond_broadcast(&changed);
		while (busy)
			pthread_cond_wait(&done, &lock);
		pthread_mutex_unlock(&lock);
		usleep((useconds_t)random_below(3000));
		make_calls((unsigned)random_below(2000));
	}
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void take_turns(size_t count)
{
	pthread_t threads[AT_A_TIME];
	size_t made = 0, some, i;

	while (made < count) {
		some = 1 + random_below(AT_A_TIME);
		for (i = 0; i < some; i++)
			begin(&threads[i], passer, ++made);
		for (i = 0; i < some; i++)
			pthread_join(threads[i], NULL);
	}
}

int main(int argc, char **argv)
{
	size_t count = argc > 2 ? strtoul(argv[1], NULL, 10) : 1;

	random_seed(0);
	rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
	if (argc > 3 && !strcmp(argv[3], "turn"))
		take_turns(count);
	else
		be_alive(count);
	printf("%zu\n", atomic_load(&calls));
	return 0;
}
