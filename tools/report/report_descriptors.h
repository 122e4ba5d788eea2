/* fxt report: tells of descriptors that were still open when their process or the trace ended, by the call
 * that made them, and who made that call if that is known. It leaves out standard input, output and error. It
 * also leaves out descriptors that a process inherited, which did not begin in it, and those that a program
 * had when another one replaced it, which are closed or the other program's; nor does it tell of those from
 * before a gap (gaps.h). */
#ifndef FXT_TOOLS_REPORT_DESCRIPTORS_H
#define FXT_TOOLS_REPORT_DESCRIPTORS_H

#include <stdio.h>

#include "tools/analysis/overview.h"
#include "tools/analysis/process_ends.h"
#include "tools/reading/reader.h"

struct fxt_calls_in_progress;
struct fxt_gaps;
struct fxt_who;

struct fxt_left {
	char *label;                    /* its path or peer, or its kind in parentheses */
	uint32_t call;                  /* symbol of the call that made or connected it */
	uint64_t pid, count;
	uint64_t since_ns;              /* when the oldest was made */
	uint64_t until_ns;              /* when its process, or else the trace, ended */
	uint32_t innermost;             /* node of the stack that made the oldest, or FXT_NO_FRAME */
	uint32_t path; /* FXT_NO_PATH: it is not known who made them, and all have the label */
	bool is_mixed;                  /* they have different labels, of which this is the oldest's */
};

struct fxt_descriptors {
	struct fxt_left *list;          /* sorted: the most first */
	size_t count, capacity;
	uint64_t unknown;               /* so many others were open when recording stopped or lost records */
	struct fxt_map lives;           /* async id -> where it began, provider and whether it has ended */
	struct fxt_map peers;           /* provider and descriptor -> where its connection began */
};

/* Takes an async event, in the order of the file. */
void fxt_descriptors_take(struct fxt_descriptors *d, const struct fxt_record *rec);
/* Makes and sorts the list. `open` is finished, because it has to know which program each process was
 * last. */
void fxt_descriptors_finish(struct fxt_descriptors *d, struct fxt_reader *r, struct fxt_who *who,
			    const struct fxt_gaps *gaps, const struct fxt_calls_in_progress *open,
			    const struct fxt_ends *ends);
/* Returns whether descriptors pile up: many of one kind are left. */
bool fxt_descriptors_is_leaking(const struct fxt_descriptors *d);
void fxt_descriptors_print(const struct fxt_descriptors *d, const struct fxt_reader *r,
			   struct fxt_who *who, size_t top, FILE *out);
void fxt_descriptors_free(struct fxt_descriptors *d);

struct fxt_json;
void fxt_descriptors_json(const struct fxt_descriptors *d, struct fxt_json *j, const struct fxt_reader *r,
			  struct fxt_who *who);

#endif
