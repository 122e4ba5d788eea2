/* Chooses the places of place.h, and knows of each unit of them whether it is mapped. fxt_sys_mmap() and
 * fxt_sys_munmap() call this, and the wrappers of calls that unmap or change mappings. */
#include "place.h"

#include <stdatomic.h>
#include <sys/auxv.h>

#include "sys.h"

#define UNIT_BYTES ((uintptr_t)64 << 10)        /* the largest page there is */
#define PART_BYTES (UNIT_BYTES / PARTS)         /* the smallest page there is */
#define LARGE_BYTES ((uintptr_t)2 << 20)        /* what one of the kernel's tables of pages can map */
#define MAX_BYTES (UNITS * UNIT_BYTES)          /* 4 GiB: as a rule less than 100 MB are mapped at a time */
/* Between the libraries and the stack at least this much has to be free. */
#define LEAST_HOLE_BYTES ((uintptr_t)8 << 30)
/* Otherwise the places lie so far below the libraries. The kernel puts a program's mappings there only if
 * it has mapped this much. */
#define FAR_BELOW_BYTES ((uintptr_t)1 << 39)

enum {
	UNITS = 1 << 16,
	PARTS = 16,
	TRIES = 16,             /* places that the program has taken before the kernel is left to choose */
	EXISTS = -17,           /* EEXIST */
	FIXED_NOREPLACE = 0x100000,
	/* A unit's state is how many of its parts the agent has mapped, from its beginning, and what the
	 * program does there. */
	MAPPED_PARTS = 0x1f,
	HELD = 0x20,            /* nothing is mapped there, and the program may be about to */
	CLAIMED = 0x40,
	SET_ASIDE = 0x80,       /* for a place that grows, unless the program holds it before */
};

/* The states of the units. A unit is taken before it is mapped, and given back after it was unmapped. */
static FXT_LARGE _Atomic unsigned char taken[UNITS];
static _Atomic uint32_t next_unit;
static _Atomic uintptr_t known_origin, known_units;

/* Finds the addresses where the places lie. The kernel puts the loader at the highest address that it gives
 * by itself, and all that is mapped later goes below; above there is only the stack, on the average 2^39
 * bytes higher. Places in that hole do not divide the program's address space, so its largest mapping is as
 * large as without us, and programs and sanitizers that keep a part of the address space for themselves
 * cannot know of that hole, because its address is random. */
static void find(uintptr_t *origin, uintptr_t *bytes)
{
	uintptr_t stack = getauxval(AT_EXECFN), loader = getauxval(AT_BASE), hole;

	if (loader < (uintptr_t)&taken)
		loader = (uintptr_t)&taken;
	hole = stack > loader ? stack - loader : 0;
	*bytes = hole / 2 < MAX_BYTES ? hole / 2 : MAX_BYTES;
	if (hole >= LEAST_HOLE_BYTES) {
		/* The stack may need most of the hole. */
		*origin = loader + hole / 8;
	} else {
		*bytes = MAX_BYTES;
		*origin = loader > 2 * FAR_BELOW_BYTES ? loader - FAR_BELOW_BYTES - *bytes : 0;
	}
	*origin = (*origin + LARGE_BYTES - 1) & ~(LARGE_BYTES - 1);
}

/* Returns to how many units a place is aligned. A large file is aligned, because the kernel may map it by one
 * entry of its tables. Private memory lies side by side, because a process has a table of 4 KiB for each
 * LARGE_BYTES in which it has touched anything. */
static uint32_t alignment(size_t bytes, int flags)
{
	return flags & MAP_SHARED && bytes >= LARGE_BYTES ? (uint32_t)(LARGE_BYTES / UNIT_BYTES) : 1;
}

/* Returns how many units there are, from *origin on. All threads find the same. */
static uint32_t places(uintptr_t *origin)
{
	uintptr_t units = atomic_load_explicit(&known_units, memory_order_acquire), bytes;

	if (!units) {
		find(origin, &bytes);
		units = *origin ? bytes / UNIT_BYTES : 1;
		atomic_store_explicit(&known_origin, *origin, memory_order_relaxed);
		atomic_store_explicit(&known_units, units, memory_order_release);
	}
	*origin = atomic_load_explicit(&known_origin, memory_order_relaxed);
	return *origin ? (uint32_t)units : 0;
}

static void give_back(uint32_t from, uint32_t end)
{
	for (; from < end; from++)
		atomic_store_explicit(&taken[from], 0, memory_order_release);
}

