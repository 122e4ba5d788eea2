/* Tells whether memory that the program handed to a call may be looked at. The kernel answers a bad pointer
 * with EFAULT, where a load of ours would raise SIGSEGV; and a call that fails early has often not looked at
 * its pointers at all. Any context may call this. */
#ifndef FXT_READABLE_H
#define FXT_READABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

struct fxt_thread;

/* Returns whether `bytes` (1 to a page) from `memory` on can be read. This costs nothing if the memory is on
 * the stack of `thread`, and two system calls if it is elsewhere or `thread` is NULL. */
bool fxt_readable(const struct fxt_thread *thread, const void *memory, size_t bytes);

/* These return a time in nanoseconds, or -1 for NULL, which calls that wait take for no limit, and for memory
 * that cannot be read. */
int64_t fxt_time_ns(const struct fxt_thread *thread, const struct timespec *time);
int64_t fxt_timeval_ns(const struct fxt_thread *thread, const struct timeval *time);

#endif
