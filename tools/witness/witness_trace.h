/* Turns the kernel's records into a trace of their own, which is a part of the run's (join.h). Its provider
 * is FXT_KERNEL_PROVIDER (docs/witness.md). */
#ifndef FXT_TOOLS_WITNESS_TRACE_H
#define FXT_TOOLS_WITNESS_TRACE_H

#include "fresh_tasks.h"
#include "perf_events.h"
#include "spaces.h"
#include "tools/archive/archive.h"
#include "witness.h"

struct fxt_late_sample;         /* in witness_stacks.c */
struct fxt_witness_string;      /* a string that has an index, in witness_trace.c */

/* All members are zero before fxt_witness_trace_begin(). */
struct fxt_witness_trace {
	struct fxt_archive *out;
	uint64_t file;                  /* number of the present file: what others say is said again in it */
	struct fxt_spaces spaces;
	struct fxt_witness_string *strings;
	uint32_t string_count;
	/* of a processor's number: its thread's index, or 0; and the last file that says it */
	struct fxt_map processors;
	struct fxt_map seen;            /* of all threads of which something was kept: witness_switches.c */
	/* of all threads: since when it is blocked and was not told of, or 0; and how long it takes until it
	 * is told of: witness_blocked.c */
	struct fxt_map blocked;
	struct fxt_map nodes;           /* of the caller's node, and module and address: the node */
	uint64_t node_count;
	struct fxt_fresh_tasks fresh;   /* processes that may be helpers of the agent */
	struct fxt_map names;           /* of a tid: its name, as an index of `comms` */
	char (*comms)[16];
	size_t comm_count, comm_capacity;
	const struct fxt_witness_wish *wish;
	uint64_t since_ns;              /* programs write names of functions from then on: perf_map.h */
	bool is_on;                     /* samples and switches are kept */
	const struct fxt_perf *perf;
	bool is_told;
	uint64_t lost;                  /* records that found no room in a ring, by what the rings say */
	struct fxt_late_sample **late;  /* samples that wait for names of their functions */
	size_t late_count, late_capacity;
};

/* Begins the trace, which says how samples are taken: in the kernel too or not, and with how much of the
 * stack. `wish` and `perf` stay valid. */
void fxt_witness_trace_begin(struct fxt_witness_trace *w, struct fxt_archive *out,
			     const struct fxt_witness_wish *wish, const struct fxt_perf *perf);

/* Takes what a process that runs already has mapped, and the names of its threads. */
void fxt_witness_trace_know(struct fxt_witness_trace *w, uint32_t pid);

/* Writes what there is by now into the file, and begins another one if it is time. */
void fxt_witness_trace_flush(struct fxt_witness_trace *w);

/* Takes a record, in the order of time. The context is the trace. */
void fxt_witness_trace_take(void *context, const struct fxt_perf_record *record);

/* Is told now and then that all records of the kernel up to now were taken: writes what can be told of
 * threads that are blocked for long. */
void fxt_witness_trace_step(struct fxt_witness_trace *w);

/* Writes down how many records the kernel had no room for, when it has told the sum. A ring says it with the
 * next record that it takes, and so may never say the last. */
void fxt_witness_trace_lost(struct fxt_witness_trace *w, uint64_t count);

/* Writes the names of processes and threads that no agent names, and frees everything but `out`. */
void fxt_witness_trace_end(struct fxt_witness_trace *w);

#endif
