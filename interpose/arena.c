/* See arena.h. Called by malloc.c. */
#include "arena.h"

char fxt_arena[FXT_ARENA_BYTES] __attribute__((aligned(FXT_ARENA_ALIGNMENT)));
static atomic_size_t used;

/* In front of each block. */
struct header {
	size_t bytes;
	size_t padding;
};

static_assert(sizeof(struct header) == FXT_ARENA_ALIGNMENT, "blocks stay aligned");

void *fxt_arena_take(size_t alignment, size_t bytes)
{
	size_t from, at;
	struct header *header;

	if (alignment < FXT_ARENA_ALIGNMENT)
		alignment = FXT_ARENA_ALIGNMENT;
	from = atomic_load_explicit(&used, memory_order_relaxed);
	do {
		at = ((uintptr_t)fxt_arena + from + sizeof(*header) + alignment - 1) / alignment * alignment -
		     (uintptr_t)fxt_arena;
		if (bytes > FXT_ARENA_BYTES || at + bytes > FXT_ARENA_BYTES) {
			errno = ENOMEM;
			return NULL;
		}
	} while (!atomic_compare_exchange_weak_explicit(
		&used, &from, (at + bytes + FXT_ARENA_ALIGNMENT - 1) / FXT_ARENA_ALIGNMENT * FXT_ARENA_ALIGNMENT,
		memory_order_relaxed, memory_order_relaxed));
	header = (struct header *)(fxt_arena + at) - 1;
	header->bytes = bytes;
	return fxt_arena + at;
}

size_t fxt_arena_size(const void *block)
{
	return ((const struct header *)block - 1)->bytes;
}

void *fxt_arena_resize(void *block, size_t bytes)
{
	void *moved = fxt_arena_take(FXT_ARENA_ALIGNMENT, bytes);

	if (moved && block)
		memcpy(moved, block, fxt_arena_size(block) < bytes ? fxt_arena_size(block) : bytes);
	return moved;
}
