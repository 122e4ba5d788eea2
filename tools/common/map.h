/* A table from a pair of 64-bit keys to two 64-bit values. The tools keep in it live heap blocks by process
 * and pointer, threads by process and thread id, descriptors by process and number, and correlation ids.
 * One thread at a time may use a map.
 *
 * Slots lie in an array in the order in which they were put, and an index with open addressing finds
 * them. A trace has millions of heap blocks, and a node for each would cost more than the block's record
 * does. A walk finds the same order every time, whatever the hash is. A slot's address is valid until
 * the next put or remove.
 *
 * uthash, which the tools use for strings, was tried here. Of a million events `fxt report` took 0.87 s of
 * processor time with it instead of 0.67 s, and 1.64 s and 212 MiB instead of 1.18 s and 189 MiB where each
 * heap block had a lifetime; `fxt check` took 0.51 s of these instead of 0.37 s.
 */
#ifndef FXT_TOOLS_MAP_H
#define FXT_TOOLS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fxt_slot {
	uint64_t a, b;          /* key */
	uint64_t value[2];
	bool used;
};

/* All zero is an empty map. */
struct fxt_map {
	struct fxt_slot *slots;
	size_t count, capacity;         /* of the slots, including removed ones */
	size_t used;                    /* slots that were not removed */
	/* the place of the slot that was put last and was there: events of one process often follow each
	 * other */
	size_t last;
	uint32_t *index;                /* numbers of slots, from 1 up; 0: none */
	size_t index_capacity;          /* a power of two, or 0 */
};

/* Returns the slot of the key, or NULL if it is not there. */
struct fxt_slot *fxt_map_find(const struct fxt_map *m, uint64_t a, uint64_t b);

/* Returns the slot of the key. If there was none, makes one with zero values and sets *fresh to true. */
struct fxt_slot *fxt_map_put(struct fxt_map *m, uint64_t a, uint64_t b, bool *fresh);

void fxt_map_remove(struct fxt_map *m, struct fxt_slot *slot);

/* Returns the slot after `slot` in the order in which they were put, or the first if `slot` is NULL.
 * Returns NULL after the last. */
struct fxt_slot *fxt_map_next(const struct fxt_map *m, const struct fxt_slot *slot);

void fxt_map_free(struct fxt_map *m);

#endif
