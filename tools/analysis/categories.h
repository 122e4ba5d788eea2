/* The categories the agent knows, and lists of them as FXT_CATEGORIES takes them. Used by categories and
 * record. */
#ifndef FXT_TOOLS_CATEGORIES_H
#define FXT_TOOLS_CATEGORIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tools/reading/reader.h"

struct fxt_category {
	const char *name;
	bool by_default;
	const char *what;
};

extern const struct fxt_category fxt_categories[];
extern const size_t fxt_category_count;

/* Whether every item of a list (names, prefix*, #default, -name; commas or spaces between) matches something.
 * If not, *unknown is a copy of the first that does not. */
bool fxt_categories_valid(const char *list, char **unknown);

/* "malloc, pthread, ..." Free it. */
char *fxt_categories_known(void);

/* Writes one category of a trace as an object: its name, events and bytes. */
struct fxt_json;
struct fxt_usage;
void fxt_category_json(struct fxt_json *j, const struct fxt_reader *r, const struct fxt_usage *u);

/* Prints what is in a trace, by category. */
void fxt_categories_of(struct fxt_reader *r, bool json, FILE *out);

#endif
