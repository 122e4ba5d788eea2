/* Makes the wrappers of calls that handle memory by pages: memory.def. What maps and unmaps is written by
 * hand. What the C library and the agent map for themselves does not come this way. */
#include <malloc.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/fibers/fiber.h"
#include "agent/objects/label.h"
#include "agent/objects/mappings.h"
#include "agent/process/locked_memory.h"
#include "interpose/engine/mapped.h"
#include "spare.h"

/* Pages that the call unmaps are taken out of the table before it, and what it maps is known after it:
 * mappings.h. */

/* Makes `call`, with what is done around it, and declares its result as `result`. */
#define MAP(call)									\
	uint32_t leaving = flags & MAP_FIXED ? fxt_mappings_leave(addr, length) : 0;	\
	void *result = call;								\
											\
	fxt_mappings_left(thread, leaving, result != MAP_FAILED);			\
	if (result != MAP_FAILED && flags & MAP_FIXED)					\
		fxt_labels_freed(addr, length);						\
	if (result != MAP_FAILED)							\
		fxt_mapping_came(thread, result, length, place);

static inline bool must_spare(const void *addr, size_t length, int flags)
{
	return flags & (MAP_FIXED | MAP_FIXED_NOREPLACE) && fxt_spare_begin(addr, length);
}

#define MMAP(symbol, offset_type)									\
	FXT_REAL_FIRST(malloc, pointer, symbol,								\
		       (pointer addr, size_t length, int prot, int flags, int fd, offset_type offset),	\
		       (addr, length, prot, flags, fd, offset))						\
	static pointer sparing_##symbol(pointer addr, size_t length, int prot, int flags, int fd, \
					offset_type offset)						\
	{												\
		struct fxt_by_number call = {								\
			.number = SYS_mmap,								\
			.args = {(long)addr, (long)length, prot, flags, fd, offset}};			\
													\
		return must_spare(addr, length, flags)							\
			       ? (pointer)fxt_spare_make(&call)						\
			       : real_##symbol(addr, length, prot, flags, fd, offset);			\
	}												\
	FXT_TRACED(malloc, pointer, symbol, mmap, sparing_##symbol, BLOCKS(fd), MAPPED,			\
		   (pointer, addr, PTR), (size_t, length, UINT), (int, prot, INT), (int, flags, INT),	\
		   (int, fd, INT), (offset_type, offset, LONG))						\
	FXT_EXPORT void *symbol(void *addr, size_t length, int prot, int flags, int fd, offset_type offset) \
	{												\
		struct fxt_thread *thread = fxt_enter(FXT_CAT_malloc);					\
		uintptr_t place = (uintptr_t)__builtin_return_address(0);				\
													\
		if (!thread)										\
			return sparing_##symbol(addr, length, prot, flags, fxt_descriptor_given(fd),	\
						offset);					\
		MAP(traced_##symbol(addr, length, prot, flags, fd, offset))				\
		return result;										\
	}

MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

#define UNMAP(call)                                                     \
	uint32_t leaving = fxt_mappings_leave(addr, length);            \
	int result = call;                                              \
									\
	fxt_mappings_left(thread, leaving, !result);                    \
	if (!result)                                                    \
		fxt_labels_freed(addr, length);                         \
	if (!result && FXT_UNLIKELY(fxt_has_fibers()))                  \
		fxt_fibers_freed(thread, addr, length, false);

FXT_REAL(int, munmap, (pointer addr, size_t length), (addr, length))

static int unmap(void *addr, size_t length)
{
	struct fxt_by_number call = {.number = SYS_munmap, .args = {(long)addr, (long)length}};

	return fxt_spare_begin(addr, length) ? (int)fxt_spare_make(&call) : real_munmap(addr, length);
}

FXT_TRACED(malloc, int, munmap, munmap, unmap, QUICK, INT, (pointer, addr, PTR), (size_t, length, UINT))

FXT_EXPORT int munmap(void *addr, size_t length)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_malloc);

	if (!thread)
		return unmap(addr, length);
	UNMAP(traced_munmap(addr, length))
	return result;
}

/* The program gives a new address only with MREMAP_FIXED, or if newer flags ask for one. It is handed on in
 * any case, as the C library takes it. */
FXT_REAL(pointer, mremap,
	 (pointer old_address, size_t old_size, size_t new_size, int flags, pointer new_address),
	 (old_address, old_size, new_size, flags, new_address))

