/* A table from a pair of 64-bit keys to two 64-bit values. See map.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "map.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "message.h"

static size_t home_of(const struct fxt_map *m, const struct fxt_slot *s)
{
	return fxt_hash_pair(s->a, s->b) & (m->index_capacity - 1);
}

/* Returns the place in the index where the key is, or where it would be put. */
static inline size_t probe(const struct fxt_map *m, uint64_t a, uint64_t b)
{
	size_t i = fxt_hash_pair(a, b) & (m->index_capacity - 1);

	while (m->index[i] && (m->slots[m->index[i] - 1].a != a || m->slots[m->index[i] - 1].b != b))
		i = (i + 1) & (m->index_capacity - 1);
	return i;
}

struct fxt_slot *fxt_map_find(const struct fxt_map *m, uint64_t a, uint64_t b)
{
	size_t i;

	if (m->used == 0)
		return NULL;
	i = probe(m, a, b);
	return m->index[i] ? &m->slots[m->index[i] - 1] : NULL;
}

/* Makes room for another slot, and drops removed ones. The index grows at three quarters, because linear
 * probing gets slow beyond that. */
static void make_room(struct fxt_map *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++) {
		if (m->slots[i].used)
			m->slots[kept++] = m->slots[i];
	}
	m->count = kept;
	if (kept >= UINT32_MAX / 2) {
		fxt_error(NULL, "the trace has more than %u things of one kind: too many to read",
			  UINT32_MAX / 2);
		exit(1);
	}
	if (kept > m->capacity / 2)
		m->slots = fxt_grow(m->slots, &m->capacity, kept * 2, sizeof(*m->slots));
	else if (m->capacity == 0)
		m->slots = fxt_grow(m->slots, &m->capacity, 8, sizeof(*m->slots));
	if (m->index_capacity / 4 * 3 < m->capacity) {
		free(m->index);
		m->index_capacity = m->index_capacity ? m->index_capacity : 16;
		while (m->index_capacity / 4 * 3 < m->capacity)
			m->index_capacity *= 2;
		m->index = fxt_alloc(m->index_capacity, sizeof(*m->index));
	} else {
		memset(m->index, 0, m->index_capacity * sizeof(*m->index));
	}
	for (size_t i = 0; i < m->count; i++) {
		size_t at = home_of(m, &m->slots[i]);

		while (m->index[at])
			at = (at + 1) & (m->index_capacity - 1);
		m->index[at] = (uint32_t)i + 1;
	}
}

struct fxt_slot *fxt_map_put(struct fxt_map *m, uint64_t a, uint64_t b, bool *fresh)
{
	struct fxt_slot *s = m->last < m->count ? &m->slots[m->last] : NULL;

	if (!s || !s->used || s->a != a || s->b != b)
		s = fxt_map_find(m, a, b);
	*fresh = !s;
	if (s) {
		m->last = (size_t)(s - m->slots);
		return s;
	}
	if (m->count == m->capacity)
		make_room(m);
	s = &m->slots[m->count++];
	*s = (struct fxt_slot){.a = a, .b = b, .used = true};
	m->index[probe(m, a, b)] = (uint32_t)m->count;
	m->used++;
	return s;
}

/* Entries of the index that were pushed past the removed one move back, so that the index needs no marks
 * for removed entries. */
void fxt_map_remove(struct fxt_map *m, struct fxt_slot *slot)
{
	size_t mask = m->index_capacity - 1;
	size_t hole = probe(m, slot->a, slot->b);

	for (size_t i = (hole + 1) & mask; m->index[i]; i = (i + 1) & mask) {
		size_t home = home_of(m, &m->slots[m->index[i] - 1]);

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			m->index[hole] = m->index[i];
			hole = i;
		}
	}
	m->index[hole] = 0;
	slot->used = false;
	m->used--;
	/* The newest slot is often the first to be removed, and its place is free again at once. */
	while (m->count && !m->slots[m->count - 1].used)
		m->count--;
}

struct fxt_slot *fxt_map_next(const struct fxt_map *m, const struct fxt_slot *slot)
{
	for (size_t i = slot ? (size_t)(slot - m->slots) + 1 : 0; i < m->count; i++) {
		if (m->slots[i].used)
			return &m->slots[i];
	}
	return NULL;
}

void fxt_map_free(struct fxt_map *m)
{
	free(m->slots);
	free(m->index);
	*m = (struct fxt_map){0};
}
