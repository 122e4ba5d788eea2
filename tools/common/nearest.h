/* Finds what somebody meant who misspelt a name. Every command uses this for its messages. */
#ifndef FXT_TOOLS_NEAREST_H
#define FXT_TOOLS_NEAREST_H

#include <stddef.h>

/* Returns the name that becomes `word` by the fewest slips, or NULL if none is near. A slip is a character
 * that is missing, superfluous or another one, or two that changed places; a word may have one slip for each
 * three of its characters (and for the last two), and three at most. A name of NULL is skipped. */
const char *fxt_nearest(const char *word, const char *const *names, size_t count);

/* Returns ": did you mean NAME?" for the nearest name, or an empty text. The caller frees it. */
char *fxt_did_you_mean(const char *word, const char *const *names, size_t count);

#endif
