/* What the program has forbidden itself by seccomp, and so us. A filter may kill who makes a call, so calls that would not simply
 * be allowed are not tried: what needs them is dropped and counted. Read by sys.h before each call of a kind, and by slow
 * paths before they begin; set by agent/seccomp.c before the filter is in force.
 */
#ifndef FXT_FORBIDDEN_H
#define FXT_FORBIDDEN_H

#include <stdatomic.h>
#include <stdbool.h>

enum fxt_forbidden {
	FXT_NO_LOCKS = 1,               /* signal masks, futexes, identity: what every slow path begins with; and messages */
	FXT_NO_GROWTH = 2,              /* mapping memory and files, writing to the trace's end */
	FXT_NO_OPEN = 4,                /* opening and naming files */
};

/* 0 but for programs with a filter of their own. */
extern _Atomic unsigned fxt_forbidden __attribute__((visibility("hidden")));

static inline bool fxt_is_forbidden(unsigned what)
{
	return __builtin_expect(atomic_load_explicit(&fxt_forbidden, memory_order_relaxed) & what, 0);
}

#endif
