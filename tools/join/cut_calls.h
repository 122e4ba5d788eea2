/* Cut calls: calls that were in progress when their program was over. These are the calls that other
 * threads waited in while one thread executed another program or ended the process, and all calls of a
 * process that was killed. open_lifetimes.c uses this, one part of a run after the other: it knows when
 * programs are over, and writes an end for each of these calls. Without that end, viewers draw a call to
 * the end of the whole trace, around all that the next program does in the process's first thread.
 *
 * The agent shows a call in progress as a begin, which has no end of its own. Threads go on for a moment
 * after one of them has said that it executes a program or exits. So a call ends when the program did
 * or, if that is later, at the last time that is known of its thread.
 */
#ifndef FXT_TOOLS_CUT_CALLS_H
#define FXT_TOOLS_CUT_CALLS_H

#include "tools/common/map.h"
#include "tools/reading/reader.h"

struct fxt_cut_call {
	uint64_t pid, tid, begin_ns;
	uint64_t last_ns;               /* when the last event of its thread ended */
	uint16_t category, name;        /* string indices; 0: the end is written without a name */
};

/* The data about a thread. */
struct fxt_thread_in_progress {
	uint32_t thread;                /* place in fxt_reader.threads */
	uint64_t latest_ns;             /* when the latest of its events began */
	uint64_t last_ns;               /* when the last of its events ended */
	uint64_t executed_ns;           /* when it last was to execute a program; 0: never */
	uint64_t failed_ns;             /* when such a call last failed; 0: never */
	size_t innermost;               /* its innermost call: place in fxt_cut_calls.list plus 1; 0: none */
};

struct fxt_begun_call {
	uint64_t offset, begin_ns;
	/* the call within which it began: place in the list plus 1; 0: none */
	size_t around;
};

/* The calls of a program. Before its first record all members are zero. */
struct fxt_cut_calls {
	/* A program has few of the threads of a run, so there is no array by thread for each of them. */
	struct fxt_thread_in_progress *threads;
	size_t thread_count, thread_capacity;
	struct fxt_map by_thread;       /* thread -> place in `threads`; empty while there is one thread */
	struct fxt_begun_call *list;
	size_t count, capacity;
};

/* Takes the decoded begin or end of a call. */
void fxt_cut_calls_take(struct fxt_cut_calls *c, const struct fxt_record *rec);

/* Takes the times of any events of the thread. */
void fxt_cut_calls_seen(struct fxt_cut_calls *c, uint32_t thread, const struct fxt_times *times);

/* Notes that the thread was about to execute another program, which the trace says before the call is
 * made; or, with `has_failed`, that it failed to, which the trace says afterwards. */
void fxt_cut_calls_executes(struct fxt_cut_calls *c, uint32_t thread, uint64_t at_ns, bool has_failed);

/* Returns when the program's process executed another one, or 0 if it did not. All of the part has been
 * read. A thread that went on has not executed anything: the call failed, or the child of a vfork made
 * it in the thread's place. */
uint64_t fxt_cut_calls_executed_ns(const struct fxt_cut_calls *c);

/* Returns the calls of process `pid` that had no end, thread by thread, the innermost first; the caller
 * frees them. `r` has read all of the part, and `own` is the provider of the process's program. `is_copy`
 * says that the part may have been copied while it was written: it may then have a call both in progress
 * and complete, and such a call is left out. Empties `c` for the next part. */
struct fxt_cut_call *fxt_cut_calls_keep(struct fxt_cut_calls *c, struct fxt_reader *r,
					struct fxt_provider *own, uint64_t pid, bool is_copy, size_t *count);

/* A moment at which a thread lived, as another process's part tells: an arrow's begin stands in the part that
 * the arrow leads to. */
struct fxt_thread_moment {
	uint64_t pid, tid, at_ns;
};

/* The moments of all threads. When there are none, all members are zero. */
struct fxt_thread_moments {
	struct fxt_thread_moment *list;
	size_t count, capacity;
};

void fxt_thread_moments_add(struct fxt_thread_moments *m, uint64_t pid, uint64_t tid, uint64_t at_ns);
void fxt_thread_moments_sort(struct fxt_thread_moments *m);

/* Returns when the calls of the list's first thread end, and sets *same to how many calls at the front of the
 * list are that thread's. The time is at_ns, or a later time that is known of the thread if that is before
 * before_ns. */
uint64_t fxt_cut_calls_end_ns(const struct fxt_cut_call *list, size_t count,
			      const struct fxt_thread_moments *others, uint64_t at_ns, uint64_t before_ns,
			      size_t *same);

void fxt_cut_calls_free(struct fxt_cut_calls *c);

#endif
