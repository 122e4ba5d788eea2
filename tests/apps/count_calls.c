/* This program makes a known number of calls of the heap and of threads, and prints how many (counts.h).
 *
 *	count_calls all THREADS ROUNDS		every call there is, ROUNDS times in each thread
 *	count_calls locks THREADS PAIRS		one mutex, that all of them want
 */
#define CALLS(X)                                                                                        \
	X(malloc, malloc) X(pthread, pthread_once) X(pthread, sched_yield) X(malloc, calloc)            \
	X(malloc, realloc) X(malloc, reallocarray) X(malloc, free) X(malloc, aligned_alloc)             \
	X(malloc, memalign) X(malloc, posix_memalign) X(malloc, valloc) X(malloc, pvalloc)              \
	X(malloc, malloc_usable_size) X(pthread, pthread_mutex_init) X(pthread, pthread_mutex_lock)     \
	X(pthread, pthread_mutex_trylock) X(pthread, pthread_mutex_timedlock)                           \
	X(pthread, pthread_mutex_clocklock) X(pthread, pthread_mutex_unlock)                            \
	X(pthread, pthread_mutex_destroy) X(pthread, pthread_rwlock_init)                               \
	X(pthread, pthread_rwlock_rdlock) X(pthread, pthread_rwlock_tryrdlock)                          \
	X(pthread, pthread_rwlock_timedrdlock) X(pthread, pthread_rwlock_clockrdlock)                   \
	X(pthread, pthread_rwlock_wrlock) X(pthread, pthread_rwlock_trywrlock)                          \
	X(pthread, pthread_rwlock_timedwrlock) X(pthread, pthread_rwlock_clockwrlock)                   \
	X(pthread, pthread_rwlock_unlock) X(pthread, pthread_rwlock_destroy)                            \
	X(pthread, pthread_cond_init) X(pthread, pthread_cond_wait) X(pthread, pthread_cond_timedwait)  \
	X(pthread, pthread_cond_clockwait) X(pthread, pthread_cond_signal)                              \
	X(pthread, pthread_cond_broadcast) X(pthread, pthread_cond_destroy)                             \
	X(pthread, pthread_barrier_init) X(pthread, pthread_barrier_wait)                               \
	X(pthread, pthread_barrier_destroy) X(pthread, sem_init) X(pthread, sem_wait)                   \
	X(pthread, sem_trywait) X(pthread, sem_timedwait) X(pthread, sem_clockwait)                     \
	X(pthread, sem_post) X(pthread, sem_destroy) X(pthread, sem_open) X(pthread, sem_close)         \
	X(pthread, sem_unlink) X(pthread, pthread_create) X(pthread, pthread_join)                      \
	X(pthread, pthread_tryjoin_np) X(pthread, pthread_timedjoin_np)                                 \
	X(pthread, pthread_clockjoin_np) X(pthread, pthread_detach) X(pthread, pthread_setname_np)      \
	X(function, instrumented_outer) X(function, instrumented_inner) X(function, instrumented_leaf)

#include <malloc.h>
#include <semaphore.h>
#include <fcntl.h>
#include <stdint.h>
#include <time.h>

#include "counts.h"

static long rounds;
static pthread_barrier_t barrier;
static pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;
static unsigned long guarded;
/* The compiler must not know that this is NULL: it makes a malloc() of a realloc() of NULL. */
static void *volatile hidden_null;

/* -- The heap ----------------------------------------------------------------------------------- */

/* Keeps the compiler from leaving out a malloc whose memory is not used. */
PLAIN static void *kept(void *pointer)
{
	__asm__ volatile("" : "+r"(pointer) : : "memory");
	NEED(pointer);
	return pointer;
}