/* Returns how many parts of its unit number `index` a mapping of so many bytes has. */
static unsigned char parts_of(size_t bytes, size_t index)
{
	size_t parts = (bytes + PART_BYTES - 1) / PART_BYTES, before = index * PARTS;

	return parts <= before ? 0 : parts - before < PARTS ? (unsigned char)(parts - before) : PARTS;
}

/* Takes so many units from a unit on, if all of them are free, for a mapping of so many bytes, or for a
 * place that grows (0). */
static int take(uint32_t from, uint32_t count, size_t bytes)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		unsigned char none = 0, some = bytes ? parts_of(bytes, i) : SET_ASIDE;

		if (!atomic_compare_exchange_strong_explicit(&taken[from + i], &none, some,
							     memory_order_acquire, memory_order_relaxed)) {
			give_back(from, from + i);
			return 0;
		}
	}
	return 1;
}

/* Returns the first of so many units, a multiple of the alignment. After the last unit this begins again with
 * the first, so these units were not in use for the longest time. */
static uint32_t next(uint32_t count, uint32_t alignment, uint32_t units)
{
	uint32_t from = atomic_load_explicit(&next_unit, memory_order_relaxed), at;

	do {
		at = (from + alignment - 1) / alignment * alignment;
		if (at > units || count > units - at)
			at = 0;
	} while (!atomic_compare_exchange_weak_explicit(&next_unit, &from, at + count, memory_order_relaxed,
							memory_order_relaxed));
	return at;
}

/* Returns the units that have addresses in [from, end), as a range of their numbers. */
static struct fxt_range units_in(struct fxt_range range, uintptr_t *origin)
{
	uintptr_t high = (uintptr_t)places(origin) * UNIT_BYTES + *origin;

	if (range.from < *origin)
		range.from = *origin;
	if (range.end > high)
		range.end = high;
	return fxt_range_is_empty(range)
		       ? (struct fxt_range){0, 0}
		       : (struct fxt_range){(range.from - *origin) / UNIT_BYTES,
					    (range.end - *origin + UNIT_BYTES - 1) / UNIT_BYTES};
}

long fxt_place_map(size_t bytes, int protection, int flags, int fd, off_t offset)
{
	uintptr_t origin;
	const uint32_t units = places(&origin);
	size_t count = (bytes + UNIT_BYTES - 1) / UNIT_BYTES;
	long result = EXISTS;
	int try;

	for (try = 0; try < TRIES && count <= units && result == EXISTS; try++) {
		uint32_t from = next((uint32_t)count, alignment(bytes, flags), units);
		uintptr_t place = origin + from * UNIT_BYTES;

		if (!take(from, (uint32_t)count, bytes))
			continue;
		result = fxt_sys_map_at(place, bytes, protection, flags | FIXED_NOREPLACE, fd, offset);
		if ((uintptr_t)result != place)
			give_back(from, from + (uint32_t)count);
	}
	/* The addresses may not exist here. Linux before 4.17 takes them for a wish. */
	return result < 0 && result > -4096
		       ? fxt_sys_map_at(0, bytes, protection, flags, fd, offset)
		       : result;
}

uintptr_t fxt_place_set_aside(size_t bytes)
{
	uintptr_t origin;
	const uint32_t units = places(&origin);
	size_t count = (bytes + UNIT_BYTES - 1) / UNIT_BYTES;
	int try;

	for (try = 0; try < TRIES && count <= units; try++) {
		uint32_t from = next((uint32_t)count, alignment(bytes, MAP_PRIVATE), units);

		if (take(from, (uint32_t)count, 0))
			return origin + from * UNIT_BYTES;
	}
	return 0;
}

bool fxt_place_grow(uintptr_t place, size_t from, size_t end)
{
	uintptr_t origin, first;
	size_t index;

	places(&origin);
	first = (place - origin) / UNIT_BYTES;
	for (index = from / UNIT_BYTES; index * UNIT_BYTES < end; index++) {
		unsigned char state = taken[first + index], parts = parts_of(end, index);

		do {
			if (!(state & SET_ASIDE))
				return false;
		} while ((state & MAPPED_PARTS) < parts &&
			 !atomic_compare_exchange_weak_explicit(
				 &taken[first + index], &state,
				 (unsigned char)((state & ~MAPPED_PARTS) | parts), memory_order_acq_rel,
				 memory_order_relaxed));
	}
	return true;
}

void fxt_place_give_up(uintptr_t place, size_t bytes)
{
	uintptr_t origin;
	struct fxt_range units = units_in((struct fxt_range){place, place + bytes}, &origin);
	uintptr_t unit;

	/* The program may hold some of them. */
	for (unit = units.from; unit < units.end; unit++)
		if (taken[unit] & SET_ASIDE)
			give_back((uint32_t)unit, (uint32_t)unit + 1);
}

