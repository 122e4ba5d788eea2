/* For how long threads ran, were ready and waited for a processor, or were blocked, as the kernel's context
 * switches tell. A record about a switch has thread ids and no process ids, so other events of the same
 * provider say whose id it is: that of the thread that was last mentioned with this id. If none of them
 * mentions it, the id is that of the only thread which has it in the rest of the trace.
 *
 * Only what is known counts. If a switch is missing, the time until the next one is left out, as is the time
 * before the first record of a thread. A thread that was blocked last, and whose process has ended, had ended
 * itself, because a thread that is still blocked then runs once more in order to end.
 */
#ifndef FXT_TOOLS_SWITCH_TIMES_H
#define FXT_TOOLS_SWITCH_TIMES_H

#include "tools/analysis/process_ends.h"
#include "tools/reading/reader.h"

/* The times of a thread. */
struct fxt_switch_sums {
	uint64_t running_ns, ready_ns, blocked_ns;
	uint64_t switches;              /* how often it left a processor */
	uint64_t preemptions;           /* how often it did so although it could have gone on */
};

enum fxt_switch_state { FXT_SWITCH_UNKNOWN, FXT_SWITCH_RUNNING, FXT_SWITCH_READY, FXT_SWITCH_BLOCKED,
			FXT_SWITCH_ENDED };

/* What bears a thread id at the moment. */
struct fxt_switch_thread {
	uint64_t tid;
	bool is_known;                  /* `thread` is set; until then `sums` has the times */
	uint32_t thread;                /* place in fxt_reader.threads */
	enum fxt_switch_state state;
	uint64_t since_ns;
	struct fxt_switch_sums sums;
};

/* All threads. When nothing has been taken, all members are zero. */
struct fxt_switch_times {
	struct fxt_switch_thread *list;
	size_t count, capacity;
	struct fxt_map by_tid;          /* provider's index and tid -> place in the list */
	struct fxt_switch_sums *sums;   /* by place in fxt_reader.threads */
	size_t sum_count, sum_capacity;
	struct fxt_map exits;           /* pid -> when its first thread ended */
	uint64_t switches;
};

/* Takes a context switch. */
void fxt_switch_times_switch(struct fxt_switch_times *t, const struct fxt_record *rec);
/* Takes an event that shows that a thread runs: a sample, or that it has executed a program. */
void fxt_switch_times_runs(struct fxt_switch_times *t, const struct fxt_reader *r,
			   const struct fxt_record *rec, uint32_t thread);
/* Takes the gap of a provider: what its threads did is not known from its beginning to its end. */
void fxt_switch_times_gap(struct fxt_switch_times *t, const struct fxt_record *rec);
/* Takes the end of a thread. */
void fxt_switch_times_end(struct fxt_switch_times *t, const struct fxt_reader *r,
			  const struct fxt_record *rec, uint32_t thread);
/* Adds what threads did until their process or the trace ended. Nothing can be taken afterwards. */
void fxt_switch_times_finish(struct fxt_switch_times *t, const struct fxt_reader *r,
			     const struct fxt_ends *ends);
/* Returns the times of a thread, or NULL if nothing is known of it. */
const struct fxt_switch_sums *fxt_switch_times_of(const struct fxt_switch_times *t, uint32_t thread);
void fxt_switch_times_free(struct fxt_switch_times *t);

#endif
