/* See blocks.h. The table is made of buckets that an address can be in. An entry belongs to whoever owns the block: nobody else
 * looks for that address, unless the program frees it twice. So an entry is claimed, filled, and then shown by its address.
 */
#include "blocks.h"

enum {
	BUCKET_BITS = 13,
	BUCKET_ENTRIES = 8,
	TABLE_BYTES = (1 << BUCKET_BITS) * BUCKET_ENTRIES * 24, /* 1.5 MiB, touched as far as it is used */
};

/* In the place of an address. */
#define FREE ((uintptr_t)0)
#define CLAIMED ((uintptr_t)1)

struct entry {
	_Atomic uintptr_t block;
	struct fxt_life life;
};

static_assert(sizeof(struct entry) == 24, "as TABLE_BYTES has it");

static _Atomic(struct entry *) table;           /* made with the first block that is large enough */

static struct entry *bucket_of(uintptr_t block, bool make)
{
	struct entry *entries = atomic_load_explicit(&table, memory_order_acquire), *made;

	if (!entries && make) {
		made = fxt_sys_memory(TABLE_BYTES);
		if (!made)
			return NULL;
		if (atomic_compare_exchange_strong(&table, &entries, made))
			entries = made;
		else
			fxt_sys_munmap(made, TABLE_BYTES);
	}
	return entries ? entries + ((uint64_t)block * UINT64_C(0x9e3779b97f4a7c15) >> (64 - BUCKET_BITS)) * BUCKET_ENTRIES : NULL;
}

static bool claim(struct entry *entry, uintptr_t from)
{
	return atomic_load_explicit(&entry->block, memory_order_acquire) == from &&
	       atomic_compare_exchange_strong_explicit(&entry->block, &from, CLAIMED, memory_order_acq_rel, memory_order_relaxed);
}

static struct entry *claim_in(struct entry *bucket, uintptr_t from)
{
	struct entry *entry;

	for (entry = bucket; bucket && entry < bucket + BUCKET_ENTRIES; entry++)
		if (claim(entry, from))
			return entry;
	return NULL;
}

static void release(struct entry *entry, uintptr_t block)
{
	atomic_store_explicit(&entry->block, block, memory_order_release);
}

void fxt_block_came(struct fxt_thread *thread, const void *block, size_t bytes, uintptr_t place)
{
	struct entry *bucket = bucket_of((uintptr_t)block, true), *entry;
	struct fxt_life before = fxt_block_take(block);

	/* It was freed while nothing was recorded. */
	if (before.id)
		fxt_block_gone(thread, before);
	entry = claim_in(bucket, FREE);
	if (entry)
		release(entry, fxt_life_begin(thread, &entry->life, FXT_STR_heap_block, (uintptr_t)block, bytes, place)
				       ? (uintptr_t)block : FREE);
}

struct fxt_life fxt_block_take(const void *block)
{
	struct entry *entry = claim_in(bucket_of((uintptr_t)block, false), (uintptr_t)block);
	struct fxt_life life = {0, 0};

	if (entry) {
		life = entry->life;
		release(entry, FREE);
	}
	return life;
}

void fxt_block_put_back(const void *block, struct fxt_life life)
{
	struct entry *entry = claim_in(bucket_of((uintptr_t)block, false), FREE);

	if (!entry)
		return;
	entry->life = life;
	release(entry, (uintptr_t)block);
}

void fxt_block_gone(struct fxt_thread *thread, struct fxt_life life)
{
	fxt_life_end(thread, life, FXT_STR_heap_block);
}

void fxt_blocks_after_fork(void)
{
	struct entry *entries = atomic_load(&table);

	/* Emptied and not unmapped: the fork may be a handler's that interrupted who writes to it. */
	if (entries && fxt_sys_madvise(entries, TABLE_BYTES, MADV_DONTNEED))
		atomic_store(&table, NULL);
}
