/* See blocks.h. The table is made of buckets. The address of a block says which bucket it can be in. An entry
 * belongs to the thread that owns the block: no other looks for that address, unless the program frees it
 * twice. So a thread claims an entry, fills it, and then shows it by storing the address.
 *
 * The entry of a block that is gone stays until another block needs its place. A program that takes and frees
 * a block again and again mostly gets the same one, and then the trace is told of that block once.
 */
#include "blocks.h"

#include <string.h>

#include "agent/base/lazy_table.h"
#include "agent/base/stack.h"
#include "agent/emit/call_stack.h"
#include "agent/stacks/stack_walk.h"
#include "allocation_site.h"
#include "heap_sample.h"

enum { BUCKET_BITS = 13, BUCKETS = 1 << BUCKET_BITS, WAYS = 8 };

/* Values in the place of a block's address. IS_GONE is a bit that is added to the address, which is even. */
#define FREE ((uintptr_t)0)
#define CLAIMED ((uintptr_t)1)
#define IS_GONE ((uintptr_t)2)

/* The data about a block. */
struct detail {
	struct fxt_memory_life life;
	struct fxt_label label;         /* the name that the trace was told last for this address */
	uint64_t bytes;                 /* the size that it was told with that name */
	bool is_sample;
};

struct bucket {
	_Atomic uintptr_t blocks[WAYS];
	struct detail details[WAYS];
};

/* The table takes 3.5 MiB of addresses, and memory for the pages that are used. It is made with the first
 * block that is large enough. */
static _Atomic(void *) table;           /* struct bucket */

_Atomic uint8_t fxt_block_samples[FXT_BLOCK_SAMPLE_HASHES];
static atomic_bool has_samples;

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
static size_t number_of(uintptr_t block)
{
	uint64_t part = (uint64_t)block >> part_bits(), far = part >> BUCKET_BITS;

	return (part ^ far * UINT64_C(0x9e3779b97f4a7c15) >> (64 - BUCKET_BITS)) & (BUCKETS - 1);
}

/* Returns the bucket that a block can be in. Makes the table if `make`. Returns NULL if there is no table. */
static struct bucket *bucket_of(uintptr_t block, bool make)
{
	struct bucket *buckets = make ? fxt_lazy_table(&table, BUCKETS * sizeof(*buckets))
				      : atomic_load_explicit(&table, memory_order_acquire);

	return buckets ? buckets + number_of(block) : NULL;
}

/* Claims an entry if it still contains `from`. Returns whether it did. */
static bool claim(_Atomic uintptr_t *entry, uintptr_t from)
{
	return atomic_compare_exchange_strong_explicit(entry, &from, CLAIMED, memory_order_acq_rel,
						       memory_order_relaxed);
}

/* Claims the entry of a bucket that contains `from`. Returns its number in the bucket, or -1 if there is
 * none. */
static int claim_in(struct bucket *bucket, uintptr_t from)
{
	int way;

	for (way = 0; bucket && way < WAYS; way++)
		if (atomic_load_explicit(&bucket->blocks[way], memory_order_relaxed) == from &&
		    claim(&bucket->blocks[way], from))
			return way;
	return -1;
}

/* Claims the entry of any block that is gone, as claim_in() does. */
static int claim_gone(struct bucket *bucket)
{
	uintptr_t block;
	int way;

	for (way = 0; way < WAYS; way++) {
		block = atomic_load_explicit(&bucket->blocks[way], memory_order_relaxed);
		if (block & IS_GONE && claim(&bucket->blocks[way], block))
			return way;
	}
	return -1;
}

/* Claims an entry for a block that is not in the table: the one that it had before, which still has what the
 * trace was told; or else another one, which is emptied. Returns -1 if there is none. */
static int claim_for(struct bucket *bucket, uintptr_t block)
{
	int way = claim_in(bucket, block | IS_GONE);

	if (way >= 0 || !bucket)
		return way;
	way = claim_in(bucket, FREE);
	if (way < 0)
		way = claim_gone(bucket);
	if (way >= 0)
		bucket->details[way] = (struct detail){.bytes = 0};
	return way;
}

/* Shows an entry that was claimed. */
static void release(struct bucket *bucket, int way, uintptr_t block)
{
	atomic_store_explicit(&bucket->blocks[way], block, memory_order_release);
}

/* Tells the trace the name and size of a block, unless it was told the same of this address before. */
static void tell(struct fxt_thread *thread, struct detail *detail, const struct fxt_memory *memory,
		 uint64_t since_ns)
{
	if (detail->label.text && detail->label.text == memory->label.text && detail->bytes == memory->bytes)
		return;
	detail->label = memory->label;
	detail->bytes = memory->bytes;
	fxt_label_tell_block(thread, memory->address, &memory->label, memory->place, since_ns, memory->bytes);
}

/* Counts a sample more or less of a hash. A count that has reached its most stays there. */
static void count_sample(uintptr_t block, int more)
{
	_Atomic uint8_t *count = &fxt_block_samples[block * UINT64_C(0x9e3779b97f4a7c15) >> 50];
	uint8_t before = atomic_load_explicit(count, memory_order_relaxed);

	do {
		if (before == UINT8_MAX || (!before && more < 0))
			return;
	} while (!atomic_compare_exchange_weak_explicit(count, &before, (uint8_t)(before + more),
							memory_order_relaxed, memory_order_relaxed));
}

