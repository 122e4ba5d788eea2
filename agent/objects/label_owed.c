/* Keeps the list of label_owed.h. Slots are taken and given back by compare-and-exchange. If a signal
 * handler leaves by longjmp while a name is told, the slot is lost for good, and its object has no name.
 * Other names are lost only when that has happened to all slots. */
#include "label_owed.h"

#include <stddef.h>

#include "writer/place.h"

/* The list has room for an allocator that makes a hundred locks in one critical section. A search for an
 * object looks at 16 cache lines. */
enum { SLOTS = 128 };

enum { FREE = 0, CHANGING = 1 };        /* in place of an object: the slot is free, or is changing */
enum { GONE = 1, TAKEN = 2 };

/* stored after the other members of the slot */
static FXT_LARGE _Atomic uintptr_t objects[SLOTS];
static atomic_uchar marks[SLOTS];
static FXT_LARGE struct fxt_owed list[SLOTS];

atomic_uint fxt_owed_count;

static bool is_there(int slot, uintptr_t object)
{
	return atomic_load_explicit(&objects[slot], memory_order_acquire) == object;
}

bool fxt_owed_put(const struct fxt_owed *owed)
{
	uintptr_t empty;
	int i;

	for (i = 0; i < SLOTS; i++) {
		empty = FREE;
		if (!is_there(i, FREE) || !atomic_compare_exchange_strong(&objects[i], &empty, CHANGING))
			continue;
		list[i] = *owed;
		atomic_store_explicit(&marks[i], 0, memory_order_relaxed);
		atomic_store_explicit(&objects[i], owed->object, memory_order_release);
		atomic_fetch_add(&fxt_owed_count, 1);
		return true;
	}
	return false;
}

bool fxt_owed_has(uintptr_t object, bool may_be_gone)
{
	int i;

	for (i = 0; fxt_owed_any() && i < SLOTS; i++)
		if (is_there(i, object) &&
		    (may_be_gone || !(atomic_load_explicit(&marks[i], memory_order_relaxed) & GONE)))
			return true;
	return false;
}

static bool is_for(int slot, uint32_t tid, uint64_t before_ns)
{
	return list[slot].tid == tid || list[slot].since_ns < before_ns;
}

/* Returns the first slot after `after_ns` that the thread may tell and that nobody tells, or -1. */
static int next_for(uint32_t tid, uint64_t before_ns, uint64_t after_ns)
{
	int i, found = -1;

	for (i = 0; i < SLOTS; i++)
		if (atomic_load_explicit(&objects[i], memory_order_acquire) > CHANGING &&
		    !(atomic_load_explicit(&marks[i], memory_order_relaxed) & TAKEN) &&
		    is_for(i, tid, before_ns) && list[i].since_ns > after_ns &&
		    (found < 0 || list[i].since_ns < list[found].since_ns))
			found = i;
	return found;
}

/* Tells whether this name has to wait, because another name of its address is being told, or comes first. */
static bool has_to_wait(int slot)
{
	uintptr_t object = list[slot].object;
	int i;

	for (i = 0; i < SLOTS; i++)
		if (i != slot && is_there(i, object) &&
		    (atomic_load(&marks[i]) & TAKEN || list[i].since_ns < list[slot].since_ns))
			return true;
	return false;
}

int fxt_owed_take(struct fxt_owed *owed, uint32_t tid, uint64_t before_ns)
{
	uint64_t after_ns = owed->since_ns;
	int slot;

	while (fxt_owed_any() && (slot = next_for(tid, before_ns, after_ns)) >= 0) {
		after_ns = list[slot].since_ns;
		if (atomic_fetch_or(&marks[slot], TAKEN) & TAKEN)
			continue;
		/* Each thread marks its own name first and looks then. So of two threads with names of one
		 * address, at least one sees the other. */
		if (atomic_load(&objects[slot]) > CHANGING && !has_to_wait(slot)) {
			*owed = list[slot];
			owed->is_gone = fxt_owed_is_gone(slot);
			return slot;
		}
		atomic_fetch_and(&marks[slot], (unsigned char)~TAKEN);
	}
	return -1;
}

bool fxt_owed_is_gone(int slot)
{
	return atomic_load(&marks[slot]) & GONE;
}

/* Takes the object out of the slot, unless somebody else has, because the list may be emptied while a name
 * is told. */
static void take_out(int slot, uintptr_t object)
{
	if (object > CHANGING && atomic_compare_exchange_strong(&objects[slot], &object, FREE))
		atomic_fetch_sub(&fxt_owed_count, 1);
}

void fxt_owed_done(int slot, uintptr_t object)
{
	take_out(slot, object);
}

void fxt_owed_gone(uintptr_t low, uintptr_t high)
{
	uintptr_t object;
	int i;

	for (i = 0; fxt_owed_any() && i < SLOTS; i++) {
		object = atomic_load_explicit(&objects[i], memory_order_relaxed);
		if (object > CHANGING && object >= low && object < high)
			atomic_fetch_or(&marks[i], GONE);
	}
}

void fxt_owed_clear(void)
{
	int i;

	for (i = 0; fxt_owed_any() && i < SLOTS; i++)
		take_out(i, atomic_load_explicit(&objects[i], memory_order_relaxed));
}
