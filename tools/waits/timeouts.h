/* Questions that had no answer: a thread sends something, waits for what comes back, and its time limit runs
 * out. That is told by the thread's own calls: one that wrote, and behind it a wait for one descriptor that
 * found nothing, or a read that gave up, without a read between them that found something. Waits without a
 * question, such as the loop of a server, are none.
 *
 * Memory is taken for each thread, and each stack in which limits ran out.
 */
#ifndef FXT_TOOLS_TIMEOUTS_H
#define FXT_TOOLS_TIMEOUTS_H

#include "tools/callers/stack_sums.h"
#include "tools/waits/call_roles.h"

/* A wait that is shorter is a look whether there is something. */
enum { FXT_TIMEOUT_LEAST_NS = 10 * 1000 * 1000 };

struct fxt_asker {
	bool has_asked;
	uint64_t fd;                    /* the descriptor that it wrote to last */
	uint64_t answered, unanswered;
	uint64_t lost_ns;               /* in waits whose limit ran out */
	uint32_t name;                  /* symbol of the call of the last of these */
};

/* When nothing has been taken, all members are zero. */
struct fxt_timeouts {
	struct fxt_asker *threads;      /* by thread */
	size_t count, capacity;
	struct fxt_stack_sums sums;     /* by thread */
};

/* Takes a finished call, in the order of the file. */
void fxt_timeouts_take(struct fxt_timeouts *t, struct fxt_reader *r, const struct fxt_record *rec,
		       const struct fxt_role *role, uint32_t innermost);
void fxt_timeouts_finish(struct fxt_timeouts *t);
void fxt_timeouts_free(struct fxt_timeouts *t);

#endif
