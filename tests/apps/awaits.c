/* This program waits for signals in every way, and prints the arrows that its trace has, as lines
 * "cause -> effect count". Each signal is sent while its receiver sleeps in the call that waits for it.
 *
 *	awaits COUNT
 *
 * A process waits for signals of another process, several processes for signals to their group, and a thread
 * for signals of another thread of its process. Last come signals that were sent before anybody reads them.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "need.h"

/* Newer architectures have no such call, and pause() makes this one. */
#ifndef SYS_pause
#define SYS_pause SYS_ppoll
#endif

enum { HANDLED = SIGUSR1, TAKEN = SIGTERM, OTHER = SIGHUP, GROUP = 3 };

/* A thread that waits, maybe in another process: how many waits it has begun, and its ids. */
struct waiter {
	atomic_long begun;
	atomic_int pid, tid;
	pthread_t handle;
};

static struct waiter *shared;           /* one for each child */
static struct waiter own;               /* of the thread that waits in this process */
static int descriptor;                  /* signalfd of TAKEN and OTHER */
static long count;

static void handle(int signum)
{
	need(signum == HANDLED);
}

/* -- Waiting ----------------------------------------------------------------------------------- */

enum { WAYS = 6 };

static void await(int way)
{
	const struct timespec long_enough = {600, 0};
	struct signalfd_siginfo taken;
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
	case 4:
		need(read(descriptor, &taken, sizeof(taken)) == sizeof(taken) && taken.ssi_signo == TAKEN);
		break;
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

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", atomic_load(&waiter->pid),
		 atomic_load(&waiter->tid), what);
	file = fopen(path, "re");
	n = file ? fread(text, 1, bytes - 1, file) : 0;
	if (file)
		fclose(file);
	text[n] = '\0';
	return n;
}

/* Tells whether await() sleeps in this system call. A thread may also sleep elsewhere: for a lock, or
 * while its trace begins. */
static int is_wait(long call)
{
	return call == SYS_rt_sigtimedwait || call == SYS_rt_sigsuspend || call == SYS_read ||
	       call == SYS_pause;
}

/* Returns when the thread sleeps: in a call that awaits a signal, where the kernel tells the call. */
static void wait_until_asleep(const struct waiter *waiter)
{
	char text[512], *state;

	for (;;) {
		need(read_of(waiter, "stat", text, sizeof(text)) > 0);
		state = strrchr(text, ')');
		need(state != NULL);
		if (state[2] == 'S' && (!read_of(waiter, "syscall", text, sizeof(text)) ||
					(text[0] != 'r' && is_wait(strtol(text, NULL, 10)))))
			return;
	}
}

enum how { TO_PROCESS, BY_DESCRIPTOR, TO_GROUP, TO_THREAD };

static void send(const struct waiter *waiter, enum how how, int pidfd, int way)
{
	const union sigval value = {0};
	int signum = way == 3 || way == 5 ? HANDLED : TAKEN;

	if (how == TO_PROCESS)
		need(way == 2 ? !sigqueue(waiter->pid, signum, value) : !kill(waiter->pid, signum));
	else if (how == BY_DESCRIPTOR)
		need(!pidfd_send_signal(pidfd, signum, NULL, 0));
	else if (how == TO_GROUP)
		need(way == 2 ? !kill(-waiter->pid, signum) : !killpg(waiter->pid, signum));
	else if (way == 4)
		need(!pthread_sigqueue(waiter->handle, signum, value));
	else
		need(way == 2 ? !tgkill(getpid(), waiter->tid, signum)
			      : !pthread_kill(waiter->handle, signum));
}

static void send_in_turn(const struct waiter *waiters, int waiting, enum how how)
{
	int pidfd = -1, j;
	long i;

	for (i = 0; i < count * WAYS; i++) {
		for (j = 0; j < waiting; j++) {
			while (atomic_load(&waiters[j].begun) != i + 1)
				;
			wait_until_asleep(&waiters[j]);
		}
		if (how == BY_DESCRIPTOR && !i)
			need((pidfd = pidfd_open(waiters->pid, 0)) >= 0);
		send(waiters, how, pidfd, (int)(i % WAYS));
	}
}