/* Returns whether the kernel refuses the arguments before it looks at what is there. */
static bool is_invalid(const void *old_address, size_t old_size, size_t new_size, int flags)
{
	return flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP) ||
	       (flags && !(flags & MREMAP_MAYMOVE)) || (flags & MREMAP_DONTUNMAP && old_size != new_size) ||
	       new_size - 1 >= -(size_t)FXT_PAGE_BYTES || (uintptr_t)old_address % FXT_PAGE_BYTES;
}

static inline bool is_refused(const void *old_address, size_t old_size, size_t new_size, int flags,
			      const void *new_address)
{
	const bool is_fixed = flags & MREMAP_FIXED;

	if (is_invalid(old_address, old_size, new_size, flags) ||
	    (is_fixed && (uintptr_t)new_address % FXT_PAGE_BYTES))
		return false;
	return fxt_spare_refuses_resize(old_address, old_size, is_fixed ? new_address : NULL,
					is_fixed ? new_size : 0);
}

static pointer sparing_mremap(void *old_address, size_t old_size, size_t new_size, int flags,
			      void *new_address)
{
	return is_refused(old_address, old_size, new_size, flags, new_address)
		       ? MAP_FAILED
		       : real_mremap(old_address, old_size, new_size, flags, new_address);
}

FXT_TRACED(malloc, pointer, mremap, mremap, sparing_mremap, QUICK, MAPPED, (pointer, old_address, PTR),
	   (size_t, old_size, UINT), (size_t, new_size, UINT), (int, flags, INT),
	   (pointer, new_address, SKIP))

#define RESIZE(call)											\
	uint32_t leaving = flags & MREMAP_DONTUNMAP ? 0 : fxt_mappings_leave(old_address, old_size);	\
	uint32_t replaced = flags & MREMAP_FIXED ? fxt_mappings_leave(new_address, new_size) : 0;	\
	void *result = call;										\
													\
	fxt_mappings_left(thread, leaving, result != MAP_FAILED);					\
	fxt_mappings_left(thread, replaced, result != MAP_FAILED);					\
	if (result != MAP_FAILED)									\
		fxt_mapping_came(thread, result, new_size, place);

/* Makes the call. The pages may move, and may replace others; pages that stay where they are begin a new
 * lifetime as well. */
static void *resize(struct fxt_thread *thread, void *old_address, size_t old_size, size_t new_size, int flags,
		    void *new_address, uintptr_t place)
{
	RESIZE(traced_mremap(old_address, old_size, new_size, flags, new_address))
	return result;
}

FXT_EXPORT void *mremap(void *old_address, size_t old_size, size_t new_size, int flags, ...)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_malloc);
	void *new_address;
	va_list list;

	va_start(list, flags);
	new_address = va_arg(list, void *);
	va_end(list);
	if (!thread)
		return sparing_mremap(old_address, old_size, new_size, flags, new_address);
	return resize(thread, old_address, old_size, new_size, flags, new_address,
		      (uintptr_t)__builtin_return_address(0));
}

/* -- Locked memory: agent/process/locked_memory.h -------------------------------------------------- */

#define LOCK_ALL(call)                                                  \
	bool is_done = fxt_lock_all_begins(flags);                      \
	int result = is_done ? 0 : call;                                \
									\
	fxt_lock_all_ends(flags, !result);

#define UNLOCK_ALL(call)                \
	int result = call;              \
					\
	if (!result)                    \
		fxt_unlocked_all();

FXT_REAL(int, mlockall, (int flags), (flags))
FXT_REAL(int, munlockall, (void), ())

static int lock_all(int flags)
{
	LOCK_ALL(real_mlockall(flags))
	return result;
}

static int unlock_all(void)
{
	UNLOCK_ALL(real_munlockall())
	return result;
}

FXT_TRACED(malloc, int, mlockall, mlockall, lock_all, BLOCKS(flags), INT, (int, flags, INT))
FXT_EXPORTED(malloc, int, mlockall, lock_all, (int, flags, INT))
FXT_TRACED(malloc, int, munlockall, munlockall, unlock_all, QUICK, INT, (void, , NONE))
FXT_EXPORTED(malloc, int, munlockall, unlock_all, (void, , NONE))

/* -- The table, and what is done by number ------------------------------------------------------- */

static pointer sparing_map(struct fxt_by_number *call, void *addr, size_t length, int flags)
{
	return (pointer)(must_spare(addr, length, flags) ? fxt_spare_make(call) : fxt_by_number_make(call));
}

