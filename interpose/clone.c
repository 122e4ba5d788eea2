/* clone(), and the system calls that do the same made by way of syscall(). None of them runs the C library's fork handlers.
 *
 *	without CLONE_VM                a process: it gets a file of its own like the child of a fork
 *	CLONE_VM and CLONE_SETTLS       its own thread-local storage, and so its own state with us, or none
 *	CLONE_VM and CLONE_VFORK        its creator waits, as with vfork
 *	CLONE_VM alone                  both run at once on one state: neither may record
 */
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/clock.h"
#include "agent/fork.h"
#include "agent/kin.h"
#include "by_number.h"
#include "complete.h"
#include "departure.h"
#include "exit.h"
#include "interpose.h"
#include "seccomp.h"

typedef int (*clone_fn)(void *);

FXT_EXPORT int __clone(clone_fn fn, void *stack, int flags, void *arg, ...);

/* One that would begin with foreign thread-local storage, and no C library of its own, is left alone. */
static inline bool is_fork(uint64_t flags)
{
	return !(flags & (CLONE_VM | CLONE_SETTLS));
}

static inline bool shares_state(uint64_t flags)
{
	return (flags & (CLONE_VM | CLONE_SETTLS | CLONE_VFORK)) == CLONE_VM;
}

/* What a bar has come to. */
static void told_or_taken_back(struct fxt_thread *barred, bool made)
{
	if (made)
		fxt_agent_lost(FXT_LOSS_SHARED, fxt_clock_kernel_ns());
	else
		fxt_thread_unbar(barred);
}

/* -- clone ------------------------------------------------------------------------------------- */

struct child {
	clone_fn fn;
	void *arg;
	bool is_seen;
	struct fxt_birth birth;
};

/* In the child's copy of its parent's memory, at the same address. */
static int begin_child(void *argument)
{
	const struct child *child = argument;

	fxt_fork_in_child(false);
	if (child->is_seen)
		fxt_birth_forked(&child->birth);
	return child->fn(child->arg);
}

FXT_REAL(int, clone, (clone_fn fn, void *stack, int flags, void *arg, void *parent_tid, void *tls, void *child_tid),
	 (fn, stack, flags, arg, parent_tid, tls, child_tid))
/* The same function by another name; that is looked for, and never called. */
static void *real___clone;

/* One with CLONE_PARENT is its parent's parent's to wait for. */
static int forked(clone_fn fn, void *stack, int flags, void *arg, void *parent_tid, void *tls, void *child_tid)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_process);
	struct child child = {.fn = fn, .arg = arg, .is_seen = thread && !(flags & CLONE_PARENT)};
	int result;

	if (child.is_seen)
		fxt_birth_begin(thread, &child.birth, FXT_BIRTH_FORKS);
	result = real_clone(begin_child, stack, flags, &child, parent_tid, tls, child_tid);
	if (child.is_seen)
		fxt_birth_end(thread, &child.birth, result);
	return result;
}

static int begun(clone_fn fn, void *stack, int flags, void *arg, void *parent_tid, void *tls, void *child_tid)
{
	struct fxt_thread *barred;
	int result;

	/* Without a function it is refused. */
	if (fn && is_fork((uint64_t)flags))
		return forked(fn, stack, flags, arg, parent_tid, tls, child_tid);
	if (flags & CLONE_VFORK)
		fxt_open_before_vfork();
	if (!shares_state((uint64_t)flags))
		return real_clone(fn, stack, flags, arg, parent_tid, tls, child_tid);
	barred = fxt_thread_bar();
	result = real_clone(fn, stack, flags, arg, parent_tid, tls, child_tid);
	told_or_taken_back(barred, result >= 0);
	return result;
}

/* Shown in progress where the child may be long, and may leave calls in progress behind that the end of this one closes. */
#define WAITS(flags) ((flags) & CLONE_VFORK ? BLOCKS(flags) : QUICK)

FXT_TRACED(process, int, clone, clone, begun, WAITS(flags), INT, (clone_fn, fn, SKIP), (void *, stack, SKIP),
	   (int, flags, UINT), (void *, arg, SKIP), (void *, parent_tid, SKIP), (void *, tls, SKIP),
	   (void *, child_tid, SKIP))

