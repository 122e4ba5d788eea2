/* fxt report: where the time, the waiting, the memory and the bytes went.
 *
 * tools/report/ is this one command, each section with what prints it. It uses tools/descriptors/, tools/analysis/ and
 * what those use.
 *
 * One pass over the file counts what needs no order (calls, waiting, calls still open); a second, in the
 * order of time (order.h), replays what does: the heap, and which file a descriptor stood for. Threads' times and
 * chains of waits are of a third, in the order in which calls end, and what is told of the chains is looked up in
 * one more walk. Each section is a file with a function that takes an event, one that sorts, and one that prints;
 * report_print.c puts them in order, report_json.c and report_json_why.c print them all as JSON.
 */
#ifndef FXT_TOOLS_REPORT_H
#define FXT_TOOLS_REPORT_H

#include <stdio.h>

#include "call_roles.h"
#include "no_wait.h"
#include "report_chains.h"
#include "report_descriptors.h"
#include "report_leaks.h"
#include "report_log.h"
#include "report_threads.h"
#include "report_transfers.h"
#include "tools/analysis/objects.h"
#include "tools/analysis/overview.h"
#include "tools/analysis/process_ends.h"
#include "tools/common/histogram.h"
#include "tools/descriptors/fd_images.h"
#include "tools/descriptors/fd_lifetimes.h"
#include "tools/reading/order.h"
#include "tools/reading/reader.h"

/* As many lines as there are. */
#define FXT_TOP_ALL UINT32_MAX

struct fxt_report_options {
	size_t top;                     /* lines of each section */
	const char *categories;         /* NULL: all */
	bool json;
};

/* -- Calls (report_calls.c) ----------------------------------------------------------------------- */

struct fxt_call {
	uint32_t category, name;        /* symbols */
	uint64_t category_ns;           /* of all calls of its category */
	uint64_t count, total_ns, max_ns;
	struct fxt_histogram durations;
};

struct fxt_calls {
	struct fxt_call *list;          /* sorted: the longest category first, in it the longest call */
	size_t count, capacity;
	struct fxt_map by_name;
};

/* The name of a function by its symbol: as in the source, without parameters. Free it. */
char *fxt_function_label(const struct fxt_text *symbol, size_t columns);
/* The name of a call for a table, functions demangled and without their parameters. Free it. */
char *fxt_call_label(const struct fxt_reader *r, uint32_t category, uint32_t name, size_t columns);

void fxt_calls_take(struct fxt_calls *c, uint32_t category, uint32_t name, uint64_t duration_ns);
uint64_t fxt_call_percentile(const struct fxt_call *call, double percent);
void fxt_calls_sort(struct fxt_calls *c);
void fxt_calls_print(const struct fxt_calls *c, const struct fxt_reader *r, size_t top, FILE *out);
void fxt_calls_free(struct fxt_calls *c);

/* -- Waiting (report_waits.c) --------------------------------------------------------------------- */

struct fxt_waiter {
	uint32_t thread;
	uint64_t total_ns;
};

