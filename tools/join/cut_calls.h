/* Calls that were in progress when the program was over that was in them: what other threads waited in
 * while one executed another program or ended the process, and all calls of a process that was killed. Used
 * by open_lifetimes.c, which knows when programs are over and has an end written there for each of these
 * calls: viewers draw one without an end to the end of the whole trace, around all that the next program
 * does in the process's first thread.
 *
 * The agent shows a call in progress as a begin, which has no end of its own. Threads go on for a moment
 * after one of them has said that it executes a program or exits, so a call ends when the program did or,
 * if that is later, with the last that is known of its thread.
 */
#ifndef FXT_TOOLS_CUT_CALLS_H
#define FXT_TOOLS_CUT_CALLS_H

#include "tools/reading/reader.h"

struct fxt_cut_call {
	uint64_t pid, tid, begin_ns;
	uint64_t last_ns;               /* when the last event of its thread ended */
	uint16_t category, name;        /* string indices; 0: an end that names nothing ends it as well */
};

/* What a thread was in, as places in the list of begins, from 1. */
struct fxt_thread_in_progress {
	uint64_t latest_ns;             /* when the latest of its events began */
	uint64_t last_ns;               /* when the last of them ended */
	uint64_t executed_ns;           /* the end of its last call that executed a program; 0: none */
	uint64_t failed_ns;             /* the same of the last that failed to */
	size_t innermost;
};

struct fxt_begun_call {
	uint64_t offset, begin_ns;
	size_t around;                  /* the one that it began within, as a place from 1; 0: none */
};

/* The part at hand. All zero is the beginning. */
struct fxt_cut_calls {
	struct fxt_thread_in_progress *threads; /* by thread */
	size_t thread_count, thread_capacity;
	struct fxt_begun_call *list;
	size_t count, capacity;
};

/* A begin or an end, decoded. */
void fxt_cut_calls_take(struct fxt_cut_calls *c, const struct fxt_record *rec);

/* Events of the thread. */
void fxt_cut_calls_seen(struct fxt_cut_calls *c, uint32_t thread, const struct fxt_times *times);

/* The thread was about to become another program, which is told of before that call is made, or failed to,
 * which is told of afterwards. */
void fxt_cut_calls_executes(struct fxt_cut_calls *c, uint32_t thread, uint64_t at_ns, bool has_failed);

/* The part was read: when its process became another program; 0: it has not. A thread that went on has not
 * executed anything: the call failed, or was that of a vfork's child, in its place. */
uint64_t fxt_cut_calls_executed_ns(const struct fxt_cut_calls *c);

/* The part was read by `r`: returns the calls of its process that had no end, thread by thread, innermost
 * first. Free them. A part that may have been copied while it was written (`is_copy`) may have a call in
 * progress and complete as well, and that one is left out. Begins anew. */
struct fxt_cut_call *fxt_cut_calls_keep(struct fxt_cut_calls *c, struct fxt_reader *r,
					struct fxt_provider *own, bool is_copy, size_t *count);

/* The moments of threads that other processes' parts tell of: an arrow's beginning is in the part it leads
 * to. */
struct fxt_thread_moment {
	uint64_t pid, tid, at_ns;
};

/* All zero is the beginning. */
struct fxt_thread_moments {
	struct fxt_thread_moment *list;
	size_t count, capacity;
};

void fxt_thread_moments_add(struct fxt_thread_moments *m, uint64_t pid, uint64_t tid, uint64_t at_ns);
void fxt_thread_moments_sort(struct fxt_thread_moments *m);

/* When the calls of the list's first thread end, of which `*same` are that thread's: at_ns, unless
 * something later is known of it that is earlier than before_ns. */
uint64_t fxt_cut_calls_end_ns(const struct fxt_cut_call *list, size_t count,
			      const struct fxt_thread_moments *others, uint64_t at_ns, uint64_t before_ns,
			      size_t *same);

void fxt_cut_calls_free(struct fxt_cut_calls *c);

#endif
