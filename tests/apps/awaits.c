/* Waits for signals in every way, each sent while it sleeps in that, and prints the arrows of a trace of it: "cause -> effect count".
 *
 *	awaits COUNT
 *
 * A process waits for those of another, and a thread for those of another thread of its process.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HANDLED = SIGUSR1, TAKEN = SIGTERM };

/* Of who waits, which may be another process: how many waits it has begun, and its thread. */
struct waiter {
	atomic_long begun;
	atomic_int pid, tid;
	pthread_t handle;
};

static struct waiter *shared;
static struct waiter own;
static long count;

static void need(int condition)
{
	if (!condition)
		abort();
}

static void handle(int signum)
{
	need(signum == HANDLED);
}

/* -- Waiting ----------------------------------------------------------------------------------- */

enum { WAYS = 5 };

static void await(int way)
{
	const struct timespec long_enough = {600, 0};
	siginfo_t info;
	sigset_t set;
	int signum;

	sigemptyset(&set);
	sigaddset(&set, TAKEN);
	switch (way) {
	case 0: need(!sigwait(&set, &signum) && signum == TAKEN); break;
	case 1: need(sigwaitinfo(&set, &info) == TAKEN && info.si_pid > 0); break;
	case 2: need(sigtimedwait(&set, NULL, &long_enough) == TAKEN); break;
	case 3: need(sigsuspend(&set) == -1); break;
	default: need(pause() == -1);
	}
}

static void *wait_in_turn(void *argument)
{
	struct waiter *me = argument;
	long i;

	me->handle = pthread_self();
	atomic_store(&me->pid, getpid());
	atomic_store(&me->tid, (int)syscall(SYS_gettid));
	for (i = 0; i < count * WAYS; i++) {
		atomic_store(&me->begun, i + 1);
		await((int)(i % WAYS));
	}
	return NULL;
}

/* -- Sending ----------------------------------------------------------------------------------- */

static size_t read_of(const struct waiter *waiter, const char *what, char *text, size_t bytes)
{
	char path[64];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", atomic_load(&waiter->pid), atomic_load(&waiter->tid), what);
	file = fopen(path, "re");
	n = file ? fread(text, 1, bytes - 1, file) : 0;
	if (file)
		fclose(file);
	text[n] = '\0';
	return n;
}

/* Until it sleeps, and not for a lock: where the kernel tells in which system call. */
static void wait_until_asleep(const struct waiter *waiter)
{
	char text[512], *state;

	for (;;) {
		need(read_of(waiter, "stat", text, sizeof(text)) > 0);
		state = strrchr(text, ')');
		need(state != NULL);
		if (state[2] == 'S' && (!read_of(waiter, "syscall", text, sizeof(text)) ||
					(text[0] != 'r' && strtol(text, NULL, 10) != SYS_futex)))
			return;
	}
}

static void send_in_turn(const struct waiter *waiter, int to_process)
{
	const union sigval value = {0};
	int signum;
	long i;

	for (i = 0; i < count * WAYS; i++) {
		while (atomic_load(&waiter->begun) != i + 1)
			;
		wait_until_asleep(waiter);
		signum = i % WAYS > 2 ? HANDLED : TAKEN;
		if (to_process)
			need(i % WAYS == 2 ? !sigqueue(waiter->pid, signum, value) : !kill(waiter->pid, signum));
		else
			need(i % WAYS == 2 ? !tgkill(getpid(), waiter->tid, signum) : !pthread_kill(waiter->handle, signum));
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;
	sigset_t set;
	pid_t child;

	count = argc > 1 ? atol(argv[1]) : 1;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(shared != MAP_FAILED);
	signal(HANDLED, handle);
	sigemptyset(&set);
	sigaddset(&set, TAKEN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	child = fork();
	if (!child) {
		wait_in_turn(shared);
		_exit(0);
	}
	send_in_turn(shared, 1);
	need(waitpid(child, NULL, 0) == child);
	need(!pthread_create(&thread, NULL, wait_in_turn, &own));
	send_in_turn(&own, 0);
	pthread_join(thread, NULL);
	/* Who sent what a handler got is known of the own process only. */
	printf("kill -> sigwait %ld\nkill -> sigwaitinfo %ld\nsigqueue -> sigtimedwait %ld\n", count, count, count);
	printf("pthread_kill -> sigwait %ld\npthread_kill -> sigwaitinfo %ld\ntgkill -> sigtimedwait %ld\n", count, count, count);
	printf("pthread_kill -> sigsuspend %ld\npthread_kill -> pause %ld\n", count, count);
	return 0;
}
