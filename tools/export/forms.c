/* The forms that fxt convert knows. See export.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "ctf.h"
#include "export.h"

static const char *const ctf_contents[] = {"ust", "kernel", "functions.map", NULL};

const struct fxt_export_form fxt_export_forms[] = {
	{"ctf", ".ctf", "a CTF 1.8 directory, for babeltrace2 and Trace Compass",
	 fxt_ctf_export, ctf_contents},
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
