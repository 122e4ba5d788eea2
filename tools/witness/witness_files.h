/* What a thread is blocked at that others may end: a pipe, a FIFO or a socket, by the system call that it is
 * in, as /proc tells it; and which processes of the run have the other end. */
#ifndef FXT_TOOLS_WITNESS_FILES_H
#define FXT_TOOLS_WITNESS_FILES_H

#include "witness_trace.h"

enum { FXT_WITNESS_FILE_BYTES = 256 };

struct fxt_blocked_file {
	/* "read", "write", "open to read" or "open to write"; NULL: it is none of these */
	const char *wants;
	char file[FXT_WITNESS_FILE_BYTES];      /* "pipe:[17]", "socket:[18]", or a path */
	/* The file whose holders may let it go on: for a pipe, itself; for a socket, its other end. Empty:
	 * they are not known, or are not of the run alone. */
	char by[FXT_WITNESS_FILE_BYTES];
};

/* Finds what a thread is blocked at. `doing` is the text of its /proc file `syscall`. */
void fxt_witness_blocked_file(struct fxt_blocked_file *f, uint32_t pid, const char *doing);

/* Writes an instant `holds` for each process of the run that has `f->by` open, and how: to "read", to
 * "write", or "both". */
void fxt_witness_holders(struct fxt_witness_trace *w, const struct fxt_blocked_file *f);

#endif
