/* Makes threads in several ways: see main(). */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "need.h"
#include "random.h"

static pthread_barrier_t barrier;
static int ends[2];

static void allocate(size_t size)
{
	void *volatile block = malloc(size);

	free(block);
}

/* -- alive: many at once, more than a trace has indices for --------------------------------------- */

static void *wait_for_all(void *argument)
{
	allocate(20001);
	pthread_barrier_wait(&barrier);
	allocate(20002);
	return argument;
}

static void alive(unsigned count)
{
	pthread_t *list = calloc(count, sizeof(*list));
	pthread_attr_t attr;
	unsigned i;

	need(pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, 64 << 10) == 0);
	need(pthread_barrier_init(&barrier, NULL, count) == 0);
	for (i = 0; i < count; i++)
		need(pthread_create(&list[i], &attr, wait_for_all, NULL) == 0);
	for (i = 0; i < count; i++)
		need(pthread_join(list[i], NULL) == 0);
	free(list);
}

/* -- turn: one after the other -------------------------------------------------------------------- */

static void *live_shortly(void *argument)
{
	allocate(20001);
	return argument;
}

static void in_turn(unsigned count)
{
	pthread_t thread;

	while (count--) {
		need(pthread_create(&thread, NULL, live_shortly, NULL) == 0);
		need(pthread_join(thread, NULL) == 0);
	}
	/* SIGKILL leaves no exit handler that could make the file small. */
	raise(SIGKILL);
}

/* -- names: of many threads in turn, given by itself, by another, or by both --------------------------- */

enum { BY_ITSELF = 1, BY_ANOTHER = 2 };

struct named {
	unsigned by, number;
};

static void name(pthread_t thread, const char *by, unsigned number)
{
	char text[32];

	snprintf(text, sizeof(text), "%s %u", by, number);
	need(pthread_setname_np(thread, text) == 0);
	puts(text);
}

static void *be_named(void *argument)
{
	struct named *named = argument;

	if (named->by & BY_ITSELF)
		name(pthread_self(), "itself", named->number);
	allocate(20001);
	if (named->by & BY_ANOTHER) {
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
	}
	return argument;
}

/* A thread gets the stack of the one before, so its pthread_t is the same. */
static void names(unsigned count)
{
	struct named named;
	pthread_t thread;

	need(pthread_barrier_init(&barrier, NULL, 2) == 0);
	random_seed(0);
	for (unsigned i = 0; i < count; i++) {
		named = (struct named){1 + (unsigned)random_below(BY_ITSELF | BY_ANOTHER), i};
		need(pthread_create(&thread, NULL, be_named, &named) == 0);
		if (named.by & BY_ANOTHER) {
			pthread_barrier_wait(&barrier);
			name(thread, "another", i);
			pthread_barrier_wait(&barrier);
		}
		need(pthread_join(thread, NULL) == 0);
	}
}

/* -- cancel: in the middle of a read that never returns ------------------------------------------- */

static void clean_up(void *argument)
{
	(void)argument;
	allocate(20003);
}

static void *read_for_ever(void *argument)
{
	char byte;

	pthread_cleanup_push(clean_up, NULL);
	pthread_barrier_wait(&barrier);
	need(read(ends[0], &byte, 1) == 1);
	pthread_cleanup_pop(0);
	return argument;
}

static void cancel(void)
{
	pthread_t thread;
	void *result;

	need(pipe(ends) == 0 && pthread_barrier_init(&barrier, NULL, 2) == 0);
	need(pthread_create(&thread, NULL, read_for_ever, NULL) == 0);
	pthread_barrier_wait(&barrier);
	need(pthread_cancel(thread) == 0);
	need(pthread_join(thread, &result) == 0);
	need(result == PTHREAD_CANCELED);
	allocate(20004);
}

/* -- running: the process ends while they do ------------------------------------------------------ */

static void *read_until_the_end(void *argument)
{
	char byte;

	pthread_barrier_wait(&barrier);
	for (;;) {
		allocate(20005);
		if (argument)
			need(read(ends[0], &byte, 1) == 1);
	}
	return argument;
}

static void running(void)
{
	pthread_t thread;

	need(pipe(ends) == 0 && pthread_barrier_init(&barrier, NULL, 3) == 0);
	need(pthread_create(&thread, NULL, read_until_the_end, ends) == 0);
	need(pthread_create(&thread, NULL, read_until_the_end, NULL) == 0);
	pthread_barrier_wait(&barrier);
	allocate(20006);
	exit(9);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 1;

	if (!strcmp(what, "alive"))
		alive(count);
	else if (!strcmp(what, "turn"))
		in_turn(count);
	else if (!strcmp(what, "names"))
		names(count);
	else if (!strcmp(what, "cancel"))
		cancel();
	else if (!strcmp(what, "running"))
		running();
	else
		return 2;
	return 0;
}
