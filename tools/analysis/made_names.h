/* Splits the names that engines give to functions that they make at run time, which are long. Tables show the
 * function and where its source is; JSON and folded stacks have the whole name.
 *
 *	JS:^keep /srv/app.js:3:18    node: what it is, how it was compiled, function, file, line and column
 *	py::keep:/srv/app.py         python: function and file
 */
#ifndef FXT_TOOLS_MADE_NAMES_H
#define FXT_TOOLS_MADE_NAMES_H

#include "tools/reading/reader.h"

struct fxt_made_name {
	struct fxt_text function;       /* "keep", or "(anonymous)" */
	struct fxt_text place;          /* "app.js:3:18", without folders; "node:internal/buffer:1056:28" */
};

/* Returns false if the name has neither form. The texts point into the name. */
bool fxt_split_made_name(const struct fxt_text *name, struct fxt_made_name *parts);

#endif
