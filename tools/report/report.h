/* fxt report: where the time, the waiting, the memory and the bytes went.
 *
 * The first pass over the file counts what needs no order: calls, waiting, calls still open. The second
 * goes in the order of time (order.h), and replays the heap and which file a descriptor stood for. The
 * third goes in the order in which calls end, for threads' times and chains of waits. If locks may have been
 * taken in a circle, one more pass looks at these in the order of time. One more walk looks up what the
 * wakers of the chains that are shown did meanwhile.
 *
 * Each section is a file with functions that take an event (_take), complete the sums (_sort, _finish),
 * print the section (_print) and free it (_free), called in that order and by one thread. report.c and
 * report_passes.c call them, report_print.c puts the sections in order, and report_json.c and
 * report_json_why.c print them all as JSON. A section that is all zero is empty. `top` is how many lines of a
 * section are printed.
 */
#ifndef FXT_TOOLS_REPORT_H
#define FXT_TOOLS_REPORT_H

#include <stdio.h>

#include "tools/waits/call_roles.h"
#include "tools/analysis/blocked_threads.h"
#include "tools/analysis/gaps.h"
#include "tools/analysis/process_ends.h"
#include "tools/waits/lock_holders.h"
#include "tools/waits/moved.h"
#include "tools/waits/repeats.h"
#include "tools/waits/standstill.h"
#include "tools/waits/timeouts.h"
#include "tools/waits/closed_in_use.h"
#include "tools/waits/thread_waits.h"
#include "tools/critical/critical.h"
#include "tools/waits/tracks.h"
#include "tools/descriptors/fd_images.h"
#include "tools/descriptors/fd_lifetimes.h"
#include "tools/common/histogram.h"
#include "event_facts.h"
#include "no_wait.h"
#include "tools/analysis/objects.h"
#include "tools/reading/extents.h"
#include "tools/reading/order.h"
#include "tools/analysis/overview.h"
#include "tools/analysis/processor_time.h"
#include "tools/analysis/unseen.h"
#include "tools/callers/crashes.h"
#include "tools/callers/failures.h"
#include "tools/callers/heap_askers.h"
#include "tools/callers/makers.h"
#include "tools/callers/most_by.h"
#include "tools/callers/stack_durations.h"
#include "tools/callers/stack_sums.h"
#include "tools/callers/who.h"
#include "tools/printing/handle.h"
#include "tools/reading/reader.h"
#include "report_budget.h"
#include "report_chains.h"
#include "report_descriptors.h"
#include "report_leaks.h"
#include "tools/analysis/left_out.h"
#include "report_lock_order.h"
#include "tools/printing/report_log.h"
#include "report_processor.h"
#include "report_threads.h"
#include "tools/descriptors/report_transfers.h"


struct fxt_report_options {
	size_t top;                     /* lines of each section */
	const char *categories;         /* a list as FXT_CATEGORIES takes it; NULL: all */
	bool json;
	bool utc;                       /* tell times of day */
	/* Functions are sorted by the samples that they ran in, or by all that they are in (TOTAL); see
	 * heap_askers.h for the heap. Calls and waits are sorted by time, or by number (COUNT). */
	enum fxt_sort sort;
	const char *wrappers; /* globs of functions that are never to blame; NULL: none but those known */
	struct fxt_frame_names *source;         /* finds the lines of functions; NULL: none are looked up */
	const struct fxt_wait_listener *listener;       /* is told of each wait; NULL: nobody is */
	bool keeps_durations;           /* of calls by their stacks: stack_durations.h */
};

/* -- Calls (report_calls.c) ----------------------------------------------------------------------- */

struct fxt_call {
	uint32_t category, name;        /* symbols */
	uint64_t category_ns;           /* the time of all calls of its category */
	uint64_t count, total_ns, max_ns;
	struct fxt_histogram durations;
};

struct fxt_calls {
	struct fxt_call *list;          /* sorted: the longest category first, in it the longest call */
	size_t count, capacity;
	struct fxt_map by_name;
};

