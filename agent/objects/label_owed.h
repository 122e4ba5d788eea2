/* This is the list of names that are owed: names of objects that a thread made or first used while it held a
 * lock, and of the places of its calls. Finding a name may take 100 microseconds, so that is deferred work
 * (deferred.h) of the thread or, after 100 ms, of any thread. An object that is used again before that does
 * not come into the list again.
 *
 * There is one list for the process and not one for each thread, because another thread may destroy the
 * object, which must not be taken for a living one then. An object that is gone before its name was told
 * stays in the list and is marked. Its records are in the trace, and would otherwise have the name of the
 * object that was at that address before.
 *
 * Nothing here takes a lock, makes a system call or allocates. Called by label.c, in any context.
 */
#ifndef FXT_LABEL_OWED_H
#define FXT_LABEL_OWED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fxt_owed {
	uintptr_t object;               /* the object, or the place if only the place's name is owed */
	uintptr_t place;                /* the return address of the call that made or used it */
	/* The time from which the object has its name: before that call. For a block, the end of the call. */
	uint64_t since_ns;
	uint64_t bytes;                 /* the size of a block */
	uint32_t tid;                   /* the thread that owes it */
	/* enum fxt_label_kind (FXT_LABEL_NONE for a place alone) and enum fxt_label_how */
	uint8_t kind, how;
	bool is_gone;
};

extern atomic_uint fxt_owed_count __attribute__((visibility("hidden")));

/* Tells whether any name is owed. */
static inline bool fxt_owed_any(void)
{
	return __builtin_expect(atomic_load_explicit(&fxt_owed_count, memory_order_relaxed) != 0, 0);
}

/* Puts a name into the list. Returns false if the list is full; the next use of the object may try again. */
bool fxt_owed_put(const struct fxt_owed *owed);

/* Tells whether the object's name is owed or being told. An object that is gone counts only if may_be_gone
 * is set. */
bool fxt_owed_has(uintptr_t object, bool may_be_gone);

/* Takes the next name that thread `tid` owes, or that any thread has owed since before before_ns, because
 * that thread may be held up for good. The next name is the first one after owed->since_ns, which is 0 to
 * begin with. The caller tells the name and then calls fxt_owed_done(). Until then the name stays in the
 * list, and no other thread gets it or a later name of the same address. Returns the name's slot, or -1 if
 * there is no name that the thread may tell now. */
int fxt_owed_take(struct fxt_owed *owed, uint32_t tid, uint64_t before_ns);
/* Tells whether the object that was taken is gone by now. */
bool fxt_owed_is_gone(int slot);
/* Removes the name of `object` in this slot from the list, because it was told. */
void fxt_owed_done(int slot, uintptr_t object);

/* Marks the objects in [low, high) as gone. It has to be called before they are taken out of the table of
 * objects, because a thread that tells a name looks at the table first, and then at the marks. */
void fxt_owed_gone(uintptr_t low, uintptr_t high);

/* Empties the list. */
void fxt_owed_clear(void);

#endif