static pointer map_by_number(struct fxt_by_number *call, void *addr, size_t length, int flags)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_malloc);
	uintptr_t place = call->place;

	if (!thread)
		return sparing_map(call, addr, length, flags);
	MAP(sparing_map(call, addr, length, flags))
	return result;
}

static int sparing_unmap(struct fxt_by_number *call, void *addr, size_t length)
{
	return (int)(fxt_spare_begin(addr, length) ? fxt_spare_make(call) : fxt_by_number_make(call));
}

static int unmap_by_number(struct fxt_by_number *call, void *addr, size_t length)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_malloc);

	if (!thread)
		return sparing_unmap(call, addr, length);
	UNMAP(sparing_unmap(call, addr, length))
	return result;
}

static pointer sparing_resize(struct fxt_by_number *call, void *old_address, size_t old_size,
			      size_t new_size, int flags, void *new_address)
{
	if (is_refused(old_address, old_size, new_size, flags, new_address))
		return (pointer)(call->result = -1);
	return (pointer)fxt_by_number_make(call);
}

static pointer resize_by_number(struct fxt_by_number *call, void *old_address, size_t old_size,
				size_t new_size, int flags, void *new_address)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_malloc);
	uintptr_t place = call->place;

	if (!thread)
		return sparing_resize(call, old_address, old_size, new_size, flags, new_address);
	RESIZE(sparing_resize(call, old_address, old_size, new_size, flags, new_address))
	return result;
}

static int lock_all_by_number(struct fxt_by_number *call, int flags)
{
	LOCK_ALL((int)fxt_by_number_make(call))
	call->result = result;
	return result;
}

static int unlock_all_by_number(struct fxt_by_number *call)
{
	UNLOCK_ALL((int)fxt_by_number_make(call))
	return result;
}

#define FXT_NUMBER_mlockall , MLOCKALL_BY_NUMBER
#define FXT_NUMBER_munlockall , MUNLOCKALL_BY_NUMBER
#define MLOCKALL_BY_NUMBER(...) lock_all_by_number(call_, __VA_ARGS__)
#define MUNLOCKALL_BY_NUMBER(...) unlock_all_by_number(call_)
#define FXT_NUMBER_mmap , MMAP_BY_NUMBER
#define FXT_NUMBER_munmap , MUNMAP_BY_NUMBER
#define FXT_NUMBER_mremap , MREMAP_BY_NUMBER
#define MMAP_BY_NUMBER(...) FXT_APPLY(MAP_BY_NUMBER, __VA_ARGS__)
#define MAP_BY_NUMBER(addr, length, prot, flags, fd, offset) map_by_number(call_, addr, length, flags)
#define MUNMAP_BY_NUMBER(...) unmap_by_number(call_, __VA_ARGS__)
#define MREMAP_BY_NUMBER(...) resize_by_number(call_, __VA_ARGS__)

/* -- Calls that change what is mapped ------------------------------------------------------------ */

/* SPARED(length): an INT, of a call about the range from addr on that has so many bytes. */
#define FAILURE_SPARED(length) FAILURE_INT
#define RESULT_SPARED(length) RESULT_INT
#define CALLEE_SPARED(length) , sparing_
#define AROUND_SPARED(length) , SPARING_##length
#define SPARING_len(...) SPARING(len, __VA_ARGS__)
#define SPARING_length(...) SPARING(length, __VA_ARGS__)
#define SPARING(length, type, symbol, ...)								\
	static type sparing_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))					\
	{												\
		struct fxt_by_number call = {.number = SYS_##symbol,					\
					     .args = {FXT_LIST(P_WORD, __VA_ARGS__)}};			\
													\
		return fxt_spare_begin(addr, length) ? (type)fxt_spare_make(&call)		\
							 : real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__)); \
	}
#define P_WORD(type, name, kind) (long)name

static int change_by_number(struct fxt_by_number *call, const void *addr, size_t length)
{
	return (int)(fxt_spare_begin(addr, length) ? fxt_spare_make(call) : fxt_by_number_make(call));
}

#define FXT_NUMBER_mprotect , CHANGE_BY_NUMBER
#define FXT_NUMBER_pkey_mprotect , CHANGE_BY_NUMBER
#define FXT_NUMBER_madvise , CHANGE_BY_NUMBER
#define CHANGE_BY_NUMBER(...) FXT_APPLY(CHANGE_OF, __VA_ARGS__)
#define CHANGE_OF(addr, length, ...) change_by_number(call_, addr, length)

#define FXT_TABLE "interpose/tables/memory.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_memory
#include "interpose/engine/reals.inc"
