/* In this program threads let each other go on, and know how often. It prints the arrows that its trace has,
 * as lines "cause -> effect count".
 *
 *	causes KIND COUNT	mutex, rwlock, spin, mtx, cond, broadcast, sem, barrier, threads, thrds,
 *				readers
 *
 * A thread lets another one go on when that one is known to wait, so it is known which call ends which wait.
 * The other one sleeps in the kernel then, or, where it spins, is in the C library's own function. Threads
 * that take turns by a condition need no such care: each wait that a signal ends is counted, whoever comes
 * first. Only how often they wait for the condition's mutex is not known.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <ucontext.h>
#include <unistd.h>

#include "asleep.h"
#include "need.h"

enum { WAITERS = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static mtx_t c11;
static sem_t asked, answered;
static pthread_barrier_t barrier;
static long count, turn, generation;
static atomic_long waiting;
static atomic_int other_tid, stage;

static void lock(const char *kind)
{
	if (!strcmp(kind, "mutex"))
		pthread_mutex_lock(&mutex);
	else if (!strcmp(kind, "rwlock"))
		pthread_rwlock_wrlock(&rwlock);
	else if (!strcmp(kind, "spin"))
		pthread_spin_lock(&spin);
	else
		mtx_lock(&c11);
}

static void unlock(const char *kind)
{
	if (!strcmp(kind, "mutex"))
		pthread_mutex_unlock(&mutex);
	else if (!strcmp(kind, "rwlock"))
		pthread_rwlock_unlock(&rwlock);
	else if (!strcmp(kind, "spin"))
		pthread_spin_unlock(&spin);
	else
		mtx_unlock(&c11);
}

/* -- Whether a thread spins ---------------------------------------------------------------------- */

static _Atomic(uintptr_t) interrupted_at;

static void say_where(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *at = context;

	(void)sig;
	(void)info;
#if defined(__x86_64__)
	atomic_store(&interrupted_at, (uintptr_t)at->uc_mcontext.gregs[REG_RIP]);
#else
	atomic_store(&interrupted_at, (uintptr_t)at->uc_mcontext.pc);
#endif
}

/* Returns when a thread is in the C library's pthread_spin_lock(). A signal asks the thread where it is. A
 * wrapper that stands in for the function has called it by then. */
static void wait_until_spinning(pthread_t thread)
{
	struct sigaction action = {.sa_sigaction = say_where, .sa_flags = SA_SIGINFO | SA_RESTART};
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD),
	     *spins = libc ? dlsym(libc, "pthread_spin_lock") : NULL;
	uintptr_t at;
	Dl_info found;

	need(spins && !sigaction(SIGUSR1, &action, NULL));
	do {
		atomic_store(&interrupted_at, 0);
		need(!pthread_kill(thread, SIGUSR1));
		while (!(at = atomic_load(&interrupted_at)))
			let_others_run();
	} while (!dladdr((const void *)at, &found) || found.dli_saddr != spins);
	dlclose(libc);
}

/* -- Locks ------------------------------------------------------------------------------------- */

static void *want(void *kind)
{
	long i;

	atomic_store(&other_tid, (int)syscall(SYS_gettid));
	for (i = 0; i < count; i++) {
		while (atomic_load(&stage) != 1)
			let_others_run();
		atomic_store(&stage, 2);
		lock(kind);
		unlock(kind);
		atomic_store(&stage, 0);
	}
	return NULL;
}

static void hand_over(const char *kind)
{
	pthread_t thread;
	long i;

	need(!pthread_create(&thread, NULL, want, (void *)(size_t)kind));
	for (i = 0; i < count; i++) {
		lock(kind);
		atomic_store(&stage, 1);
		while (atomic_load(&stage) != 2)
			let_others_run();
		if (strcmp(kind, "spin"))
			wait_until_asleep(atomic_load(&other_tid));
		else
			wait_until_spinning(thread);
		unlock(kind);
		while (atomic_load(&stage))
			let_others_run();
	}
	pthread_join(thread, NULL);
}

/* -- Conditions -------------------------------------------------------------------------------- */

