/* Runs threads that end in every way: they return, call pthread_exit() or are cancelled at some depth, end
 * without the knowledge of the C library, or are still in a call when the process exits. */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counted.h"

enum { THREADS = 8, CALLS = 500, DEPTH = 30 };
enum ending { RETURNS, EXITS, IS_CANCELLED, IS_CANCELLED_AT_ONCE, IS_GONE, STAYS };

/* Each thread counts for itself, so that threads do not wait for each other. */
struct counts {
	long leaf, branch, descend, end, clean_up, run;
};

static struct counts counts[THREADS];
static __thread struct counts *mine;
static sem_t ready;

COUNTED static int leaf(int n)
{
	mine->leaf++;
	return n + 1;
}

COUNTED static int branch(int n)
{
	mine->branch++;
	return leaf(n) + leaf(n + 1);
}

COUNTED static void clean_up(void *argument)
{
	mine->clean_up++;
	branch((int)(intptr_t)argument);
}

COUNTED static void end(enum ending ending)
{
	volatile int going = 1;

	mine->end++;
	switch (ending) {
	case RETURNS: break;
	case EXITS: pthread_exit(&ready);
	case IS_CANCELLED:
		sem_post(&ready);
		while (going)
			pause();
		break;
	case IS_CANCELLED_AT_ONCE:
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
		sem_post(&ready);
		while (going)
			;
		break;
	case IS_GONE: syscall(SYS_exit, 0); break;
	case STAYS:
		sem_post(&ready);
		while (going)
			pause();
	}
}

COUNTED static int descend(const int depth, enum ending ending)
{
	volatile int below = 0;

	mine->descend++;
	leaf(depth);
	if (!depth) {
		end(ending);
	} else if (depth % 10 == 0) {
		pthread_cleanup_push(clean_up, (void *)(intptr_t)depth);
		below = descend(depth - 1, ending);
		pthread_cleanup_pop(1);
	} else {
		below = descend(depth - 1, ending);
	}
	return below + 1;
}

static const enum ending endings[THREADS] = {RETURNS, EXITS, IS_CANCELLED, IS_CANCELLED_AT_ONCE,
	IS_GONE, STAYS, EXITS, IS_CANCELLED};

COUNTED static void *run(void *argument)
{
	int number = (int)(intptr_t)argument, i;

	mine = &counts[number];
	mine->run++;
	for (i = 0; i < CALLS; i++)
		branch(i);
	descend(DEPTH, RETURNS);
	descend(DEPTH + number, endings[number]);
	return NULL;
}

/* Adds up what the threads have counted. */
#define SUM(function)                                                         \
	do {                                                                  \
		static struct counter sum = {#function, 0, 0, 0, NULL};       \
		int of;                                                       \
									      \
		count(&sum);                                                  \
		sum.calls = 0;                                                \
		for (of = 0; of < THREADS; of++)                              \
			sum.calls += counts[of].function;                     \
	} while (0)

int main(void)
{
	pthread_t threads[THREADS];
	int i, waits = 0;
	void *result;

	HERE;
	need(!sem_init(&ready, 0, 0));
	for (i = 0; i < THREADS; i++)
		need(!pthread_create(&threads[i], NULL, run, (void *)(intptr_t)i));
	for (i = 0; i < THREADS; i++)
		waits += endings[i] == IS_CANCELLED || endings[i] == IS_CANCELLED_AT_ONCE ||
			 endings[i] == STAYS;
	while (waits--)
		need(!sem_wait(&ready));
	for (i = 0; i < THREADS; i++) {
		if (endings[i] == STAYS)
			continue;
		if (endings[i] == IS_CANCELLED || endings[i] == IS_CANCELLED_AT_ONCE)
			need(!pthread_cancel(threads[i]));
		need(!pthread_join(threads[i], &result));
		need(endings[i] != EXITS || result == &ready);
		need((endings[i] != IS_CANCELLED && endings[i] != IS_CANCELLED_AT_ONCE) ||
		     result == PTHREAD_CANCELED);
	}
	SUM(leaf);
	SUM(branch);
	SUM(descend);
	SUM(end);
	SUM(clean_up);
	SUM(run);
	print_counts();
	return 0;
}
