/* This gives the agent's own mappings places: addresses that the kernel gives to nobody who does not ask for
 * them. It knows which of these addresses the agent has mapped at this moment.
 *
 * If the kernel chose, these mappings would lie in holes between the program's own. A program may believe
 * that a hole of its own making is free: it maps something there again (MAP_FIXED), or unmaps it a second
 * time. Both would destroy a mapping of the agent. The wrappers of such calls leave out what is the agent's,
 * and nothing else: all other addresses are the program's. Any context may call these functions.
 */
#ifndef FXT_PLACE_H
#define FXT_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fxt_range {
	uintptr_t from, end;
};

/* Maps memory or a file at a place of the agent's own, or where the kernel chooses if no place is free.
 * Returns the address or a negative errno, as the system call does. */
long fxt_place_map(size_t bytes, int protection, int flags, int fd, off_t offset);

/* Unmaps a mapping of the agent, wherever it lies. Returns what the system call does. */
int fxt_place_unmap(void *at, size_t bytes);

/* Sets a place aside for memory that grows: nothing else of the agent is mapped there. Returns its address,
 * or 0 if there is none. */
uintptr_t fxt_place_set_aside(size_t bytes);

/* Notes that bytes [from, end) behind `place`, which was set aside, are about to be mapped, or are. Returns
 * false if the program has mapped something there, or is about to. */
bool fxt_place_grow(uintptr_t place, size_t from, size_t end);

/* Gives up a place that was set aside, of which nothing is mapped any more. */
void fxt_place_give_up(uintptr_t place, size_t bytes);

/* Before the program changes what is mapped in a range, the agent is kept from mapping anything there.
 * fxt_place_hold() returns false if no place is in the range, and then nothing has to be done. Otherwise
 * fxt_place_release() follows. In between fxt_place_first() and fxt_place_last() return the first and the
 * last piece of the range that the agent has mapped; an empty piece at the other end if it has mapped
 * nothing. */
bool fxt_place_hold(struct fxt_range range);
void fxt_place_release(struct fxt_range range);
struct fxt_range fxt_place_first(struct fxt_range range);
struct fxt_range fxt_place_last(struct fxt_range range);

/* Says whether the program believes that a piece of the agent's is its own, because it has mapped something
 * over it. What the agent unmaps there is the program's from then on. */
void fxt_place_claim(struct fxt_range piece, bool is_claimed);
bool fxt_place_is_claimed(struct fxt_range piece);

/* The library's own variables have places too. agent/tables.ld, which the linker reads, puts the large ones
 * behind all small ones. So the small ones are in a few pages, and the kernel copies no more than these for
 * the child of a fork, which writes to many of them. tests/check_exports.sh fails on a variable of 1000 bytes
 * or more that is not marked. */

/* Marks a large variable that has no initial value. */
#define FXT_LARGE __attribute__((section(".bss.tables")))

/* Marks a large variable that the child of a fork has to find empty. The kernel empties it
 * (agent/base/gate.h), and neither the fork nor the child costs more when it is full. */
#define FXT_WIPED __attribute__((section(".bss.wiped")))

/* Marks a variable of whole pages, for which FXT_WIPED holds too. These lie before the others. */
#define FXT_WIPED_PAGE __attribute__((section(".bss.wiped.pages"), aligned(FXT_PAGE_BYTES)))

static inline bool fxt_range_is_empty(struct fxt_range range)
{
	return range.from >= range.end;
}

#endif
