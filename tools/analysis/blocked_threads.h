/* The threads of a process that are blocked when fxt record -p ends, and which of them wait for each other.
 * The kernel's part of the trace tells of them (docs/witness.md).
 */
#ifndef FXT_TOOLS_BLOCKED_THREADS_H
#define FXT_TOOLS_BLOCKED_THREADS_H

#include "call_stacks.h"
#include "tools/reading/reader.h"

/* The thread that a thread waits for is not known. */
#define FXT_NO_THREAD UINT32_MAX

struct fxt_blocked_thread {
	uint32_t thread;
	uint32_t state, in;             /* symbols: of the kernel's function, and 0 if it is not known */
	uint32_t innermost;             /* node of the stack, or FXT_NO_FRAME */
	uint64_t lock;                  /* the mutex that it waits for; 0: none is known */
	uint32_t awaited;               /* the thread that holds it, or whose end it waits for */
	uint64_t since_ns, at_ns;
	bool is_whole;                  /* it did not run in the trace, and may be blocked for longer */
	bool is_in_circle;              /* whom it waits for waits, through any number of others, for it */
	bool is_first;                  /* of the threads of its process that are blocked in one place */
	size_t more;                    /* how many others there are, if it is the first */
};

struct fxt_blocked_threads {
	struct fxt_blocked_thread *list;
	size_t count, capacity;
	struct fxt_map left;            /* of a tid: when it left a processor last; until the end */
};

/* Takes a record of the kernel, of any type. */
void fxt_blocked_threads_take(struct fxt_blocked_threads *b, struct fxt_reader *r,
			      struct fxt_call_stacks *stacks, const struct fxt_record *rec);
/* Finds for how long each was blocked, and which of them wait for each other, and puts these and the longest
 * first. The trace began at begin_ns. */
void fxt_blocked_threads_finish(struct fxt_blocked_threads *b, const struct fxt_reader *r, uint64_t begin_ns);
/* Returns whether some threads wait for each other in a circle. */
bool fxt_blocked_threads_is_deadlock(const struct fxt_blocked_threads *b);
void fxt_blocked_threads_free(struct fxt_blocked_threads *b);

#endif
