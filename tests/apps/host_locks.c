/* This program takes locks, semaphores and conditions, and joins threads, in every way that has a time limit
 * and in those without: each kind and protocol, free and taken, with good and bad times and clocks. It prints
 * the result and what became of the object, so that a bare run and a traced one can be compared line by line.
 * Nothing here waits, except until times that have passed. host_cancel_locks.c tests what a cancellation does
 * to these calls. */
#include <errno.h>
#include <semaphore.h>
#include <stdint.h>
#include <threads.h>
#include <time.h>

#include "host.h"

static const struct {
	const char *name;
	struct timespec time;
} times[] = {
	{"past", {1, 0}},
	{"before the epoch", {-1, 0}},
	{"negative nanoseconds", {1, -1}},
	{"a second of nanoseconds", {1, 1000000000}},
	{"most nanoseconds", {1, 999999999}},
	{"far with bad nanoseconds", {1L << 40, 2000000000}},
};

static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
				   CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME, CLOCK_TAI,
				   12345, -1};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* An owner says whose the object is when the call is made. */
enum owner { NOBODY, ITSELF, ANOTHER, OWNERS };
static const char *const owners[] = {"free", "its own", "another's"};

/* -- Mutexes --------------------------------------------------------------------------------------- */

struct mutex_kind {
	const char *name;
	int type, protocol, robust;
};