#define CLONE(symbol)                                                                   \
	FXT_EXPORT int symbol(clone_fn fn, void *stack, int flags, void *arg, ...)      \
	{                                                                               \
		void *parent_tid, *tls, *child_tid;                                     \
		va_list list;                                                           \
											\
		va_start(list, arg);                                                    \
		parent_tid = va_arg(list, void *);                                      \
		tls = va_arg(list, void *);                                             \
		child_tid = va_arg(list, void *);                                       \
		va_end(list);                                                           \
		return traced_clone(fn, stack, flags, arg, parent_tid, tls, child_tid); \
	}

CLONE(clone)
CLONE(__clone)

/* -- syscall: not recorded ------------------------------------------------------------------------- */

FXT_REAL(long, syscall, (long number, long a, long b, long c, long d, long e, long f), (number, a, b, c, d, e, f))

static __attribute__((noinline)) long clone_by_number(long number, uint64_t flags, const long *args)
{
	struct fxt_thread *barred = NULL, *thread = is_fork(flags) && !(flags & CLONE_PARENT) ? fxt_enter(FXT_CAT_process) : NULL;
	struct fxt_birth birth;
	long result;

	if (flags & CLONE_VFORK)
		fxt_open_before_vfork();
	if (shares_state(flags))
		barred = fxt_thread_bar();
	if (thread)
		fxt_birth_begin(thread, &birth, FXT_BIRTH_FORKS);
	result = real_syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]);
	/* With a stack of its own the child does not come by here. */
	if (!result && is_fork(flags)) {
		fxt_fork_in_child(true);
		if (thread)
			fxt_birth_forked(&birth);
		return 0;
	}
	if (thread)
		fxt_birth_end(thread, &birth, (int)result);
	if (shares_state(flags))
		told_or_taken_back(barred, result >= 0);
	return result;
}

static __attribute__((noinline)) long exec_by_number(long number, long a, long b, long c, long d, long e, long f)
{
	strings argv = (strings)(number == SYS_execve ? b : c), envp = (strings)(number == SYS_execve ? c : d);
	struct fxt_departure departure;
	long result;

	COMPLETE(envp);
	if (number == SYS_execve) {
		fxt_departure_begin(&departure, FXT_NAMES(process, execve), FXT_STR_pathname, (const char *)a, 0, argv);
		result = real_syscall(number, a, b, (long)envp, d, e, f);
	} else {
		fxt_departure_begin(&departure, FXT_NAMES(process, execveat), FXT_STR_pathname, (const char *)b, (int)a, argv);
		result = real_syscall(number, a, b, c, (long)envp, e, f);
	}
	fxt_departure_failed(&departure);
	COMPLETED();
	return result;
}

FXT_EXPORT long syscall(long number, ...)
{
	long args[6];
	va_list list;
	int i;

	/* As many as there can be: what was not given is passed on as it was found, and the kernel does not look at it. */
	va_start(list, number);
	for (i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	switch (number) {
#ifdef SYS_fork
	case SYS_fork:
		return clone_by_number(number, 0, args);
#endif
	case SYS_clone:
		return clone_by_number(number, (uint64_t)args[0], args);
	case SYS_clone3:
		/* Its flags are the first of what it points to. */
		if (fxt_sys_can_read((uintptr_t)args[0]))
			return clone_by_number(number, *(const uint64_t *)args[0], args);
		break;
	case SYS_execve:
	case SYS_execveat:
		return exec_by_number(number, args[0], args[1], args[2], args[3], args[4], args[5]);
	case SYS_exit_group:
		fxt_exit_unseen();
		break;
	case SYS_seccomp:
	case SYS_prctl:
		return fxt_seccomp_by_number(real_syscall, number, args);
	default:
		fxt_streams_by_number(number, args);
	}
	return real_syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}

const struct fxt_real fxt_reals_clone[] = {
	{"clone", NULL, (void **)&real_clone},
	{"__clone", NULL, (void **)&real___clone},
	{"syscall", NULL, (void **)&real_syscall},
	{NULL, NULL, NULL},
};
