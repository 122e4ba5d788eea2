/* fxt convert: other forms of a trace. A form is a row of the table in forms.c and a function that writes the
 * trace into a directory. The command, which makes that directory and gives it its name when it is complete,
 * knows nothing else of it.
 */
#ifndef FXT_TOOLS_EXPORT_H
#define FXT_TOOLS_EXPORT_H

#include <stdbool.h>

#include "tools/reading/reader.h"

struct fxt_export {
	struct fxt_reader *reader; /* of all of it; nothing was read yet */
	const char *directory; /* exists and is empty */
	bool is_quiet; /* nobody looks at progress */
	/* What a user has to know of what was written, set by the form; or NULL. The caller frees it. */
	char *note;
};

/* Writes the trace. Returns NULL, or what went wrong, as the end of a message; the caller frees it. If the
 * reader has found a fault, the message is about that and the text is not looked at. */
typedef char *fxt_export_function(struct fxt_export *export);

struct fxt_export_form {
	const char *name, *suffix, *what;
	fxt_export_function *write;
	/* what the directory has: no other directory is replaced */
	const char *const *contents;
};

extern const struct fxt_export_form fxt_export_forms[];
extern const int fxt_export_form_count;

/* Returns the form of this name, or NULL. */
const struct fxt_export_form *fxt_export_form(const char *name);

/* Converts a trace. `out` may be NULL: the directory is named after the trace then. Returns the exit status,
 * after a message if it is not 0. */
int fxt_convert(const char *trace, const struct fxt_export_form *form, const char *out, bool is_forced,
		bool is_quiet);

/* The subcommand: see tools/common/command.h. */
int fxt_command_convert(int argc, char **argv);

#endif
