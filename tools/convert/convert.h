/* fxt convert and fxt query: the forms that there are (tools/export/export.h says what one is), and the
 * conversion of a trace.
 */
#ifndef FXT_TOOLS_CONVERT_H
#define FXT_TOOLS_CONVERT_H

#include "tools/export/export.h"

extern const struct fxt_export_form fxt_export_forms[];
extern const int fxt_export_form_count;

/* Returns the form of this name, or NULL. */
const struct fxt_export_form *fxt_export_form(const char *name);

/* Returns the name that a conversion of a trace gets: that of the trace with the form's suffix in place of
 * its own. The caller frees it. */
char *fxt_export_name(const char *trace, const struct fxt_export_form *form);

/* How a trace is converted. All members may be zero. */
struct fxt_conversion {
	const char *out;        /* NULL: fxt_export_name(); "-": standard output, for text */
	enum fxt_weight weight;
	bool is_forced;         /* what has the name is replaced, if it is an earlier conversion */
	bool is_quiet;
};

/* Converts a trace. Returns the exit status, after a message if it is not 0. */
int fxt_convert(const char *trace, const struct fxt_export_form *form, const struct fxt_conversion *how);

/* The forms but CTF (tools/export/ctf.h). form_rows.c: */
fxt_export_function fxt_form_csv, fxt_form_ndjson;
/* form_chrome.c: */
fxt_export_function fxt_form_chrome;
/* form_stacks.c: */
fxt_export_function fxt_form_folded, fxt_form_speedscope;
/* sql.c; it only says so where fxt was built without SQLite: */
fxt_export_function fxt_form_sqlite;

/* Returns the word for a kind of event: "call", "instant". */
const char *fxt_form_event_kind(unsigned subtype);

/* The subcommands: see tools/common/command.h. */
int fxt_command_convert(int argc, char **argv);
int fxt_command_query(int argc, char **argv);

#endif
