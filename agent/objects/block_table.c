/* See block_table.h. */
#include "block_table.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "agent/base/lazy_table.h"

/* Values in the place of a block's address. */
#define FREE ((uintptr_t)0)
#define CLAIMED ((uintptr_t)1)

/* The address of the buckets, and in its lowest bits, which those of a page do not use, the logarithm of how
 * many there are. So both change at once. 0: there are none. */
static _Atomic uintptr_t table;
enum { BITS_MASK = 63 };

static size_t bytes_of(unsigned bits)
{
	return sizeof(struct fxt_block_bucket) << bits;
}

static struct fxt_block_bucket *buckets_of(uintptr_t all)
{
	return (struct fxt_block_bucket *)(all & ~(uintptr_t)BITS_MASK);
}

/* Returns the logarithm of how many buckets the table may have. A filter of the program's may kill who asks
 * for a limit, so there the table is small. */
static unsigned bits_allowed(void)
{
	unsigned bits = FXT_BLOCK_BUCKET_BITS;
	struct rlimit limit;

	if (fxt_is_filtered() || fxt_sys_getrlimit(RLIMIT_AS, &limit))
		return FXT_BLOCK_BUCKET_BITS_LIMITED;
	while (bits > FXT_BLOCK_BUCKET_BITS_LIMITED &&
	       bytes_of(bits) > limit.rlim_cur / FXT_BLOCK_LIMIT_SHARE)
		bits--;
	return bits;
}

/* Makes the table. Where that many addresses are not to be had, it becomes smaller. Returns the value of
 * `table`, or 0. */
static uintptr_t make_table(void)
{
	enum { LEAST_BITS = 7 };
	unsigned bits = bits_allowed();
	uintptr_t all = 0;
	void *made = fxt_sys_memory(bytes_of(bits));

	while (!made && bits > LEAST_BITS)
		made = fxt_sys_memory(bytes_of(--bits));
	if (!made)
		return atomic_load_explicit(&table, memory_order_acquire);
	/* A huge page would take the memory of 5000 buckets for one. */
	fxt_sys_madvise(made, bytes_of(bits), MADV_NOHUGEPAGE);
	if (atomic_compare_exchange_strong(&table, &all, (uintptr_t)made | bits))
		return (uintptr_t)made | bits;
	fxt_sys_munmap(made, bytes_of(bits));
	return all;
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
	uintptr_t all = atomic_load_explicit(&table, memory_order_acquire);

	if (!all && make)
		all = make_table();
	return all ? buckets_of(all) + number_of(block, all & BITS_MASK) : NULL;
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
	uintptr_t all = atomic_load(&table);

	if (all && fxt_sys_madvise(buckets_of(all), bytes_of(all & BITS_MASK), MADV_DONTNEED))
		atomic_store(&table, 0);
}
