/* Children of vfork are killed in the middle of traced calls, in the memory of their parent, which goes on.
 * Two threads make such children, two others map memory and wait for conditions, and one kills.
 *
 *	host_vforks TIMES
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <time.h>

#include "host.h"
#include "random.h"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"      /* vfork */

enum { MAKERS = 2 };

static atomic_int victims[MAKERS];
static atomic_bool is_over;
static char nowhere[PATH_MAX];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Kills each child up to some 100 microseconds after it has begun. */
static void *kill_all(void *unused)
{
	uint64_t at_ns;
	int i, victim;

	random_seed(1);
	while (!atomic_load(&is_over)) {
		for (i = 0; i < MAKERS; i++) {
			victim = atomic_exchange(&victims[i], 0);
			if (!victim)
				continue;
			at_ns = now_ns() + random_below(100000);
			while (now_ns() < at_ns)
				;
			need(!kill(victim, SIGKILL));
		}
		sched_yield();
	}
	return unused;
}

/* Makes calls until the child is killed. Nothing here takes a lock of the C library's, which the parent would
 * find taken for ever. */
static __attribute__((noinline)) void be_child(uint64_t *state)
{
	struct sigaction act = {.sa_handler = SIG_DFL};
	void *memory;
	int fd;

	for (;;) {
		fd = open("/dev/null", O_RDWR);
		if (write(fd, nowhere, 100) != 100 || dup2(fd, fd + 3) < 0 || close(fd) || close(fd + 3))
			_exit(1);
		if (sigaction(SIGUSR1, &act, NULL) || signal(SIGBUS, SIG_DFL) == SIG_ERR)
			_exit(2);
		if (!access(path_nowhere(nowhere, random_length_of(state, PATH_MOST)), F_OK))
			_exit(3);
		memory = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED || munmap(memory, 1 << 20))
			_exit(4);
	}
}

static void make(int number, unsigned times)
{
	uint64_t state = random_state_of(2 + (unsigned)number);
	volatile unsigned left = times;
	pid_t child;
	int status;

	while (left--) {
		child = vfork();
		if (!child) {
			atomic_store(&victims[number], getpid());
			be_child(&state);
		}
		need(child > 0 && waitpid(child, &status, 0) == child);
		need(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		mark();
	}
}

static void *make_in_thread(void *times)
{
	make(1, *(unsigned *)times);
	return NULL;
}

static void *go_on(void *unused)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition;
	struct timespec past = {0, 0};
	void *memory;

	while (!atomic_load(&is_over)) {
		memory = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		need(memory != MAP_FAILED);
		pthread_cond_init(&condition, NULL);
		pthread_mutex_lock(&mutex);
		need(pthread_cond_timedwait(&condition, &mutex, &past) == ETIMEDOUT);
		pthread_mutex_unlock(&mutex);
		pthread_cond_destroy(&condition);
		need(!access("/", F_OK) && !munmap(memory, 1 << 20));
		sched_yield();
	}
	return unused;
}

int main(int argc, char **argv)
{
	unsigned times = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
	pthread_t killer, maker, others[2];
	int i;

	random_seed(0);
	path_nowhere_fill(nowhere);
	need(!pthread_create(&killer, NULL, kill_all, NULL));
	for (i = 0; i < 2; i++)
		need(!pthread_create(&others[i], NULL, go_on, NULL));
	need(!pthread_create(&maker, NULL, make_in_thread, &times));
	make(0, times);
	need(!pthread_join(maker, NULL));
	atomic_store(&is_over, true);
	for (i = 0; i < 2; i++)
		need(!pthread_join(others[i], NULL));
	need(!pthread_join(killer, NULL));
	print_marks();
	return 0;
}
