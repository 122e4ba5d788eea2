/* Makes the wrappers of the heap's functions: malloc.def. Those that look at a block before the call are
 * written by hand. An allocation counts from the end of its event and a free from the begin of its event: so
 * a block that one thread frees and another one gets is never new before it is gone.
 */
/* See writer/lane.h and engine.h. */
#define FXT_EMISSION inline __attribute__((always_inline))
#define FXT_QUICK_EVENTS
#include <malloc.h>
#include <stdlib.h>

#include "agent/fibers/fiber.h"
#include "agent/objects/blocks.h"
#include "heap_sizes.h"

typedef void *pointer;

FXT_REAL(size_t, malloc_usable_size, (pointer ptr), (ptr))

/* -- What a thread has of the heap ------------------------------------------------------------- */

/* These are the numbers of the functions' bits: heap_sizes.h. */
enum {
#define CALL(category, type, symbol, ...) SIZED_##symbol,
#define ALIAS(category, type, symbol, ...) SIZED_##symbol,
#define BY_HAND(category, symbol, role) SIZED_##symbol,
#define BY_HAND_ALIAS(category, symbol, event) SIZED_##symbol,
#include "interpose/engine/rows.inc"
#include "interpose/tables/malloc.def"
#include "interpose/engine/unrows.inc"
	SIZED_COUNT
};

static_assert(SIZED_COUNT <= 32, "as struct fxt_heap has it");

/* Says whether the size of a block can be asked for, if the block is one of this function's allocator. */
#define IS_SIZED(symbol, block) ((block) && fxt_heap.sized >> SIZED_##symbol & 1)

/* Counts a block that the function has returned, for which `asked` bytes were asked, and begins its lifetime
 * if it is large or drawn as a sample. Used in the wrapper itself, whose frame leads to who has asked for the
 * block. */
#define CAME(thread, symbol, block, asked)								\
	do {												\
		if (FXT_LIKELY(IS_SIZED(symbol, block))) {						\
			size_t bytes_ = fxt_heap.size_of(block);					\
													\
			(thread)->bytes.heap += bytes_;							\
			if (FXT_UNLIKELY(bytes_ >= fxt_heap.track_bytes))				\
				fxt_block_came(thread, block, bytes_, __builtin_frame_address(0));\
			else if (FXT_UNLIKELY(((thread)->bytes.until_sample -= (int64_t)(asked)) < 0))	\
				fxt_block_drawn(thread, block, asked);				\
		}											\
	} while (0)

/* BLOCK(symbol): a PTR, a block that `symbol` has returned. */
#define FAILURE_BLOCK(symbol) FAILURE_PTR
#define RESULT_BLOCK(symbol) RESULT_PTR
#define AFTER_BLOCK(symbol) , CAME(thread_, symbol, result_, ASKED_##symbol);

/* How many bytes a call asks for, by its parameters. */
#define ASKED_malloc size
#define ASKED___libc_malloc size
#define ASKED_calloc (nmemb * size)
#define ASKED___libc_calloc (nmemb * size)
#define ASKED_aligned_alloc size
#define ASKED_memalign size
#define ASKED___libc_memalign size
#define ASKED_valloc size
#define ASKED___libc_valloc size
#define ASKED_pvalloc size
#define ASKED___libc_pvalloc size

#define FXT_TABLE "interpose/tables/malloc.def"
#include "interpose/engine/wrappers.inc"

static FXT_EMISSION void finish_free(struct fxt_thread *thread, uint64_t start_ns, const void *ptr)
{
	uint64_t end_ns = fxt_now_at_end(thread), *at;
	struct fxt_spot spot;

	if (fxt_quick_room(thread, start_ns, end_ns, 2, &spot)) {
		at = fxt_put_pointer(spot.arguments, FXT_STR_ptr, ptr);
		fxt_quick_complete(thread, &spot, at, end_ns, FXT_NAMES(malloc, free), 1);
		return;
	}
	at = fxt_room(thread, start_ns, end_ns, 2, FXT_BIT_malloc);
	if (at) {
		at = fxt_put_pointer(at, FXT_STR_ptr, ptr);
		fxt_complete(thread, at, end_ns, FXT_NAMES(malloc, free), 1);
	}
}

/* Frees a block that may have a lifetime, which ends then. */
static FXT_COLD void free_followed(struct fxt_thread *thread, void *ptr, size_t bytes, void (*real)(void *))
{
	struct fxt_block block = fxt_block_take(ptr);
	uint64_t start_ns = fxt_now(thread);

	thread->bytes.heap -= bytes;
	if (bytes >= fxt_heap.track_bytes)
		fxt_labels_freed(ptr, bytes);
	if (FXT_UNLIKELY(fxt_has_fibers()))
		fxt_fibers_freed(thread, ptr, bytes, true);
	real(ptr);
	finish_free(thread, start_ns, ptr);
	if (block.life.id)
		fxt_block_gone(thread, &block, thread->last_ns);
}

