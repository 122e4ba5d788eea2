/* Where each thread waited, by call stack, and what threads that poll did between two polls: for findings.
 *
 * A turn of a thread that polls is the time from the end of a poll to the beginning of the next one. In a
 * long turn nobody else is served. If something was ready at the poll behind it, somebody had waited.
 *
 * Memory is taken for each pair of a thread and a stack that it waited in, for each thread that polls, and
 * for each epoll descriptor.
 */
#ifndef FXT_TOOLS_THREAD_WAITS_H
#define FXT_TOOLS_THREAD_WAITS_H

#include "tools/callers/stack_sums.h"
#include "tools/waits/call_roles.h"

/* The waits of a thread in calls with one stack. */
struct fxt_thread_wait {
	uint32_t thread, innermost;     /* place in fxt_reader.threads, and node */
	uint32_t name;                  /* symbol of the call */
	const struct fxt_role *role;
	uint64_t count, ns;
};

/* A thread that polls. */
struct fxt_turns {
	uint64_t polls;
	uint64_t watched;               /* the most descriptors that a poll was about, if known */
	uint64_t long_count, long_ns;   /* long turns */
	uint64_t ready;                 /* how many of these had something ready behind them */
	/* how many of the long turns were a wait in one call for more than half of their time */
	uint64_t waiting_count, waiting_ns;
	/* the turn that goes on: when it began (0: none does), and its longest wait */
	uint64_t begin_ns, wait_ns, last_ns;
	uint32_t wait_stack;
};
enum { FXT_LONG_TURN_NS = 20000000 };

/* When nothing has been taken, all members are zero. */
struct fxt_thread_waits {
	struct fxt_thread_wait *list;
	size_t count, capacity;
	struct fxt_map by_stack;        /* thread and node -> place */
	struct fxt_turns *turns;        /* by thread */
	size_t turn_count, turn_capacity;
	struct fxt_stack_sums in_turns; /* the waits that made turns long, by thread */
	struct fxt_map watched;         /* pid and epoll descriptor -> how many were added */
};

/* Takes a finished call that waited for so long, with the innermost node of its stack. */
void fxt_thread_waits_take(struct fxt_thread_waits *w, struct fxt_reader *r, const struct fxt_record *rec,
			   const struct fxt_role *role, uint32_t innermost, uint64_t ns);
/* Takes any finished call, in the order of the file. */
void fxt_thread_waits_turn(struct fxt_thread_waits *w, struct fxt_reader *r, struct fxt_call_stacks *stacks,
			   const struct fxt_record *rec);
void fxt_thread_waits_finish(struct fxt_thread_waits *w);
void fxt_thread_waits_free(struct fxt_thread_waits *w);

#endif
