/* See blocks.h. The entry of a block that is gone stays in the table until another block needs its place. A
 * program that takes and frees a block again and again mostly gets the same one, and then the trace is told
 * of that block once.
 */
#include "blocks.h"

#include <string.h>

#include "agent/base/stack.h"
#include "agent/emit/call_stack.h"
#include "agent/emit/losses.h"
#include "agent/stacks/poisson.h"
#include "agent/stacks/stack_walk.h"
#include "allocation_site.h"
#include "block_table.h"

FXT_WIPED _Atomic uint8_t fxt_block_samples[FXT_BLOCK_SAMPLE_HASHES];
static atomic_bool has_samples;

/* Tells the trace the name and size of a block, unless it was told the same of this address before. */
static void tell(struct fxt_thread *thread, struct fxt_block_detail *detail,
		 const struct fxt_memory *memory, uint64_t since_ns)
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

/* Ends the lifetime of a block. */
static void end(struct fxt_thread *thread, const struct fxt_block *taken, uint32_t stack, uint64_t end_ns)
{
	static const struct fxt_label nameless;

	fxt_memory_life_end(thread, taken->life, taken->is_sample ? FXT_STR_heap_sample : FXT_STR_heap_block,
			    taken->is_sample ? &nameless : &taken->label, stack, end_ns);
}

/* Claims an entry for a block that has come. Returns -1 if there is none, and counts the block then. */
static int claim_new(struct fxt_thread *thread, struct fxt_block_bucket *bucket, const void *block,
		     uint64_t since_ns)
{
	struct fxt_block before;
	int way;

	fxt_block_touch(bucket);
	before = fxt_block_take(block);
	/* If the table still has the block, it was freed while nothing was recorded. */
	if (before.life.id)
		end(thread, &before, 0, since_ns);
	way = fxt_block_claim_for(bucket, (uintptr_t)block);
	if (way < 0)
		fxt_thread_lacks(thread, FXT_LOSS_BLOCKS);
	return way;
}

/* Begins the lifetime of a block whose entry was claimed, and shows the entry. A handler may fork at any
 * instruction, and the child finds the entry empty. So the lifetime is stored when it has begun, and before
 * what says that it is a sample's: an end goes by both, and there is none without a lifetime. */
static void begin(struct fxt_thread *thread, struct fxt_block_bucket *bucket, int way,
		  const struct fxt_memory *memory, uint64_t since_ns)
{
	struct fxt_memory_life life = {.begin_ns = since_ns};
	bool has_begun = fxt_memory_life_begin(thread, &life, memory);

	if (!has_begun)
		fxt_thread_lacks(thread, FXT_LOSS_BLOCKS);
	bucket->details[way].life = life;
	atomic_signal_fence(memory_order_seq_cst);
	bucket->details[way].is_sample = memory->stands_for;
	fxt_block_show(bucket, way, memory->address | (has_begun ? 0 : FXT_BLOCK_IS_GONE));
}

/* A block for which there is too little stack is counted as one that has no entry. */
static void lack(struct fxt_thread *thread, const void *block)
{
	fxt_block_take(block);
	fxt_thread_lacks(thread, FXT_LOSS_BLOCKS);
}

static __attribute__((noinline)) void came(struct fxt_thread *thread, const void *block, size_t bytes,
					   const uintptr_t *frame, uint64_t since_ns)
{
	struct fxt_memory memory = {.name = FXT_STR_heap_block, .address = (uintptr_t)block, .bytes = bytes};
	struct fxt_block_bucket *bucket = fxt_block_bucket((uintptr_t)block, true);
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

void fxt_block_came_at(struct fxt_thread *thread, const void *block, size_t bytes, const uintptr_t *frame,
		       uint64_t since_ns)
{
	if (fxt_stack_is_short())
		lack(thread, block);
	else
		came(thread, block, bytes, frame, since_ns);
}

void fxt_block_drawn_at(struct fxt_thread *thread, const void *block, size_t bytes, uint64_t since_ns)
{
	struct fxt_memory memory = {.name = FXT_STR_heap_sample, .address = (uintptr_t)block, .bytes = bytes};
	uint64_t mean = fxt_agent.config.heap_sample_bytes;
	struct fxt_block_bucket *bucket;
	bool is_first = !thread->bytes.random;
	int way;

	if (!mean || !fxt_agent.config.stacks) {
		thread->bytes.until_sample = INT64_MAX;
		return;
	}
	if (is_first) {
		thread->bytes.random = fxt_flow_id() ^ (uint64_t)thread->tid << 32;
		/* The bytes count from the last that was drawn, which is as good as any other moment. */
		thread->bytes.until_sample += (int64_t)fxt_poisson_distance(&thread->bytes.random, mean);
		if (thread->bytes.until_sample >= 0)
			return;
	}
	thread->bytes.until_sample = (int64_t)fxt_poisson_distance(&thread->bytes.random, mean) - 1;
	if (fxt_stack_is_short()) {
		lack(thread, block);
		return;
	}
	bucket = fxt_block_bucket((uintptr_t)block, true);
	way = claim_new(thread, bucket, block, since_ns);
	if (way < 0)
		return;
	memory.stack = fxt_call_stack(thread);
	memory.stands_for = fxt_poisson_weight(bytes, mean);
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
	struct fxt_block_bucket *bucket = fxt_block_bucket((uintptr_t)block, false);
	int way = fxt_block_claim(bucket, (uintptr_t)block);
	struct fxt_block taken = {.is_sample = false};

	if (way >= 0) {
		taken = (struct fxt_block){bucket->details[way].life, bucket->details[way].label,
					   bucket->details[way].is_sample};
		if (taken.is_sample)
			count_sample((uintptr_t)block, -1);
		fxt_block_show(bucket, way, (uintptr_t)block | FXT_BLOCK_IS_GONE);
	}
	return taken;
}

void fxt_block_put_back(const void *block, const struct fxt_block *taken)
{
	struct fxt_block_bucket *bucket = fxt_block_bucket((uintptr_t)block, false);
	int way = fxt_block_claim_for(bucket, (uintptr_t)block);

	if (way < 0)
		return;
	bucket->details[way].life = taken->life;
	bucket->details[way].label = taken->label;
	bucket->details[way].is_sample = taken->is_sample;
	if (taken->is_sample)
		count_sample((uintptr_t)block, 1);
	fxt_block_show(bucket, way, (uintptr_t)block);
}

void fxt_block_gone(struct fxt_thread *thread, const struct fxt_block *taken, uint64_t end_ns)
{
	end(thread, taken, fxt_flow_id_is_own(taken->life.id) ? fxt_call_stack(thread) : 0, end_ns);
}

void fxt_blocks_again(void)
{
	fxt_block_table_empty();
	/* Pages that have no count are not written to, as they are shared with the parent. */
	if (atomic_exchange(&has_samples, false))
		memset((void *)fxt_block_samples, 0, sizeof(fxt_block_samples));
}
