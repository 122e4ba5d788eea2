/* The forms that fxt convert knows. See convert.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tools/export/ctf.h"
#include "convert.h"

static const char *const ctf_contents[] = {"ust", "kernel", "functions.map", NULL};

const struct fxt_export_form fxt_export_forms[] = {
	{"ctf", ".ctf", "a CTF 1.8 directory, for babeltrace2 and Trace Compass",
	 fxt_ctf_export, FXT_EXPORT_DIRECTORY, ctf_contents},
	{"sqlite", ".sqlite", "a database of SQLite, for questions in SQL (see fxt query)",
	 fxt_form_sqlite, FXT_EXPORT_FILE, NULL},
	{"json", ".json", "Chrome's trace events, for viewers of time: Perfetto, chrome://tracing",
	 fxt_form_chrome, FXT_EXPORT_TEXT, NULL},
	{"ndjson", ".ndjson", "a JSON object for each event, a line each",
	 fxt_form_ndjson, FXT_EXPORT_TEXT, NULL},
	{"csv", ".csv", "a row for each event, for spreadsheets and data frames",
	 fxt_form_csv, FXT_EXPORT_TEXT, NULL},
	{"folded", ".folded", "stacks with their weight (see --weight), for flame graphs",
	 fxt_form_folded, FXT_EXPORT_TEXT, NULL},
	{"speedscope", ".speedscope.json", "stacks with all their weights, for speedscope",
	 fxt_form_speedscope, FXT_EXPORT_TEXT, NULL},
};

const int fxt_export_form_count = sizeof(fxt_export_forms) / sizeof(fxt_export_forms[0]);

const struct fxt_export_form *fxt_export_form(const char *name)
{
	for (int i = 0; i < fxt_export_form_count; i++) {
		if (strcmp(name, fxt_export_forms[i].name) == 0)
			return &fxt_export_forms[i];
	}
	return NULL;
}
