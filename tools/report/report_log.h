/* fxt report: what the program said last, on standard error and to syslog, from the log records. */
#ifndef FXT_TOOLS_REPORT_LOG_H
#define FXT_TOOLS_REPORT_LOG_H

#include <stdio.h>

#include "tools/reading/reader.h"

struct fxt_log_line {
	uint64_t at_ns, number;         /* in the order of the file */
	uint32_t thread;
	struct fxt_text message;
};

/* All zero is the beginning. */
struct fxt_log_lines {
	struct fxt_log_line *list;      /* a heap, the earliest first; sorted: in the order of time */
	size_t count, capacity;
	uint64_t total;
};

/* Whether an event is a line that the log records have as well. */
bool fxt_log_has_event(const struct fxt_record *rec);

/* A log record. The `keep` latest stay. */
void fxt_log_take(struct fxt_log_lines *l, const struct fxt_record *rec, size_t keep);
void fxt_log_sort(struct fxt_log_lines *l);
void fxt_log_print(const struct fxt_log_lines *l, const struct fxt_reader *r, uint64_t end_ns,
		   bool with_process,
		   FILE *out);
void fxt_log_free(struct fxt_log_lines *l);

#endif
