/* The heap's functions: malloc.def, and those that have to know a pointer from the arena.
 *
 * The search for the real functions allocates itself, and is served from an arena then; what it got there may be
 * freed at any time later. An allocation's record holds when it ended and a free's when it began: a block that two
 * threads get and give is never new before it is gone.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

#include "arena.h"
#include "interpose.h"

typedef void *pointer;

/* Before the search for the real function: not within the search. */
#undef FXT_REAL
#define FXT_REAL(type, symbol, params, args)                 \
	static type first_##symbol params;                   \
	static type(*real_##symbol) params = first_##symbol; \
	static FXT_COLD type first_##symbol params           \
	{                                                    \
		if (fxt_interpose_starting())                \
			return early_##symbol args;          \
		fxt_interpose_start();                       \
		return real_##symbol args;                   \
	}

#undef FXT_EARLY
#define FXT_EARLY(symbol, args)              \
	if (fxt_interpose_starting())        \
		return early_##symbol args;

static void *early_malloc(size_t size)
{
	return fxt_arena_take(0, size);
}

static void *early_calloc(size_t nmemb, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(nmemb, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return fxt_arena_take(0, bytes);
}

static void *early_aligned_alloc(size_t alignment, size_t size)
{
	return fxt_arena_take(alignment, size);
}

static void *early_valloc(size_t size)
{
	return fxt_arena_take(FXT_PAGE_BYTES, size);
}

static void *early_realloc(void *ptr, size_t size)
{
	return fxt_arena_resize(ptr, size);
}

static void *early_reallocarray(void *ptr, size_t nmemb, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(nmemb, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return fxt_arena_resize(ptr, bytes);
}

static int early_posix_memalign(void **memptr, size_t alignment, size_t size)
{
	void *block = fxt_arena_take(alignment, size);

	if (block)
		*memptr = block;
	return block ? 0 : ENOMEM;
}

/* Whoever frees a block of the real allocator has met it, so what comes here is the arena's. */
static void early_free(void *ptr)
{
	(void)ptr;
}

static size_t early_malloc_usable_size(void *ptr)
{
	return ptr ? fxt_arena_size(ptr) : 0;
}

#define early_memalign early_aligned_alloc
#define early_pvalloc early_valloc
#define early_cfree early_free
#define early___libc_malloc early_malloc
#define early___libc_calloc early_calloc
#define early___libc_memalign early_aligned_alloc
#define early___libc_valloc early_valloc
#define early___libc_pvalloc early_valloc
#define early___libc_realloc early_realloc
#define early___libc_free early_free

#define FXT_TABLE "malloc.def"
#include "wrappers.inc"

static inline void finish_free(struct fxt_thread *thread, uint64_t start_ns, const void *ptr)
{
	uint64_t end_ns = fxt_now(thread), *at = fxt_room(thread, start_ns, end_ns, 2);

	if (at) {
		at = fxt_put_pointer(at, FXT_STR_ptr, ptr);
		fxt_complete(thread, at, end_ns, FXT_NAMES(malloc, free), 1);
	}
}

#define FREE(symbol)                                                            \
	FXT_REAL(void, symbol, (pointer ptr), (ptr))                            \
	static __attribute__((noinline)) void traced_##symbol(void *ptr)        \
	{                                                                       \
		struct fxt_thread *thread = fxt_enter(FXT_CAT_malloc);          \
		uint64_t start_ns;                                              \
										\
		if (!thread) {                                                  \
			real_##symbol(ptr);                                     \
			return;                                                 \
		}                                                               \
		start_ns = fxt_now(thread);                                     \
		real_##symbol(ptr);                                             \
		finish_free(thread, start_ns, ptr);                             \
	}                                                                       \
	FXT_EXPORT void symbol(void *ptr);                                      \
	FXT_EXPORT void symbol(void *ptr)                                       \
	{                                                                       \
		if (FXT_UNLIKELY(fxt_arena_has(ptr)))                           \
			return;                                                 \
		/* A sanitizer that is about to start cannot free anything, and the loader frees NULL. */ \
		if (FXT_UNLIKELY(!ptr && fxt_interpose_starting()))             \
			return;                                                 \
		if (!fxt_is_on(FXT_CAT_malloc))                                 \
			real_##symbol(ptr);                                     \
		else                                                            \
			traced_##symbol(ptr);                                   \
	}

FREE(free)
FREE(cfree)
FREE(__libc_free)

/* A block of the arena moves to the heap. */
static void *move_to_heap(void *ptr, size_t size)
{
	void *moved = malloc(size);

	if (moved)
		memcpy(moved, ptr, fxt_arena_size(ptr) < size ? fxt_arena_size(ptr) : size);
	return moved;
}

static inline void finish_realloc(struct fxt_thread *thread, uint64_t *at, uint64_t end_ns, uint64_t names,
				  unsigned arguments, const void *result, bool failed)
{
	at = fxt_put_pointer(at, FXT_STR_ret, result);
	if (failed)
		at = fxt_put_errno(thread, at, errno);
	fxt_complete(thread, at, end_ns, names, arguments + 1 + failed);
}

#define REALLOC(symbol)                                                                         \
	FXT_REAL(pointer, symbol, (pointer ptr, size_t size), (ptr, size))                      \
	FXT_EXPORT void *symbol(void *ptr, size_t size);                                        \
	FXT_EXPORT void *symbol(void *ptr, size_t size)                                         \
	{                                                                                       \
		struct fxt_thread *thread;                                                      \
		uint64_t start_ns, end_ns, *at;                                                 \
		void *result;                                                                   \
												\
		if (FXT_UNLIKELY(fxt_arena_has(ptr) && !fxt_interpose_starting()))              \
			return move_to_heap(ptr, size);                                         \
		thread = fxt_enter(FXT_CAT_malloc);                                             \
		if (!thread)                                                                    \
			return real_##symbol(ptr, size);                                        \
		start_ns = fxt_now(thread);                                                     \
		result = real_##symbol(ptr, size);                                              \
		end_ns = fxt_now(thread);                                                       \
		at = fxt_room(thread, start_ns, end_ns, 7);                                     \
		if (at) {                                                                       \
			at = fxt_put_pointer(at, FXT_STR_ptr, ptr);                             \
			at = fxt_put_uint(at, FXT_STR_size, size);                              \
			finish_realloc(thread, at, end_ns, FXT_NAMES(malloc, realloc), 2,       \
				       result, !result && size);                                \
		}                                                                               \
		return result;                                                                  \
	}

REALLOC(realloc)
REALLOC(__libc_realloc)

FXT_REAL(pointer, reallocarray, (pointer ptr, size_t nmemb, size_t size), (ptr, nmemb, size))

FXT_EXPORT void *reallocarray(void *ptr, size_t nmemb, size_t size)
{
	struct fxt_thread *thread;
	uint64_t start_ns, end_ns, *at;
	size_t bytes;
	void *result;

	if (FXT_UNLIKELY(fxt_arena_has(ptr) && !fxt_interpose_starting()) &&
	    !__builtin_mul_overflow(nmemb, size, &bytes))
		return move_to_heap(ptr, bytes);
	thread = fxt_enter(FXT_CAT_malloc);
	if (!thread)
		return real_reallocarray(ptr, nmemb, size);
	start_ns = fxt_now(thread);
	/* glibc's calls realloc, by way of us: the block would be there twice. What overflows it refuses itself. */
	result = __builtin_mul_overflow(nmemb, size, &bytes) ? real_reallocarray(ptr, nmemb, size)
							     : real_realloc(ptr, bytes);
	end_ns = fxt_now(thread);
	at = fxt_room(thread, start_ns, end_ns, 9);
	if (at) {
		at = fxt_put_pointer(at, FXT_STR_ptr, ptr);
		at = fxt_put_uint(at, FXT_STR_nmemb, nmemb);
		at = fxt_put_uint(at, FXT_STR_size, size);
		finish_realloc(thread, at, end_ns, FXT_NAMES(malloc, reallocarray), 3, result,
			       !result && nmemb && size);
	}
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
	end_ns = fxt_now(thread);
	at = fxt_room(thread, start_ns, end_ns, 6);
	if (at) {
		at = fxt_put_uint(at, FXT_STR_alignment, alignment);
		at = fxt_put_uint(at, FXT_STR_size, size);
		at = result ? fxt_put_errno(thread, at, result) : fxt_put_pointer(at, FXT_STR_ret, *memptr);
		fxt_complete(thread, at, end_ns, FXT_NAMES(malloc, posix_memalign), 3);
	}
	return result;
}

FXT_REAL(size_t, malloc_usable_size, (pointer ptr), (ptr))

FXT_EXPORT size_t malloc_usable_size(void *ptr)
{
	struct fxt_thread *thread;
	uint64_t start_ns, end_ns, *at;
	size_t result;

	if (FXT_UNLIKELY(fxt_arena_has(ptr)))
		return fxt_arena_size(ptr);
	thread = fxt_enter(FXT_CAT_malloc);
	if (!thread)
		return real_malloc_usable_size(ptr);
	start_ns = fxt_now(thread);
	result = real_malloc_usable_size(ptr);
	end_ns = fxt_now(thread);
	at = fxt_room(thread, start_ns, end_ns, 4);
	if (at) {
		at = fxt_put_pointer(at, FXT_STR_ptr, ptr);
		at = fxt_put_uint(at, FXT_STR_ret, result);
		fxt_complete(thread, at, end_ns, FXT_NAMES(malloc, malloc_usable_size), 2);
	}
	return result;
}

/* Under a name that is ours whoever else has one. */
extern __typeof(malloc) own_malloc __attribute__((alias("malloc"), visibility("hidden"), leaf, nothrow, malloc));

bool fxt_malloc_is_ours(void)
{
	return dlsym(RTLD_DEFAULT, "malloc") == (void *)own_malloc;
}

#define FXT_REALS fxt_reals_malloc
#include "reals.inc"
