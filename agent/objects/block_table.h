/* The table in which blocks.c finds heap blocks by their address, without a lock. It is made of buckets, and
 * the address of a block says which bucket it can be in. An entry belongs to the thread that owns the block:
 * no other looks for that address, unless the program frees it twice. So a thread claims an entry, fills it,
 * and then shows it by storing the address:
 *
 *	bucket = fxt_block_bucket(block, true);
 *	way = fxt_block_claim_for(bucket, block);
 *	if (way >= 0) {
 *		bucket->details[way] = ...
 *		fxt_block_show(bucket, way, block);
 *	}
 *
 * The entry of a block that is gone stays until another block needs its place. Any context.
 */
#ifndef FXT_BLOCK_TABLE_H
#define FXT_BLOCK_TABLE_H

#include "memory_life.h"

/* A bit that is added to the address of a block that is gone. The address is even. */
#define FXT_BLOCK_IS_GONE ((uintptr_t)2)

/* The table has 2^17 buckets: places for a million blocks. With the defaults a block in 500 finds none where
 * the heap has 24 GiB, and one in 100 where it has 32. It is made in parts of 64 KiB, so a program with
 * little heap takes few of its 64 MiB of addresses: neighbours in the heap have neighbouring buckets. Where
 * the program's addresses or its data are limited, the table takes no more than a part of the limit, but may
 * have 2^13 buckets, which take 4 MiB. */
enum {
	FXT_BLOCK_WAYS = 8,
	FXT_BLOCK_BUCKET_BITS = 17,
	FXT_BLOCK_BUCKET_BITS_LIMITED = 13,
	FXT_BLOCK_LIMIT_SHARE = 64,
};

/* The data about a block. */
struct fxt_block_detail {
	struct fxt_memory_life life;
	struct fxt_label label;         /* the name that the trace was told last for this address */
	uint64_t bytes;                 /* the size that it was told with that name */
	bool is_sample;
};

struct fxt_block_bucket {
	_Atomic uintptr_t blocks[FXT_BLOCK_WAYS];
	struct fxt_block_detail details[FXT_BLOCK_WAYS];
};

/* Returns the bucket that a block can be in. Makes the table if `make`. Returns NULL if there is no table. */
struct fxt_block_bucket *fxt_block_bucket(uintptr_t block, bool make);

/* Writes to a bucket without changing it. A new page that is read first is mapped twice: empty, and once more
 * when it is written to. NULL is no bucket. */
void fxt_block_touch(struct fxt_block_bucket *bucket);

/* Claims the entry of a bucket that contains `from`. Returns its number in the bucket, or -1 if there is
 * none. NULL is a bucket without entries. */
int fxt_block_claim(struct fxt_block_bucket *bucket, uintptr_t from);

/* Claims an entry for a block that is not in the table: the one that it had before, which still has what the
 * trace was told; or else another one, which is emptied. Returns -1 if there is none: all entries of the
 * bucket are those of other blocks. */
int fxt_block_claim_for(struct fxt_block_bucket *bucket, uintptr_t block);

/* Shows an entry that was claimed. */
static inline void fxt_block_show(struct fxt_block_bucket *bucket, int way, uintptr_t block)
{
	atomic_store_explicit(&bucket->blocks[way], block, memory_order_release);
}

/* Empties the table, as fxt_lazy_table_empty() does. */
void fxt_block_table_empty(void);
/* Does so in the child of a fork, if the kernel has not. */
void fxt_block_table_after_fork(void);

#endif
