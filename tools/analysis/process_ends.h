/* Knows when and how processes and threads ended, for fxt report. Four witnesses tell it:
 * - the kernel, by an instant `ended` of each thread (docs/witness.md): that is the true end, also of a
 *   process that was killed and that nobody reaped;
 * - the process itself or fxt record, by an instant `exit` of category process with `status` or `signal`;
 * - the agent that handled the signal, by an instant `crash`;
 * - the parent that reaped the process, by the end of its lifetime as a `child`.
 */
#ifndef FXT_TOOLS_PROCESS_ENDS_H
#define FXT_TOOLS_PROCESS_ENDS_H

#include "tools/reading/reader.h"

struct fxt_thread_end {
	uint64_t last_ns;               /* the end of its last event; 0: it has none */
	uint64_t ended_ns;              /* when it last ended, as the kernel says; 0: not known */
};

/* The end of a child, as its parent tells it. */
struct fxt_reaped {
	uint64_t pid, at_ns, signal, status;    /* status: UINT64_MAX: it was a signal */
	uint64_t parent;
};

/* The ends of processes. When none is known, all members are zero. */
struct fxt_ends {
	/* pid -> when it ended, and the signal that killed it; if none did, its exit status plus 1 in the
	 * upper half, or 0: that is not known */
	struct fxt_map by_pid;
	struct fxt_thread_end *threads; /* by thread */
	size_t thread_count, thread_capacity;
	struct fxt_reaped *reaped; /* until all is known of who had which number */
	size_t reaped_count, reaped_capacity;
	struct fxt_map parents;         /* pid -> the process that has waited for it */
	struct fxt_map executed;        /* pid -> when it last executed a program, as the kernel says */
	/* pid -> since when it was, up to its end, a program that ran untraced */
	struct fxt_map untraced;
	uint64_t trace_ns;              /* the end of the trace, for processes of which no end is known */
};

/* Takes any event of a program. Returns true for an instant that tells nothing but the end of a process. */
bool fxt_ends_take(struct fxt_ends *e, const struct fxt_reader *r, const struct fxt_record *rec);

/* Takes an instant of category kernel that is about this thread. */
void fxt_ends_kernel(struct fxt_ends *e, const struct fxt_reader *r, const struct fxt_record *rec,
		     uint32_t thread);

/* Finds the processes that have ended by what the kernel says of their threads. All records were taken. */
void fxt_ends_finish(struct fxt_ends *e, const struct fxt_reader *r, uint64_t trace_ns);

/* Returns when the process ended, or the end of the trace if that is not known. */
uint64_t fxt_ends_ns(const struct fxt_ends *e, uint64_t pid);

/* Returns when the thread ended: earlier than its process, if the kernel says so. */
uint64_t fxt_ends_thread_ns(const struct fxt_ends *e, const struct fxt_reader *r, uint32_t thread);

/* Returns whether the process is known to have ended, and sets *signal to the one that killed it, or to 0. */
bool fxt_ends_known(const struct fxt_ends *e, uint64_t pid, int *signal);

/* Returns the signal that killed the process of a slot of `by_pid`, or 0. */
static inline int fxt_ends_signal(const struct fxt_slot *s)
{
	return (int)(uint32_t)s->value[1];
}

/* Returns the exit status of the process, or -1: it is not known, or a signal killed it. */
int fxt_ends_status(const struct fxt_ends *e, uint64_t pid);

/* Returns the parent that has waited for the process; 0: it is not known. */
uint64_t fxt_ends_parent(const struct fxt_ends *e, uint64_t pid);

/* Returns since when the process was, up to its end, a program that ran untraced; 0: it was none. */
uint64_t fxt_ends_untraced_ns(const struct fxt_ends *e, uint64_t pid);

void fxt_ends_free(struct fxt_ends *e);

#endif
