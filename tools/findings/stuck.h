/* Threads that wait when the trace ends, and that nobody could let go on: each waits for others that are
 * stuck as well, or that have ended. A thread counts only if all who could end its wait are known; one that
 * time, a signal or the world outside may let go on is not stuck, and neither is whoever waits for it. So a
 * server in accept() and its idle workers are not.
 */
#ifndef FXT_TOOLS_STUCK_H
#define FXT_TOOLS_STUCK_H

#include "rules.h"

/* What a thread waits for. */
enum fxt_awaits {
	FXT_AWAITS_UNKNOWN,             /* it may go on */
	FXT_AWAITS_THREAD,              /* the thread that holds a lock, or whose end it waits for */
	FXT_AWAITS_OTHERS,              /* any other thread of its process */
	FXT_AWAITS_NOBODY,              /* a lock that a thread of another process held at the fork */
	FXT_AWAITS_CHILD,               /* the end of a child, or of any */
	FXT_AWAITS_FILE,                /* who has the other end of a pipe or socket */
};

struct fxt_stuck_thread {
	uint32_t thread;
	enum fxt_awaits awaits;
	bool may_go_on;
	uint64_t since_ns;
	uint32_t call;                  /* symbol of the call that it is in; 0: not known */
	uint32_t innermost;             /* node of its stack, or FXT_NO_FRAME */
	uint64_t object;                /* the address of what it waits for, or its descriptor */
	uint32_t awaited;               /* FXT_AWAITS_THREAD: that thread */
	uint64_t child;                 /* FXT_AWAITS_CHILD: the process, or 0: any */
	const struct fxt_long_blocked *told;    /* what the kernel told of it, or NULL */
	/* the place of a thread that stands for all whose processes wait for each other */
	size_t group;
};

/* A child that its parent has not waited for. */
struct fxt_stuck_child {
	uint64_t pid, parent;
	uint32_t innermost;             /* node of the stack that made it */
};

struct fxt_stuck {
	const struct fxt_report *report;
	struct fxt_stuck_thread *list;  /* all threads that were there at the end and are in a call */
	size_t count;
	size_t *place;                  /* by thread: its place in the list plus 1, or 0 */
	struct fxt_stuck_child *children;
	size_t child_count, child_capacity;
	uint64_t youngest_ns;           /* when the last process of the run began */
	struct fxt_map going;           /* pid -> how many of its threads may go on */
};

/* Finds the threads that are stuck: those that may not go on. */
void fxt_stuck_make(struct fxt_stuck *s, const struct fxt_report *report);
/* Returns whether a process has a thread that may go on. */
bool fxt_stuck_process_goes_on(const struct fxt_stuck *s, uint64_t pid);
/* Returns whether a process may let a thread go on by what it does with the file that this one waits for. */
bool fxt_stuck_has_other_end(const struct fxt_stuck_thread *t, const struct fxt_holder *h);
void fxt_stuck_free(struct fxt_stuck *s);

#endif
