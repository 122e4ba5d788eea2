/* A program that calls access() when it is told to, so that a test knows what its trace has to have. It reads
 * commands from standard input, one on each line, and answers each with a line on standard output:
 *
 *	call TAG COUNT          each thread looks for /nowhere/TAG/THREAD/0 and so on
 *	fork TAG COUNT          a child does that, in one thread, and ends
 *	poke                    each thread looks for /nowhere/poke
 *	hold TAG COUNT          the first thread gets COUNT blocks of 1 MiB, and opens /dev/null as often
 *	swap                    it frees the blocks, and has /dev/zero in the place of each /dev/null
 *	touch                   it writes a byte to the first of these descriptors
 *	enter, leave            it calls a function that obeys what comes between these two
 *
 * usage: obeys THREADS */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_THREADS = 64, MOST_HELD = 16 };

static pthread_barrier_t begin, end;
static char tag[64];
static unsigned count;

static void look(unsigned thread)
{
	char path[128];
	unsigned i;

	for (i = 0; i < count; i++) {
		if (strcmp(tag, "poke") == 0)
			snprintf(path, sizeof(path), "/nowhere/poke");
		else
			snprintf(path, sizeof(path), "/nowhere/%s/%u/%u", tag, thread, i);
		if (access(path, F_OK) == 0)
			abort();
	}
}

static void *blocks[MOST_HELD];
static int descriptors[MOST_HELD];
static unsigned held;

static void hold(void)
{
	for (; count && held < MOST_HELD; count--, held++) {
		blocks[held] = malloc(1 << 20);
		descriptors[held] = open("/dev/null", O_WRONLY);
		if (!blocks[held] || descriptors[held] < 0)
			abort();
	}
}

static void swap(void)
{
	int zero = open("/dev/zero", O_WRONLY);

	while (held) {
		free(blocks[--held]);
		if (dup2(zero, descriptors[held]) < 0)
			abort();
	}
	close(zero);
}

static void *obey(void *argument)
{
	for (;;) {
		pthread_barrier_wait(&begin);
		look((unsigned)(size_t)argument);
		pthread_barrier_wait(&end);
	}
	return NULL;
}

static int obey_lines(void);

/* What a compiler makes of a function with -finstrument-functions. Nothing else here is instrumented, so that
 * the trace has little but what is commanded. */
void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

static __attribute__((noinline)) int dwell(void)
{
	int status;

	__cyg_profile_func_enter((void *)dwell, __builtin_return_address(0));
	status = obey_lines();
	__cyg_profile_func_exit((void *)dwell, __builtin_return_address(0));
	return status;
}

/* Obeys lines to the end of the input, or to the one that leaves the function. Returns the exit status. */
static int obey_lines(void)
{
	char line[128], verb[16];

	while (fgets(line, sizeof(line), stdin)) {
		count = 1;
		strcpy(tag, "poke");
		if (sscanf(line, "%15s %63s %u", verb, tag, &count) < 1)
			return 2;
		if (strcmp(verb, "hold") == 0) {
			hold();
		} else if (strcmp(verb, "swap") == 0) {
			swap();
		} else if (strcmp(verb, "touch") == 0) {
			if (write(descriptors[0], "x", 1) != 1)
				abort();
		} else if (strcmp(verb, "fork") == 0) {
			pid_t child = fork();
			int status;

			if (!child) {
				look(0);
				_exit(0);
			}
			if (child < 0 || waitpid(child, &status, 0) != child || status)
				return 3;
		} else if (strcmp(verb, "enter") == 0) {
			puts("done");
			fflush(stdout);
			if (dwell())
				return 2;
		} else if (strcmp(verb, "leave") == 0) {
			return 0;
		} else {
			pthread_barrier_wait(&begin);
			look(0);
			pthread_barrier_wait(&end);
		}
		puts("done");
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1, i;
	pthread_t thread;

	if (threads < 1 || threads > MOST_THREADS)
		return 2;
	pthread_barrier_init(&begin, NULL, threads);
	pthread_barrier_init(&end, NULL, threads);
	for (i = 1; i < threads; i++)
		if (pthread_create(&thread, NULL, obey, (void *)(size_t)i))
			return 2;
	return obey_lines();
}