/* Returns the name of a call for a table, in at most `columns` characters; names of functions are
 * demangled and without parameters. The caller frees it. */
char *fxt_call_label(const struct fxt_reader *r, uint32_t category, uint32_t name, size_t columns);

struct fxt_handle fxt_call_handle(const struct fxt_reader *r, const struct fxt_call *call);
/* Returns the place in the list of the calls of this name, which stays until fxt_calls_sort(). */
uint32_t fxt_calls_place(struct fxt_calls *c, uint32_t category, uint32_t name);
/* Adds a finished call to those at a place. */
void fxt_calls_add(struct fxt_calls *c, uint32_t place, uint64_t duration_ns);
static inline void fxt_calls_take(struct fxt_calls *c, uint32_t category, uint32_t name, uint64_t duration_ns)
{
	fxt_calls_add(c, fxt_calls_place(c, category, name), duration_ns);
}
/* Returns the duration in nanoseconds that `percent` of the calls do not exceed. */
uint64_t fxt_call_percentile(const struct fxt_call *call, double percent);
void fxt_calls_sort(struct fxt_calls *c, enum fxt_sort sort);
/* Returns for what a stack of the call is, and its key in `by_stack` below. */
enum fxt_purpose fxt_call_purpose(const struct fxt_reader *r, uint32_t category);
static inline uint64_t fxt_call_key(uint32_t category, uint32_t name)
{
	return (uint64_t)category << 32 | name;
}
/* `by_stack` has the times of calls that have a stack. */
void fxt_calls_print(const struct fxt_calls *c, const struct fxt_reader *r,
		     const struct fxt_stack_sums *by_stack, struct fxt_who *who, size_t top, FILE *out);
void fxt_calls_free(struct fxt_calls *c);

/* -- Waiting (report_waits.c) --------------------------------------------------------------------- */

struct fxt_waiter {
	uint32_t thread;
	uint64_t total_ns;
};

struct fxt_wait {
	const char *kind;
	uint64_t pid, object;           /* the process, and the object that is waited for */
	const struct fxt_object *known; /* the trace's record about that object, or NULL */
	char *label;                    /* the object's name (from `known` if that is set), or NULL */
	uint64_t count, total_ns, max_ns;
	struct fxt_waiter *waiters;     /* sorted: the longest first */
	size_t waiter_count, waiter_capacity;
};

struct fxt_waits {
	struct fxt_wait *list;
	size_t count, capacity;
	struct fxt_map by_object;
	const struct fxt_objects *objects;
};

/* Adds a finished call that waited. */
void fxt_waits_take(struct fxt_waits *w, const struct fxt_reader *r, const struct fxt_record *rec,
		    const struct fxt_role *role, uint64_t duration_ns);
void fxt_waits_sort(struct fxt_waits *w);
/* Returns the words by which a table names an object that is waited for. The caller frees them. */
char *fxt_wait_name(const char *kind, const char *label);
struct fxt_handle fxt_wait_handle(const struct fxt_reader *r, const struct fxt_wait *wait);
/* Returns the handle of all objects of the process that have this kind and name: a line of the table. */
struct fxt_handle fxt_waits_handle(const struct fxt_reader *r, const struct fxt_wait *wait);
void fxt_waits_print(const struct fxt_waits *w, const struct fxt_reader *r, size_t top, FILE *out);
void fxt_waits_free(struct fxt_waits *w);

/* -- Heap (report_heap.c) ------------------------------------------------------------------------- */

struct fxt_leak {
	/* size in bytes, and the number of such blocks that were never freed */
	uint64_t size, count;
};

