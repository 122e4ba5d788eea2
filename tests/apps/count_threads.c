/* This program makes a known number of calls of threads that count_calls.c does not make, C11's among them,
 * and prints how many (counts.h).
 *
 *	count_threads ROUNDS
 *
 * It does not count pthread_once(), which libgcc calls for threads that end by pthread_exit() or
 * cancellation. That function is in count_calls.c.
 */
#define CALLS(X)                                                                                        \
	X(pthread, pthread_spin_init) X(pthread, pthread_spin_lock) X(pthread, pthread_spin_trylock)    \
	X(pthread, pthread_spin_unlock) X(pthread, pthread_spin_destroy) X(pthread, pthread_create)     \
	X(pthread, pthread_join) X(pthread, pthread_mutex_init) X(pthread, pthread_mutex_lock)          \
	X(pthread, pthread_mutex_consistent) X(pthread, pthread_mutex_unlock)                           \
	X(pthread, pthread_mutex_destroy) X(pthread, sem_init) X(pthread, sem_getvalue)                 \
	X(pthread, sem_destroy) X(pthread, pthread_key_create)                                          \
	X(pthread, pthread_key_delete) X(pthread, pthread_cancel) X(pthread, pthread_kill)              \
	X(pthread, pthread_sigqueue) X(pthread, pthread_exit) X(pthread, sched_yield)                   \
	X(pthread, sched_setscheduler) X(pthread, pthread_setschedparam)                                \
	X(pthread, mtx_init) X(pthread, mtx_lock) X(pthread, mtx_trylock) X(pthread, mtx_timedlock)     \
	X(pthread, mtx_unlock) X(pthread, mtx_destroy) X(pthread, cnd_init) X(pthread, cnd_wait)        \
	X(pthread, cnd_timedwait) X(pthread, cnd_signal) X(pthread, cnd_broadcast)                      \
	X(pthread, cnd_destroy) X(pthread, thrd_create) X(pthread, thrd_join) X(pthread, thrd_detach)   \
	X(pthread, thrd_yield) X(pthread, thrd_exit) X(pthread, call_once) X(pthread, tss_create)       \
	X(pthread, tss_delete) X(time, thrd_sleep) X(pthread, semget) X(pthread, semop)                 \
	X(pthread, semtimedop) X(pthread, semctl)

#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <threads.h>
#include <time.h>

#include "counts.h"

/* -- POSIX ---------------------------------------------------------------------------------------- */

static void *leave(void *value)
{
	CALL(pthread_exit, value);
	return NULL;
}

static void *wait_for_the_end(void *argument)
{
	const struct timespec while_ = {0, 100000};

	for (;;) {
		unseen(SYS_nanosleep, &while_, NULL);
		pthread_testcancel();
	}
	return argument;
}

static void *die_holding(void *mutex)
{
	NEED(CALL(pthread_mutex_lock, mutex) == 0);
	return NULL;
}

static void use_spin_lock(void)
{
	pthread_spinlock_t lock;

	NEED(CALL(pthread_spin_init, &lock, PTHREAD_PROCESS_PRIVATE) == 0);
	NEED(CALL(pthread_spin_lock, &lock) == 0);
	NEED(CALL(pthread_spin_trylock, &lock) == EBUSY);
	NEED(CALL(pthread_spin_unlock, &lock) == 0);
	NEED(CALL(pthread_spin_destroy, &lock) == 0);
}

static void use_robust_mutex(void)
{
	pthread_mutexattr_t attributes;
	pthread_mutex_t mutex;
	pthread_t thread;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	NEED(CALL(pthread_mutex_init, &mutex, &attributes) == 0);
	NEED(CALL(pthread_create, &thread, NULL, die_holding, &mutex) == 0);
	NEED(CALL(pthread_join, thread, NULL) == 0);
	NEED(CALL(pthread_mutex_lock, &mutex) == EOWNERDEAD);
	NEED(CALL(pthread_mutex_consistent, &mutex) == 0);
	NEED(CALL(pthread_mutex_unlock, &mutex) == 0);
	NEED(CALL(pthread_mutex_destroy, &mutex) == 0);
}

static void use_keys(void)
{
	pthread_key_t key;

	NEED(CALL(pthread_key_create, &key, NULL) == 0);
	NEED(pthread_setspecific(key, &key) == 0 && pthread_getspecific(key) == &key);
	NEED(CALL(pthread_key_delete, key) == 0);
	NEED(CALL(pthread_key_delete, key) == EINVAL);
}

static void use_other_threads(void)
{
	const union sigval value = {.sival_int = (int)random_number(31)};
	pthread_t thread;
	void *result;
	sem_t sem;
	const struct sched_param usual = {.sched_priority = 0};
	int left;

	NEED(CALL(pthread_create, &thread, NULL, leave, &sem) == 0);
	NEED(CALL(pthread_join, thread, &result) == 0 && result == &sem);
	NEED(CALL(pthread_create, &thread, NULL, wait_for_the_end, NULL) == 0);
	NEED(CALL(pthread_kill, thread, 0) == 0);
	NEED(CALL(pthread_kill, thread, 1000 + (int)random_number(30)) == EINVAL);
	NEED(CALL(pthread_sigqueue, thread, SIGURG, value) == 0);
	NEED(CALL(pthread_cancel, thread) == 0);
	NEED(CALL(pthread_join, thread, &result) == 0 && result == PTHREAD_CANCELED);
	NEED(CALL(sched_yield) == 0);
	NEED(CALL(sched_setscheduler, 0, SCHED_OTHER, &usual) == 0);
	NEED(CALL(sched_setscheduler, 0, 1000 + (int)random_number(30), &usual) == -1);
	NEED(CALL(pthread_setschedparam, pthread_self(), SCHED_OTHER, &usual) == 0);
	NEED(CALL(sem_init, &sem, 0, 5) == 0);
	NEED(CALL(sem_getvalue, &sem, &left) == 0 && left == 5);
	NEED(CALL(sem_destroy, &sem) == 0);
}

