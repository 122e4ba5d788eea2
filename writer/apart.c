/* Makes the tasks of apart.h, which says who may call this. */
#include "apart.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>

#include "sys.h"

enum {
	CLOSE_AND_UNSHARE = 2,          /* CLOSE_RANGE_UNSHARE: <linux/close_range.h> may be absent */
	/* CLONE_THREAD: nobody can wait for the task, and it has no parent to tell. CLONE_VFORK: its maker
	 * sleeps until it has ended, and the task works on the stack below its maker's frame, with its
	 * maker's thread-local storage. */
	TASK_FLAGS = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_VFORK,
};

bool fxt_is_alone(void)
{
	struct stat status;

	return !fxt_sys_lstat("/proc/self/task", &status) && status.st_nlink == 3;
}

static bool has_no_tasks;
static atomic_uint at_work;             /* so many tasks */

bool fxt_apart_is_busy(void)
{
	return atomic_load(&at_work);
}

void fxt_apart_after_fork(void)
{
	atomic_store(&at_work, 0);
}

void fxt_apart_never(void)
{
	has_no_tasks = true;
}

bool fxt_opens_here(void)
{
	return has_no_tasks || fxt_is_alone();
}

struct task {
	fxt_work work;
	void *argument;
	long result;
};

/* Gives the task an empty table of descriptors. When all of a shared table is to be closed, the kernel
 * copies nothing, so no file of the program is held open meanwhile. Before Linux 5.9 there is only
 * unshare(), which copies the whole table. */
static bool has_own_table(void)
{
	return !FXT_SYSCALL3(SYS_close_range, 0, UINT32_MAX, CLOSE_AND_UNSHARE) ||
	       !FXT_SYSCALL1(SYS_unshare, CLONE_FILES);
}

static __attribute__((used)) void run_task(struct task *task)
{
	if (has_own_table())
		task->result = task->work(task->argument);
}

/* Makes the task and returns in the maker. This is one piece of assembler: between the two returns of
 * clone() nothing may be stored to the frame, because both tasks have it. */
static __attribute__((noinline)) long make_task(struct task *task)
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
			 "mov %[task], %%rdi\n\t"
			 "call *%[run]\n\t"
			 "mov %[exit], %%eax\n\t"
			 "xor %%edi, %%edi\n\t"
			 "syscall\n"
			 "1:"
			 : "=a"(result)
			 : "0"(SYS_clone), "D"((long)TASK_FLAGS), "S"(0L), "d"(0L), "r"(r10),
			   "r"(r8), [task] "b"(task), [run] "r"(run_task), [exit] "i"(SYS_exit)
			 : "rcx", "r11", "memory", "cc");
	return result;
#else
	register long x8 __asm__("x8") = SYS_clone;
	register long x0 __asm__("x0") = TASK_FLAGS;
	register long x1 __asm__("x1") = 0;
	register long x2 __asm__("x2") = 0;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = 0;
	register struct task *x19 __asm__("x19") = task;
	register void (*x20)(struct task *) __asm__("x20") = run_task;

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

long fxt_apart_always(fxt_work work, void *argument)
{
	struct task task = {work, argument, -EPERM};
	uint64_t mask;
	long made;

	if (fxt_is_forbidden(FXT_NO_APART | FXT_NO_LOCKS))
		return -EPERM;
	mask = fxt_sys_block_signals();
	atomic_fetch_add(&at_work, 1);
	made = make_task(&task);
	atomic_fetch_sub(&at_work, 1);
	fxt_sys_restore_signals(mask);
	return made < 0 ? made : *(volatile long *)&task.result;
}

long fxt_apart(fxt_work work, void *argument)
{
	uint64_t mask;
	long result;

	if (!fxt_opens_here())
		return fxt_apart_always(work, argument);
	mask = fxt_sys_block_signals();
	result = work(argument);
	fxt_sys_restore_signals(mask);
	return result;
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

long fxt_read_file(const char *path, void *out, size_t bytes)
{
	struct reading reading = {path, out, bytes};

	return fxt_apart(read_once, &reading);
}
