/* Directories in the Common Trace Format (CTF 1.8), as LTTng writes them, become an FXT trace in a file
 * without a name, which every command reads like any other. libbabeltrace2 reads the directory.
 *
 * That is done in a child process. The library prints messages and calls abort() where a trace has what it
 * did not expect, and traces come from anywhere. So its messages go nowhere, its end is one line of ours, and
 * its memory is gone before the trace is read.
 *
 * import.c starts the child and says what went wrong, import_graph.c has the library read, import_events.c
 * takes what it says, import_lttng.c and import_own.c make records of events, import_calls.c puts calls of a
 * trace of ours together, import_open.c keeps calls that have not returned and who holds which mutex,
 * import_losses.c says what is missing, import_modules.c has names of functions, import_fields.c reads
 * fields, and import_out.c writes records.
 */
#ifndef FXT_TOOLS_IMPORT_H
#define FXT_TOOLS_IMPORT_H

#include <stdbool.h>

/* Returns whether there is a CTF trace in the directory, or below it: a file named `metadata`. */
bool fxt_import_is(const char *directory);

/* Makes one FXT trace of all CTF traces in the directory and below it, in a file without a name in TMPDIR.
 * Returns its descriptor, or -1 after a message. See fxt_trace_of_directory. */
int fxt_import_trace(const char *directory);

#endif
