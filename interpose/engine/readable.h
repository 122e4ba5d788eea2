/* Whether memory that the program handed to a call may be looked at. The kernel answers a bad pointer with
 * EFAULT, where a load of ours would be a SIGSEGV; and a call that fails early has often not looked at its
 * pointers at all. Any context. */
#ifndef FXT_READABLE_H
#define FXT_READABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

struct fxt_thread;

/* Whether `bytes` (1 to a page) from `memory` on can be read. Costs nothing on the own stack, and two
 * system calls elsewhere; and without a thread. */
bool fxt_readable(const struct fxt_thread *thread, const void *memory, size_t bytes);

/* A time in nanoseconds; -1 for NULL, which is no limit to calls that wait, and for what cannot be read. */
int64_t fxt_time_ns(const struct fxt_thread *thread, const struct timespec *time);
int64_t fxt_timeval_ns(const struct fxt_thread *thread, const struct timeval *time);

#endif
