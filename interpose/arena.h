/* Memory for those who ask before the real allocator is known: the search for it, by dlsym and dlerror. Blocks are 16-byte
 * aligned, know their size and are never reused; there is 1 MiB of them, of which a start uses some hundred bytes.
 * No lock, no system call; any context. */
#ifndef FXT_ARENA_H
#define FXT_ARENA_H

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { FXT_ARENA_BYTES = 1 << 20, FXT_ARENA_ALIGNMENT = 16 };

extern char fxt_arena[FXT_ARENA_BYTES] __attribute__((visibility("hidden")));

/* NULL with ENOMEM when the arena is used up. The memory is zero. */
void *fxt_arena_take(size_t alignment, size_t bytes);
void *fxt_arena_resize(void *block, size_t bytes);
size_t fxt_arena_size(const void *block);

static inline bool fxt_arena_has(const void *block)
{
	return (uintptr_t)block - (uintptr_t)fxt_arena < FXT_ARENA_BYTES;
}

#endif
