/* Makes the wrappers of calls that handle memory by pages: memory.def. What maps and unmaps is written by
 * hand. What the C library and the agent map for themselves does not come this way. */
#include <malloc.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/objects/label.h"
#include "agent/objects/mappings.h"
#include "agent/process/locked_memory.h"
#include "interpose/engine/mapped.h"

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

#define MMAP(symbol, offset_type)									\
	FXT_REAL_FIRST(malloc, pointer, symbol,								\
		       (pointer addr, size_t length, int prot, int flags, int fd, offset_type offset),	\
		       (addr, length, prot, flags, fd, offset))						\
	FXT_TRACED(malloc, pointer, symbol, mmap, real_##symbol, BLOCKS(fd), MAPPED,			\
		   (pointer, addr, PTR), (size_t, length, UINT), (int, prot, INT), (int, flags, INT),	\
		   (int, fd, INT), (offset_type, offset, LONG))						\
	FXT_EXPORT void *symbol(void *addr, size_t length, int prot, int flags, int fd, offset_type offset) \
	{												\
		struct fxt_thread *thread = fxt_enter(FXT_CAT_malloc);					\
		uintptr_t place = (uintptr_t)__builtin_return_address(0);				\
													\
		if (!thread)										\
			return real_##symbol(addr, length, prot, flags, fxt_descriptor_given(fd), offset); \
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
		fxt_labels_freed(addr, length);

FXT_REAL(int, munmap, (pointer addr, size_t length), (addr, length))

/* Unmaps a part of the range: by the C library's function or, if there is a `call`, as that was made. */
static int unmap_part(struct fxt_by_number *call, uintptr_t from, size_t length)
{
	if (!call)
		return real_munmap((void *)from, length);
	call->args[0] = (long)from;
	call->args[1] = (long)length;
	return (int)fxt_by_number_make(call);
}

/* Unmaps the range without the agent's own mappings, which no program knows of: see writer/place.h. The part
 * behind them goes first, so that a range whose end the kernel refuses is refused before anything is
 * unmapped. */
static int unmap_around(struct fxt_by_number *call, void *addr, size_t length)
{
	uintptr_t from = (uintptr_t)addr, end = from + length;
	struct fxt_range ours = fxt_places();

	if (FXT_LIKELY(from >= ours.end || end <= ours.from) || from % FXT_PAGE_BYTES)
		return unmap_part(call, from, length);
	if (end > ours.end && unmap_part(call, ours.end, end - ours.end))
		return -1;
	return from < ours.from ? unmap_part(call, from, ours.from - from) : 0;
}

static int unmap(void *addr, size_t length)
{
	return unmap_around(NULL, addr, length);
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
FXT_TRACED(malloc, pointer, mremap, mremap, real_mremap, QUICK, MAPPED, (pointer, old_address, PTR),
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
		return real_mremap(old_address, old_size, new_size, flags, new_address);
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

static pointer map_by_number(struct fxt_by_number *call, void *addr, size_t length, int flags)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_malloc);
	uintptr_t place = call->place;

	if (!thread)
		return (pointer)fxt_by_number_make(call);
	MAP((pointer)fxt_by_number_make(call))
	return result;
}

static int unmap_by_number(struct fxt_by_number *call, void *addr, size_t length)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_malloc);

	if (!thread)
		return unmap_around(call, addr, length);
	UNMAP(unmap_around(call, addr, length))
	return result;
}

static pointer resize_by_number(struct fxt_by_number *call, void *old_address, size_t old_size,
				size_t new_size, int flags, void *new_address)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_malloc);
	uintptr_t place = call->place;

	if (!thread)
		return (pointer)fxt_by_number_make(call);
	RESIZE((pointer)fxt_by_number_make(call))
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

#define FXT_TABLE "interpose/tables/memory.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_memory
#include "interpose/engine/reals.inc"
