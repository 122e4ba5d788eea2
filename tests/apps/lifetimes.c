/* Opens, duplicates, connects and closes descriptors, and leaves some open. Prints the lifetimes that its
 * trace should have, a line each:
 *
 *	PID CATEGORY:NAME CALL DETAIL READ/WRITTEN	one that has ended; "-": the C library moves bytes
 *	PID CATEGORY:NAME CALL DETAIL left		one that has not
 *	PID CATEGORY:NAME request OFFSET+BYTES RESULT	one of asynchronous input and output
 *
 *	lifetimes main | fork | vfork | exec | threads COUNT | loop
 *
 * It makes its files in the current directory. `loop` prints one line and goes on for ever.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lifetimes.h"

/* -- Children ------------------------------------------------------------------------------------- */

static void wait_for(pid_t child)
{
	int status;

	need(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* What a child inherits did not begin in it, so the child's trace has no lifetime of it. */
static void fork_child(void)
{
	int inherited = opened("one"), left = opened("two"), ends[2], copy, fd;
	pid_t child;

	need(pipe(ends) == 0 && write(inherited, data, 5) == 5);
	fflush(stdout);
	child = fork();
	if (!child) {
		need(write(inherited, data, 6) == 6);
		copy = dup(inherited);
		need(write(copy, data, 7) == 7);
		closed(inherited);
		closed(copy);
		SAY("io:file dup %d 0/7", inherited);
		fd = opened("three");
		need(fd == inherited && write(fd, data, 8) == 8);
		need(dup2(fd, ends[0]) == ends[0]);
		closed(ends[0]);
		SAY("io:file dup2 %d 0/0", fd);
		need(close_range((unsigned)left, (unsigned)left, 0) == 0);
		closed(fd);
		SAY_TEXT("io:file open three 0/8");
		opened("four");
		SAY_TEXT("io:file open four left");
		exit(0);
	}
	wait_for(child);
	closed(inherited);
	SAY_TEXT("io:file open one 0/5");
	SAY_TEXT("io:file open two left");
	SAY_TEXT("io:pipe pipe . left");
	SAY_TEXT("io:pipe pipe . left");
}

/* The child has the parent's memory, but descriptors of its own: the parent's lifetimes go on. */
static void vfork_child(void)
{
	int fd = opened("one"), other = opened("two"), ends[2];
	pid_t child;

	need(pipe(ends) == 0);
	child = vfork();
	if (!child) {
		if (write(fd, data, 100) != 100 || dup2(fd, other) != other || close(fd) || close(ends[1]) ||
		    dup(other) < 0)
			_exit(1);
		if (open("three", O_RDWR | O_CREAT, 0600) < 0 || close_range(3, 1000, 0))
			_exit(2);
		execl("/bin/true", "true", NULL);
		_exit(3);
	}
	wait_for(child);
	need(write(fd, data, 1) == 1);
	closed(fd);
	SAY_TEXT("io:file open one 0/1");
	closed(other);
	SAY_TEXT("io:file open two 0/0");
	need(dup2(ends[0], fd) == fd);
	SAY("io:pipe dup2 %d left", ends[0]);
	SAY_TEXT("io:pipe pipe . left");
	SAY_TEXT("io:pipe pipe . left");
}

/* Another program goes on with what is not closed on exec. */
static void exec_self(char *self)
{
	int kept = open("one", O_RDWR | O_CREAT, 0600);
	char number[12];

	need(kept >= 0 && opened("two") >= 0);
	SAY_TEXT("io:file open one left");
	SAY_TEXT("io:file open two left");
	fflush(stdout);
	snprintf(number, sizeof(number), "%d", kept);
	execl(self, self, "execed", number, NULL);
	abort();
}

static void execed(int kept)
{
	need(write(kept, data, 3) == 3);
	closed(kept);
	opened("three");
	SAY_TEXT("io:file open three left");
}

/* -- Threads ------------------------------------------------------------------------------------- */

static int rounds;

/* Numbers go from one thread to the other all the time. */
static void *turn_over(void *unused)
{
	int i, fd, copy, ends[2];

	(void)unused;
	for (i = 0; i < rounds; i++) {
		fd = opened("one");
		copy = dup(fd);
		need(copy >= 0 && pipe(ends) == 0);
		need(dup2(ends[0], copy) == copy);
		closed(fd);
		closed(ends[0]);
		closed(copy);
		closed(ends[1]);
	}
	return NULL;
}

static void run_threads(int count)
{
	pthread_t threads[4];
	int i;

	rounds = count;
	for (i = 0; i < 4; i++)
		need(pthread_create(&threads[i], NULL, turn_over, NULL) == 0);
	for (i = 0; i < 4; i++)
		need(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "main")) {
		use_all();
	} else if (!strcmp(what, "fork")) {
		fork_child();
	} else if (!strcmp(what, "vfork")) {
		vfork_child();
	} else if (!strcmp(what, "exec")) {
		exec_self(argv[0]);
	} else if (!strcmp(what, "execed")) {
		execed(atoi(argv[2]));
	} else if (!strcmp(what, "threads")) {
		run_threads(atoi(argv[2]));
	} else if (!strcmp(what, "loop")) {
		puts("ready");
		fflush(stdout);
		run_threads(1 << 30);
	} else {
		fputs("lifetimes: see the source\n", stderr);
		return 2;
	}
	return 0;
}
