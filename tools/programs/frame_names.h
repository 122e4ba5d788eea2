/* Names of the frames of call stacks. A frame is an address in a file, as the trace has it; its name is that
 * of the function there, and the debug information of the file tells the lines and the functions that were
 * inlined. Join uses this for the names that it writes into a trace, and report for lines.
 *
 * A frame without a known function has the name "basename+0xoffset", one in no file "[code in no file]", and
 * one at no address "[further callers]". What is asked twice is looked up once. A table of names is for one
 * thread at a time.
 */
#ifndef FXT_TOOLS_FRAME_NAMES_H
#define FXT_TOOLS_FRAME_NAMES_H

#include <stdbool.h>
#include <time.h>

#include "code_file.h"
#include "tools/analysis/call_stacks.h"
#include "tools/reading/reader.h"

struct fxt_frame_names;                 /* the files that are open, and the names that were found */

/* An address in a file. */
struct fxt_frame_at {
	struct fxt_text path;           /* empty: the code is in no file */
	struct fxt_text build_id;       /* in hexadecimal digits; empty: it is not known */
	uint64_t offset;
};

/* What is known of an address. */
struct fxt_frame_place {
	/* The innermost first (code_file.h). The last one is the function itself, which always has a name;
	 * those before it were inlined. */
	struct fxt_code_level *levels;
	size_t count;                   /* 1 or more */
	bool is_known;                  /* the name is that of a function */
};

/* Begins to look up names. A file whose build id the trace does not have is used if it was not changed after
 * this time. */
struct fxt_frame_names *fxt_frame_names_open(time_t not_after);
/* `n` may be NULL. */
void fxt_frame_names_close(struct fxt_frame_names *n);

/* Returns the name of the function as the source has it, with parameters: "ns::Stack::push(int)". It looks at
 * symbols only, which is quick. The result lives as long as `n`. */
const char *fxt_frame_function(struct fxt_frame_names *n, const struct fxt_frame_at *at);

/* Returns the functions and lines at the address. The result lives as long as `n`. */
const struct fxt_frame_place *fxt_frame_place(struct fxt_frame_names *n, const struct fxt_frame_at *at);

/* Returns whether the file of the address has lines of source itself. To unpack those of a separate file of a
 * system's library takes longer than many a program runs. */
bool fxt_frame_has_own_lines(struct fxt_frame_names *n, const struct fxt_frame_at *at);

/* Returns whether the node has no name, or the one of an address, which was written where its file and debug
 * information were not at hand. */
bool fxt_frame_is_nameless(const struct fxt_reader *r, const struct fxt_call_frame *frame);

/* Gives names to all nodes that have none, or only that of an address. `n` may be NULL: then it does
 * nothing. */
void fxt_frame_names_complete(struct fxt_frame_names *n, struct fxt_call_stacks *stacks,
			      struct fxt_reader *r);

/* Returns where a node of a trace's call stacks is. */
struct fxt_frame_at fxt_frame_at(const struct fxt_reader *r, const struct fxt_call_frame *frame);

#endif