/* -- System V ------------------------------------------------------------------------------------- */

static void use_semaphores(void)
{
	struct sembuf up = {0, 1, 0}, down = {0, -1, IPC_NOWAIT};
	struct timespec second = {1 + (time_t)random_number(30), (long)random_below(1000000000)};
	int id = CALL(semget, IPC_PRIVATE, 1, 0600);

	NEED(id >= 0);
	NEED(CALL(semop, id, &up, 1) == 0);
	NEED(CALL(semctl, id, 0, GETVAL) == 1);
	NEED(CALL(semtimedop, id, &down, 1, &second) == 0);
	NEED(CALL(semop, id, &down, 1) == -1 && errno == EAGAIN);
	NEED(CALL(semctl, id, 0, IPC_RMID) == 0);
}

/* -- C11 ------------------------------------------------------------------------------------------ */

static struct {
	mtx_t mutex;
	cnd_t cond;
	bool waiting, asked, answered;
} shake;

static int answer(void *argument)
{
	(void)argument;
	NEED(CALL(mtx_lock, &shake.mutex) == thrd_success);
	/* Nobody asks before this, so the thread waits at least once. */
	shake.waiting = true;
	NEED(CALL(cnd_signal, &shake.cond) == thrd_success);
	while (!shake.asked)
		NEED(CALL(cnd_wait, &shake.cond, &shake.mutex) == thrd_success);
	shake.answered = true;
	NEED(CALL(cnd_signal, &shake.cond) == thrd_success);
	NEED(CALL(mtx_unlock, &shake.mutex) == thrd_success);
	CALL(thrd_exit, 7);
	return 0;
}

static int nothing(void *argument)
{
	(void)argument;
	return 0;
}

static void use_c11_threads(void)
{
	struct timespec past = {1, 0}, later;
	int result;
	thrd_t thread;

	timespec_get(&later, TIME_UTC);
	later.tv_sec += 3600 + (time_t)random_number(20);
	shake.waiting = shake.asked = shake.answered = false;
	NEED(CALL(mtx_init, &shake.mutex, mtx_timed) == thrd_success);
	NEED(CALL(cnd_init, &shake.cond) == thrd_success);
	/* Nobody signals the condition yet, so the wait takes until its time is up. */
	NEED(CALL(mtx_lock, &shake.mutex) == thrd_success);
	NEED(CALL(cnd_timedwait, &shake.cond, &shake.mutex, &past) == thrd_timedout);
	NEED(CALL(mtx_unlock, &shake.mutex) == thrd_success);
	NEED(CALL(thrd_create, &thread, answer, NULL) == thrd_success);
	NEED(CALL(mtx_timedlock, &shake.mutex, &later) == thrd_success);
	NEED(CALL(mtx_trylock, &shake.mutex) == thrd_busy);
	while (!shake.waiting)
		NEED(CALL(cnd_timedwait, &shake.cond, &shake.mutex, &later) == thrd_success);
	shake.asked = true;
	NEED(CALL(cnd_broadcast, &shake.cond) == thrd_success);
	while (!shake.answered)
		NEED(CALL(cnd_timedwait, &shake.cond, &shake.mutex, &later) == thrd_success);
	NEED(CALL(mtx_unlock, &shake.mutex) == thrd_success);
	NEED(CALL(thrd_join, thread, &result) == thrd_success && result == 7);
	CALL(cnd_destroy, &shake.cond);
	CALL(mtx_destroy, &shake.mutex);
	NEED(CALL(thrd_create, &thread, nothing, NULL) == thrd_success);
	NEED(CALL(thrd_detach, thread) == thrd_success);
}

static int times_done;

static void do_it(void)
{
	times_done++;
}

static void use_c11_others(void)
{
	struct timespec little = {0, (long)random_length(1000)};
	once_flag flag = ONCE_FLAG_INIT;
	tss_t key;

	times_done = 0;
	CALL(call_once, &flag, do_it);
	CALL(call_once, &flag, do_it);
	NEED(times_done == 1);
	NEED(CALL(tss_create, &key, NULL) == thrd_success);
	CALL(tss_delete, key);
	CALL(thrd_yield);
	NEED(CALL(thrd_sleep, &little, NULL) == 0);
}

int main(int argc, char **argv)
{
	long i, rounds = argc > 1 ? atol(argv[1]) : 1;

	/* SIGURG, which a thread is sent, is ignored by default. */
	NEED(signal(SIGURG, SIG_DFL) == SIG_DFL);
	random_seed(0);
	for (i = 0; i < rounds; i++) {
		use_spin_lock();
		use_robust_mutex();
		use_keys();
		use_other_threads();
		use_semaphores();
		use_c11_threads();
		use_c11_others();
	}
	print_counts();
	return 0;
}
