/* Fields of CTF events, as libbabeltrace2 has them. */
#ifndef FXT_TOOLS_IMPORT_FIELDS_H
#define FXT_TOOLS_IMPORT_FIELDS_H

#include "import_library.h"
#include "import_out.h"

/* The arguments that fields become, with their names and texts. At the beginning all members are zero; it may
 * be used again after fxt_import_fields_clear(). */
struct fxt_import_fields {
	struct fxt_import_arg *list;
	size_t count, capacity;
	char **texts;
	size_t text_count, text_capacity;
};

/* Returns the member of a structure with this name; NULL: there is no structure, or no such member. */
const bt_field *fxt_import_member(const bt_field *structure, const char *name);
/* Set *value to a member that is an integer. Return false if there is none. */
bool fxt_import_u64(const bt_field *structure, const char *name, uint64_t *value);
bool fxt_import_i64(const bt_field *structure, const char *name, int64_t *value);
/* Returns a member that is a string; NULL: there is none. */
const char *fxt_import_string(const bt_field *structure, const char *name);

/* Returns the label of a member that is an enumeration; NULL: it is none, or has not one label. */
const char *fxt_import_label(const bt_field *structure, const char *name);

/* Adds all members of a structure but the first `except_count` names of `except`, with members of inner
 * structures as "outer.inner". Names that are there already get a number. */
void fxt_import_fields_add(struct fxt_import_fields *f, const bt_field *structure, const char *const *except,
			   size_t except_count);
void fxt_import_fields_clear(struct fxt_import_fields *f);
void fxt_import_fields_free(struct fxt_import_fields *f);

#endif
