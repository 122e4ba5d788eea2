/* Says who did something, by a call stack: the culprit (culprit.h) and its callers, with lines of source.
 *
 *	load_config (config.cc:120) < read_all (main.cc:33) < main (main.cc:8)
 *
 * `<` means "called by". A function that the compiler put into another one is named like any other.
 */
#ifndef FXT_TOOLS_WHO_H
#define FXT_TOOLS_WHO_H

#include <stdio.h>

#include "tools/callers/culprit.h"
#include "tools/printing/handle.h"
#include "tools/programs/frame_names.h"

/* All that is needed to say it. At the beginning all members are zero. */
struct fxt_who {
	struct fxt_call_stacks stacks;
	struct fxt_culprits culprits;
	struct fxt_frame_names *source;         /* NULL: no lines are looked up */
	struct fxt_reader *r;
	size_t looked_up;               /* how many nodes lines were looked up for */
	size_t put;                     /* how many functions were printed as JSON */
};

/* Ends the taking of stacks, and begins to say who. */
void fxt_who_finish(struct fxt_who *w, struct fxt_reader *r, const char *wrappers,
		    struct fxt_frame_names *source);
void fxt_who_free(struct fxt_who *w);

/* Does for any argument of an event what fxt_call_stack_of() does for `stack`. */
uint32_t fxt_stack_in(struct fxt_call_stacks *s, const struct fxt_record *rec, const char *argument);

/* A function on a stack. */
struct fxt_who_function {
	char *name;                     /* without parameters, printable */
	char *place;                    /* "config.cc:120", or the name of the file with the code; NULL */
	char file[64];                  /* without folders, and its line; 0: not known */
	int line;
	uint32_t frame;
};

/* Finds the functions of a stack, the culprit first; wrappers are left out, or with `whole` all is there from
 * the innermost on, with the whole names of functions made at run time (made_names.h). Returns how many were
 * found, at most `room`. The caller gives them to fxt_who_free_functions(). */
size_t fxt_who_functions(struct fxt_who *w, enum fxt_purpose purpose, uint32_t innermost, bool whole,
			 struct fxt_who_function *list, size_t room);
void fxt_who_free_functions(struct fxt_who_function *list, size_t count);

/* Returns the culprit with its line, in at most `columns` characters. Returns NULL if it is not known. The
 * caller frees the text of this and the next two. */
char *fxt_who_culprit(struct fxt_who *w, enum fxt_purpose purpose, uint32_t innermost, size_t columns);
/* Returns the culprit's handle, or "". */
struct fxt_handle fxt_who_handle(struct fxt_who *w, enum fxt_purpose purpose, uint32_t innermost);
/* Returns its callers, as many as have room, each with "< " in front; NULL: there are none. */
char *fxt_who_callers(struct fxt_who *w, enum fxt_purpose purpose, uint32_t innermost, size_t columns);
/* Returns both in one line, or NULL. */
char *fxt_who_line(struct fxt_who *w, enum fxt_purpose purpose, uint32_t innermost, size_t columns);
/* Prints the culprit and all callers, a line each, at most `top` lines. Prints nothing if nothing is
 * known. */
void fxt_who_print(struct fxt_who *w, enum fxt_purpose purpose, uint32_t innermost, size_t top, FILE *out);

struct fxt_json;
/* Prints a member with an array of the stack's functions, the innermost first, or null. Of the wrappers each
 * says that it is one. There is a limit to how many are printed in all, because stacks may be deeper than
 * what they are about is long; then it is null, too. */
void fxt_who_json(struct fxt_who *w, struct fxt_json *j, const char *key, enum fxt_purpose purpose,
		  uint32_t innermost);

#endif