struct fxt_process_heap {
	const struct fxt_provider *provider;
	uint64_t pid;
	uint64_t calls, failed, allocated_bytes;
	uint64_t frees, unknown_frees;
	uint64_t in_use_bytes, peak_bytes, peak_ns;
	uint64_t live_blocks;
	/* Blocks from before this time were forgotten: fxt_heaps_forget(). So many were in use then. */
	uint64_t known_from_ns, forgotten_blocks;
	bool is_forgotten_by_loss;      /* because records were lost */
	/* of these, what the C++ library keeps for itself until the process ends: fxt_leaks_finish() */
	uint64_t library_blocks, library_bytes;
	struct fxt_leak *leaks;         /* of the others; sorted: the most bytes first */
	size_t leak_count, leak_capacity;
};

struct fxt_heaps {
	struct fxt_process_heap *list;          /* sorted: the highest peak first */
	size_t count, capacity;
	struct fxt_map by_provider;
	/* Provider and pointer -> size, and time of allocation or FXT_HEAPS_OF_LIBRARY. */
	struct fxt_map live;
	struct fxt_heap_stacks *by_stack;       /* is told what calls got and gave; NULL: nobody is */
	struct fxt_call_stacks *stacks;
	struct fxt_crashes *crashes;            /* is told, too; NULL: nobody is */
};

/* In the place of a block's time: the block is among library_blocks. */
#define FXT_HEAPS_OF_LIBRARY UINT64_MAX

/* Returns how many bytes are left, without those of the C++ library. */
static inline uint64_t fxt_heap_left(const struct fxt_process_heap *heap)
{
	return heap->in_use_bytes > heap->library_bytes ? heap->in_use_bytes - heap->library_bytes : 0;
}

/* Returns whether a block in `live` was not forgotten. One that was is there still. */
static inline bool fxt_heap_knows(const struct fxt_process_heap *heap, const struct fxt_slot *block)
{
	return block->value[1] >= heap->known_from_ns;
}

/* Takes a call of a heap function, in the order of time: a free at its start, an allocation at its end. */
void fxt_heaps_take(struct fxt_heaps *h, const struct fxt_reader *r, const struct fxt_record *rec,
		    const struct fxt_role *role);
/* Forgets which blocks the program has in use: recording starts after a gap, in the order of time. */
void fxt_heaps_forget(struct fxt_heaps *h, const struct fxt_reader *r, const struct fxt_record *rec);
void fxt_heaps_sort(struct fxt_heaps *h);
/* Returns whether blocks pile up: those of sizes of which many blocks are left add up to much memory, and to
 * half of the peak. Only valid after fxt_heaps_sort(). */
bool fxt_heaps_is_leaking(const struct fxt_heaps *h);
void fxt_heaps_print(const struct fxt_heaps *h, const struct fxt_reader *r, const struct fxt_overview *o,
		     const struct fxt_left_out *left_out, size_t top, FILE *out);
void fxt_heaps_free(struct fxt_heaps *h);

/* -- Files and sockets (report_files.c, fd_table.c) ----------------------------------------------- */

enum fxt_file_use { FXT_FILE_READ, FXT_FILE_WRITE, FXT_FILE_OTHER, FXT_FILE_USES };

struct fxt_file {
	char *label;
	uint64_t id;                    /* the key of its stacks in fxt_files.by_stack */
	uint64_t calls, in_bytes, out_bytes, total_ns;
	uint64_t unsaid;                /* calls that moved bytes and do not say how many: fputs, fgets */
	struct fxt_transfers *uses[FXT_FILE_USES];      /* NULL: no such call */
};

struct fxt_files {
	struct fxt_file *list;          /* sorted: the most time first */
	size_t count, capacity;
	struct fxt_stack_sums by_stack; /* times of the calls whose stack is known, by `id` */
	struct fxt_fd_images images;    /* descriptors of each program */
	/* The descriptors that are no files on disk: a set of pairs of provider and descriptor, and the
	 * time at which the descriptor was opened. */
	struct fxt_map fifos;
	/* lifetimes, which say what a descriptor is where the call is missing */
	struct fxt_fd_lives lives;
	/* Provider and stream, or provider and a descriptor too large for `images` -> file. */
	struct fxt_map open;
	struct fxt_map lifetimes;       /* provider and lifetime -> its descriptor */
	struct fxt_map last_lifetime;   /* provider and descriptor -> the lifetime that began last */
	struct fxt_map gaps;            /* provider -> how often its streams in `open` were forgotten */
	struct fxt_file_name *names;    /* by label */
	const struct fxt_objects *objects;      /* names of streams that nobody was seen to open */
};

