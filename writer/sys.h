/* This makes system calls directly, for code that runs inside the traced program.
 *
 * The C library's functions of these names are ones that we stand in for, and they set errno, which belongs
 * to the program. These functions avoid both: each returns the kernel's result, which is a negative errno
 * on failure. Any context may call them. A call that a seccomp filter of the program forbids (forbidden.h)
 * is not made and fails with EPERM.
 */
#ifndef FXT_SYS_H
#define FXT_SYS_H

#include <fcntl.h>
#include <linux/stat.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "forbidden.h"
#include "place.h"

#if defined(__clang_analyzer__) || defined(__cppcheck__) || defined(FXT_SYSCALL_ELSEWHERE)
/* Analysers do not see what an instruction stores through a pointer, but they expect it of a function. A
 * test may define a function of its own (tests/race_buffer.c). */
long fxt_syscall(long number, long a, long b, long c, long d, long e, long f);
#else
static inline __attribute__((always_inline)) long fxt_syscall(long number, long a, long b, long c, long d,
							      long e, long f)
{
	if (fxt_is_forbidden(fxt_call_kind(number, d)))
		return -1 /* EPERM */;
#if defined(__x86_64__)
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "unsupported architecture: x86_64 and aarch64 only"
#endif
}
#endif

/* Each of these macros makes a system call with as many arguments as its name says. */
#define FXT_SYSCALL0(n) fxt_syscall(n, 0, 0, 0, 0, 0, 0)
#define FXT_SYSCALL1(n, a) fxt_syscall(n, (long)(a), 0, 0, 0, 0, 0)
#define FXT_SYSCALL2(n, a, b) fxt_syscall(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define FXT_SYSCALL3(n, a, b, c) fxt_syscall(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define FXT_SYSCALL4(n, a, b, c, d) fxt_syscall(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define FXT_SYSCALL5(n, a, b, c, d, e) \
	fxt_syscall(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define FXT_SYSCALL6(n, a, b, c, d, e, f) \
	fxt_syscall(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static inline int fxt_sys_open(const char *path, int flags, mode_t mode)
{
	return (int)FXT_SYSCALL4(SYS_openat, AT_FDCWD, path, flags, mode);
}

static inline int fxt_sys_close(int fd)
{
	return (int)FXT_SYSCALL1(SYS_close, fd);
}

static inline ssize_t fxt_sys_read(int fd, void *data, size_t bytes)
{
	return FXT_SYSCALL3(SYS_read, fd, data, bytes);
}

static inline ssize_t fxt_sys_write(int fd, const void *data, size_t bytes)
{
	return FXT_SYSCALL3(SYS_write, fd, data, bytes);
}

static inline int fxt_sys_getrlimit(int resource, struct rlimit *limit)
{
	return (int)FXT_SYSCALL4(SYS_prlimit64, 0, resource, NULL, limit);
}

/* Takes back a signal that a system call of this thread has just caused. All signals are blocked. */
static inline void fxt_sys_take_back(int signum)
{
	const uint64_t set = UINT64_C(1) << (signum - 1);
	const struct timespec at_once = {0, 0};

	FXT_SYSCALL4(SYS_rt_sigtimedwait, &set, NULL, &at_once, sizeof(set));
}

/* Returns whether a file of this size would exceed the limit of the process. The kernel does not only
 * refuse to write there: it sends SIGXFSZ. So we do not write there. If the program lowers the limit
 * between this test and the call, fxt_sys_grown() takes the signal back, because code that makes a file
 * larger has all signals blocked. */
static inline bool fxt_sys_is_past_limit(uint64_t bytes)
{
	struct rlimit limit;

	return !fxt_sys_getrlimit(RLIMIT_FSIZE, &limit) && bytes > limit.rlim_cur;
}

/* Returns the result of a call that makes a file larger, after taking back the signal if it met the limit. */
static inline long fxt_sys_grown(long result)
{
	if (__builtin_expect(result == -27 /* EFBIG */, 0))
		fxt_sys_take_back(SIGXFSZ);
	return result;
}

static inline ssize_t fxt_sys_pwritev(int fd, const struct iovec *vector, int count, off_t offset)
{
	uint64_t end = (uint64_t)offset;
	int i;

	for (i = 0; i < count; i++)
		end += vector[i].iov_len;
	return fxt_sys_is_past_limit(end)
		       ? -27 /* EFBIG */
		       : fxt_sys_grown(FXT_SYSCALL5(SYS_pwritev, fd, vector, count, offset, 0));
}

/* What the program has asked of memory that is mapped from here on: a set of enum fxt_memory_rule. Any
 * context may read it. */
extern _Atomic unsigned fxt_memory_rules __attribute__((visibility("hidden")));
enum fxt_memory_rule {
	/* The kernel locks what is mapped (MCL_FUTURE), and counts it against the limit of locked memory. The
	 * agent's memory is not to be locked: sys.c. */
	FXT_MEMORY_IS_LOCKED = 1,
	/* The program cannot wait for page faults: the agent's memory is populated when it is mapped. */
	FXT_MEMORY_IS_POPULATED = 2,
};

static inline bool fxt_sys_memory_is(enum fxt_memory_rule rule)
{
	return __builtin_expect(atomic_load_explicit(&fxt_memory_rules, memory_order_relaxed) & rule, 0);
}

/* Maps memory as mmap() does, but memory that is not locked though the program locks all. Returns what the
 * kernel returns. */
long fxt_sys_map_unlocked(uintptr_t at, size_t bytes, int protection, int flags, int fd, off_t offset);

/* Maps memory as mmap() does, and does not lock it. Returns what the kernel returns. */
static inline long fxt_sys_map_at(uintptr_t at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return fxt_sys_memory_is(FXT_MEMORY_IS_LOCKED) && (fd >= 0 || !(flags & MAP_FIXED))
		       ? fxt_sys_map_unlocked(at, bytes, protection, flags, fd, offset)
		       : FXT_SYSCALL6(SYS_mmap, at, bytes, protection, flags, fd, offset);
}

/* Maps memory. Returns NULL on failure, with the negative errno in `*error`. If `at` is NULL, the mapping
 * goes to a place of the agent's own (place.h). */
static inline void *fxt_sys_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset,
				 int *error)
{
	long result = at ? fxt_sys_map_at((uintptr_t)at, bytes, protection, flags, fd, offset)
			 : fxt_place_map(bytes, protection, flags, fd, offset);

	if (result < 0 && result > -4096) {
		*error = (int)result;
		return NULL;
	}
	return (void *)result;
}

static inline int fxt_sys_munmap(void *at, size_t bytes)
{
	return fxt_place_unmap(at, bytes);
}

static inline int fxt_sys_madvise(void *at, size_t bytes, int advice)
{
	return (int)FXT_SYSCALL3(SYS_madvise, at, bytes, advice);
}

/* Returns private zeroed memory that costs nothing until it is touched and is in no core dump, or NULL if
 * there is none. */
void *fxt_sys_memory(size_t bytes);

/* Does so at `place`, which fxt_place_set_aside() has given. Returns NULL too if the program has mapped
 * something there. */
void *fxt_sys_memory_at(uintptr_t place, size_t bytes);

/* Makes memory `end` bytes long that fxt_sys_memory_at() has mapped, with room behind it that was set aside.
 * It has `from` bytes, or another thread is making it `end` bytes long. Returns false if there is no
 * memory. */
bool fxt_sys_memory_more(uintptr_t memory, size_t from, size_t end);

/* Called before the program locks what is mapped from then on: sets FXT_MEMORY_IS_LOCKED. Returns what the
 * rules were. */
unsigned fxt_sys_memory_lock_begins(void);

static inline int fxt_sys_ftruncate(int fd, off_t bytes)
{
	return (int)fxt_sys_grown(FXT_SYSCALL2(SYS_ftruncate, fd, bytes));
}

static inline int fxt_sys_fallocate(int fd, int mode, off_t offset, off_t bytes)
{
	if (fxt_sys_is_past_limit((uint64_t)offset + (uint64_t)bytes))
		return -27 /* EFBIG */;
	return (int)fxt_sys_grown(FXT_SYSCALL4(SYS_fallocate, fd, mode, offset, bytes));
}

static inline int fxt_sys_fstat(int fd, struct stat *status)
{
	return (int)FXT_SYSCALL4(SYS_newfstatat, fd, "", status, AT_EMPTY_PATH);
}

static inline int fxt_sys_lstat(const char *path, struct stat *status)
{
	return (int)FXT_SYSCALL4(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

static inline int fxt_sys_unlink(const char *path)
{
	return (int)FXT_SYSCALL3(SYS_unlinkat, AT_FDCWD, path, 0);
}

static inline int fxt_sys_link(const char *from, const char *to, int flags)
{
	return (int)FXT_SYSCALL5(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, flags);
}

/* Gives the file that `fd` is a name. */
static inline int fxt_sys_link_open(int fd, const char *to)
{
	return (int)FXT_SYSCALL5(SYS_linkat, fd, "", AT_FDCWD, to, AT_EMPTY_PATH);
}

static inline int fxt_sys_rename(const char *from, const char *to)
{
	return (int)FXT_SYSCALL5(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static inline int fxt_sys_getcwd(char *out, size_t bytes)
{
	return (int)FXT_SYSCALL2(SYS_getcwd, out, bytes);
}

static inline int fxt_sys_readlink(const char *path, char *out, size_t bytes)
{
	return (int)FXT_SYSCALL4(SYS_readlinkat, AT_FDCWD, path, out, bytes);
}

/* Duplicates `fd` to the lowest free descriptor at or above `least`, closed on exec. */
static inline int fxt_sys_dup_above(int fd, int least)
{
	return (int)FXT_SYSCALL3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least);
}

static inline int fxt_sys_setrlimit(int resource, const struct rlimit *limit)
{
	return (int)FXT_SYSCALL4(SYS_prlimit64, 0, resource, limit, NULL);
}

static inline int fxt_sys_getpid(void)
{
	return (int)FXT_SYSCALL0(SYS_getpid);
}

static inline int fxt_sys_gettid(void)
{
	return (int)FXT_SYSCALL0(SYS_gettid);
}

/* Operations of futex(). 128 is FUTEX_PRIVATE_FLAG. */
enum { FXT_FUTEX_WAIT = 0 | 128, FXT_FUTEX_WAKE = 1 | 128, FXT_FUTEX_WAIT_SHARED = 0 };

/* Returns whether the four bytes at `at`, aligned down to such, can be read. futex() reads them before it
 * compares them, and would wait if they were the number below, but for no time. Our locks make this call, so
 * a program whose system calls are filtered, and whose locks work (FXT_NO_LOCKS), allows it. */
static inline bool fxt_sys_can_read(uintptr_t at)
{
	static const struct timespec no_time;
	const uint32_t unlikely = 0xa5c3f1d7;
	long result;

	at -= at % sizeof(uint32_t);
	result = FXT_SYSCALL4(SYS_futex, at, FXT_FUTEX_WAIT, unlikely, &no_time);
	return result == -11 /* EAGAIN */ || result == -110 /* ETIMEDOUT */;
}

static inline bool fxt_sys_thread_exists(int pid, int tid)
{
	return FXT_SYSCALL3(SYS_tgkill, pid, tid, 0) != -3 /* ESRCH */;
}

/* These signals are blocked where no handler may run: all of them, but not SIGBUS once the agent has a
 * handler for it. The kernel kills the process for a store behind a file's end where SIGBUS is blocked.
 * That handler puts off every SIGBUS that is not about a store of ours (interpose/signals/fatal.c). */
extern uint64_t fxt_blocked_signals __attribute__((visibility("hidden")));

/* What fxt_sys_block_signals() has done in this thread. Work that needs signals blocked is often done within
 * work that has blocked them, and then no system call is made. */
enum fxt_signals {
	FXT_SIGNALS_OPEN,
	FXT_SIGNALS_BLOCKED,
	/* Another task has this thread-local storage, too: the child of a vfork, which may be killed in the
	 * middle, or one that shares it for good. So each asks the kernel whenever it blocks signals. */
	FXT_SIGNALS_SHARED,
};
extern __thread unsigned char fxt_signals __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Stands for a mask where signals were blocked by this thread already. No mask that the kernel returns has
 * SIGKILL. */
#define FXT_SIGNALS_WITHIN (UINT64_C(1) << (SIGKILL - 1))

/* Stands in a mask for a program that single-steps itself by the processor's trap flag. The kernel kills it
 * for a step while SIGTRAP is blocked, so it makes none meanwhile. No mask has SIGSTOP either. */
#define FXT_SIGNALS_STEPPING (UINT64_C(1) << (SIGSTOP - 1))

#if defined(__x86_64__)
#define FXT_TRAP_FLAG UINT64_C(0x100)

/* Ends single-stepping. Returns FXT_SIGNALS_STEPPING if there was any, or else 0. */
static inline uint64_t fxt_sys_stop_stepping(void)
{
	uint64_t flags = __builtin_ia32_readeflags_u64();

	if (__builtin_expect(!(flags & FXT_TRAP_FLAG), 1))
		return 0;
	__builtin_ia32_writeeflags_u64(flags & ~FXT_TRAP_FLAG);
	return FXT_SIGNALS_STEPPING;
}

static inline void fxt_sys_step_again(void)
{
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | FXT_TRAP_FLAG);
}
#else
static inline uint64_t fxt_sys_stop_stepping(void)
{
	return 0;
}

static inline void fxt_sys_step_again(void)
{
}
#endif

/* Blocks these signals and returns the mask before, for fxt_sys_restore_signals() alone. The kernel's signal
 * set has 64 bits; glibc's functions would leave its two internal signals unblocked. */
static inline uint64_t fxt_sys_block_signals(void)
{
	uint64_t all = fxt_blocked_signals, before = 0, stepping;

	if (fxt_signals == FXT_SIGNALS_BLOCKED)
		return FXT_SIGNALS_WITHIN;
	stepping = fxt_sys_stop_stepping();
	FXT_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	/* A handler that came before this has put things back as they were. */
	if (fxt_signals == FXT_SIGNALS_OPEN)
		fxt_signals = FXT_SIGNALS_BLOCKED;
	atomic_signal_fence(memory_order_seq_cst);
	return before | stepping;
}

static inline void fxt_sys_restore_signals(uint64_t before)
{
	const uint64_t stepping = before & FXT_SIGNALS_STEPPING;

	if (before == FXT_SIGNALS_WITHIN)
		return;
	before &= ~FXT_SIGNALS_STEPPING;
	atomic_signal_fence(memory_order_seq_cst);
	if (fxt_signals == FXT_SIGNALS_BLOCKED)
		fxt_signals = FXT_SIGNALS_OPEN;
	FXT_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	if (__builtin_expect(stepping != 0, 0))
		fxt_sys_step_again();
}

/* Notes that another task gets the calling thread's thread-local storage. */
static inline void fxt_sys_signals_are_shared(void)
{
	fxt_signals = FXT_SIGNALS_SHARED;
}

/* Notes, in the child of a fork, that nobody else has the calling thread's storage. */
static inline void fxt_sys_signals_are_own(void)
{
	if (fxt_signals == FXT_SIGNALS_SHARED)
		fxt_signals = FXT_SIGNALS_OPEN;
}

#endif
