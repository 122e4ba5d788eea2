/* The manager of a run: it saves what the programs of the run record, while they run, into an archive in the
 * directory of parts. fxt record is that manager. A program that cannot connect to it leaves a file in the
 * directory, and so do all programs if there can be no manager.
 *
 * While the run goes on the archive is followed (merge.h), so that when the command ends, the trace is
 * complete but for what was recorded last.
 */
#ifndef FXT_TOOLS_SAVER_H
#define FXT_TOOLS_SAVER_H

#include "record.h"
#include "tools/join/merge.h"
#include "tools/manager/manager.h"
#include "tools/reading/mapped_trace.h"
#include "tools/witness/witness.h"

struct fxt_saver {
	struct fxt_manager manager;
	char *socket;                   /* its path; NULL: there is no manager */
	char *archive;                  /* its path */
	char *key;                      /* for FXT_RUN; NULL: there is no other way to the socket */
	struct fxt_merge *merge;        /* follows the archive */
	struct fxt_reader reader;
	struct fxt_trace_file mapped;   /* the archive and what may follow it; no data: nothing is followed */
	/* what is kept of a long run: of what programs record, and of what the kernel tells */
	struct fxt_archive_keep_wish keep, kernel_keep;
	uint64_t memory_bytes;          /* what they take together (manager/grants.h); 0: the usual */
	struct fxt_witness *witness;    /* it begins when recording does; NULL: there is none */
	unsigned budget;                /* hundredths of a percent (manager/budget.h); 0: none */
	/* CLOCK_MONOTONIC: when recording begins and ends; UINT64_MAX: at no time by itself; 0: it has begun,
	 * or ends with the command */
	uint64_t start_ns, stop_ns;
	uint64_t duration_ns;           /* how long it lasts, or 0 */
	/* recording begins or ends when fxt_run_kept() is so much; 0: no signal begins or ends it */
	unsigned signals;
};

/* Makes the manager's socket and the archive, and begins to record, unless the options want a delay. Returns
 * false if there can be no manager, or if the options (or the variables that stand for them) want what only
 * files do. `shared` is the memory that the processes share, or -1. */
bool fxt_saver_begin(struct fxt_saver *s, const struct fxt_record_options *o, const char *directory,
		     int shared);

/* Saves until process `pid`, a child of this one, has ended. The child is not reaped. Returns false if it
 * still runs, because the time is over for which the options want recording; then fxt_saver_finish() is
 * due, and after that this function again. Programs record nothing meanwhile. */
bool fxt_saver_serve(struct fxt_saver *s, pid_t pid);

/* Saves what comes within `most_ms` milliseconds, after fxt_saver_serve(). Returns false if the time is
 * over for which the options want recording. */
bool fxt_saver_step(struct fxt_saver *s, unsigned most_ms);

/* Returns whether programs are connected, when what they have sent already was handled. */
bool fxt_saver_has_programs(struct fxt_saver *s);

/* Saves what is left, and ends recording in all programs that still run. Then the archive is whole. Returns
 * whether the archive was followed to its end, so that `merge` is ready to have parts appended, by
 * fxt_join_archive(). */
bool fxt_saver_finish(struct fxt_saver *s);

/* Ends the manager, after fxt_saver_finish(). */
void fxt_saver_end(struct fxt_saver *s);

void fxt_saver_free(struct fxt_saver *s);

/* Returns what is kept if the kernel alone tells of a run, as with --pid. */
struct fxt_archive_keep_wish fxt_saver_kernel_alone(const struct fxt_record_options *o);

#endif
