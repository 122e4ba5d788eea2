/* What fxt record does when the command has ended and descendants of it go on: it records them to their end.
 * Somebody may want to leave them before, by Ctrl-C or --detach. Then they go on untraced.
 */
#ifndef FXT_TOOLS_AFTERWARDS_H
#define FXT_TOOLS_AFTERWARDS_H

#include "descendants.h"
#include "record.h"
#include "saver.h"

struct fxt_afterwards {
	const struct fxt_record_options *options;
	const char *agent;              /* the path of its library */
	struct fxt_saver *saver;
	struct fxt_descendants *descendants;    /* NULL: not known, as fxt record is no ancestor */
};

/* Waits until no descendant of the command is left that may record. If they are to be left, waits for half a
 * second at most, while programs are about to end. Notes in `run` which go on. */
void fxt_record_afterwards(const struct fxt_afterwards *a, struct fxt_run *run);

#endif
