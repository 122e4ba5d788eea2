/* The numbers (koids) that processes and threads have in the trace. They are the kernel's process and thread
 * ids, which users know. But these are unique only within a namespace of process ids: `unshare -p -f` makes a
 * second process 1. So `fxt record` says in FXT_NAMESPACE which namespace is its own, and what its /proc is.
 * A process of another namespace has the number that this /proc shows of it. If the process sees another
 * /proc, it has a number that no process can have, made of its own id, the namespace, and the time at which
 * the process began. The time is in it because the kernel gives the number of a namespace that is gone to the
 * next one. fxt_agent.pid stays what getpid() returns.
 *
 * These functions are called at start, after a fork, and by threads that are attached, in any context.
 */
#ifndef FXT_KOID_H
#define FXT_KOID_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/thread_parts.h"

/* Finds this process's number and stores it in fxt_agent.koid. Called once, at start. */
void fxt_koid_start(char **environment);

/* Returns when the kernel made this process, in nanoseconds since boot, to a hundredth of a second; 0: not
 * known. */
uint64_t fxt_process_start_ns(void);

/* Finds the number of a forked child. This costs one system call, and some more if the child or its parent is
 * in another namespace than `fxt record`. */
void fxt_koid_after_fork(void);

/* Returns the number of the calling thread, whose id is `tid`. */
uint32_t fxt_koid_of_thread(uint32_t tid);

/* Returns the number of a track that is no thread's: that of this process's fiber number `fiber`. */
uint32_t fxt_koid_of_fiber(uint32_t fiber);

/* Returns whether other processes know this one by another number than its own id. Then it takes no part in
 * what processes know of each other by their ids (parent_links.h, signal_senders.h). */
bool fxt_koid_differs(void);

#endif