/* Unmaps a range. What the program believes to be its own stays mapped, without access. */
static long unmap(struct fxt_range range, bool is_claimed)
{
	size_t bytes = range.end - range.from;

	return is_claimed ? FXT_SYSCALL6(SYS_mmap, range.from, bytes, PROT_NONE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)
			  : FXT_SYSCALL2(SYS_munmap, range.from, bytes);
}

int fxt_place_unmap(void *at, size_t bytes)
{
	const struct fxt_range all = {(uintptr_t)at, (uintptr_t)at + bytes};
	struct fxt_range rest = all;
	uintptr_t origin, unit;
	struct fxt_range units = units_in(all, &origin);
	bool is_claimed = units.from < units.end && taken[units.from] & CLAIMED;
	long result = 0;

	for (unit = units.from; unit < units.end && result >= 0; unit++) {
		if (!!(taken[unit] & CLAIMED) == is_claimed)
			continue;
		result = unmap((struct fxt_range){rest.from, origin + unit * UNIT_BYTES}, is_claimed);
		rest.from = origin + unit * UNIT_BYTES;
		is_claimed = !is_claimed;
	}
	if (result >= 0)
		result = unmap(rest, is_claimed);
	if (result < 0)
		return (int)result;
	give_back((uint32_t)units.from, (uint32_t)units.end);
	return 0;
}

/* Changes the state of each unit that has the state `from`. */
static void change(struct fxt_range units, unsigned char from, unsigned char to)
{
	uintptr_t unit;
	unsigned char state;

	for (unit = units.from; unit < units.end; unit++) {
		state = from;
		atomic_compare_exchange_strong_explicit(&taken[unit], &state, to, memory_order_acq_rel,
							memory_order_relaxed);
	}
}

bool fxt_place_hold(struct fxt_range range)
{
	uintptr_t origin;
	struct fxt_range units = units_in(range, &origin);

	change(units, 0, HELD);
	change(units, SET_ASIDE, HELD);
	return !fxt_range_is_empty(units);
}

void fxt_place_release(struct fxt_range range)
{
	uintptr_t origin;

	change(units_in(range, &origin), HELD, 0);
}

/* Returns the mapped part of a unit, as far as it lies in the range. */
static struct fxt_range mapped(uintptr_t origin, uintptr_t unit, struct fxt_range within)
{
	uintptr_t from = origin + unit * UNIT_BYTES;
	uintptr_t end = from + (taken[unit] & MAPPED_PARTS) * PART_BYTES;

	return (struct fxt_range){from < within.from ? within.from : from,
				  end > within.end ? within.end : end};
}

struct fxt_range fxt_place_first(struct fxt_range range)
{
	struct fxt_range found = {range.end, range.end}, more;
	uintptr_t origin, unit;
	struct fxt_range units = units_in(range, &origin);

	for (unit = units.from; unit < units.end; unit++) {
		more = mapped(origin, unit, range);
		if (fxt_range_is_empty(found) && !fxt_range_is_empty(more))
			found = more;
		else if (!fxt_range_is_empty(more) && more.from == found.end)
			found.end = more.end;
		else if (!fxt_range_is_empty(found))
			break;
	}
	return found;
}

struct fxt_range fxt_place_last(struct fxt_range range)
{
	struct fxt_range found = {range.from, range.from}, more;
	uintptr_t origin, unit;
	struct fxt_range units = units_in(range, &origin);

	for (unit = units.end; unit > units.from; unit--) {
		more = mapped(origin, unit - 1, range);
		if (fxt_range_is_empty(found) && !fxt_range_is_empty(more))
			found = more;
		else if (!fxt_range_is_empty(more) && more.end == found.from)
			found.from = more.from;
		else if (!fxt_range_is_empty(found))
			break;
	}
	return found;
}

void fxt_place_claim(struct fxt_range piece, bool is_claimed)
{
	uintptr_t origin, unit;
	struct fxt_range units = units_in(piece, &origin);

	for (unit = units.from; unit < units.end; unit++)
		if (is_claimed)
			taken[unit] |= CLAIMED;
		else
			taken[unit] &= (unsigned char)~CLAIMED;
}

bool fxt_place_is_claimed(struct fxt_range piece)
{
	uintptr_t origin;
	struct fxt_range units = units_in(piece, &origin);

	return !fxt_range_is_empty(units) && taken[units.from] & CLAIMED;
}
