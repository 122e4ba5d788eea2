/* Filters of system calls that the program gives itself. Called by the wrappers of prctl() and syscall(), in
 * any context. */
#ifndef FXT_SECCOMP_H
#define FXT_SECCOMP_H

struct sock_fprog;

/* Finds out, by running the filter on the calls we make, which of them it would not allow, and makes none of
 * them from now on; `filter` NULL is strict mode, which allows none, and no reading of the clock either:
 * nothing is recorded then. Before it is in force. Returns what was forbidden before. */
unsigned fxt_seccomp_expect(const struct sock_fprog *filter);

/* The filter was refused: as it was. */
void fxt_seccomp_restore(unsigned before);

#endif
