/* This gives out places for the agent's own mappings: addresses that the kernel gives to nobody who does
 * not ask for them.
 *
 * If the kernel chose, these mappings would lie in holes between the program's own. A program may believe
 * that a hole of its own making is free: it maps something there again (MAP_FIXED), or unmaps it a second
 * time. Both would destroy a mapping of the agent.
 */
#ifndef FXT_PLACE_H
#define FXT_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns a place for so many bytes that was not given before, for mmap() to take as a hint. The kernel
 * chooses another address if that one is taken or does not exist. Any context may call this. */
uintptr_t fxt_place(size_t bytes);

/* This is the range in which all places lie that fxt_place() has given so far; it is empty at first. Any
 * context may call fxt_places(), which returns it. */
struct fxt_range {
	uintptr_t from, end;
};
struct fxt_range fxt_places(void);

#endif
