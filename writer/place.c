/* Chooses the places of place.h. fxt_sys_mmap() and the wrapper of munmap() call this, in any context. */
#include "place.h"

#include <stdatomic.h>

/* The range lies above what sanitizers and non-PIE programs use, and below programs, heaps and the kernel's
 * own choice, with addresses of 48 bits. */
#define LOWEST UINT64_C(0x200000000000)
#define RANDOM_BITS 44
#define PLACE_BYTES ((uintptr_t)1 << 40)

enum {
	LEAST_BYTES = 64 << 10,         /* the largest page there is */
	LARGE_BYTES = 2 << 20,          /* the kernel may map this much by one entry of its tables */
};

static _Atomic uintptr_t used;

/* Returns the range's lowest address. It is as random as the address of this library, and the same in
 * forked children. */
static uintptr_t lowest(void)
{
	uintptr_t page = (uintptr_t)&used >> 12;

	return LOWEST + (page << 21 & (((uintptr_t)1 << RANDOM_BITS) - 1));
}

uintptr_t fxt_place(size_t bytes)
{
	uintptr_t unit = bytes < LARGE_BYTES ? LEAST_BYTES : LARGE_BYTES;
	uintptr_t from = atomic_load_explicit(&used, memory_order_relaxed), at;

	do
		at = (from + unit - 1) / unit * unit;
	while (!atomic_compare_exchange_weak_explicit(
		&used, &from, at + (bytes + LEAST_BYTES - 1) / LEAST_BYTES * LEAST_BYTES,
		memory_order_relaxed, memory_order_relaxed));
	/* After 2^40 bytes places are given again. What lay there is unmapped by then, or the kernel
	 * chooses another address. */
	return lowest() + at % PLACE_BYTES;
}

struct fxt_range fxt_places(void)
{
	uintptr_t bytes = atomic_load_explicit(&used, memory_order_relaxed);

	return (struct fxt_range){lowest(), lowest() + (bytes < PLACE_BYTES ? bytes : PLACE_BYTES)};
}
