/* Who waits for what, and what let it go on: the table in which whoever lets others go on leaves word for
 * them. An object is an address: a lock, a condition, a semaphore, a barrier, a thread's handle.
 *
 * Looked at only where somebody may wait: fxt_is_waited_for() says so in one load. Any context.
 */
#ifndef FXT_WAIT_H
#define FXT_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What let a waiting thread go on. */
struct fxt_cause {
	uint64_t at_ns;                 /* when; differs by 2 for each that goes on, so that each arrow has a place to leave from */
	uint32_t pid, tid;              /* by whom */
	uint32_t cpu_and_1;             /* on which processor; 0: not known, or nobody slept */
	uint64_t since_ns;              /* of a lock: since when it had been held; 0: not known */
	uintptr_t place;                /* and the return address of the call that took it; 0 */
	uintptr_t lock;                 /* of a condition: what is waited for from here on, as by fxt_wait_for_lock(); 0 */
};

/* How a cause is handed on. */
enum fxt_release {
	FXT_RELEASE_ONE,                /* to the one that waits longest and has none yet */
	FXT_RELEASE_ALL,                /* to each that waits and has none yet */
	FXT_RELEASE_LOCK,               /* to one, and whatever was handed on before and not taken is void: it let somebody else in */
	FXT_RELEASE_SHARED,             /* the same to each that waits: they share the lock */
};

/* How many threads wait for an object of this hash. */
enum { FXT_WAITING_SLOTS = 4096 };
extern atomic_ushort fxt_waiting[FXT_WAITING_SLOTS] __attribute__((visibility("hidden")));

/* Who waits to write is let go on by others than who waits to read. So a read-write lock is two objects: its
 * address, for those that want to read, and this. */
static inline uintptr_t fxt_wait_to_write(uintptr_t rwlock)
{
	return rwlock | 1;
}

/* The same for both objects of a read-write lock. */
static inline uint64_t fxt_wait_hash(uintptr_t object)
{
	return (uint64_t)(object & ~(uintptr_t)1) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Whether anybody may wait for it. */
static inline bool fxt_is_waited_for(uintptr_t object)
{
	return __builtin_expect(atomic_load_explicit(&fxt_waiting[fxt_wait_hash(object) >> 52], memory_order_relaxed) != 0, 0);
}

/* The calling thread is going to wait for `object`; `lock` is what it has to take again when it goes on, or
 * 0. False: the table has no room; there is nothing to end then. */
bool fxt_wait_begin(uintptr_t object, uintptr_t lock);

/* It waits no more, having begun at `start_ns` and gone on by `end_ns`. True: `cause` is why. */
bool fxt_wait_end(uintptr_t object, uint64_t start_ns, uint64_t end_ns, struct fxt_cause *cause);

/* Hands on a cause; returns to how many. Whoever waited for an object with a lock waits for that from here
 * on, and ends that too. */
unsigned fxt_wait_release(uintptr_t object, enum fxt_release how, const struct fxt_cause *cause);

/* A lock that one thread has at a time, as a mutex, needs no table: whoever gives it up has it, so nobody
 * else leaves word of it, and whoever gets it next is the only one to look. So there is one place for the
 * word, without a lock of ours and without a system call, which those that wait for the program's lock would
 * have to wait for as well. Two locks that share the place take it from each other; then there is no word. */
void fxt_wait_for_lock(uintptr_t lock);
/* By who has it and is about to give it up. False: there is no place. */
bool fxt_wait_lock_left(uintptr_t lock, const struct fxt_cause *cause);
/* By who has got it, or waits for it no more. True: `cause` is why, as of fxt_wait_end(). */
bool fxt_wait_got_lock(uintptr_t lock, uint64_t start_ns, uint64_t end_ns, struct fxt_cause *cause);

/* Barriers: of so many parties. */
void fxt_wait_set_parties(uintptr_t object, uint32_t parties);
/* One arrives. True: it is the last, and the others go on. Otherwise it waits, as by fxt_wait_begin(), or,
 * `*waits` being false, is not known to. */
bool fxt_wait_arrive(uintptr_t object, bool *waits);

/* The object is no more. */
void fxt_wait_forget(uintptr_t object);

/* A flow id that no other process has. */
uint64_t fxt_flow_id(void);

/* In the child of a fork: nobody else is there. */
void fxt_wait_after_fork(void);

#endif