struct fxt_wait {
	const char *kind;
	uint64_t pid, object;           /* what is waited for, in which process */
	const struct fxt_object *known; /* what it is, or NULL */
	char *label;                    /* its name, or NULL; that of `known`, where that is known */
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

void fxt_waits_take(struct fxt_waits *w, const struct fxt_reader *r, const struct fxt_record *rec,
		    const struct fxt_role *role, uint64_t duration_ns);
void fxt_waits_sort(struct fxt_waits *w);
/* What is waited for, in a table. Free it. */
char *fxt_wait_name(const char *kind, const char *label);
void fxt_waits_print(const struct fxt_waits *w, const struct fxt_reader *r, size_t top, FILE *out);
void fxt_waits_free(struct fxt_waits *w);

/* -- Heap (report_heap.c) ------------------------------------------------------------------------- */

struct fxt_leak {
	uint64_t size, count;           /* blocks of that size that were never freed */
};

struct fxt_heap {
	const struct fxt_provider *provider;
	uint64_t pid;
	uint64_t calls, failed, allocated_bytes;
	uint64_t frees, unknown_frees;
	uint64_t in_use_bytes, peak_bytes, peak_ns;
	uint64_t live_blocks;
	struct fxt_leak *leaks;         /* sorted: the most bytes first */
	size_t leak_count, leak_capacity;
};

struct fxt_heaps {
	struct fxt_heap *list;          /* sorted: the highest peak first */
	size_t count, capacity;
	struct fxt_map by_provider;
	struct fxt_map live;            /* provider and pointer -> size, time of allocation */
};

/* Events in the order of time: frees at their start, allocations at their end. */
void fxt_heaps_take(struct fxt_heaps *h, const struct fxt_reader *r, const struct fxt_record *rec,
		    const struct fxt_role *role);
void fxt_heaps_sort(struct fxt_heaps *h);
/* Whether something piles up: blocks of sizes of which many are left, and much, and half of what there ever was. Once they are sorted. */
bool fxt_heaps_is_leaking(const struct fxt_heaps *h);
void fxt_heaps_print(const struct fxt_heaps *h, const struct fxt_overview *o, size_t top, FILE *out);
void fxt_heaps_free(struct fxt_heaps *h);

/* -- Files and sockets (report_files.c, fd_table.c) ----------------------------------------------- */

enum fxt_file_use { FXT_FILE_READ, FXT_FILE_WRITE, FXT_FILE_OTHER, FXT_FILE_USES };

struct fxt_file {
	char *label;
	uint64_t calls, in_bytes, out_bytes, total_ns;
	uint64_t unsaid;                /* calls that moved bytes and do not say how many: fputs, fgets */
	struct fxt_transfers *uses[FXT_FILE_USES];      /* NULL: none */
};

struct fxt_files {
	struct fxt_file *list;          /* sorted: the most time first */
	size_t count, capacity;
	struct fxt_fd_images images;    /* descriptors of each program */
	struct fxt_map fifos;           /* provider and descriptor, time it was opened -> nothing: what is no file on disk */
	struct fxt_fd_lives lives;      /* what else says what they are */
	struct fxt_map open;            /* provider and stream, or provider and descriptor that is too large for those -> file */
	struct fxt_file_name *names;    /* by label */
	const struct fxt_objects *objects;      /* streams that nobody was seen to open may have names too */
};

/* The begin of a lifetime, in the order of the file, before anything is taken: of a FIFO, perhaps. */
void fxt_files_begin(struct fxt_files *f, const struct fxt_record *rec);
/* Events in the order of time: what opens at its end, what uses or closes at its start. */
void fxt_files_take(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
		    const struct fxt_role *role);
/* The begin of a descriptor's lifetime, in the same order; in front of the call that made it, if that is there: it says more. */
void fxt_file_table_begin(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec);
void fxt_files_sort(struct fxt_files *f);
extern const char *const fxt_file_use_names[FXT_FILE_USES];
void fxt_files_print(const struct fxt_files *f, size_t top, FILE *out);
void fxt_files_free(struct fxt_files *f);

/* The file that is open under the event's descriptor or stream, or one that stands for not knowing. */
size_t fxt_file_of(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
		   const char *argument);
/* The mode of the descriptors or streams that the call works on or has opened, as far as it goes by that: FXT_FD_MODE_UNKNOWN otherwise, and where
 * it works on two of which each is in another mode. */
enum fxt_fd_mode fxt_file_mode(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
			       const struct fxt_role *role);
/* What the event opens, names, sets the mode of or closes. */
void fxt_file_table_take(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
			 const struct fxt_role *role);
/* The file of that label, made if it is new. Takes the label over. */
size_t fxt_file_named(struct fxt_files *f, char *label);

/* -- Calls still open (report_open.c) ------------------------------------------------------------- */

struct fxt_open_call {
	uint32_t category, name, thread;
	uint64_t start_ns, ticks, offset;
	struct fxt_provider *provider;
};

struct fxt_open_stack {
	struct fxt_open_call *list;
	size_t count, capacity;
};

struct fxt_open_calls {
	struct fxt_open_stack *threads; /* by thread */
	size_t count, capacity;
	struct fxt_map begins;          /* pid and place of a provider -> its earliest event of that process */
	struct fxt_map programs;        /* pid -> place of its last provider, and when that began */
};

void fxt_open_begin(struct fxt_open_calls *o, struct fxt_reader *r, const struct fxt_record *rec);
/* True, and *begun is the call this end belongs to, when there is one. */
bool fxt_open_end(struct fxt_open_calls *o, const struct fxt_record *rec, struct fxt_open_call *begun);
/* Decodes the begin, and makes it the complete event of a call that ended then. */
void fxt_open_as_complete(const struct fxt_open_call *begun, struct fxt_reader *r, uint64_t end_ticks, struct fxt_record *rec);
/* A call that is both open and complete, in a copy of a live file, is complete. */
void fxt_open_complete(struct fxt_open_calls *o, struct fxt_reader *r, const struct fxt_record *rec);
/* An event of a process: the last program it was is still to end. */
void fxt_open_seen(struct fxt_open_calls *o, const struct fxt_reader *r, const struct fxt_record *rec);
/* What a program was in when it was replaced by another, by exec, is over. */
void fxt_open_finish(struct fxt_open_calls *o, const struct fxt_reader *r);
/* Once it is finished: whether the provider is the last program that the thread's process was, or may be. */
bool fxt_open_is_of_last(const struct fxt_open_calls *o, const struct fxt_reader *r, uint32_t thread, const struct fxt_provider *p);
/* Whether a process's first thread is in a call: it hangs, or was killed. Its others are cut short by any end. */
bool fxt_open_is_stuck(const struct fxt_open_calls *o, const struct fxt_reader *r);
size_t fxt_open_count(const struct fxt_open_calls *o);
void fxt_open_print(const struct fxt_open_calls *o, struct fxt_reader *r, const struct fxt_objects *objects, const struct fxt_ends *ends,
		    bool with_process, size_t top, FILE *out);
void fxt_open_free(struct fxt_open_calls *o);

/* -- Locks that were taken (report_contention.c) --------------------------------------------------- */

struct fxt_contended {
	const char *kind;
	uint64_t pid, lock;
	const struct fxt_object *known; /* what it is, or NULL */
	uint32_t at, held_at;           /* symbols: functions in which it was wanted, and had been taken */
	uint64_t count, total_ns, max_ns;
	uint64_t held_ns, held_count;   /* how long the others had held it, of those waits where that is known */
};

/* What a thread last waited for: is_blocked if it still does. */
struct fxt_blocked {
	bool is_known, is_blocked;
	bool is_in_circle;              /* who holds it waits, in the end, for this thread */
	bool is_join;                   /* it waits for the holder's end, and there is no lock */
	uint64_t since_ns, lock;
	const struct fxt_object *known;
	uint64_t holder;                /* a thread's koid; 0: not known */
	uint64_t held_since_ns;         /* 0: not known */
	uint32_t at, held_at;
};

struct fxt_contention {
	struct fxt_contended *list;     /* sorted: the longest first */
	size_t count, capacity;
	struct fxt_map by_places;
	struct fxt_map by_handle;       /* threads, by pid and pthread_t */
	const struct fxt_objects *objects;
	struct fxt_blocked *blocked;    /* by thread */
	size_t blocked_count, blocked_capacity;
};

/* A call that found its lock taken says so in its arguments; others are passed over. */
void fxt_contention_take(struct fxt_contention *c, struct fxt_reader *r, const struct fxt_record *rec, const char *kind,
			 uint64_t duration_ns);
/* What it said when it began to wait. */
void fxt_contention_blocked(struct fxt_contention *c, struct fxt_reader *r, const struct fxt_record *rec);
/* The begin of a lifetime, which may be a thread's. */
void fxt_contention_thread(struct fxt_contention *c, struct fxt_reader *r, const struct fxt_record *rec);
/* `open` is complete. */
void fxt_contention_finish(struct fxt_contention *c, struct fxt_reader *r, const struct fxt_open_calls *open);
/* A lock's name, or its address. Free it. */
char *fxt_contention_lock(const struct fxt_object *known, uint64_t lock);
void fxt_contention_print(const struct fxt_contention *c, const struct fxt_reader *r, size_t top,
			  FILE *out);
/* Once it is finished: whether there is a circle of threads. */
bool fxt_contention_is_deadlock(const struct fxt_contention *c);
/* Threads that are still blocked: those in a circle first. */
void fxt_contention_print_blocked(const struct fxt_contention *c, const struct fxt_reader *r,
				  const struct fxt_ends *ends, bool with_process, size_t top, FILE *out);
void fxt_contention_free(struct fxt_contention *c);

/* -- All of it ------------------------------------------------------------------------------------ */

struct fxt_report {
	struct fxt_report_options options;
	struct fxt_reader *r;
	struct fxt_ends process_ends;
	struct fxt_roles roles;
	struct fxt_overview overview;
	struct fxt_objects objects;
	struct fxt_calls calls;
	struct fxt_calls agent;         /* what the agent did itself */
	struct fxt_waits waits;
	struct fxt_contention contention;
	struct fxt_heaps heaps;
	struct fxt_leaks leaks;
	struct fxt_files files;
	struct fxt_log_lines log;
	struct fxt_open_calls open;
	struct fxt_descriptors descriptors;
	struct fxt_thread_times threads;
	struct fxt_chains chains;
	struct fxt_no_wait no_wait;
	struct fxt_order order, ends;   /* by what takes effect when; and of calls by their ends */
	struct fxt_map cut;             /* offset of an end that an exec made of a call in `ends` -> where that begins, and its provider */
	uint64_t elsewhere_ns;          /* in calls that neither wait for threads nor move bytes through descriptors */
	bool has_functions;             /* instrumented ones */
	bool has_processes;             /* several: threads are told with theirs */
	uint8_t *chosen;                /* by symbol of a category: 0 unknown, 1 no, 2 yes */
	size_t chosen_count, chosen_capacity;
};

void fxt_report_make(struct fxt_report *report, struct fxt_reader *r,
		     const struct fxt_report_options *options);
void fxt_report_print(const struct fxt_report *report, FILE *out);
void fxt_report_free(struct fxt_report *report);

void fxt_report_json(const struct fxt_report *report, FILE *out);

/* report_json_why.c. The first begins an object of the thread's ids and its name, to be ended by the caller. */
struct fxt_json;
void fxt_report_json_thread(struct fxt_json *j, const char *key, const struct fxt_reader *r, uint32_t index);
void fxt_report_json_threads(struct fxt_json *j, const struct fxt_report *report);
void fxt_report_json_chains(struct fxt_json *j, const struct fxt_report *report);

#endif
