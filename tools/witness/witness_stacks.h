/* The stacks of samples, in the trace of the kernel's records (witness_trace.h): unwinding, the names of
 * functions and the nodes of the call tree. */
#ifndef FXT_TOOLS_WITNESS_STACKS_H
#define FXT_TOOLS_WITNESS_STACKS_H

#include "witness_trace.h"
#include "writer/fxt_encode.h"

enum { FXT_WITNESS_INLINE = 1000 };     /* bytes of a name that has no index, at most */

/* Takes a sample. If it is in code that the program has made, of which no name is known, it is kept for a
 * while. */
void fxt_witness_sample(struct fxt_witness_trace *w, const struct fxt_perf_record *sample);

/* Writes the samples of a process that were kept: it is about to end, or to be another program. If `pid` is
 * 0, writes those of all. */
void fxt_witness_late(struct fxt_witness_trace *w, uint32_t pid);

/* Writes the stack of a thread that does not run, whose registers and stack `thread` has as a sample would.
 * Returns its innermost node, or 0. *call is the function of the C library (glibc) that the thread is in, as
 * the program has called it, and the caller frees it; NULL: none is known. */
uint64_t fxt_witness_stack(struct fxt_witness_trace *w, const struct fxt_perf_record *thread, char **call);

/* -- In witness_trace.c -------------------------------------------------------------------------- */

/* Writes words, which are whole records. */
void fxt_witness_put(struct fxt_witness_trace *w, const uint64_t *words, size_t count);

/* Returns the string for a record. It gets an index as long as there are some; after that, it is cut so that
 * it fits in a record, and stays valid until this was called four times. */
struct fxt_string fxt_witness_string(struct fxt_witness_trace *w, const char *text);

/* Returns whether a sample or switch is to be kept, and notes that something is kept of its thread. */
bool fxt_witness_keeps(struct fxt_witness_trace *w, const struct fxt_perf_record *record);

/* Writes an instant about the thread that a record is about, with some arguments more. */
enum { FXT_WITNESS_MORE_ARGS = 8 };
void fxt_witness_instant(struct fxt_witness_trace *w, const struct fxt_perf_record *record,
			 struct fxt_string category, struct fxt_string name, struct fxt_args more);

/* Writes such an instant of category kernel. */
void fxt_witness_fact(struct fxt_witness_trace *w, const struct fxt_perf_record *record, const char *name,
		      struct fxt_args more);

#endif
