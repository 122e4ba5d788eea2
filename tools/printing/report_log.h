/* fxt report: shows the last lines that the program wrote to standard error and syslog, from the log
 * records. */
#ifndef FXT_TOOLS_REPORT_LOG_H
#define FXT_TOOLS_REPORT_LOG_H

#include <stdio.h>

#include "tools/printing/utc_time.h"
#include "tools/reading/reader.h"

struct fxt_log_line {
	uint64_t at_ns, number;         /* its time, and its place among all in the order of the file */
	uint32_t thread;
	struct fxt_text message;
};

/* The latest lines. When there are none, all members are zero. */
struct fxt_log_lines {
	/* a heap with the earliest first; in the order of time after fxt_log_sort() */
	struct fxt_log_line *list;
	size_t count, capacity;
	uint64_t total;
};

/* Returns whether an event is a line that a log record has as well. */
bool fxt_log_has_event(const struct fxt_record *rec);

/* Takes a log record. Only the `keep` latest are kept. */
void fxt_log_take(struct fxt_log_lines *l, const struct fxt_record *rec, size_t keep);
void fxt_log_sort(struct fxt_log_lines *l);
/* Says of each line how long before the end it was written or, if `utc` is not NULL, when. */
void fxt_log_print(const struct fxt_log_lines *l, const struct fxt_reader *r,
		   const struct fxt_wall_clock *utc, uint64_t end_ns, bool with_process, FILE *out);
void fxt_log_free(struct fxt_log_lines *l);

#endif