static const struct mutex_kind kinds[] = {
	{"normal", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED},
	{"recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED},
	{"errorcheck", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED},
	{"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED},
	{"robust", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST},
	{"robust recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST},
	{"robust errorcheck", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST},
	{"inherit", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED},
	{"inherit recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED},
	{"inherit errorcheck", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED},
	{"inherit robust", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ROBUST},
	{"protect", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, PTHREAD_MUTEX_STALLED},
	{"protect recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_PROTECT, PTHREAD_MUTEX_STALLED},
	{"protect errorcheck", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_PROTECT, PTHREAD_MUTEX_STALLED},
};

/* These are the ways to take a mutex. LOCK is left out where it would wait for ever. */
enum form { TIMED, CLOCKED, LOCK, TRY, FORMS };
static const char *const forms[] = {"timedlock", "clocklock", "lock", "trylock"};

static void make(pthread_mutex_t *mutex, const struct mutex_kind *kind)
{
	pthread_mutexattr_t attributes;

	need(!pthread_mutexattr_init(&attributes));
	need(!pthread_mutexattr_settype(&attributes, kind->type));
	need(!pthread_mutexattr_setprotocol(&attributes, kind->protocol));
	need(!pthread_mutexattr_setrobust(&attributes, kind->robust));
	need(!pthread_mutex_init(mutex, &attributes));
	need(!pthread_mutexattr_destroy(&attributes));
}

/* This thread holds the object that another one asks for. */
static struct holder {
	pthread_t thread;
	pthread_barrier_t taken, let_go;
	void (*take)(void *, bool);
	void *object;
} holder;

static void *hold(void *arg)
{
	(void)arg;
	holder.take(holder.object, true);
	pthread_barrier_wait(&holder.taken);
	pthread_barrier_wait(&holder.let_go);
	holder.take(holder.object, false);
	return NULL;
}

static void begin_holding(void (*take)(void *, bool), void *object)
{
	holder.take = take;
	holder.object = object;
	mark_barrier(&holder.taken);
	mark_barrier(&holder.let_go);
	need(!pthread_create(&holder.thread, NULL, hold, NULL));
	pthread_barrier_wait(&holder.taken);
}

static void end_holding(void)
{
	pthread_barrier_wait(&holder.let_go);
	need(!pthread_join(holder.thread, NULL));
}

/* Takes a mutex or gives it back, and prints failures: not everybody may take one with a priority ceiling. */
static void take_mutex(void *mutex, bool take)
{
	int result = take ? pthread_mutex_lock(mutex) : pthread_mutex_unlock(mutex);

	if (result)
		printf(" %s: %d\n", take ? "taking it before" : "giving it back", result);
}

/* Runs in a thread that ends while it has the mutex, which is robust. */
static void *die_with(void *mutex)
{
	need(!pthread_mutex_lock(mutex));
	return NULL;
}

static void say_mutex(const char *what, const pthread_mutex_t *mutex, int result)
{
	printf(" %s: %d, count %u, %s\n", what, result, mutex->__data.__count,
	       mutex->__data.__owner ? "owned" : "not owned");
}

static int ask(pthread_mutex_t *mutex, enum form form, clockid_t clock, const struct timespec *time)
{
	switch (form) {
	case TIMED:
		return pthread_mutex_timedlock(mutex, time);
	case CLOCKED:
		return pthread_mutex_clocklock(mutex, clock, time);
	case LOCK:
		return pthread_mutex_lock(mutex);
	default:
		return pthread_mutex_trylock(mutex);
	}
}

/* Gives back what the call took, and what was held before. */
static void release(pthread_mutex_t *mutex, int result, bool own)
{
	if (result == EOWNERDEAD)
		need(!pthread_mutex_consistent(mutex));
	if (!result || result == EOWNERDEAD)
		need(!pthread_mutex_unlock(mutex));
	if (own)
		take_mutex(mutex, false);
}

static bool would_hang(enum form form, enum owner owner, const struct mutex_kind *kind)
{
	return form == LOCK &&
	       (owner == ANOTHER || (owner == ITSELF && kind->type != PTHREAD_MUTEX_RECURSIVE &&
				     kind->type != PTHREAD_MUTEX_ERRORCHECK));
}

/* Returns whether a call with this time ends at once. If the time is far away it does so only for a free
 * lock. */
static bool ends_soon(const struct timespec *time, enum owner owner)
{
	return owner == NOBODY || time->tv_sec < 1L << 30;
}

struct mutex_case {
	const struct mutex_kind *kind;
	enum owner owner;
	enum form form;
	clockid_t clock;
	unsigned t;
};

static void *mutex_case(void *arg)
{
	const struct mutex_case *it = arg;
	const struct mutex_kind *kind = it->kind;
	enum owner owner = it->owner;
	enum form form = it->form;
	clockid_t clock = it->clock;
	unsigned t = it->t;
	pthread_mutex_t mutex;
	char what[128];
	int result;

	make(&mutex, kind);
	if (owner == ITSELF)
		take_mutex(&mutex, true);
	else if (owner == ANOTHER)
		begin_holding(take_mutex, &mutex);
	result = ask(&mutex, form, clock, &times[t].time);
	snprintf(what, sizeof(what), "%s, %s, %s, clock %d, %s", kind->name, owners[owner], forms[form],
		 clock, times[t].name);
	say_mutex(what, &mutex, result);
	release(&mutex, result, owner == ITSELF);
	if (owner == ANOTHER)
		end_holding();
	return NULL;
}

static void mutex_once(const struct mutex_kind *kind, enum owner owner, enum form form, clockid_t clock,
		       unsigned t)
{
	struct mutex_case it = {kind, owner, form, clock, t};
	pthread_t thread;

	if (would_hang(form, owner, kind) || !ends_soon(&times[t].time, owner))
		return;
	/* A priority ceiling that was asked for in vain may stay with the thread, so a new one asks. */
	if (kind->protocol == PTHREAD_PRIO_PROTECT)
		need(!pthread_create(&thread, NULL, mutex_case, &it) && !pthread_join(thread, NULL));
	else
		mutex_case(&it);
}

static void dead_once(const struct mutex_kind *kind, enum form form, unsigned t)
{
	pthread_mutex_t mutex;
	pthread_t thread;
	char what[128];
	int result;

	make(&mutex, kind);
	need(!pthread_create(&thread, NULL, die_with, &mutex) && !pthread_join(thread, NULL));
	result = ask(&mutex, form, CLOCK_REALTIME, &times[t].time);
	snprintf(what, sizeof(what), "%s, a dead one's, %s, %s", kind->name, forms[form], times[t].name);
	say_mutex(what, &mutex, result);
	/* A mutex that is given back without being made consistent is of no use to anybody. */
	if (result == EOWNERDEAD) {
		need(!pthread_mutex_unlock(&mutex));
		say_mutex("  and again", &mutex, ask(&mutex, form, CLOCK_REALTIME, &times[t].time));
	}
}

static void mutexes(void)
{
	unsigned k, c, t;
	enum owner owner;

	for (k = 0; k < COUNT(kinds); k++) {
		for (owner = NOBODY; owner < OWNERS; owner++) {
			for (t = 0; t < COUNT(times); t++) {
				mutex_once(&kinds[k], owner, TIMED, CLOCK_REALTIME, t);
				for (c = 0; c < COUNT(clocks); c++)
					mutex_once(&kinds[k], owner, CLOCKED, clocks[c], t);
			}
			mutex_once(&kinds[k], owner, LOCK, 0, 0);
			mutex_once(&kinds[k], owner, TRY, 0, 0);
		}
		for (t = 0; kinds[k].robust == PTHREAD_MUTEX_ROBUST && t < COUNT(times); t++) {
			dead_once(&kinds[k], TIMED, t);
			dead_once(&kinds[k], CLOCKED, t);
			dead_once(&kinds[k], LOCK, t);
			dead_once(&kinds[k], TRY, t);
		}
	}
}

/* Does the same with mutexes of C11, some of which accept times although their types say that they do not. */
static void c11_mutexes(void)
{
	static const int types[] = {mtx_plain, mtx_timed, mtx_plain | mtx_recursive,
				    mtx_timed | mtx_recursive};
	unsigned i, t;
	mtx_t mutex;
	bool own;

	for (i = 0; i < COUNT(types); i++)
		for (own = false;; own = true) {
			for (t = 0; t < COUNT(times); t++) {
				int result, owned = -1;

				if (!ends_soon(&times[t].time, own ? ITSELF : NOBODY))
					continue;
				need(mtx_init(&mutex, types[i]) == thrd_success);
				if (own)
					need(mtx_lock(&mutex) == thrd_success);
				result = mtx_timedlock(&mutex, &times[t].time);
				if (result == thrd_success)
					need(mtx_unlock(&mutex) == thrd_success);
				if (own)
					need(mtx_unlock(&mutex) == thrd_success);
				owned = mtx_trylock(&mutex);
				printf(" mtx %d, %s, %s: %d, then %d\n", types[i], owners[own],
				       times[t].name, result, owned);
				mtx_destroy(&mutex);
			}
			if (own)
				break;
		}
}

/* -- Read-write locks ------------------------------------------------------------------------------ */

static void take_to_read(void *rwlock, bool take)
{
	need(!(take ? pthread_rwlock_rdlock(rwlock) : pthread_rwlock_unlock(rwlock)));
}

static void take_to_write(void *rwlock, bool take)
{
	need(!(take ? pthread_rwlock_wrlock(rwlock) : pthread_rwlock_unlock(rwlock)));
}

static int ask_rwlock(pthread_rwlock_t *rwlock, bool to_write, bool clocked, clockid_t clock,
		      const struct timespec *time)
{
	if (clocked)
		return to_write ? pthread_rwlock_clockwrlock(rwlock, clock, time)
				: pthread_rwlock_clockrdlock(rwlock, clock, time);
	return to_write ? pthread_rwlock_timedwrlock(rwlock, time) : pthread_rwlock_timedrdlock(rwlock, time);
}

static void rwlock_once(int kind, enum owner owner, bool held_to_write, bool to_write, bool clocked,
			clockid_t clock, unsigned t)
{
	void (*take)(void *, bool) = held_to_write ? take_to_write : take_to_read;
	pthread_rwlockattr_t attributes;
	pthread_rwlock_t rwlock;
	int result;

	if (!ends_soon(&times[t].time, owner))
		return;
	need(!pthread_rwlockattr_init(&attributes) && !pthread_rwlockattr_setkind_np(&attributes, kind));
	need(!pthread_rwlock_init(&rwlock, &attributes));
	if (owner == ITSELF)
		take(&rwlock, true);
	else if (owner == ANOTHER)
		begin_holding(take, &rwlock);
	result = ask_rwlock(&rwlock, to_write, clocked, clock, &times[t].time);
	printf(" rwlock %d, %s to %s, to %s, %s %d, %s: %d, readers %x\n", kind, owners[owner],
	       held_to_write ? "write" : "read", to_write ? "write" : "read", clocked ? "clock" : "timed",
	       clock, times[t].name, result, rwlock.__data.__readers);
	if (!result)
		need(!pthread_rwlock_unlock(&rwlock));
	if (owner == ITSELF)
		take(&rwlock, false);
	else if (owner == ANOTHER)
		end_holding();
	need(!pthread_rwlock_destroy(&rwlock));
}

static void rwlocks(void)
{
	static const int rwlock_kinds[] = {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
					   PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP};
	unsigned k, c, t, way;
	enum owner owner;

	for (k = 0; k < COUNT(rwlock_kinds); k++)
		for (owner = NOBODY; owner < OWNERS; owner++)
			for (way = 0; way < 4; way++)
				for (t = 0; t < COUNT(times); t++) {
					rwlock_once(rwlock_kinds[k], owner, way & 1, way & 2, false, 0, t);
					for (c = 0; c < COUNT(clocks); c++)
						rwlock_once(rwlock_kinds[k], owner, way & 1, way & 2, true,
							    clocks[c], t);
				}
}

/* -- Semaphores, conditions, ends of threads -------------------------------------------------------- */

static void say_sem(const char *what, sem_t *sem, clockid_t clock, const char *time, int result)
{
	int error = errno, value;

	need(!sem_getvalue(sem, &value));
	printf(" %s, clock %d, %s: %d, errno %d, value %d\n", what, clock, time, result, result ? error : 0,
	       value);
}

static void semaphores(void)
{
	unsigned value, c, t;
	sem_t sem;

	for (value = 0; value < 2; value++)
		for (t = 0; t < COUNT(times); t++) {
			if (!value && times[t].time.tv_sec > 1L << 30)
				continue;
			need(!sem_init(&sem, 0, value));
			say_sem("sem_timedwait", &sem, 0, times[t].name, sem_timedwait(&sem, &times[t].time));
			for (c = 0; c < COUNT(clocks); c++) {
				need(!sem_init(&sem, 0, value));
				say_sem("sem_clockwait", &sem, clocks[c], times[t].name,
					sem_clockwait(&sem, clocks[c], &times[t].time));
			}
			need(!sem_destroy(&sem));
		}
}

static void conditions(void)
{
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	unsigned k, c, t;
	mtx_t c11_mutex;
	cnd_t c11_cond;

	for (k = 0; k < COUNT(kinds) && kinds[k].protocol != PTHREAD_PRIO_PROTECT; k++)
		for (t = 0; t < COUNT(times); t++) {
			pthread_mutex_t mutex;
			int result;

			if (times[t].time.tv_nsec < 0 || times[t].time.tv_nsec > 999999999 ||
			    times[t].time.tv_sec <= 1) {
				make(&mutex, &kinds[k]);
				/* The mutex is not held. A kind that looks after its holder says so. */
				if (kinds[k].type == PTHREAD_MUTEX_ERRORCHECK) {
					result = pthread_cond_timedwait(&cond, &mutex, &times[t].time);
					printf(" cond_timedwait, %s, not held, %s: %d\n", kinds[k].name,
					       times[t].name, result);
				}
				take_mutex(&mutex, true);
				result = pthread_cond_timedwait(&cond, &mutex, &times[t].time);
				printf(" cond_timedwait, %s, %s: %d, %s\n", kinds[k].name, times[t].name,
				       result, mutex.__data.__owner ? "owned" : "not owned");
				for (c = 0; c < COUNT(clocks); c++) {
					result = pthread_cond_clockwait(&cond, &mutex, clocks[c],
									&times[t].time);
					printf(" cond_clockwait, %s, clock %d, %s: %d, %s\n", kinds[k].name,
					       clocks[c], times[t].name, result,
					       mutex.__data.__owner ? "owned" : "not owned");
				}
				take_mutex(&mutex, false);
			}
		}
	for (t = 0; t < COUNT(times); t++) {
		need(mtx_init(&c11_mutex, mtx_timed) == thrd_success && cnd_init(&c11_cond) == thrd_success);
		need(mtx_lock(&c11_mutex) == thrd_success);
		printf(" cnd_timedwait, %s: %d\n", times[t].name,
		       cnd_timedwait(&c11_cond, &c11_mutex, &times[t].time));
		need(mtx_unlock(&c11_mutex) == thrd_success);
	}
}

static void *wait_to_end(void *barrier)
{
	pthread_barrier_wait(barrier);
	return NULL;
}

static void joins(void)
{
	pthread_barrier_t barrier;
	pthread_t thread;
	unsigned c, t;
	int result;

	mark_barrier(&barrier);
	need(!pthread_create(&thread, NULL, wait_to_end, &barrier));
	for (t = 0; t < COUNT(times); t++) {
		/* With bad nanoseconds this C library asks the kernel again and again. */
		if (times[t].time.tv_nsec < 0 || times[t].time.tv_nsec > 999999999)
			continue;
		printf(" timedjoin, running, %s: %d\n", times[t].name,
		       pthread_timedjoin_np(thread, NULL, &times[t].time));
		for (c = 0; c < COUNT(clocks); c++)
			printf(" clockjoin, running, clock %d, %s: %d\n", clocks[c], times[t].name,
			       pthread_clockjoin_np(thread, NULL, clocks[c], &times[t].time));
	}
	printf(" tryjoin, running: %d\n", pthread_tryjoin_np(thread, NULL));
	printf(" join, itself: %d\n", pthread_join(pthread_self(), NULL));
	pthread_barrier_wait(&barrier);
	while ((result = pthread_tryjoin_np(thread, NULL)) == EBUSY)
		;
	printf(" tryjoin, ended: %d\n", result);
}

int main(void)
{
	share_marks();
	mutexes();
	c11_mutexes();
	rwlocks();
	semaphores();
	conditions();
	joins();
	fflush(stdout);
	print_marks();
}
