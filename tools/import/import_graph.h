/* Has libbabeltrace2 read CTF traces: its source.ctf.fs for each, and its muxer, which sorts all streams by
 * time. This runs in the child process alone (import.h). */
#ifndef FXT_TOOLS_IMPORT_GRAPH_H
#define FXT_TOOLS_IMPORT_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "import_library.h"
#include "import_metadata.h"

/* SIGALRM ends the process if the library has no message for so long, because it may loop for ever over a
 * damaged trace. */
enum { FXT_IMPORT_PATIENCE_S = 120 };

/* Takes a message. Returns what is wrong, as a text that the caller frees; NULL: nothing. */
typedef char *fxt_import_take(void *context, const bt_message *message);

/* Reads the traces in these directories, in the order of time. Returns what is wrong, as a text that the
 * caller frees; NULL: nothing. */
char *fxt_import_graph_run(const struct fxt_import_directory *directories, size_t count,
			   fxt_import_take *take, void *context);

#endif
