/* Slices of a thread nest. Calls nest by themselves, unless a signal handler switches between coroutines in the
 * middle of them: then one begins within another and ends after it.
 */
#ifndef FXT_NESTING_H
#define FXT_NESTING_H

#include "agent/base/agent.h"

/* Returns whether the slice of a call from start_ns to end_ns, which took FXT_SWITCH_NS or longer, nests with
 * those of the thread's latest long calls, and notes it for those that end later. True where the program has no
 * signal handler, or the thread has made no long call on another stack than its own. Any context. */
bool fxt_call_nests(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns);

#endif
