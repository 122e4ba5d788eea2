/* See byte_stream.h. Makes streams, and finds them by their names. */
#include "byte_stream_table.h"

struct table *fxt_stream_table;

void fxt_stream_use(void *memory, size_t bytes)
{
	fxt_stream_table = bytes >= sizeof(*fxt_stream_table) ? memory : NULL;
}

bool fxt_stream_any(void)
{
	return fxt_stream_table && atomic_load(&fxt_stream_table->next);
}

/* -- Streams and names ------------------------------------------------------------------------- */

static void reset(struct direction *direction, fxt_stream side)
{
	atomic_store(&direction->writers, word_of(side, 0));
	atomic_store(&direction->readers, word_of(side, 0));
	atomic_store(&direction->broken, word_of(side, 0));
}

/* Streams are used again in the order in which they were made, except those that were used since the last
 * round. */
fxt_stream fxt_stream_make(enum fxt_stream_kind kind)
{
	struct stream *stream;
	uint64_t life, generation, place;
	fxt_stream side;
	unsigned i;

	for (i = 0; fxt_stream_table && i < TRIES; i++) {
		place = atomic_fetch_add(&fxt_stream_table->next, 1) % STREAMS;
		stream = &fxt_stream_table->streams[place];
		life = atomic_load(&stream->life);
		if (life & USED && i < CANDIDATES) {
			atomic_compare_exchange_strong(&stream->life, &life, life & ~(uint64_t)USED);
			continue;
		}
		generation = (life >> GENERATION_SHIFT) % UINT16_MAX + 1;
		if (!atomic_compare_exchange_strong(&stream->life, &life, generation << GENERATION_SHIFT))
			continue;
		side = (fxt_stream)(generation << SIDE_GENERATION_SHIFT | place << PLACE_SHIFT |
				    (unsigned)kind);
		reset(&stream->directions[0], side);
		reset(&stream->directions[1], side);
		return side;
	}
	return 0;
}

/* The hash of a name. `place` says where it is in the table and stands there in part; `rest` stands in the
 * stream. Two names of the same hash are not expected. */
struct sums {
	uint64_t place, rest;
};

static struct sums sums_of(struct fxt_stream_name name)
{
	return (struct sums){mix(mix(mix(name.what + 1) + name.a) + name.b),
			     mix(mix(mix(name.b + 2) + name.a) + name.what)};
}

static _Atomic uint64_t *set_of(struct sums sums)
{
	return fxt_stream_table->names[sums.place & (NAME_SETS - 1)];
}

/* Returns the upper half of a name's word. The lower half is its side. */
static uint64_t tag_of(struct sums sums)
{
	return sums.place & ~(uint64_t)UINT32_MAX;
}

/* Returns the word's stream, or NULL if it is not there any more. */
static struct stream *alive(uint64_t word)
{
	struct stream *stream = stream_of((fxt_stream)word);

	return stream && is_of(atomic_load(&stream->life), (fxt_stream)word) ? stream : NULL;
}

static bool is_named(uint64_t word, struct sums sums)
{
	struct stream *stream = (word & ~(uint64_t)UINT32_MAX) == tag_of(sums) ? alive(word) : NULL;
	unsigned i;

	for (i = 0; stream && i < STREAM_NAMES; i++)
		if (atomic_load(&stream->names[i]) == sums.rest)
			return true;
	return false;
}

/* Returns where the name is, or where it can be put; `*word` is what stands there now. */
static _Atomic uint64_t *look_up(struct sums sums, uint64_t *word, bool *found)
{
	_Atomic uint64_t *set = set_of(sums), *place = NULL;
	uint64_t here;
	unsigned i;

	for (i = 0; i < NAME_WAYS; i++) {
		here = atomic_load(&set[i]);
		*found = is_named(here, sums);
		if (*found || (!place && !alive(here))) {
			place = &set[i];
			*word = here;
		}
		if (*found)
			return place;
	}
	if (!place) {
		place = &set[sums.rest % NAME_WAYS];
		*word = atomic_load(place);
	}
	return place;
}

fxt_stream fxt_stream_find(struct fxt_stream_name name)
{
	uint64_t word;
	bool found = false;

	if (fxt_stream_table)
		look_up(sums_of(name), &word, &found);
	return found ? (fxt_stream)word : 0;
}

void fxt_stream_call(struct fxt_stream_name name, fxt_stream side)
{
	struct stream *stream = stream_of(side);
	struct sums sums = sums_of(name);
	_Atomic uint64_t *place;
	uint64_t word;
	bool found;
	unsigned i;

	if (!stream)
		return;
	atomic_store(&stream->names[1 + which(side)], sums.rest);
	for (i = 0; i < TRIES; i++) {
		place = look_up(sums, &word, &found);
		if (atomic_compare_exchange_strong(place, &word, tag_of(sums) | side))
			return;
	}
}

/* Enters this side into the stream. Returns false if the stream is not for it: the side has come before, or
 * the stream is gone. */
static bool enter(uint64_t word, int side)
{
	struct stream *stream = stream_of((fxt_stream)word);
	uint64_t bit = side < 0 ? 0 : (uint64_t)JOINED << side, life = atomic_load(&stream->life);
	unsigned i;

	for (i = 0; i < TRIES; i++) {
		if (!is_of(life, (fxt_stream)word) || life & bit)
			return false;
		if (atomic_compare_exchange_weak(&stream->life, &life, life | bit))
			return true;
	}
	return false;
}

fxt_stream fxt_stream_join(struct fxt_stream_name name, enum fxt_stream_kind kind, int side)
{
	struct sums sums = sums_of(name);
	fxt_stream made = 0, first;
	_Atomic uint64_t *place;
	uint64_t word;
	bool found;
	unsigned i;

	for (i = 0; fxt_stream_table && i < TRIES; i++) {
		place = look_up(sums, &word, &found);
		first = (fxt_stream)word;
		if (!found || !enter(word, side)) {
			if (!made) {
				made = fxt_stream_make(kind);
				if (!made)
					return 0;
				atomic_store(&stream_of(made)->names[0], sums.rest);
				enter(made, side);
			}
			/* If another thread was quicker, its stream is for both. */
			if (!atomic_compare_exchange_strong(place, &word, tag_of(sums) | made))
				continue;
			first = made;
		}
		return side > 0 ? fxt_stream_other(first) : first;
	}
	return 0;
}
