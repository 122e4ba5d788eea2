/* The passes of fxt report that go through a file once more: in the order of time, and in the order in which
 * calls end. The first pass (report.c) goes through it as it lies, and asks the keys below which events the
 * other two take, so that these need look at no others.
 */
#ifndef FXT_TOOLS_REPORT_PASSES_H
#define FXT_TOOLS_REPORT_PASSES_H

#include "event_facts.h"

struct fxt_report;

/* Prepares the orders. It is called before the first pass. */
void fxt_passes_prepare(struct fxt_report *report);

/* Returns whether the second pass takes the event, and sets its time in that pass. It takes finished calls of
 * the heap and of files (see fxt_heaps_take() and fxt_files_take()), and those that the critical path wants.
 * Whatever categories were asked for, it also takes what says which descriptors a process began with and what
 * became of them. */
bool fxt_time_key(struct fxt_report *report, const struct fxt_record *rec,
		  const struct fxt_event_facts *facts, uint64_t *key_ns);

/* Returns whether the third pass takes the event, and sets its time in that pass. It takes flows and the
 * calls that they may end in, in the order of ends. A flow's begin has to come before its end, but need not
 * come at its time. The thread that waited writes most begins, right before the end and with a time before
 * the wait; by its own time each would begin a run of its own. */
bool fxt_end_key(struct fxt_report *report, const struct fxt_record *rec,
		 const struct fxt_event_facts *facts, uint64_t *key_ns);

/* Takes how long a call took, without those within it. The first pass calls this for a call that the third
 * one does not take. */
void fxt_duration_take(struct fxt_report *report, const struct fxt_record *rec,
		       struct fxt_event_facts *facts, uint64_t duration_ns);

/* Return when the pass is over. */
void fxt_replay(struct fxt_report *report);
void fxt_replay_ends(struct fxt_report *report);

#endif
