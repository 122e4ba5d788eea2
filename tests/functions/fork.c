/* Forks in the middle of calls. The children make further calls, and return from those that their parent has
 * made. Each process writes its counts to counts.PID, in the working directory: its own calls, and the frames
 * that it has inherited from its parent. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counted.h"

enum { DEPTH = 20 };

static pid_t first;

/* The functions that a thread is in, from the outermost on. */
static __thread struct counter *frames[100];
static __thread int depth;

PLAIN static void enter(struct counter *counter)
{
	count(counter);
	need(depth < (int)(sizeof(frames) / sizeof(*frames)));
	frames[depth++] = counter;
}

#define ENTER                                                                 \
	do {                                                                  \
		static struct counter here = {__func__, 0, 0, 0, NULL};       \
		enter(&here);                                                 \
	} while (0)
#define LEAVE depth--

PLAIN static void write_counts(void)
{
	char name[40];
	FILE *file;

	snprintf(name, sizeof(name), "counts.%d", (int)getpid());
	file = fopen(name, "w");
	need(file);
	print_counts_to(file);
	fclose(file);
}

/* Begins the counts of a child. */
PLAIN static void inherit(void)
{
	struct counter *counter;
	int i;

	for (counter = counters; counter; counter = counter->next)
		counter->calls = counter->inherited = 0;
	for (i = 0; i < depth; i++)
		frames[i]->inherited++;
}

COUNTED static int leaf(int n)
{
	ENTER;
	LEAVE;
	return n + 1;
}

COUNTED static int branch(int n)
{
	int sum;

	ENTER;
	sum = leaf(n) + leaf(n + 1);
	LEAVE;
	return sum;
}

COUNTED static pid_t split(void)
{
	pid_t child;

	ENTER;
	leaf(1);
	child = fork();
	need(child >= 0);
	if (!child)
		inherit();
	branch(2);
	LEAVE;
	return child;
}

/* Forks at its innermost call. The child returns from all that its parent has called. */
COUNTED static pid_t descend(int n)
{
	pid_t child;

	ENTER;
	leaf(n);
	child = n ? descend(n - 1) : split();
	KEEP(child);
	branch(n);
	LEAVE;
	return child;
}

/* Forks at its innermost call as well, and the child ends there. */
COUNTED static void ends_within(int n)
{
	ENTER;
	if (n) {
		ends_within(n - 1);
	} else if (!split()) {
		branch(n);
		write_counts();
		_exit(0);
	}
	branch(n);
	LEAVE;
}

COUNTED static void *forks(void *argument)
{
	pid_t child;

	ENTER;
	child = descend(5);
	branch(1);
	if (!child) {
		write_counts();
		exit(0);
	}
	LEAVE;
	return argument;
}

int main(void)
{
	pthread_t thread;
	pid_t child;
	int status;

	ENTER;
	first = getpid();
	child = descend(DEPTH);
	/* A child forks as well. */
	if (!child)
		descend(DEPTH / 2);
	if (getpid() == first) {
		ends_within(DEPTH);
		need(!pthread_create(&thread, NULL, forks, NULL) && !pthread_join(thread, NULL));
	}
	branch(3);
	while (wait(&status) > 0)
		need(!status);
	if (getpid() == first)
		print_counts();
	write_counts();
	return 0;
}
