/* Defines the variables of sys.h, lock.h and forbidden.h, which say what these are, makes private memory, and
 * waits for locks. Any context may call these functions. */
#include "lock.h"

_Atomic unsigned fxt_forbidden;
uint64_t fxt_blocked_signals = UINT64_MAX;
__thread uint32_t fxt_lender;
__thread unsigned char fxt_signals;
_Atomic unsigned fxt_memory_rules;

enum { PAGE = 4096, DONTUNMAP = 4 };
enum { PRIVATE = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };

/* Does to private memory what it needs once it is mapped. */
static void prepare(void *memory, size_t bytes)
{
#ifndef FXT_CHECKING
	fxt_sys_madvise(memory, bytes, MADV_DONTDUMP);
#endif
	if (fxt_sys_memory_is(FXT_MEMORY_IS_POPULATED))
		fxt_sys_madvise(memory, bytes, MADV_POPULATE_WRITE);
}

void *fxt_sys_memory(size_t bytes)
{
	int error;
	void *memory = fxt_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, PRIVATE, -1, 0, &error);

	if (memory)
		prepare(memory, bytes);
	return memory;
}

void *fxt_sys_memory_at(uintptr_t place, size_t bytes)
{
	long result = fxt_place_grow(place, 0, bytes)
			      ? fxt_sys_map_at(place, bytes, PROT_READ | PROT_WRITE,
					       PRIVATE | MAP_FIXED_NOREPLACE, -1, 0)
			      : -1;

	if (result < 0 && result > -4096)
		return NULL;
	if (result != (long)place) {
		fxt_sys_munmap((void *)result, bytes);
		return NULL;
	}
	prepare((void *)place, bytes);
	return (void *)place;
}

bool fxt_sys_memory_more(uintptr_t memory, size_t from, size_t end)
{
	const long at = (long)(memory + from);
	unsigned char there;
	long result;

	end = (end + PAGE - 1) / PAGE * PAGE;
	if (!fxt_place_grow(memory, from, end))
		return false;
	if (fxt_sys_memory_is(FXT_MEMORY_IS_LOCKED)) {
		/* What becomes larger stays unlocked. */
		result = FXT_SYSCALL4(SYS_mremap, at - PAGE, PAGE, PAGE + end - from, 0);
		if (result != at - PAGE)
			return !FXT_SYSCALL3(SYS_mincore, memory + end - PAGE, PAGE, &there);
	} else {
		result = FXT_SYSCALL6(SYS_mmap, at, end - from, PROT_READ | PROT_WRITE,
				      PRIVATE | MAP_FIXED_NOREPLACE, -1, 0);
		/* Nobody but another thread of ours maps anything there. Kernels before 4.17 do not know the
		 * flag, and choose other addresses. */
		if (result == -17 /* EEXIST */)
			return true;
		if (result < 0 && result > -4096)
			return false;
		if (result != at) {
			fxt_sys_munmap((void *)result, end - from);
			return true;
		}
	}
	prepare((void *)at, end - from);
	return true;
}

/* -- In a process whose memory is locked --------------------------------------------------------- */

/* After mlockall() with MCL_FUTURE, what the kernel maps is locked, populated at once and counted against
 * RLIMIT_MEMLOCK. A table of the agent of which a page is used would take all its pages, and the program's
 * next mmap() might fail. */

/* A page that is not locked, and never touched. 0: there is none. */
static _Atomic uintptr_t seed;

unsigned fxt_sys_memory_lock_begins(void)
{
	uintptr_t none = 0, made;

	if (!atomic_load_explicit(&seed, memory_order_acquire)) {
		made = (uintptr_t)fxt_sys_memory(PAGE);
		if (made && !atomic_compare_exchange_strong(&seed, &none, made))
			fxt_sys_munmap((void *)made, PAGE);
	}
	return atomic_fetch_or(&fxt_memory_rules, FXT_MEMORY_IS_LOCKED);
}

static bool is_error(long result)
{
	return result < 0 && result > -4096;
}

/* Maps private memory: a copy of the seed, which becomes larger. Neither a copy nor what becomes larger is
 * locked if the original is not, nor counted as locked. */
static long map_from_seed(uintptr_t at, size_t bytes)
{
	long from = (long)atomic_load_explicit(&seed, memory_order_acquire), copy, result;

	if (!from)
		return -1;
	copy = FXT_SYSCALL5(SYS_mremap, from, PAGE, PAGE, MREMAP_MAYMOVE | DONTUNMAP, at);
	if (is_error(copy) || bytes <= PAGE)
		return copy;
	bytes = (bytes + PAGE - 1) / PAGE * PAGE;
	result = FXT_SYSCALL4(SYS_mremap, copy, PAGE, bytes, 0);
	if (result != copy)
		fxt_sys_munmap((void *)copy, PAGE);
	return result;
}

long fxt_sys_map_unlocked(uintptr_t at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	long result = -1, error;

	if (flags & MAP_PRIVATE && flags & MAP_ANONYMOUS && protection == (PROT_READ | PROT_WRITE))
		result = map_from_seed(at, bytes);
	if (!is_error(result))
		return result;
	/* Nothing is populated that cannot be accessed. */
	result = FXT_SYSCALL6(SYS_mmap, at, bytes, PROT_NONE, flags, fd, offset);
	if (is_error(result))
		return result;
	FXT_SYSCALL2(SYS_munlock, result, bytes);
	error = FXT_SYSCALL3(SYS_mprotect, result, bytes, protection);
	if (!error)
		return result;
	fxt_sys_munmap((void *)result, bytes);
	return error;
}

/* -- Waiting for a lock ------------------------------------------------------------------------ */

enum { LOOKS = 100 };   /* some microseconds */

static void relax(void)
{
#if defined(__x86_64__)
	__asm__ volatile("pause");
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

void fxt_lock_wait(struct fxt_lock *lock)
{
	static const struct timespec most = {0, 10 * 1000 * 1000};
	int was, look;

	for (look = 0; look < LOOKS; look++) {
		relax();
		was = 0;
		if (!atomic_load_explicit(&lock->taken, memory_order_relaxed) &&
		    atomic_compare_exchange_strong_explicit(&lock->taken, &was, 1, memory_order_acquire,
							    memory_order_relaxed))
			return;
	}
	/* The holder may be forbidden to wake anybody by the time that it gives the lock back. */
	while (atomic_exchange_explicit(&lock->taken, 2, memory_order_acquire))
		FXT_SYSCALL4(SYS_futex, &lock->taken, FXT_FUTEX_WAIT, 2, &most);
}
