/* Makes the helpers of apart.h, which says who may call this. */
#include "apart.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "lock.h"

enum {
	CLOSE_AND_UNSHARE = 2,          /* CLOSE_RANGE_UNSHARE: <linux/close_range.h> may be absent */
	/* Without CLONE_THREAD the helper is a process of its own: what the kernel does when it closes its
	 * copies of the program's descriptors it does to the helper. CLONE_VFORK: its maker sleeps until it
	 * has ended, and the helper works on the stack below its maker's frame, with its maker's thread-local
	 * storage. CLONE_UNTRACED: a debugger that follows children is not told of it. No signal says that it
	 * has ended. */
	HELPER_FLAGS = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_VFORK | CLONE_UNTRACED,
	LINK_BYTES = 48,
	PATH_BYTES = 64,
};

/* <sys/single_threaded.h>: glibc before 2.32 does not have it. */
extern char __libc_single_threaded __attribute__((weak));

static const char own_directory[] = "/proc/self/";

static bool stays_alone;                /* the kernel has said so, and only the agent runs meanwhile */

bool fxt_is_alone(void)
{
	struct stat status;

	if (stays_alone)
		return true;
	/* Where there is no /proc, the C library tells of the threads that it has made. */
	if (fxt_sys_lstat("/proc/self/task", &status))
		return &__libc_single_threaded && __libc_single_threaded;
	return status.st_nlink == 3;
}

static bool has_no_helpers;
static atomic_uint at_work;             /* so many helpers, which exist until they are reaped */
static atomic_uint waiting;             /* so many threads are in calls that could reap a helper */

/* True while the helper of this thread works, which has the thread's storage. */
static __thread bool is_helper __attribute__((tls_model("initial-exec")));

void fxt_apart_after_fork(void)
{
	atomic_store(&at_work, 0);
	atomic_store(&waiting, 0);
	is_helper = false;
	stays_alone = false;
}

void fxt_apart_wait_begins(void)
{
	atomic_fetch_add(&waiting, 1);
	while (atomic_load(&at_work))
		FXT_SYSCALL0(SYS_sched_yield);
}

void fxt_apart_wait_ends(void)
{
	unsigned before = atomic_load(&waiting);

	/* In the child of a fork nobody waits any more. */
	while (before && !atomic_compare_exchange_weak(&waiting, &before, before - 1))
		;
}

void fxt_apart_never(void)
{
	has_no_helpers = true;
}

bool fxt_opens_here(void)
{
	return !is_helper && (has_no_helpers || fxt_is_alone());
}

void fxt_apart_start_begins(void)
{
	stays_alone = fxt_is_alone();
}

void fxt_apart_start_ends(void)
{
	stays_alone = false;
}

struct work {
	fxt_work work;
	void *argument;
	long result;
};

/* Gives the helper an empty table of descriptors. When all of a shared table is to be closed, the kernel
 * copies no more than the first 64 places, and closes these at once, so that a file that the program closes
 * meanwhile is open for some microseconds more. Before Linux 5.9 there is only unshare(), which copies the
 * whole table. */
static bool has_own_table(void)
{
	return !FXT_SYSCALL3(SYS_close_range, 0, UINT32_MAX, CLOSE_AND_UNSHARE) ||
	       !FXT_SYSCALL1(SYS_unshare, CLONE_FILES);
}

/* Gives the helper its name. By that the kernel's witness knows that it is no process of the program. Its
 * maker keeps its own name. */
static void name_helper(void)
{
	static const char name[] = FXT_HELPER_NAME;

	/* A filter of the program's may kill a process that asks for this. */
	if (!fxt_is_forbidden(FXT_NO_OTHERS))
		FXT_SYSCALL2(SYS_prctl, PR_SET_NAME, name);
}

static __attribute__((used)) void run_helper(struct work *given)
{
	name_helper();
	if (has_own_table())
		given->result = given->work(given->argument);
}

/* Makes the helper and returns in the maker, when the helper has ended. This is one piece of assembler:
 * between the two returns of clone() nothing may be stored to the frame, because both have it. */
static __attribute__((noinline)) long make_helper(struct work *given)
{
#if defined(__x86_64__)
	long result;
	register long r10 __asm__("r10") = 0;
	register long r8 __asm__("r8") = 0;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "sub $256, %%rsp\n\t" /* steps over the red zone */
			 "and $-16, %%rsp\n\t"
			 "mov %[given], %%rdi\n\t"
			 "call *%[run]\n\t"
			 "mov %[exit], %%eax\n\t"
			 "xor %%edi, %%edi\n\t"
			 "syscall\n"
			 "1:"
			 : "=a"(result)
			 : "0"(SYS_clone), "D"((long)HELPER_FLAGS), "S"(0L), "d"(0L), "r"(r10),
			   "r"(r8), [given] "b"(given), [run] "r"(run_helper), [exit] "i"(SYS_exit)
			 : "rcx", "r11", "memory", "cc");
	return result;
#else
	register long x8 __asm__("x8") = SYS_clone;
	register long x0 __asm__("x0") = HELPER_FLAGS;
	register long x1 __asm__("x1") = 0;
	register long x2 __asm__("x2") = 0;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = 0;
	register struct work *x19 __asm__("x19") = given;
	register void (*x20)(struct work *) __asm__("x20") = run_helper;

	__asm__ volatile("svc 0\n\t"
			 "cbnz x0, 1f\n\t"
			 "sub sp, sp, #256\n\t"
			 "mov x0, x19\n\t"
			 "blr x20\n\t"
			 "mov x8, %[exit]\n\t"
			 "mov x0, #0\n\t"
			 "svc 0\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x19),
			   "r"(x20), [exit] "i"(SYS_exit)
			 : "memory", "cc", "x30");
	return x0;
