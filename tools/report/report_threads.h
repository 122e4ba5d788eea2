/* fxt report: divides the life of each thread, from its first event to its last, into running, blocked
 * by other threads, and waiting for the world outside (call_roles.h). The kernel's samples of a thread,
 * and its words on what became of it, count as events here: a thread that computes makes no calls. Calls
 * of these roles count as blocked or waiting, but three things count as running: a call that takes less
 * than two microseconds, one that cannot have waited (no_wait.h), and the processor time that a slow call
 * says that it used. A slow call that never gave up the processor by itself counts as running as a whole.
 * What lies within a call was made by a signal handler or a callback, and is none of the call's time. So each
 * call counts without those within it. A thread that waits until there is room for its records does none of
 * these three: that is a cost of the recording. Nor is it known what a thread did while its process lost
 * records, or its recording was stopped, but for the calls that are there all the same. */
#ifndef FXT_TOOLS_REPORT_THREADS_H
#define FXT_TOOLS_REPORT_THREADS_H

#include <stdio.h>

#include "tools/waits/call_roles.h"
#include "tools/analysis/loss_spans.h"
#include "tools/analysis/nesting.h"
#include "tools/analysis/process_ends.h"
#include "tools/waits/wait_listener.h"

struct fxt_files;
struct fxt_calls_in_progress;
struct fxt_switch_times;

/* A call in which a thread was not running, with the sum of that time. */
struct fxt_thread_call {
	uint32_t thread, name;          /* symbol */
	uint64_t ns;
};

struct fxt_thread_time {
	uint32_t thread;
	bool has_events;                /* of its own, without the kernel's */
	bool is_told;                   /* the kernel tells of it */
	uint64_t first_ns, last_ns;     /* set if one of these is */
	/* These six add up to its life; running_ns, unseen_ns and unknown_ns are set by fxt_threads_finish().
	 * While something is unseen, the thread had no processor and was in no call that the trace has. */
	uint64_t running_ns, blocked_ns, waiting_ns, room_ns, unseen_ns, unknown_ns;
	/* symbol of the call that the thread was in when the trace ended; 0: none */
	uint32_t open;
	struct fxt_nesting nesting;
	/* its calls lie together in fxt_thread_times.calls, the longest first */
	size_t calls, call_count;
};

struct fxt_thread_times {
	/* by thread; once finished, those that ran or were blocked longest come first, idle ones last */
	struct fxt_thread_time *list;
	size_t count, capacity;
	struct fxt_thread_call *calls;
	size_t call_count, call_capacity;
	struct fxt_map by_call;         /* thread and name -> time */
	struct fxt_map stopped;         /* process -> when its recording stopped last */
	struct fxt_loss_spans unknown;  /* when nothing, or not all, was recorded of processes */
	const struct fxt_wait_listener *listener;       /* the caller's; NULL: nobody listens */
};

/* Takes any event of a thread. */
void fxt_threads_seen(struct fxt_thread_times *t, const struct fxt_reader *r,
		      const struct fxt_record *rec);
/* Takes any event of the kernel (processor_time.h). The thread that it is about lived at that time. */
void fxt_threads_told(struct fxt_thread_times *t, struct fxt_reader *r, const struct fxt_record *rec);
/* Takes a finished call with that role, in the order of ends. `did_not_wait` says that it cannot have
 * waited. Returns how long the call took without those within it. */
uint64_t fxt_threads_take(struct fxt_thread_times *t, struct fxt_reader *r, const struct fxt_record *rec,
		      const struct fxt_role *role, bool did_not_wait);
/* Takes so much of a wait away that the recording was its reason of, by way of other threads. */
void fxt_threads_kept(struct fxt_thread_times *t, struct fxt_reader *r, const struct fxt_record *rec,
		      const struct fxt_role *role, uint64_t ns);
/* Takes a wait for room for records, in the same order. */
void fxt_threads_room(struct fxt_thread_times *t, const struct fxt_record *rec);
/* Completes and sorts the list. `open` is finished; `ends` is complete, because a first thread lives until
 * its process ends; `lost` has all losses; `switches` is finished; and `files` has followed descriptors to
 * the end of the trace. Nothing can be taken afterwards. */
void fxt_threads_finish(struct fxt_thread_times *t, struct fxt_reader *r, struct fxt_roles *roles,
			struct fxt_files *files, const struct fxt_calls_in_progress *open,
			const struct fxt_ends *ends, const struct fxt_loss_spans *lost,
			const struct fxt_switch_times *switches);
/* Takes from the context switches of another tracer, after fxt_threads_finish(), for how long threads ran or
 * could have run. What neither these nor events tell of is not known. */
void fxt_threads_switched(struct fxt_thread_times *t, const struct fxt_switch_times *switches);
/* Prints a table, if there are several threads. */
void fxt_threads_print(const struct fxt_thread_times *t, const struct fxt_reader *r, bool with_process,
		       size_t top,
		       FILE *out);
/* Prints a line, if there is a single thread. */
void fxt_threads_print_only(const struct fxt_thread_times *t, const struct fxt_reader *r, FILE *out);
void fxt_threads_free(struct fxt_thread_times *t);

#endif
