/* Finds the lines of source that addresses in executables and libraries come from, by the debug information
 * of these files as they are on disk now (frame_names.h). Report uses this for functions of which there are
 * samples.
 */
#ifndef FXT_TOOLS_SOURCE_LINES_H
#define FXT_TOOLS_SOURCE_LINES_H

#include <stdbool.h>

#include "frame_names.h"

struct fxt_source_place {
	char file[64];                  /* without folders */
	int line;
	/* the inlined function that the address is in, as its source has it; or empty, if it is in none */
	char function[128];
};

/* Finds the line of an address as its file has it. Returns false if it is not known. `names` may be NULL. */
bool fxt_source_line(struct fxt_frame_names *names, const struct fxt_frame_at *at,
		     struct fxt_source_place *place);

#endif