/* Takes the begin of a lifetime, in the order of the file and before all other events: it may tell that a
 * descriptor is a FIFO's. */
void fxt_files_begin(struct fxt_files *f, const struct fxt_record *rec);
/* Takes a call about descriptors, in the order of time: a call that opens at its end, one that uses or
 * closes at its start. `stack` is its innermost node, or FXT_NO_FRAME. */
void fxt_files_take(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
		    const struct fxt_role *role, uint32_t stack);
/* Takes the begin or end of a descriptor's lifetime, in the order of time too. The begin comes before the
 * call that made the descriptor, because the call says more and has to have the last word. */
void fxt_file_table_begin(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec);
/* Forgets what the program's numbers stand for: recording starts after a gap, in the order of time. */
void fxt_file_table_forget(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec);
void fxt_files_sort(struct fxt_files *f);
extern const char *const fxt_file_use_names[FXT_FILE_USES];
void fxt_files_print(const struct fxt_files *f, struct fxt_who *who, size_t top, FILE *out);
void fxt_files_free(struct fxt_files *f);

/* Returns the place of the file that is open under the descriptor or stream in the event's `argument`;
 * if none is known, the place of an entry that stands for unknown files. */
size_t fxt_file_of(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
		   const char *argument);
/* Returns the mode of the descriptors or streams that the call works on or has opened. Returns
 * FXT_FD_MODE_UNKNOWN if the mode does not matter to the call, or if it works on two of different modes. */
enum fxt_fd_mode fxt_file_mode(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
			       const struct fxt_role *role);
/* Takes a call that opens, names, sets the mode of, or closes a descriptor. */
void fxt_file_table_take(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
			 const struct fxt_role *role);
/* Returns the place of the file with this label, which is made if it is new. The label belongs to `f`
 * then. */
size_t fxt_file_named(struct fxt_files *f, char *label);

/* -- Calls still open (report_in_progress.c) ------------------------------------------------------------- */

struct fxt_call_in_progress {
	uint32_t category, name, thread;
	uint64_t start_ns, ticks, offset;
	struct fxt_provider *provider;
};

struct fxt_call_stack {
	struct fxt_call_in_progress *list;
	size_t count, capacity;
	/* when the thread last said that it was about to be blocked, and the innermost node of its stack
	 * then */
	uint64_t blocked_ns;
	uint32_t blocked_in;
	bool has_blocked;
};

struct fxt_calls_in_progress {
	struct fxt_call_stack *threads; /* by thread */
	size_t count, capacity;
	struct fxt_map begins;          /* pid and provider's index -> its earliest event of that process */
	struct fxt_map programs;        /* pid -> index of its last provider, and when that began */
};

/* Takes the begin of a call in progress. */
void fxt_calls_in_progress_begin(struct fxt_calls_in_progress *o, struct fxt_reader *r,
				 const struct fxt_record *rec);
/* Takes the end of a call that was in progress. Returns true and sets *begun if its begin was seen. */
bool fxt_calls_in_progress_end(struct fxt_calls_in_progress *o, const struct fxt_record *rec,
			       struct fxt_call_in_progress *begun);
/* Decodes the begin into `rec`, and makes it the complete event of a call that ended at end_ticks. */
void fxt_calls_in_progress_as_complete(const struct fxt_call_in_progress *begun, struct fxt_reader *r,
				       uint64_t end_ticks, struct fxt_record *rec);
/* Takes the instant of a thread that is about to be blocked, with its stack. */
void fxt_calls_in_progress_blocked(struct fxt_calls_in_progress *o, const struct fxt_record *rec,
				   uint32_t innermost);
