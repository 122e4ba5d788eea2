/* See block_table.h. */
#include "block_table.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "agent/base/lazy_table.h"

/* Values in the place of a block's address. */
#define FREE ((uintptr_t)0)
#define CLAIMED ((uintptr_t)1)

/* The table is made in parts, because limits of address space and of data count memory that is never touched.
 * NULL: no block has needed the part. */
enum {
	PART_BITS = 7,                  /* 64 KiB, for 4 MiB of a heap with the defaults */
	PART_BUCKETS = 1 << PART_BITS,
	PARTS = 1 << (FXT_BLOCK_BUCKET_BITS - PART_BITS),
	PART_BYTES = PART_BUCKETS * sizeof(struct fxt_block_bucket),
};

static FXT_LARGE _Atomic(void *) parts[PARTS];
static atomic_bool has_parts;            /* any part was ever made: reading `parts` would map its pages */
/* the logarithm of how many buckets there may be; 0: nobody has asked yet */
static _Atomic unsigned table_bits;

/* Returns the smaller one of two limits, as the kernel gives them. */
static rlim_t lower(rlim_t limit, int resource)
{
	struct rlimit other;

	return fxt_sys_getrlimit(resource, &other) || limit < other.rlim_cur ? limit : other.rlim_cur;
}

/* Returns the logarithm of how many buckets the table may have. A filter of the program's may kill who asks
 * for a limit, so there the table is small. */
static unsigned bits_allowed(void)
{
	unsigned bits = FXT_BLOCK_BUCKET_BITS;
	rlim_t limit;

	if (fxt_is_filtered())
		return FXT_BLOCK_BUCKET_BITS_LIMITED;
	limit = lower(lower(RLIM_INFINITY, RLIMIT_AS), RLIMIT_DATA);
	while (bits > FXT_BLOCK_BUCKET_BITS_LIMITED &&
	       sizeof(struct fxt_block_bucket) << bits > limit / FXT_BLOCK_LIMIT_SHARE)
		bits--;
	return bits;
}

/* Returns the logarithm of how many buckets the table has, and decides it if `make`. Returns 0 if there is no
 * table. */
static unsigned bits_of_table(bool make)
{
	unsigned bits = atomic_load_explicit(&table_bits, memory_order_relaxed), none = 0;

	if (bits || !make)
		return bits;
	bits = bits_allowed();
	return atomic_compare_exchange_strong(&table_bits, &none, bits) ? bits : none;
}

/* Returns a part, or NULL if it is not there; makes it if `make`. */
static struct fxt_block_bucket *part_of(size_t number, bool make)
{
	_Atomic(void *) *part = &parts[number >> PART_BITS];
	void *there = atomic_load_explicit(part, memory_order_acquire);

	if (there || !make)
		return there;
	atomic_store_explicit(&has_parts, true, memory_order_relaxed);
	there = fxt_lazy_table(part, PART_BYTES);
	/* A huge page would take the memory of 5000 buckets for one. */
	if (there)
		fxt_sys_madvise(there, PART_BYTES, MADV_NOHUGEPAGE);
	return there;
}

/* Returns how many bits of an address do not matter to where a block can be: blocks that begin in so small a
 * part of the heap are few at a time, because one in so many bytes is large enough or drawn. */
static unsigned part_bits(void)
{
	enum { LEAST = 4, MOST = 24 };
	/* 0, which is none, becomes the largest. */
	uint64_t track = fxt_agent.config.heap_track_bytes - 1,
		 sample = fxt_agent.config.heap_sample_bytes - 1,
		 bytes = (track < sample ? track : sample) >> 1;
	unsigned bits = bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;

	return bits < LEAST ? LEAST : bits > MOST ? MOST : bits;
}

/* Returns the number of the bucket that a block can be in. Neighbours in the heap have neighbouring buckets,
 * because a program with little heap should touch few pages of the table. Heaps that are far from each other
 * do not begin at the same bucket, though their addresses often end alike. */
static size_t number_of(uintptr_t block, unsigned bits)
{
	uint64_t part = (uint64_t)block >> part_bits(), far = part >> bits;

	return (part ^ far * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits)) & ((UINT64_C(1) << bits) - 1);
}

struct fxt_block_bucket *fxt_block_bucket(uintptr_t block, bool make)
{
	unsigned bits = bits_of_table(make);
	struct fxt_block_bucket *part;
	size_t number;

	if (!bits)
		return NULL;
	number = number_of(block, bits);
	part = part_of(number, make);
	return part ? part + number % PART_BUCKETS : NULL;
}

void fxt_block_touch(struct fxt_block_bucket *bucket)
{
	uintptr_t free = FREE;

	if (bucket)
		atomic_compare_exchange_strong(&bucket->blocks[0], &free, FREE);
}

/* Claims an entry if it still contains `from`. Returns whether it did. */
static bool claim(_Atomic uintptr_t *entry, uintptr_t from)
{
	return atomic_compare_exchange_strong_explicit(entry, &from, CLAIMED, memory_order_acq_rel,
						       memory_order_relaxed);
}

int fxt_block_claim(struct fxt_block_bucket *bucket, uintptr_t from)
{
	int way;

	for (way = 0; bucket && way < FXT_BLOCK_WAYS; way++)
		if (atomic_load_explicit(&bucket->blocks[way], memory_order_relaxed) == from &&
		    claim(&bucket->blocks[way], from))
			return way;
	return -1;
}

/* Claims the entry of any block that is gone, as fxt_block_claim() does. */
static int claim_gone(struct fxt_block_bucket *bucket)
{
	uintptr_t block;
	int way;

	for (way = 0; way < FXT_BLOCK_WAYS; way++) {
		block = atomic_load_explicit(&bucket->blocks[way], memory_order_relaxed);
		if (block & FXT_BLOCK_IS_GONE && claim(&bucket->blocks[way], block))
			return way;
	}
	return -1;
}

int fxt_block_claim_for(struct fxt_block_bucket *bucket, uintptr_t block)
{
	int way = fxt_block_claim(bucket, block | FXT_BLOCK_IS_GONE);

	if (way >= 0 || !bucket)
		return way;
	way = fxt_block_claim(bucket, FREE);
	if (way < 0)
		way = claim_gone(bucket);
	if (way >= 0)
		bucket->details[way] = (struct fxt_block_detail){.bytes = 0};
	return way;
}

void fxt_block_table_empty(void)
{
	size_t i;

	for (i = 0; atomic_load_explicit(&has_parts, memory_order_relaxed) && i < PARTS; i++)
		if (atomic_load_explicit(&parts[i], memory_order_relaxed))
			fxt_lazy_table_empty(&parts[i], PART_BYTES);
}

void fxt_block_table_after_fork(void)
{
	if (fxt_lazy_tables_stay())
		fxt_block_table_empty();
}