static void *ping_pong(void *me)
{
	long i;

	for (i = 0; i < count; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != (me != NULL)) {
			atomic_fetch_add(&waiting, 1);
			pthread_cond_wait(&cond, &mutex);
		}
		turn = !turn;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void *await_broadcast(void *unused)
{
	long i;

	for (i = 1; i <= count; i++) {
		pthread_mutex_lock(&mutex);
		atomic_fetch_add(&waiting, 1);
		while (generation < i)
			pthread_cond_wait(&cond, &mutex);
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

static void broadcast(void)
{
	long i;

	for (i = 1; i <= count; i++) {
		while (atomic_load(&waiting) < i * WAITERS)
			let_others_run();
		pthread_mutex_lock(&mutex);
		generation = i;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&mutex);
	}
}

/* -- Readers: each is kept out by the writer alone, whichever of them leaves first ----------------- */

static atomic_int reader_tids[WAITERS];
static atomic_long readers_done, lock_round;

static void *read_in_turn(void *tid)
{
	long i;

	atomic_store((atomic_int *)tid, (int)syscall(SYS_gettid));
	for (i = 1; i <= count; i++) {
		while (atomic_load(&lock_round) < i)
			let_others_run();
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
		atomic_fetch_add(&readers_done, 1);
	}
	return NULL;
}

static void write_in_turn(void)
{
	long i;
	int k;

	pthread_setname_np(pthread_self(), "writer");
	for (i = 1; i <= count; i++) {
		pthread_rwlock_wrlock(&rwlock);
		atomic_store(&lock_round, i);
		for (k = 0; k < WAITERS; k++) {
			while (!atomic_load(&reader_tids[k]))
				let_others_run();
			wait_until_asleep(atomic_load(&reader_tids[k]));
		}
		pthread_rwlock_unlock(&rwlock);
		while (atomic_load(&readers_done) < i * WAITERS)
			let_others_run();
	}
}

/* -- Semaphores, barriers, threads ------------------------------------------------------------- */

static void *answer(void *asker)
{
	long i;

	atomic_store(&other_tid, (int)syscall(SYS_gettid));
	for (i = 0; i < count; i++) {
		need(!sem_wait(&asked));
		while (atomic_load(&stage) != 1)
			let_others_run();
		wait_until_asleep(*(int *)asker);
		atomic_store(&stage, 0);
		need(!sem_post(&answered));
	}
	return NULL;
}

static void ask(void)
{
	int me = (int)syscall(SYS_gettid);
	pthread_t thread;
	long i;

	sem_init(&asked, 0, 0);
	sem_init(&answered, 0, 0);
	need(!pthread_create(&thread, NULL, answer, &me));
	while (!atomic_load(&other_tid))
		let_others_run();
	for (i = 0; i < count; i++) {
		wait_until_asleep(atomic_load(&other_tid));
		need(!sem_post(&asked));
		atomic_store(&stage, 1);
		need(!sem_wait(&answered));
	}
	pthread_join(thread, NULL);
}

static void *meet(void *unused)
{
	long i;

	for (i = 0; i < count; i++)
		pthread_barrier_wait(&barrier);
	return unused;
}

static void *end(void *unused)
{
	return unused;
}

static int end_c11(void *unused)
{
	return unused != NULL;
}

static void run(void *(*first)(void *), void *(*second)(void *))
{
	pthread_t threads[2];

	need(!pthread_create(&threads[0], NULL, first, NULL) &&
	     !pthread_create(&threads[1], NULL, second, threads));
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	pthread_t threads[WAITERS];
	long i;

	count = argc > 2 ? atol(argv[2]) : 1;
	pthread_spin_init(&spin, 0);
	mtx_init(&c11, mtx_plain);
	if (!strcmp(kind, "mutex") || !strcmp(kind, "rwlock") || !strcmp(kind, "spin") ||
	    !strcmp(kind, "mtx")) {
		const char *prefix = !strcmp(kind, "mtx") ? "mtx" : kind;

		hand_over(kind);
		printf("%s%s_unlock -> %s%s_%s %ld\n", strcmp(prefix, "mtx") ? "pthread_" : "", prefix,
		       strcmp(prefix, "mtx") ? "pthread_" : "", prefix,
		       strcmp(kind, "rwlock") ? "lock" : "wrlock", count);
	} else if (!strcmp(kind, "cond")) {
		run(ping_pong, ping_pong);
		printf("pthread_cond_signal -> pthread_cond_wait %ld\npthread_create -> thread 2\n",
		       atomic_load(&waiting));
	} else if (!strcmp(kind, "broadcast")) {
		for (i = 0; i < WAITERS; i++)
			need(!pthread_create(&threads[i], NULL, await_broadcast, NULL));
		broadcast();
		for (i = 0; i < WAITERS; i++)
			pthread_join(threads[i], NULL);
		printf("pthread_cond_broadcast -> pthread_cond_wait %ld\npthread_create -> thread %d\n",
		       count * WAITERS, WAITERS);
	} else if (!strcmp(kind, "readers")) {
		for (i = 0; i < WAITERS; i++)
			need(!pthread_create(&threads[i], NULL, read_in_turn, &reader_tids[i]));
		write_in_turn();
		for (i = 0; i < WAITERS; i++)
			pthread_join(threads[i], NULL);
		printf("pthread_rwlock_unlock -> pthread_rwlock_rdlock %ld\n", count * WAITERS);
	} else if (!strcmp(kind, "sem")) {
		ask();
		printf("sem_post -> sem_wait %ld\n", 2 * count);
	} else if (!strcmp(kind, "barrier")) {
		pthread_barrier_init(&barrier, NULL, WAITERS);
		for (i = 0; i < WAITERS; i++)
			need(!pthread_create(&threads[i], NULL, meet, NULL));
		for (i = 0; i < WAITERS; i++)
			pthread_join(threads[i], NULL);
		printf("pthread_barrier_wait -> pthread_barrier_wait %ld\npthread_create -> thread %d\n",
		       count * (WAITERS - 1), WAITERS);
	} else if (!strcmp(kind, "thrds")) {
		thrd_t thread;

		for (i = 0; i < count; i++) {
			need(thrd_create(&thread, end_c11, NULL) == thrd_success);
			need(thrd_join(thread, NULL) == thrd_success);
		}
		printf("thrd_create -> thread %ld\n", count);
	} else {
		for (i = 0; i < count; i++) {
			need(!pthread_create(&threads[0], NULL, end, NULL));
			pthread_join(threads[0], NULL);
		}
		printf("pthread_create -> thread %ld\n", count);
	}
	return 0;
}
