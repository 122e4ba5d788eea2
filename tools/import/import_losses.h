/* What a CTF trace has lost. LTTng counts it for each buffer. A buffer belongs to one process, or to all
 * processes of a user, and then nobody knows whose events are missing. */
#ifndef FXT_TOOLS_IMPORT_LOSSES_H
#define FXT_TOOLS_IMPORT_LOSSES_H

#include "import_library.h"
#include "import_out.h"

/* The name of the process that stands for all that may be meant. */
#define FXT_IMPORT_ANY_PROCESS "any process"

struct fxt_import_loss {
	uint64_t from_ns, to_ns;
	bool is_counted;
	uint64_t count;
};

/* Sets *pid to the process that the whole trace is of. Returns false if it is of several. */
bool fxt_import_process_of(const bt_trace *trace, uint64_t *pid);

/* Writes a loss of some buffer of the trace. */
void fxt_import_lost(struct fxt_import_out *o, const bt_trace *trace, const struct fxt_import_loss *loss);

#endif
