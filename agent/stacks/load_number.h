/* The numbers that the C library gives to what it loads. It has them to tell an object from an earlier one
 * that had the same memory for its entry in the list of objects; and so do we: a library that is unloaded and
 * loaded again has the same entry as a rule, and may be another file by then. Any context, while the object
 * is loaded. */
#ifndef FXT_LOAD_NUMBER_H
#define FXT_LOAD_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

struct link_map;

/* Called once, at start: what the loader has now stays loaded for as long as the process lives. */
void fxt_load_numbers_start(void);

/* Returns whether the object was there at start. */
bool fxt_load_is_lasting(const struct link_map *map);

/* Returns the number of the load by which an object came; 0: it is not known. */
uint64_t fxt_load_number(const struct link_map *map);

#endif
