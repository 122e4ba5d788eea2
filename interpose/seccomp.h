/* SYS_seccomp and SYS_prctl made by way of syscall(): see seccomp.c. */
#ifndef FXT_INTERPOSE_SECCOMP_H
#define FXT_INTERPOSE_SECCOMP_H

typedef long fxt_syscall_fn(long number, long a, long b, long c, long d, long e, long f);

/* Makes the call, and looks before at what it would forbid. */
long fxt_seccomp_by_number(fxt_syscall_fn *real, long number, const long *args);

#endif
