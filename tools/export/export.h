/* What a form of a trace is. A form is a row of the table in tools/convert/forms.c and a function that writes
 * the trace: into a directory, into a file, or as text to a stream. fxt convert makes that, and gives it its
 * name when it is complete; it knows nothing else of a form.
 */
#ifndef FXT_TOOLS_EXPORT_H
#define FXT_TOOLS_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/reading/reader.h"
#include "tools/stacks/stacks.h"

struct fxt_export {
	struct fxt_reader *reader; /* of all of it; nothing was read yet */
	const char *trace; /* the name of its file */
	const char *directory; /* exists and is empty; NULL for text that goes to standard output */
	const char *path; /* of the file, which does not exist yet; for forms that are files */
	FILE *out; /* for forms that are text */
	enum fxt_weight weight; /* of the stacks, for the form that has one */
	bool is_quiet; /* nobody looks at progress */
	/* What a user has to know of what was written, set by the form; or NULL. The caller frees it. */
	char *note;
};

/* Writes the trace. Returns NULL, or what went wrong, as the end of a message; the caller frees it. If the
 * reader has found a fault, the message is about that and the text is not looked at. */
typedef char *fxt_export_function(struct fxt_export *export);

enum fxt_export_kind { FXT_EXPORT_DIRECTORY, FXT_EXPORT_FILE, FXT_EXPORT_TEXT };

struct fxt_export_form {
	const char *name, *suffix, *what;
	fxt_export_function *write;
	enum fxt_export_kind kind;
	/* what the directory has: no other directory is replaced */
	const char *const *contents;
};

/* Shows how much of the trace is done, if somebody looks. */
void fxt_export_progress(const struct fxt_export *export, uint64_t done, uint64_t all);

#endif
