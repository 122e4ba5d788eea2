/* fxt report: what each thread did with its life, from its first event to its last: running, blocked by
 * other threads, or waiting for the world outside (call_roles.h). A call of those roles that takes less
 * than two microseconds counts as running, and so does one that cannot have waited (no_wait.h), and what
 * a slow one says of itself: its processor time, or all of it if it was never switched away from for
 * want of anything. Of such calls within each other the outermost counts. */
#ifndef FXT_TOOLS_REPORT_THREADS_H
#define FXT_TOOLS_REPORT_THREADS_H

#include <stdio.h>

#include "call_roles.h"
#include "tools/analysis/nesting.h"
#include "tools/analysis/process_ends.h"

struct fxt_files;
struct fxt_open_calls;

/* Where a thread was not running. */
struct fxt_thread_call {
	uint32_t thread, name;          /* symbol */
	uint64_t ns;
};

struct fxt_thread_time {
	uint32_t thread;
	bool lived;                     /* has any event */
	uint64_t first_ns, last_ns;
	/* they add up to its life; running_ns once all is taken */
	uint64_t running_ns, blocked_ns, waiting_ns;
	uint32_t open;                  /* symbol of the call that it was in when the trace ended; 0: none */
	struct fxt_nesting nesting;
	size_t calls, call_count;       /* a stretch of fxt_thread_times.calls, the longest first */
};

struct fxt_thread_times {
	/* by thread; sorted: those that ran or were blocked longest first, idle ones last */
	struct fxt_thread_time *list;
	size_t count, capacity;
	struct fxt_thread_call *calls;
	size_t call_count, call_capacity;
	struct fxt_map by_call;         /* thread and name -> time */
};

/* Any event of a thread. */
void fxt_threads_seen(struct fxt_thread_times *t, const struct fxt_record *rec);
/* A finished call with that role, in the order of ends. */
void fxt_threads_take(struct fxt_thread_times *t, struct fxt_reader *r, const struct fxt_record *rec,
		      const struct fxt_role *role, bool did_not_wait);
/* `open` is complete, so is what is known of ends, as first threads live until then, and `files` has
 * followed descriptors to the end of the trace. Nothing can be taken after. */
void fxt_threads_finish(struct fxt_thread_times *t, struct fxt_reader *r, struct fxt_roles *roles,
			struct fxt_files *files,
			const struct fxt_open_calls *open, const struct fxt_ends *ends);
/* A table, if there are several. */
void fxt_threads_print(const struct fxt_thread_times *t, const struct fxt_reader *r, bool with_process,
		       size_t top,
		       FILE *out);
/* A line, if there is one. */
void fxt_threads_print_only(const struct fxt_thread_times *t, const struct fxt_reader *r, FILE *out);
void fxt_threads_free(struct fxt_thread_times *t);

#endif
