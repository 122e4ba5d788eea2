/* Gives numbers to the system calls that this machine, or the headers it is built with, does not have, so
 * that the tables may name them. Nobody asks for these numbers. */
#ifndef FXT_SYSCALL_NUMBERS_H
#define FXT_SYSCALL_NUMBERS_H

#include <sys/syscall.h>

enum {
	FXT_NUMBERS = 512,              /* the kernel has no numbers from here on */
	FXT_NUMBERS_ALL = FXT_NUMBERS + 64,
};

#ifndef SYS_open
#define SYS_open (FXT_NUMBERS + 0)
#endif
#ifndef SYS_creat
#define SYS_creat (FXT_NUMBERS + 1)
#endif
#ifndef SYS_stat
#define SYS_stat (FXT_NUMBERS + 2)
#endif
#ifndef SYS_lstat
#define SYS_lstat (FXT_NUMBERS + 3)
#endif
#ifndef SYS_access
#define SYS_access (FXT_NUMBERS + 4)
#endif
#ifndef SYS_rename
#define SYS_rename (FXT_NUMBERS + 5)
#endif
#ifndef SYS_link
#define SYS_link (FXT_NUMBERS + 6)
#endif
#ifndef SYS_symlink
#define SYS_symlink (FXT_NUMBERS + 7)
#endif
#ifndef SYS_unlink
#define SYS_unlink (FXT_NUMBERS + 8)
#endif
#ifndef SYS_rmdir
#define SYS_rmdir (FXT_NUMBERS + 9)
#endif
#ifndef SYS_readlink
#define SYS_readlink (FXT_NUMBERS + 10)
#endif
#ifndef SYS_mkdir
#define SYS_mkdir (FXT_NUMBERS + 11)
#endif
#ifndef SYS_mknod
#define SYS_mknod (FXT_NUMBERS + 12)
#endif
#ifndef SYS_chown
#define SYS_chown (FXT_NUMBERS + 13)
#endif
#ifndef SYS_lchown
#define SYS_lchown (FXT_NUMBERS + 14)
#endif
#ifndef SYS_chmod
#define SYS_chmod (FXT_NUMBERS + 15)
#endif
#ifndef SYS_utime
#define SYS_utime (FXT_NUMBERS + 16)
#endif
#ifndef SYS_utimes
#define SYS_utimes (FXT_NUMBERS + 17)
#endif
#ifndef SYS_futimesat
#define SYS_futimesat (FXT_NUMBERS + 18)
#endif
#ifndef SYS_poll
#define SYS_poll (FXT_NUMBERS + 19)
#endif
#ifndef SYS_select
#define SYS_select (FXT_NUMBERS + 20)
#endif
#ifndef SYS_epoll_create
#define SYS_epoll_create (FXT_NUMBERS + 21)
#endif
#ifndef SYS_epoll_wait
#define SYS_epoll_wait (FXT_NUMBERS + 22)
#endif
#ifndef SYS_eventfd
#define SYS_eventfd (FXT_NUMBERS + 23)
#endif
#ifndef SYS_inotify_init
#define SYS_inotify_init (FXT_NUMBERS + 24)
#endif
#ifndef SYS_signalfd
#define SYS_signalfd (FXT_NUMBERS + 25)
#endif
#ifndef SYS_pipe
#define SYS_pipe (FXT_NUMBERS + 26)
#endif
#ifndef SYS_dup2
#define SYS_dup2 (FXT_NUMBERS + 27)
#endif
#ifndef SYS_pause
#define SYS_pause (FXT_NUMBERS + 28)
#endif
#ifndef SYS_getdents
#define SYS_getdents (FXT_NUMBERS + 29)
#endif
#ifndef SYS_alarm
#define SYS_alarm (FXT_NUMBERS + 30)
#endif
#ifndef SYS_fork
#define SYS_fork (FXT_NUMBERS + 31)
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 (FXT_NUMBERS + 32)
#endif
#ifndef SYS_process_mrelease
#define SYS_process_mrelease (FXT_NUMBERS + 33)
#endif
#ifndef SYS_memfd_secret
#define SYS_memfd_secret (FXT_NUMBERS + 34)
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv (FXT_NUMBERS + 35)
#endif
#ifndef SYS_close_range
#define SYS_close_range (FXT_NUMBERS + 36)
#endif
#ifndef SYS_openat2
#define SYS_openat2 (FXT_NUMBERS + 37)
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd (FXT_NUMBERS + 38)
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 (FXT_NUMBERS + 39)
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise (FXT_NUMBERS + 40)
#endif
#ifndef SYS_renameat
#define SYS_renameat (FXT_NUMBERS + 41)
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset (FXT_NUMBERS + 42)
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 (FXT_NUMBERS + 43)
#endif
#ifndef SYS_pkey_mprotect
#define SYS_pkey_mprotect (FXT_NUMBERS + 44)
#endif

#endif
