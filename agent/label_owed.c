/* See label_owed.h. Slots are taken and given back by compare-and-exchange. A signal handler that leaves by longjmp in the few instructions in
 * between takes a slot away for good; that costs a name later on when it has happened in all of them. */
#include "label_owed.h"

/* An allocator makes a hundred locks in one critical section. To look for an object is to look at 16 cache lines. */
enum { SLOTS = 128 };

enum { FREE = 0, CHANGING = 1 };        /* no object is there */

static _Atomic uintptr_t objects[SLOTS];        /* stored last */
static atomic_bool is_gone[SLOTS];
static struct fxt_owed list[SLOTS];

atomic_uint fxt_owed_count;

static bool change(int slot, uintptr_t from)
{
	return atomic_compare_exchange_strong_explicit(&objects[slot], &from, CHANGING, memory_order_acquire, memory_order_relaxed);
}

bool fxt_owed_put(const struct fxt_owed *owed)
{
	int i;

	for (i = 0; i < SLOTS; i++) {
		if (atomic_load_explicit(&objects[i], memory_order_relaxed) || !change(i, FREE))
			continue;
		list[i] = *owed;
		atomic_store_explicit(&is_gone[i], false, memory_order_relaxed);
		atomic_store_explicit(&objects[i], owed->object, memory_order_release);
		atomic_fetch_add_explicit(&fxt_owed_count, 1, memory_order_relaxed);
		return true;
	}
	return false;
}

bool fxt_owed_has(uintptr_t object, bool may_be_gone)
{
	int i;

	for (i = 0; fxt_owed_any() && i < SLOTS; i++)
		if (atomic_load_explicit(&objects[i], memory_order_relaxed) == object &&
		    (may_be_gone || !atomic_load_explicit(&is_gone[i], memory_order_relaxed)))
			return true;
	return false;
}

/* Objects of one address follow each other, and are told in that order. -1: there is none. */
static int oldest(void)
{
	int i, found = -1;

	for (i = 0; i < SLOTS; i++)
		if (atomic_load_explicit(&objects[i], memory_order_acquire) > CHANGING &&
		    (found < 0 || list[i].since_ns < list[found].since_ns))
			found = i;
	return found;
}

bool fxt_owed_take(struct fxt_owed *owed)
{
	uintptr_t object;
	int slot;

	while (fxt_owed_any() && (slot = oldest()) >= 0) {
		object = atomic_load_explicit(&objects[slot], memory_order_relaxed);
		if (object <= CHANGING || !change(slot, object))
			continue;
		*owed = list[slot];
		owed->is_gone = atomic_load_explicit(&is_gone[slot], memory_order_relaxed);
		atomic_fetch_sub_explicit(&fxt_owed_count, 1, memory_order_relaxed);
		atomic_store_explicit(&objects[slot], FREE, memory_order_release);
		return true;
	}
	return false;
}

void fxt_owed_gone(uintptr_t low, uintptr_t high)
{
	uintptr_t object;
	int i;

	for (i = 0; fxt_owed_any() && i < SLOTS; i++) {
		object = atomic_load_explicit(&objects[i], memory_order_relaxed);
		if (object > CHANGING && object >= low && object < high)
			atomic_store_explicit(&is_gone[i], true, memory_order_relaxed);
	}
}

void fxt_owed_clear(void)
{
	int i;

	for (i = 0; i < SLOTS; i++)
		if (atomic_load_explicit(&objects[i], memory_order_relaxed))
			atomic_store_explicit(&objects[i], FREE, memory_order_relaxed);
	atomic_store_explicit(&fxt_owed_count, 0, memory_order_relaxed);
}
