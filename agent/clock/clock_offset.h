/* How far CLOCK_BOOTTIME of this process is ahead of that of the host. A time namespace (CLONE_NEWTIME)
 * shifts the clock for the processes in it, and all traces are on the clock of the host: so that the
 * processes of a run, and what the kernel tells of them, have one time.
 *
 * A process enters a namespace when it is forked or executed, after its parent has called unshare(), or by
 * setns(). The offset stands in /proc/self/timens_offsets. Where that file is not to be had, it is known by
 * CLOCK_REALTIME, which no namespace shifts: what the two clocks differ by changes by the offset alone, or
 * when somebody sets the time. To a new program `fxt record` says what they differ by on the host
 * (FXT_CLOCK), and a manager does (FXT_MANAGER_REAL).
 */
#ifndef FXT_CLOCK_OFFSET_H
#define FXT_CLOCK_OFFSET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

extern _Atomic int64_t fxt_clock_offset_ns __attribute__((visibility("hidden")));

/* Reads a clock of the kernel, without a system call where the thread may read the processor's counter.
 * Returns false if the kernel may not be asked. Any context may call this. */
bool fxt_clock_read(clockid_t clock, int64_t *ns);

/* Finds the offset. Called once, at start, before the first time is needed. */
void fxt_clock_offset_start(char **environment);

/* Takes the word of another process for by what CLOCK_REALTIME is ahead of CLOCK_BOOTTIME on the host (0: it
 * does not say), if this process could not find its offset. Called at start. */
void fxt_clock_offset_compare(int64_t host_real_ns);

/* Returns by what CLOCK_REALTIME is ahead of CLOCK_BOOTTIME on the host now. Any context may call this. */
int64_t fxt_clock_real_ns(void);

/* Tells whether the process may be in another namespace than when this was last asked, or whether somebody
 * has set the time. Makes no system call where the kernel's clocks need none. */
bool fxt_clock_offset_may_differ(void);

/* Finds the offset anew. `is_as_before` says that by the processor's counter the clock has gone on as
 * before: then it is the time of day that has changed. */
void fxt_clock_offset_again(bool is_as_before);

#endif
