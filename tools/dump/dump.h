/* fxt dump prints a line for every record. dump.c prints text, dump_json.c JSON; the fuzz target calls
 * both. */
#ifndef FXT_TOOLS_DUMP_H
#define FXT_TOOLS_DUMP_H

#include <stdio.h>

#include "tools/analysis/demangle.h"
#include "tools/analysis/objects.h"
#include "tools/narrow/selection.h"
#include "tools/printing/utc_time.h"
#include "tools/reading/reader.h"

struct fxt_dump_options {
	bool all;               /* print fillers and unknown records too */
	bool absolute;          /* print times in nanoseconds as they are, not in seconds since the first */
	bool utc;               /* print times of day */
	bool json;
	bool sorted;            /* print in the order of time, what has none first */
	size_t tail;            /* print so many of the last lines; 0: all */
	struct fxt_selection *selection;        /* print what it chooses, of the records that have a time;
						 * NULL: print all */
};

/* Prints to `out` all that `r` reads, from where it stands to its end. Returns NULL, or a text that says why
 * not all could be printed, for the caller to free. */
char *fxt_dump(struct fxt_reader *r, const struct fxt_dump_options *options, FILE *out);

/* Lines on their way to the output, in dump_lines.c: all at once, or as the options ask. */
struct fxt_dump_lines;
struct fxt_dump_lines *fxt_dump_lines_begin(const struct fxt_dump_options *options, FILE *out);
/* Returns the stream to which the line of a record is to be printed. */
FILE *fxt_dump_line(struct fxt_dump_lines *l);
/* The line is whole. */
void fxt_dump_line_end(struct fxt_dump_lines *l, const struct fxt_record *rec);
/* Prints what waits, and frees all. Returns as fxt_dump() does. */
char *fxt_dump_lines_end(struct fxt_dump_lines *l);

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
