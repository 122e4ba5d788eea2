/* The classes of events of a CTF trace: a number, a name and the types of the fields. A class is written
 * down in the metadata's language as soon as it is known, into a file without a name that becomes the end of
 * the metadata; only its place and which streams have it stay in memory.
 *
 *     struct fxt_ctf_fields f = {0};
 *
 *     fxt_ctf_field(&f, "uint64_t", "size");
 *     id = fxt_ctf_class_add(classes, &name, "_entry", NULL, &f);
 *
 * A field's name is an identifier with an underscore before it, which readers take away. Names that are none
 * have an underscore for each other character, and of several that are equal the later ones are numbered,
 * because readers take no two fields of one name.
 */
#ifndef FXT_TOOLS_CTF_CLASSES_H
#define FXT_TOOLS_CTF_CLASSES_H

#include <stdio.h>

#include "tools/reading/reader.h"

/* A class has at most so many fields: a record's arguments, and some of our own. */
enum { FXT_CTF_MOST_FIELDS = FXT_MAX_ARGS + 16, FXT_CTF_NAME_BYTES = 96 };

/* The fields of a class that is being made. All members are zero at first. */
struct fxt_ctf_fields {
	char *text;
	size_t bytes;
	FILE *out;
	char names[FXT_CTF_MOST_FIELDS][FXT_CTF_NAME_BYTES];
	unsigned count;
};

struct fxt_ctf_class {
	long at; /* in the spool */
	/* Whether streams of processes have it, or those of processors. */
	bool is_used[2];
};

/* All members but `spool` are zero at first. */
struct fxt_ctf_classes {
	FILE *spool;
	struct fxt_ctf_class *list;
	size_t capacity;
	uint32_t count;
};

/* Adds a field. `type` is a type of the metadata's head (ctf_metadata.c), or an enumeration. */
void fxt_ctf_field(struct fxt_ctf_fields *f, const char *type, const char *name);
void fxt_ctf_field_text(struct fxt_ctf_fields *f, const char *type, const struct fxt_text *name);

/* Adds a string, which is empty in all events of the class or in none. */
void fxt_ctf_field_string(struct fxt_ctf_fields *f, const char *name, bool is_empty);

/* Adds a sequence of elements, whose field of its length is a uint32_t before it. */
void fxt_ctf_field_sequence(struct fxt_ctf_fields *f, const char *type, const char *name);

/* Writes the class down, and returns its number. Frees the fields, and those of its own context, if it has
 * one. */
uint32_t fxt_ctf_class_add(struct fxt_ctf_classes *classes, const struct fxt_text *name, const char *suffix,
			   struct fxt_ctf_fields *context, struct fxt_ctf_fields *f);

static inline void fxt_ctf_class_use(struct fxt_ctf_classes *classes, uint32_t class, bool of_cpu)
{
	classes->list[class].is_used[of_cpu] = true;
}

/* Writes all classes, each for the streams that have it; one that none has is that of processes. Returns
 * false if the spool cannot be read. */
bool fxt_ctf_classes_put(const struct fxt_ctf_classes *classes, FILE *out);

void fxt_ctf_classes_free(struct fxt_ctf_classes *classes);

/* Writes text as the inside of a string of the metadata: what is no UTF-8 is '?', and what ends a string or
 * a line is escaped. */
void fxt_ctf_put_quoted(FILE *out, const struct fxt_text *text);

/* Returns the type of an argument's field; NULL: it has none. FXT_CTF_EMPTY is the type of a string that is
 * empty. */
const char *fxt_ctf_type_of(unsigned type);
enum { FXT_CTF_EMPTY = FXT_ARG_BOOL + 1 };

/* Returns the type of the argument's field. babeltrace2 2.0 uses a field again for the next event of a
 * class, and shows the string of the last one where a string is empty. So an empty one is an array of one
 * NUL, and its event is of another class. */
static inline unsigned fxt_ctf_type(const struct fxt_argument *a)
{
	return a->type == FXT_ARG_STRING && !a->string.bytes ? FXT_CTF_EMPTY : a->type;
}

#endif
