/* Where the agent's own mappings lie: at addresses that the kernel gives to nobody who does not ask for them.
 * Next to the program's mappings they would come to lie in the holes that these leave, and a program may
 * believe a hole of its own making to be free: it maps something there again (MAP_FIXED), or unmaps it a
 * second time.
 */
#ifndef FXT_PLACE_H
#define FXT_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A place for so many bytes that has not been given before, for mmap() to take as a hint: the kernel chooses
 * another one where that is taken, or lies beyond what addresses there are. Any context. */
uintptr_t fxt_place(size_t bytes);

/* What has been given so far, as one range; empty at first. */
struct fxt_range {
	uintptr_t from, end;
};
struct fxt_range fxt_places(void);

#endif
