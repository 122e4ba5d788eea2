/* A table from a pair of 64-bit keys to two 64-bit values. See map.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "map.h"

#include <stdlib.h>

#include "message.h"

/* Pointers differ in their middle bits and ids in their low ones: every bit of a key has to reach the
 * mask. */
static uint64_t hash_of(uint64_t a, uint64_t b)
{
	uint64_t h = a * UINT64_C(0x9e3779b97f4a7c15) ^ b;

	h ^= h >> 32;
	h *= UINT64_C(0xd6e8feb86659fd93);
	h ^= h >> 32;
	h *= UINT64_C(0xd6e8feb86659fd93);
	return h ^ h >> 32;
}

static size_t probe(const struct fxt_map *m, uint64_t a, uint64_t b)
{
	size_t i = hash_of(a, b) & (m->capacity - 1);

	while (m->slots[i].used && (m->slots[i].a != a || m->slots[i].b != b))
		i = (i + 1) & (m->capacity - 1);
	return i;
}

struct fxt_slot *fxt_map_find(const struct fxt_map *m, uint64_t a, uint64_t b)
{
	size_t i;

	if (m->used == 0)
		return NULL;
	i = probe(m, a, b);
	return m->slots[i].used ? &m->slots[i] : NULL;
}

static void resize(struct fxt_map *m, size_t capacity)
{
	struct fxt_map bigger = {.slots = fxt_alloc(capacity, sizeof(*m->slots)), .capacity = capacity};

	for (size_t i = 0; i < m->capacity; i++) {
		const struct fxt_slot *s = &m->slots[i];

		if (s->used)
			bigger.slots[probe(&bigger, s->a, s->b)] = *s;
	}
	bigger.used = m->used;
	free(m->slots);
	*m = bigger;
}

struct fxt_slot *fxt_map_put(struct fxt_map *m, uint64_t a, uint64_t b, bool *fresh)
{
	struct fxt_slot *s;

	/* Linear probing degrades past three quarters. */
	if (m->used >= m->capacity / 4 * 3)
		resize(m, m->capacity ? m->capacity * 2 : 16);
	s = &m->slots[probe(m, a, b)];
	*fresh = !s->used;
	if (!s->used) {
		*s = (struct fxt_slot){.a = a, .b = b, .used = true};
		m->used++;
	}
	return s;
}

/* Slots that were pushed past the removed one move back, so that no tombstones gather. */
void fxt_map_remove(struct fxt_map *m, struct fxt_slot *slot)
{
	size_t mask = m->capacity - 1;
	size_t hole = (size_t)(slot - m->slots);

	for (size_t i = (hole + 1) & mask; m->slots[i].used; i = (i + 1) & mask) {
		size_t home = hash_of(m->slots[i].a, m->slots[i].b) & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->slots[hole].used = false;
	m->used--;
}

struct fxt_slot *fxt_map_next(const struct fxt_map *m, const struct fxt_slot *slot)
{
	for (size_t i = slot ? (size_t)(slot - m->slots) + 1 : 0; i < m->capacity; i++) {
		if (m->slots[i].used)
			return &m->slots[i];
	}
	return NULL;
}

void fxt_map_free(struct fxt_map *m)
{
	free(m->slots);
	*m = (struct fxt_map){0};
}
