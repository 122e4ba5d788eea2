/* The numbers that processes and threads have in the trace. They are the kernel's process and thread ids,
 * which say what a user knows, and which are unique in one namespace of process ids only: `unshare -p -f`
 * makes a second process 1. So `fxt record` says in FXT_NAMESPACE which namespace is its own, and what its
 * /proc is. Processes of another have the numbers that this /proc shows of them; where they see another one,
 * numbers that no process has, made of their own ones, the namespace and the time at which the process began:
 * the kernel gives the number of a namespace that is gone to the next one. fxt_agent.pid stays what getpid()
 * says.
 */
#ifndef FXT_KOID_H
#define FXT_KOID_H

#include <stdbool.h>
#include <stdint.h>

/* Where fxt_agent.koid comes from. */
enum fxt_koid_kind { FXT_KOID_OWN, FXT_KOID_SHOWN, FXT_KOID_MADE };

/* Once, at start: finds this process's number, fxt_agent.koid. */
void fxt_koid_start(char **environment);

/* The kernel's time of this process's making, to a hundredth of a second; 0: not known. */
uint64_t fxt_process_start_ns(void);

/* In the child of a fork: costs a system call, and some more where it or its parent is in another namespace
 * than `fxt record`. */
void fxt_koid_after_fork(void);

/* The number of the calling thread, whose id is `tid`. */
uint32_t fxt_koid_of_thread(uint32_t tid);

/* That of another thread of this process, if that is known; otherwise its id. */
uint32_t fxt_koid_of_other(uint32_t tid);

/* Whether others know this process by another number than it does: then it takes no part in what processes
 * know of each other by their ids (parent_links.h, signal_senders.h). */
bool fxt_koid_differs(void);

#endif
