/* Ten programs that are slow for one reason each, and can be repaired: what is slow takes no time then.
 * tests/e2e/critical.sh compares what that wins with what the report predicts.
 *
 *	repairable CASE spin|wait slow|repaired [tell]
 *
 * With `spin` work is computing. With `wait` it is sleeping, whose length does not depend on what else the
 * machine does. With `tell` the program prints for how many nanoseconds it ran. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool spins, repaired;

__attribute__((always_inline)) static inline int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Each kind of work has a function of its own, which has to stand on the stack. */
#define WORK(name)                                                                     \
	__attribute__((noipa)) static void name(int ms)                                \
	{                                                                              \
		int64_t end_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + ms * INT64_C(1000000); \
		if (!spins)                                                            \
			usleep((unsigned)ms * 1000);                                   \
		while (spins && now_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)              \
			;                                                              \
		__asm__ volatile("");                                                  \
	}
WORK(usual)
WORK(slow)
WORK(other)

/* What is repaired takes no time. */
static void cure(int ms)
{
	if (!repaired)
		slow(ms);
}

static void start(pthread_t *thread, void *(*function)(void *), void *argument)
{
	if (pthread_create(thread, NULL, function, argument))
		abort();
}

static void run_all(int count, void *(*function)(void *))
{
	pthread_t threads[8];

	for (int i = 0; i < count; i++)
		start(&threads[i], function, (void *)(intptr_t)i);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

/* -- A lock that all threads need; repaired, each has its own --------------------------------------- */

static pthread_mutex_t locks[4] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
				   PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void *lock_worker(void *number)
{
	pthread_mutex_t *lock = &locks[repaired ? (intptr_t)number : 0];

	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(lock);
		usual(15);
		pthread_mutex_unlock(lock);
		other(5);
	}
	return NULL;
}

static void lock(void)
{
	run_all(spins ? 2 : 4, lock_worker);
}

/* -- A semaphore with one unit; repaired, it has enough --------------------------------------------- */

static sem_t units;

static void *semaphore_worker(void *number)
{
	(void)number;
	for (int i = 0; i < 5; i++) {
		sem_wait(&units);
		usual(15);
		sem_post(&units);
		other(5);
	}
	return NULL;
}

static void semaphore(void)
{
	sem_init(&units, 0, repaired ? 8 : 1);
	run_all(spins ? 2 : 4, semaphore_worker);
}

/* -- A pipe from a slow process --------------------------------------------------------------------- */

static void pipeline(void)
{
	int ends[2];
	char byte = 0;
	pid_t child;

	if (pipe(ends))
		abort();
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 5; i++) {
			cure(40);
			other(10);
			if (write(ends[1], &byte, 1) != 1)
				abort();
		}
		_exit(0);
	}
	for (int i = 0; i < 5; i++) {
		if (read(ends[0], &byte, 1) != 1)
			abort();
		usual(15);
	}
	waitpid(child, NULL, 0);
}

/* -- A child process that is waited for ------------------------------------------------------------- */

static void subprocess(void)
{
	usual(60);
	if (!repaired) {
		pid_t child = fork();

		if (child == 0) {
			char *const arguments[] = {"sleep", "0.2", NULL};

			execvp("sleep", arguments);
			_exit(127);
		}
		waitpid(child, NULL, 0);
	}
	other(40);
}

/* -- A file that is synced again and again ---------------------------------------------------------- */

static void syncing(void)
{
	char path[] = "/tmp/repairableXXXXXX";
	int fd = mkstemp(path);
	static char page[1 << 16];

	unlink(path);
	usual(20);
	for (int i = 0; i < 60; i++) {
		if (write(fd, page, sizeof(page)) < 0)
			abort();
		if (!repaired)
			fsync(fd);
	}
	other(20);
}

/* -- One worker that has more to do than the others ------------------------------------------------- */

static void *pool_worker(void *number)
{
	usual(20);
	if ((intptr_t)number == 1)
		cure(150);
	else
		other(40);
	return NULL;
}

static void worker(void)
{
	run_all(spins ? 2 : 4, pool_worker);
	usual(30);
}

/* -- A condition that is late ----------------------------------------------------------------------- */

static pthread_mutex_t ready_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready_condition = PTHREAD_COND_INITIALIZER;
static bool is_ready;

static void *loader(void *unused)
{
	(void)unused;
	cure(180);
	other(10);
	pthread_mutex_lock(&ready_lock);
	is_ready = true;
	pthread_cond_signal(&ready_condition);
	pthread_mutex_unlock(&ready_lock);
	return NULL;
}

static void condition(void)
{
	pthread_t thread;

	start(&thread, loader, NULL);
	usual(60);
	pthread_mutex_lock(&ready_lock);
	while (!is_ready)
		pthread_cond_wait(&ready_condition, &ready_lock);
	pthread_mutex_unlock(&ready_lock);
	usual(50);
	pthread_join(thread, NULL);
}

/* -- A peer that answers slowly --------------------------------------------------------------------- */

static void serve(int listener)
{
	int fd = accept(listener, NULL, NULL);
	char byte;

	while (read(fd, &byte, 1) == 1) {
		cure(25);
		other(5);
		if (write(fd, &byte, 1) != 1)
			abort();
	}
	_exit(0);
}

static void peer(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	char byte = 0;
	pid_t child;

	if (bind(listener, (struct sockaddr *)&address, bytes) || listen(listener, 5) ||
	    getsockname(listener, (struct sockaddr *)&address, &bytes))
		abort();
	child = fork();
	if (child == 0) {
		close(fd);
		serve(listener);
	}
	if (connect(fd, (struct sockaddr *)&address, bytes))
		abort();
	for (int i = 0; i < 6; i++) {
		if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1)
			abort();
		usual(10);
	}
	close(fd);
	waitpid(child, NULL, 0);
}

/* -- Phases whose threads are joined ---------------------------------------------------------------- */

static void *first_phase(void *number)
{
	if (number)
		other(70);
	else
		cure(160);
	return NULL;
}

static void *second_phase(void *number)
{
	usual(number ? 20 : 60);
	return NULL;
}

static void phases(void)
{
	run_all(2, first_phase);
	run_all(2, second_phase);
}

/* -- Sleeps between requests ------------------------------------------------------------------------ */

__attribute__((noipa)) static void pause_a_little(void)
{
	usleep(20000);
	__asm__ volatile("");
}

static void sleeping(void)
{
	for (int i = 0; i < 8; i++) {
		usual(12);
		if (!repaired)
			pause_a_little();
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"lock", lock}, {"pipe", pipeline}, {"subprocess", subprocess}, {"fsync", syncing},
		     {"worker", worker}, {"semaphore", semaphore}, {"condition", condition}, {"peer", peer},
		     {"phases", phases}, {"sleep", sleeping}};
	int64_t begin_ns = now_ns(CLOCK_MONOTONIC);

	spins = argc > 2 && !strcmp(argv[2], "spin");
	repaired = argc > 3 && !strcmp(argv[3], "repaired");
	for (size_t i = 0; argc > 3 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(argv[1], cases[i].name))
			continue;
		cases[i].run();
		if (argc > 4)
			printf("%lld\n", (long long)(now_ns(CLOCK_MONOTONIC) - begin_ns));
		return 0;
	}
	return 2;
}
