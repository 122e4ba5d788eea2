/* The table of the threads that wait, and of the objects that they wait for. A thread that lets others go on
 * leaves a cause here; the thread that goes on takes it. An object is the address of a lock, a condition, a
 * semaphore or a barrier, or a thread's handle.
 *
 * Nobody looks at the table unless somebody may wait for the object: fxt_is_waited_for() tells that by one
 * load. Wrappers call this by way of flow.h. Any context.
 */
#ifndef FXT_WAIT_H
#define FXT_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A cause: the reason why a waiting thread could go on. */
struct fxt_cause {
	/* the time; it grows by 2 for each thread that goes on, so that each arrow leaves from a place of
	 * its own */
	uint64_t at_ns;
	uint32_t pid, tid;              /* the thread that let the other one go on */
	uint32_t cpu_and_1;             /* that thread's processor, plus 1; 0: not known, or nobody slept */
	uint64_t since_ns;              /* since when it had held the lock; 0: not known, or no lock */
	/* the return address of the call by which it had taken the lock; 0: not known, or no lock */
	uintptr_t place;
	/* if the object is a condition, the lock that is waited for from here on; 0: none */
	uintptr_t lock;
	uint32_t stack;                 /* that thread's call stack then (call_stack.h); 0: not known */
};

/* Says to which waiting threads a cause is handed. */
enum fxt_release {
	FXT_RELEASE_ONE,                /* the one that waits longest of those that have no cause yet */
	FXT_RELEASE_ALL,                /* every thread that waits and has no cause yet */
	/* The cause goes to one thread. Causes that were handed on before and not taken become void, because
	 * they let another thread in. */
	FXT_RELEASE_LOCK,
	/* The cause goes to every thread that waits, because they share the lock. Earlier causes become
	 * void, too. */
	FXT_RELEASE_SHARED,
};

/* The number of threads that wait for objects of each hash. */
enum { FXT_WAITING_SLOTS = 4096 };
extern atomic_ushort fxt_waiting[FXT_WAITING_SLOTS] __attribute__((visibility("hidden")));

/* Returns the object that threads wait for if they want to write. A read-write lock is two objects, because
 * other causes let a writer go on than a reader; the readers' object is the lock's own address. */
static inline uintptr_t fxt_wait_to_write(uintptr_t rwlock)
{
	return rwlock | 1;
}

/* Returns a hash, which is the same for both objects of a read-write lock. */
static inline uint64_t fxt_wait_hash(uintptr_t object)
{
	return (uint64_t)(object & ~(uintptr_t)1) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Tells whether anybody may wait for the object. */
static inline bool fxt_is_waited_for(uintptr_t object)
{
	return __builtin_expect(atomic_load_explicit(&fxt_waiting[fxt_wait_hash(object) >> 52],
						     memory_order_relaxed) != 0, 0);
}

/* Notes that the calling thread is going to wait for `object`. `lock` is the lock that it has to take again
 * before it goes on, or 0. Returns false if the table has no room; then fxt_wait_end() is not called. */
bool fxt_wait_begin(uintptr_t object, uintptr_t lock);

/* Notes that the calling thread waits no more; its wait began at `start_ns` and was over by `end_ns`.
 * Returns true if `*cause` is the reason. */
bool fxt_wait_end(uintptr_t object, uint64_t start_ns, uint64_t end_ns, struct fxt_cause *cause);

/* Hands on a cause. Returns the number of threads that got it. A thread that waited for an object with a lock
 * waits for that lock from here on, and has to end that wait too, by fxt_wait_got_lock(). */
unsigned fxt_wait_release(uintptr_t object, enum fxt_release how, const struct fxt_cause *cause);

/* The next three functions are for a lock that one thread has at a time, such as a mutex. It needs no
 * table: only the thread that gives the lock up leaves a cause, and only the thread that gets it next reads
 * the cause. So there is one place for the cause. It needs neither a lock of ours nor a system call, for
 * which the threads that want the program's lock would have to wait as well. Two locks that share a place
 * take it from each other; then there is no cause.
 *
 * fxt_wait_for_lock() notes that the calling thread is going to wait for the lock.
 */
void fxt_wait_for_lock(uintptr_t lock);
/* Leaves a cause. It is called by the thread that has the lock and is about to give it up. Returns false if
 * the place is in use. */
bool fxt_wait_lock_left(uintptr_t lock, const struct fxt_cause *cause);
/* Notes that the calling thread has got the lock, or waits for it no more. Returns true if `*cause` is the
 * reason, as fxt_wait_end() does. */
bool fxt_wait_got_lock(uintptr_t lock, uint64_t start_ns, uint64_t end_ns, struct fxt_cause *cause);

/* Notes that the barrier `object` lets `parties` threads go on together. */
void fxt_wait_set_parties(uintptr_t object, uint32_t parties);
/* Notes that the calling thread arrives at a barrier. Returns true if it is the last one, so that the
 * others go on. Otherwise sets `*waits`: true if it waits now, as after fxt_wait_begin(); false if the
 * barrier is not known. */
bool fxt_wait_arrive(uintptr_t object, bool *waits);

/* Forgets the object, because it was destroyed. */
void fxt_wait_forget(uintptr_t object);

/* Returns a flow id that no other process has. */
uint64_t fxt_flow_id(void);
/* Returns whether this process has made the id. A handler may fork while its thread has an id that its parent
 * has made, and nothing of that is in the child's trace. */
bool fxt_flow_id_is_own(uint64_t id);

/* Empties the table in the child of a fork, where no other thread waits. */
void fxt_wait_after_fork(void);
/* Makes the tables, which are otherwise made when a thread waits for the first time. */
void fxt_wait_prepare(void);

#endif
