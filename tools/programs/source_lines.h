/* Finds the lines of source that addresses in executables and libraries come from, by the debug information
 * of these files as they are on disk now. Report uses this for functions of which there are samples.
 *
 * Paths come from traces, and so from anywhere. Only regular files are opened, and no file that was changed
 * after the trace was written, because its addresses may have moved. No server is asked for debug
 * information. Where fxt was built without libdw, nothing is found.
 */
#ifndef FXT_TOOLS_SOURCE_LINES_H
#define FXT_TOOLS_SOURCE_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct fxt_source_lines;        /* the files that are open, each with its debug information */

struct fxt_source_place {
	char file[64];                  /* without folders */
	int line;
	/* the inlined function that the address is in, as its source has it; or empty, if it is in none */
	char function[128];
};

/* Begins to look up lines, in files that were not changed after this time. */
struct fxt_source_lines *fxt_source_lines_open(time_t not_after);
/* Finds the line of an address as its file has it. Returns false if it is not known. */
bool fxt_source_line(struct fxt_source_lines *s, const char *path, uint64_t address,
		     struct fxt_source_place *place);
/* `s` may be NULL. */
void fxt_source_lines_close(struct fxt_source_lines *s);

#endif
