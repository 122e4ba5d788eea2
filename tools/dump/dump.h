/* fxt dump: a line for every record. dump.c prints text, dump_json.c JSON; the fuzz target calls both.
 *
 * tools/dump/ is this one command. It uses tools/analysis/ and what that uses.
 */
#ifndef FXT_TOOLS_DUMP_H
#define FXT_TOOLS_DUMP_H

#include <stdio.h>

#include "tools/analysis/demangle.h"
#include "tools/analysis/objects.h"
#include "tools/reading/reader.h"

struct fxt_dump_options {
	bool all;               /* fillers and unknown records too */
	bool absolute;          /* times in nanoseconds as they are, not in seconds since the first */
	bool json;
};

/* Prints to `out` what `r` reads, from where it stands to its end. */
void fxt_dump(struct fxt_reader *r, const struct fxt_dump_options *options, FILE *out);

/* The word for what a record is: "thread", "complete", "flow-end". */
const char *fxt_record_word(const struct fxt_record *rec);

/* `demangled` is the event's name as its source has it, or NULL. */
void fxt_dump_json(const struct fxt_reader *r, const struct fxt_record *rec, const struct fxt_objects *objects,
		   const char *demangled, const char *fault, FILE *out);

#endif
