/* Lists of categories, as FXT_CATEGORIES and managers give them: names, `prefix*`, `#default`, and `-name` to
 * leave one out. */
#ifndef FXT_CATEGORY_LIST_H
#define FXT_CATEGORY_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the categories (enum fxt_category) of a list; the default ones if it is empty. The function
 * `unknown` is called for each name that matches no category. If the first name is one to leave out, it is
 * left out of the default. Any context that `unknown` may be called in. */
uint32_t fxt_category_list(const char *text, void (*unknown)(const char *name, size_t bytes));

#endif
