/* fxt dump prints a line for every record. dump.c prints text, dump_json.c JSON; the fuzz target calls
 * both. */
#ifndef FXT_TOOLS_DUMP_H
#define FXT_TOOLS_DUMP_H

#include <stdio.h>

#include "tools/analysis/demangle.h"
#include "tools/analysis/objects.h"
#include "tools/printing/utc_time.h"
#include "tools/reading/reader.h"

struct fxt_dump_options {
	bool all;               /* print fillers and unknown records too */
	bool absolute;          /* print times in nanoseconds as they are, not in seconds since the first */
	bool utc;               /* print times of day */
	bool json;
};

/* Prints to `out` all that `r` reads, from where it stands to its end. */
void fxt_dump(struct fxt_reader *r, const struct fxt_dump_options *options, FILE *out);

/* Returns the word for the kind of a record: "thread", "complete", "flow-end". */
const char *fxt_record_word(const struct fxt_record *rec);

/* Prints one record as a line of JSON. `demangled` is the event's name as its source has it, or NULL; `fault`
 * says what is wrong with the record, or is NULL. The time of day is printed too if `utc` is known. */
void fxt_dump_json(const struct fxt_reader *r, const struct fxt_record *rec,
		   const struct fxt_objects *objects, const char *demangled, const char *fault,
		   const struct fxt_wall_clock *utc, FILE *out);

/* The subcommand: see tools/common/command.h. */
int fxt_command_dump(int argc, char **argv);

#endif
