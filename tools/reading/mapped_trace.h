/* A trace file, mapped read-only. Every subcommand that takes a FILE uses this. A compressed file is unpacked
 * into a file without a name first, in TMPDIR.
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

/* Opens and maps the file. Returns false after a message if it cannot be read, is no regular file, is
 * empty, or is no trace or one of a big-endian machine. A directory is joined first, by the next function. */
bool fxt_trace_open(struct fxt_trace_file *f, const char *path);
void fxt_trace_close(struct fxt_trace_file *f);

/* Makes one trace of those in a directory, in a file without a name, and returns its descriptor. Returns -1
 * after a message. NULL: a directory is no trace. This is set by what knows how to join. */
extern int (*fxt_trace_of_directory)(const char *path);

/* Makes a trace of one that was not joined, in which processes and threads that had one number in turn are
 * told apart (tools/join/renumber.h). It is set and returns as the former. */
extern int (*fxt_trace_told_apart)(const char *path);

/* Does what fxt_trace_open() does for a file that somebody still writes: f->size counts the file and a large
 * space behind it, into which the file grows. Only what the file has by then may be read. Returns false with
 * errno. */
bool fxt_trace_follow(struct fxt_trace_file *f, const char *path);

/* Says that nobody reads the bytes from `from` to `to` again soon. If they are of a mapped file, its
 * pages are given back to the kernel. */
void fxt_trace_drop(const unsigned char *from, const unsigned char *to);

/* Returns why these bytes are no trace, as the message says it; NULL if they begin as one. */
const char *fxt_trace_refusal(const unsigned char *data, uint64_t size);

/* Prints how many bytes at the end are no whole record, and how many records are damaged, if there are
 * any. Returns the exit status: 0, or 1 if it printed anything. */
struct fxt_reader;
int fxt_trace_verdict(const struct fxt_trace_file *f, const struct fxt_reader *r);

/* Opens the trace, has `print` read it to its end and write to standard output, flushes that, and gives the
 * verdict. Returns the exit status: 1 as well if the trace cannot be opened or standard output cannot be
 * written. */
typedef void fxt_trace_print(struct fxt_reader *r, void *context);
int fxt_trace_show(const char *path, fxt_trace_print *print, void *context);

#endif
