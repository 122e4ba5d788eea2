/* Finds circles where each place leads to one other at the most: threads that wait for each other. */
#ifndef FXT_TOOLS_CIRCLES_H
#define FXT_TOOLS_CIRCLES_H

#include <stdbool.h>
#include <stddef.h>

/* Place i leads to next[i], or nowhere if that is `count` or more. Sets is_in_circle[i] to whether one comes
 * back to i from there. Takes as many steps as there are places. */
void fxt_find_circles(const size_t *next, size_t count, bool *is_in_circle);

#endif