PLAIN static void use_heap(void)
{
	/* The count takes two words of a record. The compiler must not know that it is too much. */
	volatile size_t too_many = (UINT64_C(1) << 50) + random_number(50);
	size_t size = random_size();
	void *p = kept(CALL(malloc, size));

	NEED(CALL(malloc_usable_size, p) >= size);
	p = kept(CALL(realloc, p, random_size()));
	p = kept(CALL(reallocarray, p, 1, random_size()));
	CALL(free, p);
	CALL(free, kept(CALL(calloc, 1 + random_below(3), random_size())));
	CALL(free, kept(CALL(aligned_alloc, 64, random_size())));
	CALL(free, kept(CALL(memalign, (size_t)16 << random_below(10), random_size())));
	CALL(free, kept(CALL(valloc, random_size())));
	CALL(free, kept(CALL(pvalloc, random_size())));
	NEED(CALL(posix_memalign, &p, (size_t)16 << random_below(10), random_size()) == 0);
	CALL(free, kept(p));
	CALL(free, kept(CALL(realloc, hidden_null, random_size())));
	NEED(CALL(calloc, too_many, random_size()) == NULL && errno == ENOMEM);
}

/* -- Locks -------------------------------------------------------------------------------------- */

PLAIN static struct timespec in_an_hour(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	time.tv_sec += 3600 + (time_t)random_number(20);
	return time;
}

PLAIN static void use_mutex(void)
{
	struct timespec realtime = in_an_hour(CLOCK_REALTIME), monotonic = in_an_hour(CLOCK_MONOTONIC);
	pthread_mutex_t mutex;

	NEED(CALL(pthread_mutex_init, &mutex, NULL) == 0);
	NEED(CALL(pthread_mutex_lock, &mutex) == 0);
	NEED(CALL(pthread_mutex_trylock, &mutex) == EBUSY);
	NEED(CALL(pthread_mutex_unlock, &mutex) == 0);
	NEED(CALL(pthread_mutex_trylock, &mutex) == 0);
	NEED(CALL(pthread_mutex_unlock, &mutex) == 0);
	NEED(CALL(pthread_mutex_timedlock, &mutex, &realtime) == 0);
	NEED(CALL(pthread_mutex_unlock, &mutex) == 0);
	NEED(CALL(pthread_mutex_clocklock, &mutex, CLOCK_MONOTONIC, &monotonic) == 0);
	NEED(CALL(pthread_mutex_unlock, &mutex) == 0);
	NEED(CALL(pthread_mutex_destroy, &mutex) == 0);
}

PLAIN static void use_rwlock(void)
{
	struct timespec realtime = in_an_hour(CLOCK_REALTIME), monotonic = in_an_hour(CLOCK_MONOTONIC);
	pthread_rwlock_t lock;
	int i;

	NEED(CALL(pthread_rwlock_init, &lock, NULL) == 0);
	NEED(CALL(pthread_rwlock_rdlock, &lock) == 0);
	NEED(CALL(pthread_rwlock_tryrdlock, &lock) == 0);
	NEED(CALL(pthread_rwlock_timedrdlock, &lock, &realtime) == 0);
	NEED(CALL(pthread_rwlock_clockrdlock, &lock, CLOCK_MONOTONIC, &monotonic) == 0);
	NEED(CALL(pthread_rwlock_trywrlock, &lock) == EBUSY);
	for (i = 0; i < 4; i++)
		NEED(CALL(pthread_rwlock_unlock, &lock) == 0);
	NEED(CALL(pthread_rwlock_wrlock, &lock) == 0);
	NEED(CALL(pthread_rwlock_unlock, &lock) == 0);
	NEED(CALL(pthread_rwlock_timedwrlock, &lock, &realtime) == 0);
	NEED(CALL(pthread_rwlock_unlock, &lock) == 0);
	NEED(CALL(pthread_rwlock_clockwrlock, &lock, CLOCK_MONOTONIC, &monotonic) == 0);
	NEED(CALL(pthread_rwlock_unlock, &lock) == 0);
	NEED(CALL(pthread_rwlock_destroy, &lock) == 0);
}

