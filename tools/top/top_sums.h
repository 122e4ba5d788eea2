/* fxt top: what each process did since the last interval began, and what it holds. The functions take the
 * records of a trace in the order of the file, as it grows, and keep nothing of a record; so memory is needed
 * for processes, their threads and what they have open. top.c calls them, from one thread.
 *
 * A call counts in the interval in which it is read, which is the one in which it ended. A process that
 * executes another program begins anew.
 */
#ifndef FXT_TOOLS_TOP_SUMS_H
#define FXT_TOOLS_TOP_SUMS_H

#include "tools/analysis/flights.h"
#include "tools/analysis/process_ends.h"
#include "tools/common/map.h"
#include "tools/reading/reader.h"
#include "tools/waits/call_roles.h"

/* So many of the slowest waits are kept of each process, and so many are shown of all processes. */
enum { FXT_TOP_WAITS = 3 };

/* A finished call in which a thread waited. */
struct fxt_top_wait {
	uint64_t start_ns, end_ns;
	uint64_t ns;                    /* how long the thread was off the processor */
	uint32_t thread, name;          /* `name`: symbol */
	uint32_t waker;                 /* the thread that let it go on, if `has_waker` */
	bool has_waker;
};

/* A sum that a counter of the trace tells now and then, and other records tell in between. */
struct fxt_top_gauge {
	bool is_known;                  /* the trace has told anything of it */
	uint64_t at_ns;                 /* when the counter was last read; 0: never */
	int64_t value;
};

struct fxt_top_process {
	uint64_t pid;
	uint32_t program;               /* index of the provider that it is now */
	uint64_t begin_ns;              /* when that began: its first event */
	unsigned over;                  /* in how many intervals it was over; 0: it runs */
	uint64_t threads;               /* how many of them recorded anything, since the program began */
	/* The next four are of this interval. What a call did before the interval does not count. */
	uint64_t calls, blocked_ns;
	struct fxt_top_wait slowest[FXT_TOP_WAITS];     /* sorted: the slowest first */
	unsigned wait_count;
	struct fxt_top_gauge heap, descriptors;
	int64_t heap_before;            /* the value of `heap` when the interval began */
	struct fxt_map lives;           /* ids of the lifetimes of descriptors that are open */
	/* Ids of lifetimes of which only the end was read, in this interval and in the last one. Two threads
	 * may have written begin and end, so the begin may come later. */
	struct fxt_map early, earlier;
};

struct fxt_top_thread;
struct fxt_top_cause;

struct fxt_top_sums {
	struct fxt_reader *r;
	struct fxt_top_process *list;   /* in no order until fxt_top_sort() */
	size_t count, capacity;
	struct fxt_map by_pid;          /* place in the list */
	struct fxt_map programs;        /* index of a provider -> how many processes are that program */
	struct fxt_top_thread *threads; /* by thread */
	size_t thread_count, thread_capacity;
	struct fxt_roles roles;
	struct fxt_flights flights;
	struct fxt_top_cause *causes;   /* arrows that ended lately, by thread */
	struct fxt_ends ends;           /* of this interval */
	uint64_t from_ns;               /* when the interval began, in the time of the trace */
	uint64_t calls;                 /* of all processes in this interval */
};

/* Begins the sums of what `r` reads. */
void fxt_top_begin(struct fxt_top_sums *s, struct fxt_reader *r);

/* Takes any record. */
void fxt_top_take(struct fxt_top_sums *s, const struct fxt_record *rec);

/* Completes the interval: sorts the processes by their calls, and notes which of them have ended. `is_gone`
 * says of a process that recorded nothing whether it is there no more. The next record may only come after
 * fxt_top_next(). */
typedef bool fxt_top_is_gone(uint64_t pid, const struct fxt_provider *program);
void fxt_top_sort(struct fxt_top_sums *s, fxt_top_is_gone *is_gone);

/* Sets `slowest` to the slowest waits of all processes, the slowest first. Returns how many there are. */
unsigned fxt_top_slowest(const struct fxt_top_sums *s, struct fxt_top_wait slowest[FXT_TOP_WAITS]);

/* Begins the next interval at this time of the trace, and forgets processes that are over. */
void fxt_top_next(struct fxt_top_sums *s, uint64_t from_ns);

void fxt_top_free(struct fxt_top_sums *s);

#endif