/* Returns the innermost node of the thread's stack in the call that it is in, or FXT_NO_FRAME. */
uint32_t fxt_calls_in_progress_stack(const struct fxt_calls_in_progress *o, uint32_t thread);
/* Takes a complete event. In the copy of a live file a call may be there as in progress as well; it counts as
 * complete then. */
void fxt_calls_in_progress_complete(struct fxt_calls_in_progress *o, struct fxt_reader *r,
				    const struct fxt_record *rec);
/* Takes any event of a process, to know which of its programs began last. */
void fxt_calls_in_progress_seen(struct fxt_calls_in_progress *o, const struct fxt_reader *r,
				const struct fxt_record *rec);
/* Removes the calls of programs that were replaced by exec: those are over. All events have been taken. */
void fxt_calls_in_progress_finish(struct fxt_calls_in_progress *o, const struct fxt_reader *r);
/* Returns whether the provider is the last program that the thread's process was, or may be. Only valid after
 * fxt_calls_in_progress_finish(). */
bool fxt_calls_in_progress_is_of_last(const struct fxt_calls_in_progress *o, const struct fxt_reader *r,
				      uint32_t thread, const struct fxt_provider *p);
/* Returns whether a process's first thread is in a call, which means that it hangs or was killed. Other
 * threads do not count, because every end of a process cuts their calls short. */
bool fxt_calls_in_progress_is_stuck(const struct fxt_calls_in_progress *o, const struct fxt_reader *r);
size_t fxt_calls_in_progress_count(const struct fxt_calls_in_progress *o);
struct fxt_report;
void fxt_calls_in_progress_print(const struct fxt_report *report, FILE *out);
void fxt_calls_in_progress_free(struct fxt_calls_in_progress *o);

/* -- Locks that were taken (report_contention.c) --------------------------------------------------- */

/* Stands in the place of a function that is not known. */
#define FXT_NO_PLACE "?"

struct fxt_contended {
	const char *kind;
	uint64_t pid, lock;
	const struct fxt_object *known; /* the trace's record about the lock, or NULL */
	uint32_t at, held_at;           /* symbols: the functions that wanted it, and that had taken it */
	uint64_t count, total_ns, max_ns;
	/* The holders had held it so long already, in so many waits of which that is known. */
	uint64_t held_ns, held_count;
	uint64_t key;                   /* of the lock: that of its name, or of its address */
	/* Innermost nodes: of the stack that waited longest here, and of the one that let such a wait go on,
	 * which ended waits of so long; or FXT_NO_FRAME. */
	uint32_t innermost, holder;
	uint64_t holder_ns;
};

/* The last lock that a thread waited for, or the thread whose end it waited for. */
struct fxt_blocked {
	bool is_known, is_blocked;      /* the thread has waited at all; it still waits */
	bool is_in_circle;              /* the holder waits, through any number of others, for this thread */
	bool is_join;                   /* it waits for the holder's end, and there is no lock */
	uint64_t since_ns, lock;
	const struct fxt_object *known; /* the trace's record about the lock, or NULL */
	uint64_t holder;                /* a thread's koid; 0: not known */
	uint64_t held_since_ns;         /* 0: not known */
	uint32_t at, held_at;           /* symbols, as in struct fxt_contended */
};

struct fxt_contention {
	struct fxt_contended *list;     /* sorted: the longest first */
	size_t count, capacity;
	struct fxt_map by_places;       /* key, and number in `wanted` -> place */
	struct fxt_map wanted;          /* `at` and `held_at`, and innermost node -> a number */
	struct fxt_map unlocked;        /* pid and lock -> when it was unlocked last, and the node */
	struct fxt_stack_sums holders;  /* by place in the list */
	struct fxt_map by_handle;       /* threads, by pid and pthread_t */
	const struct fxt_objects *objects;
	struct fxt_blocked *blocked;    /* by thread */
	size_t blocked_count, blocked_capacity;
};

