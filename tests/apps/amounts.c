/* This program does known amounts of several things, each in a function of its own, and prints what it did
 * as NAME=NUMBER, a line each. Arguments change the amounts, as `reads=40`; without them it does the usual.
 * So two runs of it are two versions of a program with known differences.
 *
 * usage: amounts DIRECTORY [NAME=NUMBER]... */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "need.h"

#define APART __attribute__((noinline, noclone))

static struct amount {
	const char *name;
	unsigned long number;
} amounts[] = {
	{"blocks", 200},        /* that parse() asks for and frees */
	{"leaks", 0},           /* of 1000 bytes, that remember() asks for and never frees */
	{"reads", 40},          /* of 100 bytes each, by load() */
	{"hold_ms", 2},         /* for how long a thread keeps a lock that others want, in rebuild() */
	{"rounds", 10},         /* how often it does so */
	{"sleep_ms", 0},        /* for how long rest() sleeps */
	{"fails", 0},           /* opens of a file that is not there, by look_up() */
	{"helpers", 0},         /* threads that start_helpers() makes besides */
	{"work_ms", 20},        /* of processor time in compute() */
	{"files", 1},           /* that load() reads */
	{"peer_ms", 1},         /* that the peer takes for an answer */
	{"asks", 5},            /* how often ask_peer() asks it */
};

enum { AMOUNTS = sizeof(amounts) / sizeof(*amounts) };

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static const char *directory;
static void *volatile last;
static volatile uint64_t sink;
static int ends[2];

static unsigned long amount(const char *name)
{
	for (unsigned i = 0; i < AMOUNTS; i++)
		if (strcmp(amounts[i].name, name) == 0)
			return amounts[i].number;
	abort();
}

static void rest_ms(unsigned long ms)
{
	struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

	if (ms)
		nanosleep(&t, NULL);
}

APART static void parse(void)
{
	for (unsigned long i = 0; i < amount("blocks"); i++) {
		last = malloc(64 + i % 64);
		free(last);
	}
}

APART static void remember(void)
{
	for (unsigned long i = 0; i < amount("leaks"); i++)
		last = malloc(1000);
}

APART static void load(void)
{
	static const char *const names[] = {"settings", "users", "rules", "extra"};
	char path[4096], bytes[100];

	for (unsigned long f = 0; f < amount("files"); f++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%s", directory, names[f % 4]);
		fd = open(path, O_RDONLY);
		need(fd >= 0);
		for (unsigned long i = 0; i < amount("reads"); i++)
			need(read(fd, bytes, sizeof(bytes)) == sizeof(bytes));
		close(fd);
	}
}

APART static void look_up(void)
{
	for (unsigned long i = 0; i < amount("fails"); i++)
		need(open("/nowhere/at/all", O_RDONLY) < 0 && errno == ENOENT);
}

APART static void rest(void)
{
	rest_ms(amount("sleep_ms"));
}

/* Keeps the lock until the other thread has wanted it for a while. */
APART static void rebuild(void)
{
	struct timespec begin, now;

	pthread_mutex_lock(&table);
	pthread_barrier_wait(&both);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((unsigned long)((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000) <
	       amount("hold_ms"));
	pthread_mutex_unlock(&table);
	pthread_barrier_wait(&both);
}

APART static void look_at_table(void)
{
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&table);
	pthread_mutex_unlock(&table);
	pthread_barrier_wait(&both);
}

static void *reader(void *argument)
{
	for (unsigned long i = 0; i < amount("rounds"); i++)
		look_at_table();
	return argument;
}

APART static void compute(void)
{
	struct timespec t;
	unsigned long begin_ms, now_ms;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	begin_ms = (unsigned long)t.tv_sec * 1000 + (unsigned long)t.tv_nsec / 1000000;
	do {
		for (unsigned i = 0; i < 20000; i++)
			sink += i * UINT64_C(0x9e3779b97f4a7c15);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now_ms = (unsigned long)t.tv_sec * 1000 + (unsigned long)t.tv_nsec / 1000000;
	} while (now_ms - begin_ms < amount("work_ms"));
}

static void *help(void *argument)
{
	return argument;
}

APART static void start_helpers(void)
{
	for (unsigned long i = 0; i < amount("helpers"); i++) {
		pthread_t thread;

		need(pthread_create(&thread, NULL, help, NULL) == 0);
		need(pthread_join(thread, NULL) == 0);
	}
}

static void *answer(void *argument)
{
	char byte;

	while (recv(ends[1], &byte, 1, 0) == 1) {
		rest_ms(amount("peer_ms"));
		need(send(ends[1], &byte, 1, 0) == 1);
	}
	return argument;
}

APART static void ask_peer(void)
{
	char byte = 'q';

	for (unsigned long i = 0; i < amount("asks"); i++) {
		need(send(ends[0], &byte, 1, 0) == 1);
		need(recv(ends[0], &byte, 1, 0) == 1);
	}
}

static void take(char *argument)
{
	char *equals = strchr(argument, '=');

	need(equals != NULL);
	*equals = '\0';
	for (unsigned i = 0; i < AMOUNTS; i++) {
		if (strcmp(amounts[i].name, argument) == 0) {
			amounts[i].number = strtoul(equals + 1, NULL, 10);
			return;
		}
	}
	abort();
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	need(argc > 1);
	directory = argv[1];
	for (int i = 2; i < argc; i++)
		take(argv[i]);
	need(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	pthread_barrier_init(&both, NULL, 2);
	need(pthread_create(&threads[0], NULL, reader, NULL) == 0);
	need(pthread_create(&threads[1], NULL, answer, NULL) == 0);
	load();
	parse();
	remember();
	look_up();
	for (unsigned long i = 0; i < amount("rounds"); i++)
		rebuild();
	rest();
	compute();
	start_helpers();
	ask_peer();
	close(ends[0]);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	for (unsigned i = 0; i < AMOUNTS; i++)
		printf("%s=%lu\n", amounts[i].name, amounts[i].number);
	return 0;
}
