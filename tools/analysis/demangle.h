/* Turns symbols of C++ and Rust into the names that the source has. Compilers put the whole type of a
 * function into its symbol, and events carry the symbol. Report and dump use this for events of category
 * function only, because the names of all other events are what somebody wrote. Merge and serve use it for
 * the names in their archives.
 */
#ifndef FXT_TOOLS_DEMANGLE_H
#define FXT_TOOLS_DEMANGLE_H

#include "tools/printing/handle.h"
#include "tools/reading/reader.h"

/* The names found so far, by symbol (fxt_symbol()), because dump asks for each event. At the beginning all
 * members are zero. */
struct fxt_demangled {
	char **by_symbol;
	size_t count, capacity;
};

/* Returns the function in full, as "ns::Stack::push(int)". Returns NULL if the name is not mangled or
 * the category is not function, or if fxt was built without libiberty. The text belongs to `d`. */
const char *fxt_demangled_name(struct fxt_demangled *d, struct fxt_reader *r, const struct fxt_text *category,
			       const struct fxt_text *name);
void fxt_demangled_free(struct fxt_demangled *d);

/* Returns the full name of one function, or NULL as fxt_demangled_name() does. The caller frees it. */
char *fxt_demangle(const struct fxt_text *name);

/* The most words of a string record that fxt_demangled_string() makes. */
enum { FXT_DEMANGLED_WORDS = 1 + 4096 / 8 };

/* Writes a string record that gives the index the full name of the function that `text` is the symbol of.
 * Returns how many words it has, in this machine's byte order, or 0 if fxt_demangle() has no other name
 * for it. */
size_t fxt_demangled_string(uint64_t words[FXT_DEMANGLED_WORDS], uint16_t index, const struct fxt_text *text);

/* Returns a name for tables, without parameters: "ns::Stack::push". If that is longer than `columns`,
 * template arguments are left out too: "Map<>::find". The result may still be longer. The caller frees
 * it. */
char *fxt_demangle_short(const struct fxt_text *name, size_t columns);

/* Does the same with a name that has been demangled in full already, as "int ns::f<A>(int)". A name that has
 * no parameters is returned as it is. */
char *fxt_shorten_demangled(const struct fxt_text *name, size_t columns);

/* Returns the name of the function with this symbol (of its file), as its source has it, without
 * parameters and in at most `columns` characters. The caller frees it. */
char *fxt_function_label(const struct fxt_text *symbol, size_t columns);

/* Returns the handle of the function that has this symbol or name, in whatever form: template arguments and
 * parameters are no part of what it is made of. */
struct fxt_handle fxt_handle_of_function(const struct fxt_text *name);

#endif