/* Takes a finished call, with the innermost node of its stack, and of that of who gave up the lock. Only
 * those whose arguments say that the lock was taken are counted. */
void fxt_contention_take(struct fxt_contention *c, struct fxt_reader *r, const struct fxt_record *rec,
			 const char *kind, uint64_t duration_ns, uint32_t innermost, uint32_t holder);
/* Takes an instant that tells of an unlocking, or a finished call, in the order of ends. All calls were taken
 * by fxt_contention_take() before. */
void fxt_contention_order(struct fxt_contention *c, struct fxt_reader *r, struct fxt_call_stacks *stacks,
			  const struct fxt_record *rec);
/* Takes the instant that tells what a thread begins to wait for. */
void fxt_contention_blocked(struct fxt_contention *c, struct fxt_reader *r, const struct fxt_record *rec);
/* Takes the begin of a lifetime; that of a thread tells its pthread_t. */
void fxt_contention_thread(struct fxt_contention *c, struct fxt_reader *r, const struct fxt_record *rec);
/* Puts waits together by who waited. Finds which threads are still blocked. All events have been taken, and
 * `open` is finished. */
void fxt_contention_finish(struct fxt_contention *c, struct fxt_reader *r, struct fxt_who *who,
			   const struct fxt_calls_in_progress *open, enum fxt_sort sort);
/* Returns the index of the thread that holds what a thread is blocked on; -1: not known. */
int64_t fxt_contention_holder(const struct fxt_contention *c, const struct fxt_reader *r, size_t thread);
/* Returns the thread that held the lock by what stands in it, in whatever process; -1: not known. */
int64_t fxt_contention_holder_anywhere(const struct fxt_contention *c, const struct fxt_reader *r,
				       size_t thread);
/* Returns the lock's name, or its address if it has none. The caller frees it. */
char *fxt_contention_lock(const struct fxt_object *known, uint64_t lock);
void fxt_contention_print(const struct fxt_contention *c, const struct fxt_reader *r, struct fxt_who *who,
			  size_t top, FILE *out);
/* Prints the rows of one entry of the list. */
void fxt_contention_print_one(const struct fxt_contention *c, size_t place, const struct fxt_reader *r,
			      struct fxt_who *who, FILE *out);
/* Returns whether some threads wait for each other in a circle. Only valid after fxt_contention_finish(). */
bool fxt_contention_is_deadlock(const struct fxt_contention *c);
/* Prints the threads that are still blocked, those in a circle first. */
void fxt_contention_print_blocked(const struct fxt_report *report, FILE *out);
void fxt_contention_free(struct fxt_contention *c);

/* -- Threads of a watched process that are blocked at the end ------------------------------------- */

/* Prints threads in a circle with all of their stacks, and others that are blocked in one place together. */
void fxt_blocked_threads_print(const struct fxt_blocked_threads *b, const struct fxt_reader *r,
			       struct fxt_who *who, bool with_process, size_t top, FILE *out);
void fxt_blocked_threads_json(const struct fxt_blocked_threads *b, struct fxt_json *j,
			      const struct fxt_reader *r, struct fxt_who *who);

/* -- The whole report ----------------------------------------------------------------------------- */