PLAIN static void use_semaphore(long thread)
{
	struct timespec realtime = in_an_hour(CLOCK_REALTIME), monotonic = in_an_hour(CLOCK_MONOTONIC);
	char name[NAME_MOST - 3];       /* the library writes "sem." in front of it */
	sem_t sem, *named;

	NEED(CALL(sem_init, &sem, 0, 3) == 0);
	NEED(CALL(sem_wait, &sem) == 0);
	NEED(CALL(sem_timedwait, &sem, &realtime) == 0);
	NEED(CALL(sem_clockwait, &sem, CLOCK_MONOTONIC, &monotonic) == 0);
	NEED(CALL(sem_trywait, &sem) == -1 && errno == EAGAIN);
	NEED(CALL(sem_post, &sem) == 0);
	NEED(CALL(sem_trywait, &sem) == 0);
	NEED(CALL(sem_destroy, &sem) == 0);
	snprintf(name, sizeof(name), "/count_calls.%ld.%ld.%s", (long)getpid(), thread,
		 random_word(MIDDLE_MOST));
	named = CALL(sem_open, name, O_CREAT | O_EXCL, 0600, 1);
	NEED(named != SEM_FAILED);
	NEED(CALL(sem_wait, named) == 0);
	NEED(CALL(sem_unlink, name) == 0);
	NEED(CALL(sem_close, named) == 0);
}

/* Each thread counts for itself, because its pthread_once_t is its own. */
static __thread int times_done;

PLAIN static void do_it(void)
{
	times_done++;
}

PLAIN static void use_once(void)
{
	static const pthread_once_t unused = PTHREAD_ONCE_INIT;
	static __thread pthread_once_t control;

	control = unused;
	times_done = 0;
	NEED(CALL(pthread_once, &control, do_it) == 0 && CALL(pthread_once, &control, do_it) == 0);
	NEED(times_done == 1);
}

/* -- Conditions and threads --------------------------------------------------------------------- */

struct handshake {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool waits, asked, answered;
	char name[16];
};

PLAIN static void *answer(void *argument)
{
	struct handshake *shake = argument;

	NEED(CALL(pthread_setname_np, pthread_self(), shake->name) == 0);
	NEED(CALL(pthread_mutex_lock, &shake->mutex) == 0);
	shake->waits = true;
	do {
		NEED(CALL(pthread_cond_wait, &shake->cond, &shake->mutex) == 0);
	} while (!shake->asked);
	shake->answered = true;
	NEED(CALL(pthread_cond_signal, &shake->cond) == 0);
	NEED(CALL(pthread_mutex_unlock, &shake->mutex) == 0);
	return NULL;
}

PLAIN static void join_somehow(pthread_t thread, long round)
{
	struct timespec realtime = in_an_hour(CLOCK_REALTIME), monotonic = in_an_hour(CLOCK_MONOTONIC);

	switch (round % 4) {
	case 0:
		NEED(CALL(pthread_join, thread, NULL) == 0);
		break;
	case 1:
		while (CALL(pthread_tryjoin_np, thread, NULL) == EBUSY)
			CALL(sched_yield);
		break;
	case 2:
		NEED(CALL(pthread_timedjoin_np, thread, NULL, &realtime) == 0);
		break;
	default:
		NEED(CALL(pthread_clockjoin_np, thread, NULL, CLOCK_MONOTONIC, &monotonic) == 0);
	}
}

