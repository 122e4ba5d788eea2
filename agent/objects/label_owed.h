/* Names that are owed: of objects that a thread has made or first used while it held a lock, and of the
 * places of its calls. To find a name may take 100 microseconds, so that waits for the thread's deferred work
 * (deferred.h), and after 100 ms for that of any thread. What is used again before that is in the list
 * already.
 *
 * There is one list for the process and not one for each thread: an object may be destroyed by another thread
 * than the one that met it, and then must not be taken for one that lives. An object that is gone before its
 * name was told stays in the list, marked so: its records are in the trace, and would otherwise have the name
 * of the object that was at that address before.
 *
 * Nothing here takes a lock, makes a system call or allocates. Any context.
 */
#ifndef FXT_LABEL_OWED_H
#define FXT_LABEL_OWED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fxt_owed {
	uintptr_t object;               /* or the place, if that is all */
	uintptr_t place;                /* the return address of the call that made or used it */
	uint64_t since_ns;              /* before that call, in which the object has its name; of a block the end of the call */
	uint64_t bytes;                 /* of a block */
	uint32_t tid;                   /* the thread that owes it */
	uint8_t kind, how;              /* enum fxt_label_kind, FXT_LABEL_NONE for a place alone; enum fxt_label_how */
	bool is_gone;
};

extern atomic_uint fxt_owed_count __attribute__((visibility("hidden")));

static inline bool fxt_owed_any(void)
{
	return __builtin_expect(atomic_load_explicit(&fxt_owed_count, memory_order_relaxed) != 0, 0);
}

/* Puts one into the list. False: that is full, and the object has to be met again. */
bool fxt_owed_put(const struct fxt_owed *owed);

/* Whether the name of a living object, or of one that may be gone, is owed, or being told. */
bool fxt_owed_has(uintptr_t object, bool may_be_gone);

/* The next one that thread `tid` owes, or any that has been owed since before before_ns: its thread may be
 * held up for good. That is the first after owed->since_ns; 0 to begin with. The caller tells it, and says so
 * by fxt_owed_done(). Until then it stays in the list, and nobody else has that, nor a later one of its
 * address. -1: there is none, or another thread is at it. */
int fxt_owed_take(struct fxt_owed *owed, uint32_t tid, uint64_t before_ns);
/* Whether it has gone meanwhile. */
bool fxt_owed_is_gone(int slot);
void fxt_owed_done(int slot);

/* The objects in [low, high) are gone. To be said before they are taken out of what is known: who tells of
 * one looks in the other order. */
void fxt_owed_gone(uintptr_t low, uintptr_t high);

/* Nobody owes anything any more. */
void fxt_owed_clear(void);

#endif
