/* See blocks.h. The table is made of buckets that an address can be in. An entry belongs to whoever owns the
 * block: nobody else looks for that address, unless the program frees it twice. So an entry is claimed,
 * filled, and then shown by its address.
 *
 * That of a block that is gone stays until another one needs its place: who takes a block again and again
 * mostly gets the same, and the trace is told of it once.
 */
#include "blocks.h"

#include "agent/base/stack.h"

enum { BUCKET_BITS = 13, BUCKETS = 1 << BUCKET_BITS, WAYS = 8 };

/* In the place of an address; and in one, which is even. */
#define FREE ((uintptr_t)0)
#define CLAIMED ((uintptr_t)1)
#define IS_GONE ((uintptr_t)2)

struct detail {
	struct fxt_life life;
	struct fxt_label label;         /* what the trace was told last of this address, and */
	uint64_t bytes;                 /* how large it was */
};

struct bucket {
	_Atomic uintptr_t blocks[WAYS];
	struct detail details[WAYS];
};

/* 3.5 MiB, touched as far as they are used; made with the first block that is large enough. */
static _Atomic(struct bucket *) table;

static struct bucket *bucket_of(uintptr_t block, bool make)
{
	struct bucket *buckets = atomic_load_explicit(&table, memory_order_acquire), *made;

	if (!buckets && make) {
		made = fxt_sys_memory(BUCKETS * sizeof(*made));
		if (!made)
			return NULL;
		if (atomic_compare_exchange_strong(&table, &buckets, made))
			buckets = made;
		else
			fxt_sys_munmap(made, BUCKETS * sizeof(*made));
	}
	return buckets ? buckets + ((uint64_t)block * UINT64_C(0x9e3779b97f4a7c15) >> (64 - BUCKET_BITS)) : NULL;
}

static bool claim(_Atomic uintptr_t *entry, uintptr_t from)
{
	return atomic_compare_exchange_strong_explicit(entry, &from, CLAIMED, memory_order_acq_rel, memory_order_relaxed);
}

/* The way that holds this; -1: none does. */
static int claim_in(struct bucket *bucket, uintptr_t from)
{
	int way;

	for (way = 0; bucket && way < WAYS; way++)
		if (atomic_load_explicit(&bucket->blocks[way], memory_order_relaxed) == from && claim(&bucket->blocks[way], from))
			return way;
	return -1;
}

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

/* An entry for a block that is not in the table: the one it had before, with what was told then, or another,
 * of which nothing is known. */
static int claim_for(struct bucket *bucket, uintptr_t block)
{
	int way = claim_in(bucket, block | IS_GONE);

	if (way >= 0 || !bucket)
		return way;
	way = claim_in(bucket, FREE);
	if (way < 0)
		way = claim_gone(bucket);
	if (way >= 0)
		bucket->details[way] = (struct detail){{0, 0}, {NULL}, 0};
	return way;
}

static void release(struct bucket *bucket, int way, uintptr_t block)
{
	atomic_store_explicit(&bucket->blocks[way], block, memory_order_release);
}

/* Tells the trace what it is, unless that is what it was before. */
static void tell(struct fxt_thread *thread, struct detail *detail, const struct fxt_memory *memory)
{
	if (detail->label.text && detail->label.text == memory->label.text && detail->bytes == memory->bytes)
		return;
	detail->label = memory->label;
	detail->bytes = memory->bytes;
	fxt_label_tell_block(thread, memory->address, &memory->label, memory->place, detail->life.begin_ns, memory->bytes);
}

void fxt_block_came_at(struct fxt_thread *thread, const void *block, size_t bytes, uintptr_t place, uint64_t since_ns)
{
	struct fxt_memory memory = {FXT_STR_heap_block, (uintptr_t)block, bytes, place, {NULL}};
	struct bucket *bucket = bucket_of((uintptr_t)block, true);
	struct fxt_block before = fxt_block_take(block);
	struct detail *detail;
	int way;

	/* It was freed while nothing was recorded. */
	if (before.life.id)
		fxt_block_gone(thread, &before, since_ns);
	if (fxt_stack_is_short())
		return;
	way = claim_for(bucket, (uintptr_t)block);
	if (way < 0)
		return;
	detail = &bucket->details[way];
	detail->life.begin_ns = since_ns;
	memory.label = fxt_label_block(thread, place);
	tell(thread, detail, &memory);
	release(bucket, way, (uintptr_t)block | (fxt_life_begin(thread, &detail->life, &memory) ? 0 : IS_GONE));
}

void fxt_block_came(struct fxt_thread *thread, const void *block, size_t bytes, uintptr_t place)
{
	fxt_block_came_at(thread, block, bytes, place, thread->last_ns);
}

struct fxt_block fxt_block_take(const void *block)
{
	struct bucket *bucket = bucket_of((uintptr_t)block, false);
	int way = claim_in(bucket, (uintptr_t)block);
	struct fxt_block taken = {{0, 0}, {NULL}};

	if (way >= 0) {
		taken = (struct fxt_block){bucket->details[way].life, bucket->details[way].label};
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
	release(bucket, way, (uintptr_t)block);
}

void fxt_block_gone(struct fxt_thread *thread, const struct fxt_block *taken, uint64_t end_ns)
{
	fxt_life_end(thread, taken->life, FXT_STR_heap_block, &taken->label, end_ns);
}

void fxt_blocks_after_fork(void)
{
	struct bucket *buckets = atomic_load(&table);

	/* Emptied and not unmapped: the fork may be a handler's that interrupted who writes to it. */
	if (buckets && fxt_sys_madvise(buckets, BUCKETS * sizeof(*buckets), MADV_DONTNEED))
		atomic_store(&table, NULL);
}