#endif
}

/* Asks for a thread with this one's number, which is taken. Returns the kernel's error. */
static long ask_for_thread(uint64_t flags)
{
	const pid_t taken = (pid_t)FXT_SYSCALL0(SYS_gettid);
	/* This is struct clone_args, which <linux/sched.h> may not have whole. */
	const struct {
		uint64_t flags, unused[7], numbers, number_count;
	} request = {.flags = flags, .numbers = (uintptr_t)&taken, .number_count = 1};

	return FXT_SYSCALL2(SYS_clone3, &request, sizeof(request));
}

/* Returns whether the kernel says that a child of this thread would be in its own namespace of process ids.
 * It refuses a thread that would not be in the namespace of its process (EINVAL), before it finds that the
 * number is taken (EEXIST) or that this process may choose no numbers (EPERM). A filter may say EPERM as
 * well, and does then whatever is asked for. */
static bool could_have_thread(void)
{
	long error;

	if (fxt_is_forbidden(FXT_NO_PROBE))
		return false;
	error = ask_for_thread(CLONE_THREAD | CLONE_SIGHAND | CLONE_VM);
	return error == -EEXIST || (error == -EPERM && ask_for_thread(CLONE_THREAD) == -EINVAL);
}

/* Returns whether a child of this thread would be in its own namespace of process ids. In a new namespace the
 * first process is the one that ends all others, so that place is not for a helper. Where neither /proc nor
 * the kernel says so, there may be a new one. */
static bool keeps_namespace(void)
{
	char own[LINK_BYTES], next[LINK_BYTES];
	int bytes = fxt_sys_readlink("/proc/thread-self/ns/pid", own, sizeof(own));

	if (bytes == -ENOENT)
		return could_have_thread();
	return bytes > 0 &&
	       fxt_sys_readlink("/proc/thread-self/ns/pid_for_children", next, sizeof(next)) == bytes &&
	       !memcmp(own, next, (size_t)bytes);
}

static void reap(long pid)
{
	while (FXT_SYSCALL4(SYS_wait4, pid, NULL, __WCLONE, NULL) == -EINTR)
		;
}

long fxt_apart_always(fxt_work work, void *argument)
{
	struct work given = {work, argument, -EPERM};
	/* The helper takes locks for its maker, though it has another process id. */
	const uint32_t lender = fxt_lender;
	uint64_t mask;
	long made = -EBUSY;

	if (fxt_is_forbidden(FXT_NO_APART | FXT_NO_LOCKS) || !keeps_namespace())
		return -EPERM;
	mask = fxt_sys_block_signals();
	atomic_fetch_add(&at_work, 1);
	if (!atomic_load(&waiting)) {
		is_helper = true;
		fxt_lender = 0;
		made = make_helper(&given);
		fxt_lender = lender;
		is_helper = false;
		if (made > 0)
			reap(made);
	}
	atomic_fetch_sub(&at_work, 1);
	fxt_sys_restore_signals(mask);
	return made < 0 ? made : *(volatile long *)&given.result;
}

static long work_here(fxt_work work, void *argument)
{
	uint64_t mask = fxt_sys_block_signals();
	long result = work(argument);

	fxt_sys_restore_signals(mask);
	return result;
}

long fxt_apart(fxt_work work, void *argument)
{
	return fxt_opens_here() ? work_here(work, argument) : fxt_apart_always(work, argument);
}

long fxt_apart_from_locks(fxt_work work, void *argument)
{
	return has_no_helpers ? fxt_apart(work, argument) : fxt_apart_always(work, argument);
}

struct reading {
	const char *path;
	void *out;
	size_t bytes;
};

static long read_once(void *argument)
{
	const struct reading *reading = argument;
	int fd = fxt_sys_open(reading->path, O_RDONLY | O_CLOEXEC, 0);
	long result;

	if (fd < 0)
		return fd;
	result = fxt_sys_read(fd, reading->out, reading->bytes);
	fxt_sys_close(fd);
	return result;
}

/* Replaces "/proc/self" by the name that this process has there, because a helper has another one. Returns
 * the path, or NULL if the name is not to be had. */
static const char *path_of_maker(const char *path, char made[PATH_BYTES])
{
	static const char proc[] = "/proc/";
	const size_t own = sizeof(own_directory) - 2, before = sizeof(proc) - 1;
	int bytes;

	if (strncmp(path, own_directory, sizeof(own_directory) - 1))
		return path;
	memcpy(made, proc, before);
	bytes = fxt_sys_readlink("/proc/self", made + before, PATH_BYTES / 2);
	if (bytes <= 0 || before + (size_t)bytes + strlen(path + own) >= PATH_BYTES)
		return NULL;
	memcpy(made + before + bytes, path + own, strlen(path + own) + 1);
	return made;
}

long fxt_read_file(const char *path, void *out, size_t bytes)
{
	struct reading reading = {path, out, bytes};
	char made[PATH_BYTES];

	if (fxt_opens_here())
		return work_here(read_once, &reading);
	reading.path = path_of_maker(path, made);
	return reading.path ? fxt_apart_always(read_once, &reading) : -ENOENT;
}
