/* The categories that the agent knows, and lists of them as FXT_CATEGORIES takes them. fxt categories and fxt
 * record use them. */
#ifndef FXT_TOOLS_CATEGORIES_H
#define FXT_TOOLS_CATEGORIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tools/reading/reader.h"

struct fxt_category {
	const char *name;
	bool by_default;                /* #default has it */
	const char *what;               /* a description in a few words */
};

extern const struct fxt_category fxt_categories[];
extern const size_t fxt_category_count;

/* Returns whether every item of a list matches a category. Items are names, `prefix*`, #default and
 * -name, with commas or spaces between them. If one does not, *unknown becomes a copy of the first,
 * which the caller frees. */
bool fxt_categories_valid(const char *list, char **unknown);

/* Returns whether a valid list has the category. As for FXT_CATEGORIES, later items win. */
bool fxt_categories_have(const char *list, const char *category);

/* Returns the names of all categories, as "malloc, pthread, ...". The caller frees it. */
char *fxt_categories_known(void);

/* Writes one category of a trace as a JSON object: its name, events and bytes. */
struct fxt_json;
struct fxt_category_usage;
void fxt_category_json(struct fxt_json *j, const struct fxt_reader *r, const struct fxt_category_usage *u);

/* Prints events and bytes of each category in the trace that `r` reads. */
void fxt_categories_of(struct fxt_reader *r, bool json, FILE *out);

/* The subcommand: see tools/common/command.h. */
int fxt_command_categories(int argc, char **argv);

#endif
