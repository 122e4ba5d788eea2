/* fxt cut: writes a part of a trace as a trace. Other commands read such a part through the functions here.
 *
 * The part has each record that was chosen as it is in the trace, in the same order, and before these what
 * they refer to. Names, objects and stacks are all there. Not there are fillers, records that are damaged,
 * and the copy of samples and of the heap that Perfetto reads in its own form, which is about the whole.
 */
#ifndef FXT_TOOLS_CUT_H
#define FXT_TOOLS_CUT_H

#include <stdio.h>

#include "narrow.h"
#include "tools/reading/mapped_trace.h"

int fxt_command_cut(int argc, char **argv);

/* Returns the path of a file without a name in TMPDIR that has the chosen part of the trace, for the caller
 * to free; it can be opened until the program ends. Returns NULL after a message. */
char *fxt_cut_nameless(const char *path, struct fxt_narrow *narrow);

/* Writes the chosen part of a trace to a stream. Returns NULL, or a text that says what is wrong, for the
 * caller to free. */
char *fxt_cut(const struct fxt_trace_file *file, struct fxt_narrow *narrow, FILE *out);

#endif
