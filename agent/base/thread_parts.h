/* Types of members of a thread's state and of the process's (agent.h). Each belongs to one mechanism, and its
 * comment names the file that says more. */
#ifndef FXT_THREAD_PARTS_H
#define FXT_THREAD_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "writer/storage.h"

/* Says where fxt_agent.koid comes from: it is the process's own id, or shown by /proc, or made. */
enum fxt_koid_kind { FXT_KOID_OWN, FXT_KOID_SHOWN, FXT_KOID_MADE };

/* A reading: a thread's totals, read at at_ns or within some hundred nanoseconds after it. A reading with
 * only zeros is true of every thread. */
struct fxt_usage {
	uint64_t at_ns, cpu_ns, voluntary, involuntary;
	uint64_t asked_ns;              /* when the kernel was asked for cpu_ns, the last of the totals */
	uint64_t holds_until_ns;        /* the start of the call that it was taken before; 0: there is none */
};

/* This holds two successive readings. */
struct fxt_usage_window {
	struct fxt_usage before, after;
};

enum { FXT_EXPLAIN_BITS = 64 };         /* bits of a thread's explain_slow */

/* This is kept to explain slow calls: explain.h. */
struct fxt_readings {
	struct fxt_usage_window usage;  /* the last two readings */
	uint16_t names[FXT_EXPLAIN_BITS];       /* the name for each bit set in explain_slow */
	bool changing;                  /* a reading is being filed, so a handler files none */
};

/* These point to where a thread counts the records that it does not make: in its first page, or in
 * pages.none (thread.c). */
struct fxt_thread_counts {
	uint64_t *filtered;             /* the count of filtered records */
	uint64_t *dropped;              /* the count of records that found no room */
	uint64_t *dropped_ns;           /* the time of the last one that found none */
};

/* The names of instrumented functions that the thread's chunks define: function.h. */
struct fxt_thread_names {
	uint32_t *defined;              /* by string index: the serial of the last chunk that defines it */
	/* `defined` for the quick way; all zero while deep_count is not 0 or koids are inline */
	const uint32_t *quick;
};

/* Counts the calls of one instrumented function that are left out. */
struct fxt_filtered_count {
	uint64_t calls;
	uint64_t ns;                    /* how long those took that a threshold has left out */
};

enum { FXT_FILTERED_BLOCK = 2048, FXT_FILTERED_BLOCKS = 64 };

/* The instrumented functions that a thread has called and that are left out: filtered.h. */
struct fxt_thread_filtered {
	/* functions that have begun inside of one below which nothing is recorded, and have not ended */
	uint32_t hidden;
	/* by the number of the function, so many in a block; NULL: there is no block yet */
	struct fxt_filtered_count *counts[FXT_FILTERED_BLOCKS];
};

/* The bounds of a thread's own stack, as far as they are known: stack.h. */
struct fxt_thread_stack {
	uintptr_t low, high;
	bool alternate_is_within;       /* fxt_note_alternate() when an alternate stack was last set */
	/* the alternate stack, as far as it is known; 0 and 0: none is */
	uintptr_t alternate_low, alternate_high;
};

/* Enough for all slots of calls in progress: where koids are inline, the first page has 4, and the others
 * 60. */
enum { FXT_IN_PROGRESS_PAGES = 10 };

/* The pages of a thread in the file: thread.c, in_progress.c. */
struct fxt_thread_pages {
	uint64_t none[3];               /* what fxt_thread_counts points to while there is no page */
	uint64_t no_slot[8];            /* the slot of entries that have none in a page; nobody reads it */
	uint64_t *list[FXT_IN_PROGRESS_PAGES];
	uint32_t count;
};

/* Bytes that a thread's calls have moved, and allocated less freed: sample.c, heap.h. */
struct fxt_thread_bytes {
	uint64_t read, written, heap;
	/* bytes that the thread may still ask for before a block is drawn (poisson.h), and the state of
	 * its random numbers; 0: none was drawn yet */
	int64_t until_sample;
	uint64_t random;
};

/* Which short calls of a thread are samples, and at what rate: call_samples.h. */
struct fxt_call_samples {
	uint64_t random;                /* the state of the thread's random numbers; 0: none was drawn yet */
	uint64_t rate_ns;               /* one call is drawn in so many units */
	uint64_t end_ns;                /* the end of the call that is a sample, until it is committed */
	double stands_for;              /* for how many calls the last sample stands */
	uint64_t at_ns, cpu_ns;         /* the time of the last sample, and the processor time used then */
	/* sums in which older samples weigh less: their cost, and the processor time and the units from one
	 * to the next */
	double cost_ns, used_ns, counted_ns;
};

struct fxt_in_progress;
struct fxt_fiber;

/* The last vfork of a thread, and the last child by vfork that executed a program. */
struct fxt_last_vfork {
	/* the first entry that the child's calls may have used: fxt_in_progress_before_vfork() */
	struct fxt_in_progress *entry;
	uint64_t left_ns;               /* the time when that child executed a program or ended; 0: not yet */
	bool has_waited;                /* the child has waited in vain for a manager: lane.c */
	/* the chunk that the child is taking; `words` is 0 if it takes none. If the child was killed then,
	 * its parent finds it here. */
	struct fxt_chunk chunk;
	uint32_t child;                 /* the child of which `link` is the parent link; 0: none */
	uint64_t link;
	/* the environment that it executed the program with: interpose/process/complete.h */
	void *environment;
	size_t environment_bytes;
};

enum {
	FXT_PROGRAM_TEXT_BYTES = 2048,          /* a longer line is cut, and ends in an ellipsis */
	FXT_PROGRAM_TEXT_MARK_BYTES = 3,        /* the size of that ellipsis in UTF-8 */
	/* The first text is the thread's unfinished line. The others are for messages to syslog, and for
	 * handlers that interrupt the work on a text. */
	FXT_PROGRAM_TEXTS = 3,
};

/* A text that the program writes, as far as it was gathered. At the beginning all members are zero. */
struct fxt_program_text {
	uintptr_t holder;               /* the frame of the function that works on it; 0: none does */
	uint64_t names;                 /* category and name of its instants, as in an event's header */
	int priority;                   /* of a message to syslog, which is one text; -1: lines on stderr */
	uint32_t used;
	bool is_cut;                    /* the line was longer than there is room for */
	bool is_returned;               /* it ends in a carriage return: the next text takes its place */
	bool is_progress;               /* text behind a carriage return has taken its beginning's place */
	char *bytes;                    /* FXT_PROGRAM_TEXT_BYTES and the mark, in the thread's text_bytes */
};

#endif
