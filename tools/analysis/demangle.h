/* Names of functions as their source has them. C++ and Rust put the whole type of a function into its symbol,
 * and events carry the symbol. Used by report and dump, of category function only: the names of all others
 * are what somebody wrote.
 */
#ifndef FXT_TOOLS_DEMANGLE_H
#define FXT_TOOLS_DEMANGLE_H

#include "tools/reading/reader.h"

/* What was found of every symbol (fxt_symbol()), as dump asks for each event. All zero is the beginning. */
struct fxt_demangled {
	char **by_symbol;
	size_t count, capacity;
};

/* The function in full, "ns::Stack::push(int)"; NULL if the name is not mangled, or fxt was built without
 * libiberty. Belongs to `d`. */
const char *fxt_demangled_name(struct fxt_demangled *d, struct fxt_reader *r, const struct fxt_text *category,
			       const struct fxt_text *name);
void fxt_demangled_free(struct fxt_demangled *d);

/* The same of one name, whatever its category. Free it. */
char *fxt_demangle(const struct fxt_text *name);

/* For tables: "ns::Stack::push", without the parameters; and without template arguments, "Map<>::find", if it
 * is longer than `columns` with them. It may be longer still. */
char *fxt_demangle_short(const struct fxt_text *name, size_t columns);

#endif