struct fxt_report {
	struct fxt_report_options options;
	struct fxt_reader *r;
	struct fxt_ends process_ends;
	struct fxt_crashes crashes;
	struct fxt_roles roles;
	struct fxt_facts facts;
	struct fxt_overview overview;
	struct fxt_witnessed witnessed;
	struct fxt_wall_clock wall_clock;
	struct fxt_objects objects;
	struct fxt_calls calls;
	struct fxt_calls agent;         /* the agent's own work, which is an event of category agent */
	struct fxt_waits waits;
	struct fxt_contention contention;
	struct fxt_lock_orders lock_orders;
	struct fxt_budget_steps budget;
	struct fxt_unseen unseen;
	struct fxt_left_out left_out;
	struct fxt_gaps gaps;
	struct fxt_heaps heaps;
	struct fxt_leaks leaks;
	struct fxt_who *who;            /* says who did something; it keeps what it has found out */
	struct fxt_heap_stacks heap_stacks;
	struct fxt_heap_askers askers;
	struct fxt_map makers;          /* thread -> innermost node of the stack that made it */
	struct fxt_makers made;
	struct fxt_repeats repeats;
	struct fxt_thread_waits thread_waits;
	struct fxt_closes_in_use closes;
	struct fxt_failures failures;
	struct fxt_stack_sums call_stacks;      /* of calls with a stack: times by fxt_call_key() */
	struct fxt_stack_durations stack_durations;     /* of the same calls, if the options ask for it */
	struct fxt_stack_sums wait_stacks;      /* of waits with a stack: times by pid */
	struct fxt_files files;
	struct fxt_log_lines log;
	struct fxt_calls_in_progress open;
	struct fxt_descriptors descriptors;
	struct fxt_thread_times threads;
	struct fxt_tracks tracks;       /* of another tracer */
	struct fxt_flights flights;
	struct fxt_kept_times kept;
	struct fxt_chains chains;
	struct fxt_critical critical;
	struct fxt_no_wait no_wait;
	struct fxt_blocked_threads blocked;
	struct fxt_held held;
	struct fxt_timeouts timeouts;
	struct fxt_standstill standstill;
	struct fxt_moved moved;
	struct fxt_processor_time processor;
	/* `order` has events by the time at which they take effect, `ends` calls and flows by that of
	 * their ends. */
	struct fxt_order order, ends;
	struct fxt_extents extents;     /* of all events */
	/* The calls in `ends` that an exec cut: offset of the end that the join made -> offset of the
	 * begin, and the index of its provider. */
	struct fxt_map cut;
	uint64_t elsewhere_ns;          /* time in calls that neither wait for threads nor move bytes */
	bool has_functions;             /* the trace has events of instrumented functions */
	bool has_processes;             /* there are several, so threads are shown with their process */
	uint8_t *chosen;                /* by symbol of a category: 0 not asked yet, 1 no, 2 yes */
	size_t chosen_count, chosen_capacity;
};

/* Reads all that `r` reads and makes every section. `r` and what it reads have to stay until
 * fxt_report_free(). */
void fxt_report_make(struct fxt_report *report, struct fxt_reader *r,
		     const struct fxt_report_options *options);
/* Makes the section on the critical path. Threads are finished, and files are not sorted yet
 * (report_passes.c). */
void fxt_report_critical(struct fxt_report *report);
/* Returns whether events of the category are to be told of. */
bool fxt_report_wants(struct fxt_report *report, const struct fxt_text *category);

/* Returns NULL, or which category that the user asked for the trace does not have, and which it has. The
 * caller frees the text. */
char *fxt_report_unmatched(const struct fxt_report *report);
/* Prints the first lines, which say what the trace is of; and all that comes behind the findings. */
void fxt_report_print_head(const struct fxt_report *report, FILE *out);
void fxt_report_print_tables(const struct fxt_report *report, FILE *out);
/* Prints the lines about losses, among the first ones. */
void fxt_report_print_losses(const struct fxt_report *report, FILE *out);
void fxt_report_free(struct fxt_report *report);

struct fxt_json;
/* Prints it as JSON. `put_first` prints members that come right behind those about the whole trace. */
void fxt_report_json(const struct fxt_report *report,
		     void (*put_first)(const void *context, const struct fxt_report *report,
				       struct fxt_json *j),
		     const void *context, FILE *out);
/* Begins an object with the ids and the name of a thread, which the caller ends. This and the next two
 * functions, which print the sections on threads and on chains, are in report_json_why.c. */
void fxt_report_json_thread(struct fxt_json *j, const char *key, const struct fxt_reader *r, uint32_t index);
void fxt_report_json_threads(struct fxt_json *j, const struct fxt_report *report);
void fxt_report_json_chains(struct fxt_json *j, const struct fxt_report *report);

#endif
