/* This program has critical sections in which the agent has reason for slow work of each kind. System calls
 * that fail, and that nobody else makes, mark the first and last moment of each section: close(-1000 - N) and
 * close(-2000 - N) are around section N. For each section the program prints "N SYSTEM_CALL...": the calls
 * that may be made there, which are its own, and rt_sigprocmask where the agent may take a lock. The locks of
 * a section have been used before it, unless the section is about first uses. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"
#include "need.h"
#include "unseen.h"

#define APART __attribute__((noinline, noclone))

enum { EXPIRED_NS = 11 * 1000 * 1000, LONG_NS = 150 * 1000 * 1000, SLOW_NS = 1000 * 1000 };

pthread_mutex_t outer_lock = PTHREAD_MUTEX_INITIALIZER, other_lock = PTHREAD_MUTEX_INITIALIZER,
		new_lock = PTHREAD_MUTEX_INITIALIZER, life_lock = PTHREAD_MUTEX_INITIALIZER, kept;

static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static atomic_int has_other, waiter;
static int zero;

/* Makes the call by an instruction of its own, because the agent stands in for close() and for syscall(). */
static void mark(long number)
{
	need(unseen(SYS_close, -number) == -EBADF);
}

#define BEGIN(number, calls) (dprintf(1, "%d %s\n", number, calls), mark(1000 + (number)))
#define END(number) mark(2000 + (number))

static void spin(long ns)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < ns);
}

static void use(pthread_mutex_t *lock)
{
	need(!pthread_mutex_lock(lock));
	need(!pthread_mutex_unlock(lock));
}

static void sleep_for(long ns)
{
	struct timespec time = {0, ns};

	need(!nanosleep(&time, NULL));
}

/* The clock's line expires before the lock is taken, and while it is held. */
static void wait_long(void)
{
	int i;

	BEGIN(1, "");
	spin(EXPIRED_NS);
	pthread_mutex_lock(&outer_lock);
	END(1);
	pthread_mutex_unlock(&outer_lock);
	pthread_mutex_lock(&outer_lock);
	BEGIN(2, "");
	for (i = 0; i < 3; i++) {
		spin(EXPIRED_NS);
		use(&other_lock);
	}
	END(2);
	pthread_mutex_unlock(&outer_lock);
}

/* Uses objects for the first time, so that the agent has to find their names: a variable, an object that was
 * made by a call, and one that is destroyed again. */
static APART void use_new(void)
{
	pthread_mutex_t local;
	int i;

	pthread_mutex_lock(&outer_lock);
	BEGIN(3, "");
	for (i = 0; i < 3; i++)
		use(&new_lock);
	need(!pthread_mutex_init(&kept, NULL));
	use(&kept);
	need(!pthread_mutex_init(&local, NULL));
	use(&local);
	need(!pthread_mutex_destroy(&local));
	END(3);
	pthread_mutex_unlock(&outer_lock);
	use(&kept);
	need(!pthread_mutex_destroy(&kept));
}

/* Makes slow calls, and calls that begin long after the last reading of usage. */
static void call_slowly(void)
{
	struct timespec past = {0, 0};
	char byte;

	pthread_mutex_lock(&outer_lock);
	/* A slow call has a stack. Where an address on it is met for the first time, the agent asks by
	 * futexes whether the unwind tables can be read, and takes no lock: it blocks no signals. */
	BEGIN(4, "clock_nanosleep read futex");
	sleep_for(SLOW_NS);
	need(read(zero, &byte, 1) == 1);
	sleep_for(SLOW_NS);
	END(4);
	/* A wait for a condition gives the lock up, and takes it again. */
	pthread_cond_timedwait(&never, &outer_lock, &past);
	BEGIN(5, "futex rt_sigprocmask");
	pthread_cond_timedwait(&never, &outer_lock, &past);
	END(5);
	pthread_mutex_unlock(&outer_lock);
}

static APART void *hold_other(void *unused)
{
	pthread_mutex_lock(&other_lock);
	atomic_store(&has_other, 1);
	wait_until_in(SYS_futex, &waiter);
	sleep_for(SLOW_NS);
	pthread_mutex_unlock(&other_lock);
	return unused;
}

static APART void wait_for_other(int number)
{
	pthread_t thread;
	int self;

	atomic_store(&has_other, 0);
	atomic_store(&waiter, 0);
	need(!pthread_create(&thread, NULL, hold_other, NULL));
	while (!atomic_load(&has_other))
		;
	self = (int)getpid();
	if (number) {
		pthread_mutex_lock(&outer_lock);
		/* The program waits in futex. The agent may block signals, around a lock of its own. */
		BEGIN(number, "futex rt_sigprocmask");
	}
	atomic_store(&waiter, self);
	pthread_mutex_lock(&other_lock);
	if (number) {
		END(number);
		pthread_mutex_unlock(&outer_lock);
	}
	pthread_mutex_unlock(&other_lock);
	need(!pthread_join(thread, NULL));
}

/* Holds a lock for so long that the agent takes it for one that is held for life, and samples counters. */
static void hold_for_life(void)
{
	int i;

	pthread_mutex_lock(&life_lock);
	for (i = 0; i < 3; i++) {
		spin(LONG_NS);
		need(access("/", F_OK) == 0);
	}
	pthread_mutex_unlock(&life_lock);
}

int main(void)
{
	zero = open("/dev/zero", O_RDONLY);
	need(zero >= 0);
	use(&outer_lock);
	use(&other_lock);
	wait_long();
	use_new();
	call_slowly();
	/* In the first wait, where no lock is held, the agent finds the names of both places. */
	wait_for_other(0);
	wait_for_other(6);
	hold_for_life();
	return 0;
}