/* Claims an entry for a block that has come. Returns -1 if there is none. */
static int claim_new(struct fxt_thread *thread, struct bucket *bucket, const void *block, uint64_t since_ns)
{
	struct fxt_block before;
	uintptr_t free = FREE;

	/* A new page that is read first is mapped twice: empty, and once more when it is written to. This
	 * writes, and changes nothing. */
	if (bucket)
		atomic_compare_exchange_strong(&bucket->blocks[0], &free, FREE);
	before = fxt_block_take(block);
	/* If the table still has the block, it was freed while nothing was recorded. */
	if (before.life.id)
		fxt_block_gone(thread, &before, since_ns);
	return fxt_stack_is_short() ? -1 : claim_for(bucket, (uintptr_t)block);
}

/* Begins the lifetime of a block whose entry was claimed, and shows the entry. A handler may fork at any
 * instruction, and the child finds the entry empty. So the lifetime is stored when it has begun, and before
 * what says that it is a sample's: an end goes by both, and there is none without a lifetime. */
static void begin(struct fxt_thread *thread, struct bucket *bucket, int way, const struct fxt_memory *memory,
		  uint64_t since_ns)
{
	struct fxt_memory_life life = {.begin_ns = since_ns};
	bool has_begun = fxt_memory_life_begin(thread, &life, memory);

	bucket->details[way].life = life;
	atomic_signal_fence(memory_order_seq_cst);
	bucket->details[way].is_sample = memory->stands_for;
	release(bucket, way, memory->address | (has_begun ? 0 : IS_GONE));
}

void fxt_block_came_at(struct fxt_thread *thread, const void *block, size_t bytes, const uintptr_t *frame,
		       uint64_t since_ns)
{
	struct fxt_memory memory = {.name = FXT_STR_heap_block, .address = (uintptr_t)block, .bytes = bytes};
	struct bucket *bucket = bucket_of((uintptr_t)block, true);
	int way = claim_new(thread, bucket, block, since_ns);
	uint32_t stack;

	if (way < 0)
		return;
	stack = fxt_call_stack_of(thread, FXT_WALK_MOST);
	memory.place = fxt_allocation_site(thread, stack, frame[1]);
	memory.label = fxt_label_block(thread, memory.place);
	memory.stack = fxt_agent.config.stacks ? stack : 0;
	tell(thread, &bucket->details[way], &memory, since_ns);
	begin(thread, bucket, way, &memory, since_ns);
}

void fxt_block_drawn_at(struct fxt_thread *thread, const void *block, size_t bytes, uint64_t since_ns)
{
	struct fxt_memory memory = {.name = FXT_STR_heap_sample, .address = (uintptr_t)block, .bytes = bytes};
	uint64_t mean = fxt_agent.config.heap_sample_bytes;
	struct bucket *bucket;
	bool is_first = !thread->bytes.random;
	int way;

	if (!mean || !fxt_agent.config.stacks) {
		thread->bytes.until_sample = INT64_MAX;
		return;
	}
	if (is_first) {
		thread->bytes.random = fxt_flow_id() ^ (uint64_t)thread->tid << 32;
		/* The bytes count from the last that was drawn, which is as good as any other moment. */
		thread->bytes.until_sample += (int64_t)fxt_heap_sample_distance(&thread->bytes.random, mean);
		if (thread->bytes.until_sample >= 0)
			return;
	}
	thread->bytes.until_sample = (int64_t)fxt_heap_sample_distance(&thread->bytes.random, mean) - 1;
	bucket = bucket_of((uintptr_t)block, true);
	way = claim_new(thread, bucket, block, since_ns);
	if (way < 0)
		return;
	memory.stack = fxt_call_stack(thread);
	memory.stands_for = fxt_heap_sample_weight(bytes, mean);
	atomic_store_explicit(&has_samples, true, memory_order_relaxed);
	count_sample((uintptr_t)block, 1);
	begin(thread, bucket, way, &memory, since_ns);
}

void fxt_block_drawn(struct fxt_thread *thread, const void *block, size_t bytes)
{
	fxt_block_drawn_at(thread, block, bytes, thread->last_ns);
}

void fxt_block_came(struct fxt_thread *thread, const void *block, size_t bytes, const uintptr_t *frame)
{
	fxt_block_came_at(thread, block, bytes, frame, thread->last_ns);
}

struct fxt_block fxt_block_take(const void *block)
{
	struct bucket *bucket = bucket_of((uintptr_t)block, false);
	int way = claim_in(bucket, (uintptr_t)block);
	struct fxt_block taken = {.is_sample = false};

	if (way >= 0) {
		taken = (struct fxt_block){bucket->details[way].life, bucket->details[way].label,
					   bucket->details[way].is_sample};
		if (taken.is_sample)
			count_sample((uintptr_t)block, -1);
		release(bucket, way, (uintptr_t)block | IS_GONE);
	}
	return taken;
}

void fxt_block_put_back(const void *block, const struct fxt_block *taken)
{
	struct bucket *bucket = bucket_of((uintptr_t)block, false);
	int way = claim_for(bucket, (uintptr_t)block);

	if (way < 0)
		return;
	bucket->details[way].life = taken->life;
	bucket->details[way].label = taken->label;
	bucket->details[way].is_sample = taken->is_sample;
	if (taken->is_sample)
		count_sample((uintptr_t)block, 1);
	release(bucket, way, (uintptr_t)block);
}

void fxt_block_gone(struct fxt_thread *thread, const struct fxt_block *taken, uint64_t end_ns)
{
	static const struct fxt_label nameless;

	fxt_memory_life_end(thread, taken->life, taken->is_sample ? FXT_STR_heap_sample : FXT_STR_heap_block,
			    taken->is_sample ? &nameless : &taken->label, end_ns);
}

void fxt_blocks_after_fork(void)
{
	fxt_lazy_table_empty(&table, BUCKETS * sizeof(struct bucket));
	/* Pages that have no count are not written to, as they are shared with the parent. */
	if (atomic_exchange(&has_samples, false))
		memset((void *)fxt_block_samples, 0, sizeof(fxt_block_samples));
}