PLAIN static void use_threads(long round)
{
	struct timespec realtime = in_an_hour(CLOCK_REALTIME), monotonic = in_an_hour(CLOCK_MONOTONIC),
			past = {1, 0};
	struct handshake shake = {.waits = false};
	pthread_t thread;

	random_text(shake.name, sizeof(shake.name) - 1);
	NEED(CALL(pthread_mutex_init, &shake.mutex, NULL) == 0);
	NEED(CALL(pthread_cond_init, &shake.cond, NULL) == 0);
	NEED(CALL(pthread_create, &thread, NULL, answer, &shake) == 0);
	NEED(CALL(pthread_mutex_lock, &shake.mutex) == 0);
	while (!shake.waits) {
		NEED(CALL(pthread_mutex_unlock, &shake.mutex) == 0);
		CALL(sched_yield);
		NEED(CALL(pthread_mutex_lock, &shake.mutex) == 0);
	}
	NEED(CALL(pthread_cond_timedwait, &shake.cond, &shake.mutex, &past) == ETIMEDOUT);
	shake.asked = true;
	NEED(CALL(pthread_cond_broadcast, &shake.cond) == 0);
	while (!shake.answered && round % 2)
		NEED(CALL(pthread_cond_timedwait, &shake.cond, &shake.mutex, &realtime) == 0);
	while (!shake.answered)
		NEED(CALL(pthread_cond_clockwait, &shake.cond, &shake.mutex, CLOCK_MONOTONIC, &monotonic) ==
		     0);
	NEED(CALL(pthread_mutex_unlock, &shake.mutex) == 0);
	join_somehow(thread, round);
	NEED(CALL(pthread_cond_destroy, &shake.cond) == 0);
	NEED(CALL(pthread_mutex_destroy, &shake.mutex) == 0);
}

PLAIN static void *nothing(void *argument)
{
	return argument;
}

PLAIN static void use_detach(void)
{
	pthread_t thread;

	NEED(CALL(pthread_create, &thread, NULL, nothing, NULL) == 0);
	NEED(CALL(pthread_detach, thread) == 0);
}

/* -- Functions: compiled with -finstrument-functions ------------------------------------------ */

static void instrumented_leaf(void)
{
	COUNT(instrumented_leaf);
}

static void instrumented_inner(int depth)
{
	COUNT(instrumented_inner);
	if (depth)
		instrumented_inner(depth - 1);
	instrumented_leaf();
}

static void instrumented_outer(void)
{
	COUNT(instrumented_outer);
	instrumented_inner((int)random_below(30));
	instrumented_inner(0);
}

/* -- All of it ---------------------------------------------------------------------------------- */

PLAIN static void *use_all(void *thread)
{
	long i;

	random_seed(1 + (uint64_t)(uintptr_t)thread);
	for (i = 0; i < rounds; i++) {
		use_heap();
		use_mutex();
		use_rwlock();
		use_semaphore((long)thread);
		use_once();
		use_threads(i);
		instrumented_outer();
		CALL(pthread_barrier_wait, &barrier);
	}
	return NULL;
}

PLAIN static void *contend(void *argument)
{
	long i;

	CALL(pthread_barrier_wait, &barrier);
	for (i = 0; i < rounds; i++) {
		NEED(CALL(pthread_mutex_lock, &contended) == 0);
		guarded++;
		NEED(CALL(pthread_mutex_unlock, &contended) == 0);
	}
	return argument;
}

PLAIN static int create(pthread_t *thread, void *(*body)(void *), void *argument)
{
	return CALL(pthread_create, thread, NULL, body, argument);
}

PLAIN static int join(pthread_t thread)
{
	return CALL(pthread_join, thread, NULL);
}

PLAIN int main(int argc, char **argv)
{
	bool locks = argc > 1 && !strcmp(argv[1], "locks");
	int threads = argc > 2 ? atoi(argv[2]) : 1;

	rounds = argc > 3 ? atol(argv[3]) : 1;
	random_seed(0);
	NEED(CALL(pthread_barrier_init, &barrier, NULL, (unsigned)threads) == 0);
	run_threads(threads, locks ? contend : use_all, create, join);
	if (locks)
		NEED(guarded == (unsigned long)threads * (unsigned long)rounds);
	else
		use_detach();
	NEED(CALL(pthread_barrier_destroy, &barrier) == 0);
	print_counts();
	return 0;
}
