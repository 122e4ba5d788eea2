/* This says which system calls the program has forbidden by seccomp, to itself and so to the agent.
 *
 * A filter may kill the process that makes a call. So a call that the filter would not simply allow is not
 * made: it fails with EPERM before it begins (sys.h), and records that would need it are dropped and
 * counted. Slow paths that take a lock ask first, because no lock is taken without signal masks and
 * futexes. agent/process/seccomp.c sets the word before the filter is in force. Any context may read it.
 */
#ifndef FXT_FORBIDDEN_H
#define FXT_FORBIDDEN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum fxt_forbidden {
	/* signal masks, futexes, process and thread ids: every slow path begins with these, so without them
	 * the others are forbidden too */
	FXT_NO_LOCKS = 1,
	FXT_NO_FILE = 2,                /* asking of the trace's file, and writing at its end */
	FXT_NO_WORD = 4,                /* writing to standard error */
	FXT_NO_OTHERS = 8,              /* all other calls, above all opening and naming files */
	FXT_NO_MAPPING = 128,           /* mapping files, and unmapping */
	FXT_NO_MEMORY = 256,            /* mapping private memory, where the kernel chooses */
	FXT_NO_PLACE = 512,             /* mapping anything at an address of our choice (place.h) */
	FXT_NO_ADVICE = 1024,           /* madvise(): nothing depends on its success */
	FXT_NO_GROWTH = FXT_NO_FILE | FXT_NO_MAPPING,   /* what the file's growth needs */
	FXT_NO_CALLS = FXT_NO_LOCKS | FXT_NO_GROWTH | FXT_NO_MEMORY | FXT_NO_WORD | FXT_NO_OTHERS,
	FXT_NO_SIGNAL = 32,             /* sending a signal to a thread, or asking whether there is one */
	FXT_NO_APART = 16,              /* making a helper that opens files where nobody sees it (apart.h) */
	FXT_NO_TALK = 64,               /* exchanging packets with a manager (buffer_managed.c) */
	FXT_NO_RETURN = 2048,           /* returning from a handler: fxt_fatal_filtered() */
	FXT_NO_PROBE = 4096,            /* asking the kernel for a thread that it cannot make (apart.c) */
	FXT_FORBIDDEN_END = 8192,       /* all of these are below */
};

/* This is a set of enum fxt_forbidden. It is 0 unless the program has a filter of its own. */
extern _Atomic unsigned fxt_forbidden __attribute__((visibility("hidden")));

/* Returns whether any of these (a set of enum fxt_forbidden) is forbidden. */
static inline bool fxt_is_forbidden(unsigned what)
{
	return __builtin_expect(atomic_load_explicit(&fxt_forbidden, memory_order_relaxed) & what, 0);
}

/* Returns which of these mmap() needs. Sandboxes of browsers allow some flags alone, without
 * MAP_FIXED_NOREPLACE (0x100000). So what only needs memory is apart from what needs more. */
static inline unsigned fxt_mapping_kind(long flags)
{
	return (flags & MAP_ANONYMOUS ? FXT_NO_MEMORY : FXT_NO_MAPPING) |
	       (flags & (MAP_FIXED | 0x100000) ? FXT_NO_PLACE : 0);
}

/* Returns which of these a system call needs; `fourth` is its fourth argument. This is a constant if both
 * are. */
static inline unsigned fxt_call_kind(long number, long fourth)
{
	switch (number) {
	case SYS_rt_sigprocmask:
	case SYS_futex:
	case SYS_getpid:
	case SYS_gettid:
		return FXT_NO_LOCKS;
	case SYS_mmap:
		return fxt_mapping_kind(fourth);
	case SYS_munmap:
		return FXT_NO_MAPPING;
	case SYS_madvise:
		return FXT_NO_ADVICE;
	case SYS_pwritev:
	case SYS_ftruncate:
	case SYS_newfstatat:
	case SYS_prlimit64:
		return FXT_NO_FILE;
	case SYS_write:
		return FXT_NO_WORD;
	case SYS_rt_tgsigqueueinfo:
	case SYS_tgkill:
		return FXT_NO_SIGNAL;
	case SYS_rt_sigreturn:
		return FXT_NO_RETURN;
	case SYS_clone:
	case SYS_wait4:
	case SYS_exit:
	case SYS_unshare:
		return FXT_NO_APART;
	case SYS_clone3:
		return FXT_NO_PROBE;
	case SYS_sendto:
	case SYS_recvfrom:
	case SYS_ppoll:
		return FXT_NO_TALK;
	case SYS_close_range:           /* called for the program, in two parts, and by apart.c */
		return 0;
	/* follow_library.c makes these only while there is no filter. */
	case SYS_faccessat2:
	case SYS_getegid:
	case SYS_geteuid:
	case SYS_getgid:
	case SYS_getuid:
	case SYS_statfs:
		return 0;
	default:
		return FXT_NO_OTHERS;
	}
}

#endif