#define FREE(symbol)                                                            \
	FXT_REAL(void, symbol, (pointer ptr), (ptr))                            \
	static __attribute__((noinline)) void traced_##symbol(void *ptr)        \
	{                                                                       \
		struct fxt_thread *thread = fxt_enter_on();                     \
		uint64_t start_ns;                                              \
										\
		if (!thread) {                                                  \
			real_##symbol(ptr);                                     \
			return;                                                 \
		}                                                               \
		if (FXT_LIKELY(IS_SIZED(symbol, ptr))) {                        \
			size_t bytes = fxt_heap.size_of(ptr);                   \
										\
			if (FXT_UNLIKELY((bytes >= fxt_heap.track_bytes) |      \
					 fxt_block_may_be_sample(ptr))) {       \
				free_followed(thread, ptr, bytes, real_##symbol); \
				return;                                         \
			}                                                       \
			thread->bytes.heap -= bytes;                            \
		}                                                               \
		start_ns = fxt_now(thread);                                     \
		real_##symbol(ptr);                                             \
		finish_free(thread, start_ns, ptr);                             \
	}                                                                       \
	FXT_EXPORT void symbol(void *ptr);                                      \
	FXT_EXPORT void symbol(void *ptr)                                       \
	{                                                                       \
		if (fxt_is_on(FXT_CAT_malloc))                                  \
			traced_##symbol(ptr);                                   \
		else if (FXT_IS_RELOCATED(symbol))                              \
			real_##symbol(ptr);                                     \
		else                                                            \
			first_##symbol(ptr);                                    \
	}

FREE(free)
FREE(cfree)
FREE(__libc_free)

static inline void finish_realloc(struct fxt_thread *thread, uint64_t *at, uint64_t end_ns, uint64_t names,
				  unsigned arguments, const void *result, bool failed)
{
	at = fxt_put_pointer(at, FXT_STR_ret, result);
	if (failed)
		at = fxt_put_errno(thread, at, errno);
	fxt_complete(thread, at, end_ns, names, arguments + 1 + failed);
}

/* Describes a block before it is resized. It is looked up before the call, because the address may be another
 * thread's before the call returns. */
struct resized {
	bool is_sized;
	size_t bytes;
	struct fxt_block block;
};

static struct resized before_realloc(void *ptr, unsigned symbol)
{
	struct resized old = {.is_sized = fxt_heap.sized >> symbol & 1};

	if (!old.is_sized || !ptr)
		return old;
	old.bytes = fxt_heap.size_of(ptr);
	if (old.bytes >= fxt_heap.track_bytes || fxt_block_may_be_sample(ptr))
		old.block = fxt_block_take(ptr);
	return old;
}

/* `asked` is how many bytes the call has asked for. */
static void after_realloc(struct fxt_thread *thread, const struct resized *old, void *ptr, void *result,
			  size_t asked, bool failed, const uintptr_t *frame)
{
	uint64_t end_ns = thread->last_ns;
	size_t bytes;

	if (!old->is_sized)
		return;
	if (failed) {
		if (old->block.life.id)
			fxt_block_put_back(ptr, &old->block);
		return;
	}
	bytes = result ? fxt_heap.size_of(result) : 0;
	thread->bytes.heap += bytes - old->bytes;
	if (old->block.life.id)
		fxt_block_gone(thread, &old->block, end_ns);
	/* The labels in the memory that the block has left are forgotten. Before the call it was not known
	 * whether the block would leave any; so by now another thread may have a lock there, whose name is
	 * told anew. */
	if (old->bytes >= fxt_heap.track_bytes && (result != ptr || bytes < old->bytes))
		fxt_labels_freed((char *)ptr + (result == ptr ? bytes : 0),
				 old->bytes - (result == ptr ? bytes : 0));
	if (bytes >= fxt_heap.track_bytes)
		fxt_block_came_at(thread, result, bytes, frame, end_ns);
	else if (result && (thread->bytes.until_sample -= (int64_t)asked) < 0)
		fxt_block_drawn_at(thread, result, asked, end_ns);
}

#define REALLOC(symbol)                                                                         \
	FXT_REAL(pointer, symbol, (pointer ptr, size_t size), (ptr, size))                      \
	FXT_EXPORT void *symbol(void *ptr, size_t size);                                        \
	FXT_EXPORT void *symbol(void *ptr, size_t size)                                         \
	{                                                                                       \
		struct fxt_thread *thread;                                                      \
		uint64_t start_ns, end_ns, *at;                                                 \
		struct resized old;                                                             \
		void *result;                                                                   \
												\
		thread = fxt_enter(FXT_CAT_malloc);                                             \
		if (!thread)                                                                    \
			return real_##symbol(ptr, size);                                        \
		old = before_realloc(ptr, SIZED_##symbol);                                      \
		start_ns = fxt_now(thread);                                                     \
		result = real_##symbol(ptr, size);                                              \
		end_ns = fxt_now_at_end(thread);                                                \
		at = fxt_room(thread, start_ns, end_ns, 7, FXT_BIT_malloc);                     \
		if (at) {                                                                       \
			at = fxt_put_pointer(at, FXT_STR_ptr, ptr);                             \
			at = fxt_put_uint(at, FXT_STR_size, size);                              \
			finish_realloc(thread, at, end_ns, FXT_NAMES(malloc, realloc), 2,       \
				       result, !result && size);                                \
		}                                                                               \
		after_realloc(thread, &old, ptr, result, size, !result && size,                 \
			      __builtin_frame_address(0));                                      \
		return result;                                                                  \
	}

REALLOC(realloc)
REALLOC(__libc_realloc)

FXT_REAL(pointer, reallocarray, (pointer ptr, size_t nmemb, size_t size), (ptr, nmemb, size))

FXT_EXPORT void *reallocarray(void *ptr, size_t nmemb, size_t size)
{
	struct fxt_thread *thread;
	uint64_t start_ns, end_ns, *at;
	struct resized old;
	size_t bytes;
	void *result;
	bool overflows = __builtin_mul_overflow(nmemb, size, &bytes);

	thread = fxt_enter(FXT_CAT_malloc);
	if (!thread)
		return real_reallocarray(ptr, nmemb, size);
	/* A size that overflows is refused before anybody looks at the block. */
	old = before_realloc(overflows ? NULL : ptr, SIZED_realloc);
	start_ns = fxt_now(thread);
	/* glibc's reallocarray calls realloc, which is our wrapper: the block would be recorded twice. */
	result = overflows ? real_reallocarray(ptr, nmemb, size) : real_realloc(ptr, bytes);
	end_ns = fxt_now_at_end(thread);
	at = fxt_room(thread, start_ns, end_ns, 9, FXT_BIT_malloc);
	if (at) {
		at = fxt_put_pointer(at, FXT_STR_ptr, ptr);
		at = fxt_put_uint(at, FXT_STR_nmemb, nmemb);
		at = fxt_put_uint(at, FXT_STR_size, size);
		finish_realloc(thread, at, end_ns, FXT_NAMES(malloc, reallocarray), 3, result,
			       !result && nmemb && size);
	}
	after_realloc(thread, &old, ptr, result, bytes, !result && nmemb && size,
		      __builtin_frame_address(0));
	return result;
}

FXT_REAL(int, posix_memalign, (void **memptr, size_t alignment, size_t size), (memptr, alignment, size))

FXT_EXPORT int posix_memalign(void **memptr, size_t alignment, size_t size)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_malloc);
	uint64_t start_ns, end_ns, *at;
	int result;

	if (!thread)
		return real_posix_memalign(memptr, alignment, size);
	start_ns = fxt_now(thread);
	result = real_posix_memalign(memptr, alignment, size);
	end_ns = fxt_now_at_end(thread);
	at = fxt_room(thread, start_ns, end_ns, 6, FXT_BIT_malloc);
	if (at) {
		at = fxt_put_uint(at, FXT_STR_alignment, alignment);
		at = fxt_put_uint(at, FXT_STR_size, size);
		at = result ? fxt_put_errno(thread, at, result) : fxt_put_pointer(at, FXT_STR_ret, *memptr);
		fxt_complete(thread, at, end_ns, FXT_NAMES(malloc, posix_memalign), 3);
	}
	if (!result)
		CAME(thread, posix_memalign, *memptr, size);
	return result;
}

FXT_EXPORT size_t malloc_usable_size(void *ptr)
{
	struct fxt_thread *thread;
	uint64_t start_ns, end_ns, *at;
	size_t result;

	thread = fxt_enter(FXT_CAT_malloc);
	if (!thread)
		return real_malloc_usable_size(ptr);
	start_ns = fxt_now(thread);
	result = real_malloc_usable_size(ptr);
	end_ns = fxt_now_at_end(thread);
	at = fxt_room(thread, start_ns, end_ns, 4, FXT_BIT_malloc);
	if (at) {
		at = fxt_put_pointer(at, FXT_STR_ptr, ptr);
		at = fxt_put_uint(at, FXT_STR_ret, result);
		fxt_complete(thread, at, end_ns, FXT_NAMES(malloc, malloc_usable_size), 2);
	}
	return result;
}

#define FXT_REALS fxt_reals_malloc
#include "interpose/engine/reals.inc"
