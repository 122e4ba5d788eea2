/* A trace file, mapped read-only. Used by every subcommand that takes a FILE.
 *
 * The size is taken once. A file that is cut shorter while it is read would raise SIGBUS in the middle of a
 * decoder; opening the first file installs a handler that says so in one line and exits with status 1.
 */
#ifndef FXT_TOOLS_MAPPED_TRACE_H
#define FXT_TOOLS_MAPPED_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fxt_trace_file {
	const char *path;
	const unsigned char *data;
	uint64_t size;
};

/* False after a message: unreadable, no regular file, empty, not FXT, big-endian. */
bool fxt_trace_open(struct fxt_trace_file *f, const char *path);
void fxt_trace_close(struct fxt_trace_file *f);

/* What was read between the two is read no more soon: where a file is mapped there, its pages are let go. */
void fxt_trace_drop(const unsigned char *from, const unsigned char *to);

/* What keeps these bytes from being a trace, as the message says it; NULL when they begin as one. */
const char *fxt_trace_refusal(const unsigned char *data, uint64_t size);

/* Says that `bytes` at the end are no whole record, or how many records are damaged, when that is so. Returns
 * the exit status this makes, 0 or 1. */
struct fxt_reader;
int fxt_trace_verdict(const struct fxt_trace_file *f, const struct fxt_reader *r);

#endif