/* Makes processes that wait, and sends them their signals. A group is led by the first of them. */
static void to_children(int waiting, enum how how)
{
	pid_t children[GROUP];
	int i;

	memset(shared, 0, GROUP * sizeof(*shared));
	for (i = 0; i < waiting; i++) {
		children[i] = fork();
		if (!children[i]) {
			need(how != TO_GROUP || !setpgid(0, i ? children[0] : 0));
			wait_in_turn(&shared[i]);
			_exit(0);
		}
		need(how != TO_GROUP || !setpgid(children[i], children[0]));
	}
	send_in_turn(shared, waiting, how);
	for (i = 0; i < waiting; i++)
		need(waitpid(children[i], NULL, 0) == children[i]);
}

/* -- Signals that were sent before ------------------------------------------------------------- */

static long read_some(void)
{
	struct signalfd_siginfo taken[4];

	return read(descriptor, taken, sizeof(taken)) / (long)sizeof(taken[0]);
}

static void pending(void)
{
	sigset_t set;
	int signum;
	long i;

	sigemptyset(&set);
	sigaddset(&set, TAKEN);
	for (i = 0; i < count; i++) {
		need(!kill(getpid(), TAKEN) && read_some() == 1);
		need(!raise(OTHER) && read_some() == 1);
		/* One read gets two signals. */
		need(!kill(getpid(), TAKEN) && !kill(getpid(), OTHER) && read_some() == 2);
		/* Two equal signals are pending as one, so it is not known which of the two the read gets.
		 * The next one is known again. */
		need(!kill(getpid(), TAKEN));
		need(!kill(getpid(), TAKEN) && read_some() == 1);
		need(!kill(getpid(), TAKEN) && read_some() == 1);
		/* A signal that was pending ended no wait. The next one is known. */
		need(!kill(getpid(), TAKEN) && !sigwait(&set, &signum) && signum == TAKEN);
		need(!kill(getpid(), TAKEN) && read_some() == 1);
	}
	printf("kill -> read %ld\nraise -> read %ld\n", count + 5 * count, count);
}

static void tell(const char *cause, const char *effect, long times)
{
	printf("%s -> %s %ld\n", cause, effect, times);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	sigset_t set;

	count = argc > 1 ? atol(argv[1]) : 1;
	shared = mmap(NULL, GROUP * sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	need(shared != MAP_FAILED);
	signal(HANDLED, handle);
	sigemptyset(&set);
	sigaddset(&set, TAKEN);
	sigaddset(&set, OTHER);
	sigprocmask(SIG_BLOCK, &set, NULL);
	need((descriptor = signalfd(-1, &set, 0)) >= 0);
	to_children(1, TO_PROCESS);
	to_children(1, BY_DESCRIPTOR);
	to_children(GROUP, TO_GROUP);
	need(!pthread_create(&thread, NULL, wait_in_turn, &own));
	send_in_turn(&own, 1, TO_THREAD);
	pthread_join(thread, NULL);
	pending();
	/* If a handler got the signal, the sender is known only if it is in the same process. */
	tell("kill", "sigwait", count);
	tell("kill", "sigwaitinfo", count);
	tell("sigqueue", "sigtimedwait", count);
	tell("pidfd_send_signal", "sigwait", count);
	tell("pidfd_send_signal", "sigwaitinfo", count);
	tell("pidfd_send_signal", "sigtimedwait", count);
	tell("pidfd_send_signal", "read", count);
	tell("killpg", "sigwait", GROUP * count);
	tell("killpg", "sigwaitinfo", GROUP * count);
	tell("kill", "sigtimedwait", GROUP * count);
	tell("killpg", "read", GROUP * count);
	tell("pthread_kill", "sigwait", count);
	tell("pthread_kill", "sigwaitinfo", count);
	tell("tgkill", "sigtimedwait", count);
	tell("pthread_kill", "sigsuspend", count);
	tell("pthread_sigqueue", "read", count);
	tell("pthread_kill", "pause", count);
	return 0;
}
