/* What ran on the processors, as the kernel saw it from outside: samples of the processor clock, and context
 * switches. `fxt record` writes them into the trace as one more provider (tools/witness/witness_trace.h). Its
 * threads are the processors, and its events name the thread that they are about as arguments. No call of a
 * program is among its events, so all other analyses pass over them.
 */
#ifndef FXT_TOOLS_PROCESSOR_TIME_H
#define FXT_TOOLS_PROCESSOR_TIME_H

#include "tools/analysis/call_tree.h"
#include "tools/analysis/overview.h"
#include "tools/analysis/process_ends.h"
#include "tools/analysis/switch_times.h"
#include "tools/reading/reader.h"

/* Fewer samples say nothing of shares: of 20, one more or less is a twentieth. */
enum { FXT_FEW_SAMPLES = 20 };

/* A thread, with its samples and times. */
struct fxt_processor_thread {
	uint32_t thread;                /* place in fxt_reader.threads */
	uint64_t samples;
	struct fxt_switch_sums times;
	/* the function that most of its samples are in, as a place in the tree, and how many are */
	uint32_t function;
	uint64_t function_samples;
};

struct fxt_processor_process {
	uint64_t pid, samples;
	struct fxt_switch_sums times;
};

/* The sums. When nothing has been taken, all members are zero. */
struct fxt_processor_time {
	struct fxt_call_tree tree;
	struct fxt_switch_times switches;
	bool is_foreign;                /* another tracer wrote the switches */
	uint64_t hz;                    /* a sample stands for a second by this; 0: not known */
	bool kernel_not_sampled;        /* time in the kernel has no samples */
	uint64_t kernel_samples;        /* samples that were taken in the kernel */
	uint64_t lost_records;          /* records of the kernel that found no room, or were not kept */
	/* sorted: what used the processors most comes first */
	struct fxt_processor_thread *threads;
	size_t thread_count, thread_capacity;
	struct fxt_processor_process *processes;
	size_t process_count, process_capacity;
};

/* Returns the thread that an event of the kernel is about. */
uint32_t fxt_told_thread(struct fxt_reader *r, const struct fxt_record *rec);

/* Takes a whole and sound record of the kernel, of any type. */
void fxt_processor_time_take(struct fxt_processor_time *p, struct fxt_reader *r,
			     const struct fxt_record *rec);
/* Completes the sums. `ends` and `overview` have all records. Nothing can be taken afterwards. */
void fxt_processor_time_finish(struct fxt_processor_time *p, const struct fxt_reader *r,
			       const struct fxt_ends *ends, const struct fxt_overview *overview,
			       bool by_total);
/* Returns the processor time that so many samples stand for; 0 if that is not known. */
uint64_t fxt_samples_ns(const struct fxt_processor_time *p, uint64_t samples);
void fxt_processor_time_free(struct fxt_processor_time *p);

#endif
