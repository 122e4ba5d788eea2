/* What the program has forbidden itself by seccomp, and so us. A filter may kill who makes a call, so a call
 * that would not simply be allowed is not made: it fails with EPERM before it begins (sys.h), and what needs
 * it is dropped and counted. Slow paths that take a lock look first: without signal masks and futexes none is
 * taken. Set by agent/process/seccomp.c before the filter is in force.
 */
#ifndef FXT_FORBIDDEN_H
#define FXT_FORBIDDEN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>

enum fxt_forbidden {
	FXT_NO_LOCKS = 1,               /* signal masks, futexes, identity: what every slow path begins with, so the others too */
	FXT_NO_GROWTH = 2,              /* mapping memory and files, writing to the trace's end */
	FXT_NO_WORD = 4,                /* on standard error */
	FXT_NO_OTHERS = 8,              /* opening and naming files above all */
	FXT_NO_CALLS = 15,
	FXT_NO_SIGNAL = 32,             /* sending a signal again as it came: interpose/signals/bus.c */
	FXT_NO_APART = 16,              /* making a task that opens files where nobody sees it: apart.h */
};

/* 0 but for programs with a filter of their own. */
extern _Atomic unsigned fxt_forbidden __attribute__((visibility("hidden")));

static inline bool fxt_is_forbidden(unsigned what)
{
	return __builtin_expect(atomic_load_explicit(&fxt_forbidden, memory_order_relaxed) & what, 0);
}

/* What has to be allowed for a call to be made: a constant for a number that is one. */
static inline unsigned fxt_call_kind(long number)
{
	switch (number) {
	case SYS_rt_sigprocmask:
	case SYS_futex:
	case SYS_getpid:
	case SYS_gettid:
	case SYS_tgkill:
		return FXT_NO_LOCKS;
	case SYS_mmap:
	case SYS_munmap:
	case SYS_madvise:
	case SYS_pwritev:
	case SYS_ftruncate:
	case SYS_newfstatat:
	case SYS_prlimit64:
		return FXT_NO_GROWTH;
	case SYS_write:
		return FXT_NO_WORD;
	case SYS_rt_tgsigqueueinfo:
		return FXT_NO_SIGNAL;
	case SYS_clone:
	case SYS_exit:
	case SYS_unshare:
		return FXT_NO_APART;
	case SYS_close_range:           /* the program's own, in two parts; and apart.c's */
		return 0;
	default:
		return FXT_NO_OTHERS;
	}
}

#endif
