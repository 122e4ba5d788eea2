/* A table from a pair of 64-bit keys to two 64-bit values: live heap blocks by process and pointer, threads
 * by process and thread id, descriptors by process and number, correlation ids.
 *
 * Slots lie in the order in which they were put, and beside them an index by open addressing: a trace has millions of heap
 * blocks, and a node for each would cost more than the block's record does. Whoever walks them finds the same order every time,
 * whatever the hash is. A slot's address holds until the next put or remove.
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
	size_t count, capacity;         /* of the slots, the removed ones among them */
	size_t used;
	uint32_t *index;                /* numbers of slots, from 1 up; 0: none */
	size_t index_capacity;          /* a power of two, or 0 */
};

/* NULL if the key is not there. */
struct fxt_slot *fxt_map_find(const struct fxt_map *m, uint64_t a, uint64_t b);

/* The slot of the key, made with zero values if it was not there; *fresh says which. */
struct fxt_slot *fxt_map_put(struct fxt_map *m, uint64_t a, uint64_t b, bool *fresh);

void fxt_map_remove(struct fxt_map *m, struct fxt_slot *slot);

/* Walks all slots in the order in which they were put: NULL begins, NULL ends. */
struct fxt_slot *fxt_map_next(const struct fxt_map *m, const struct fxt_slot *slot);

void fxt_map_free(struct fxt_map *m);

#endif
