/* See load_number.h. Where the number stands in the loader's entry of an object is not public, and differs
 * between versions of the C library. It is the one place at which the entries of the objects that the program
 * began with have 0, and larger and larger small numbers, but for the loader's own, which has 0. */
#include "load_number.h"

#include <link.h>
#include <stdatomic.h>
#include <stddef.h>

#include "agent/base/loaded.h"
#include "writer/storage.h"
#include "writer/sys.h"

enum {
	ENTRY_BYTES = 1536,             /* an entry is not longer */
	NUMBER_LEAST = 4,               /* with fewer objects another place may look the same */
	NUMBER_MOST = 16,               /* so many objects are looked at */
	NOT_LOOKED_FOR = 0,
	NOT_FOUND = 1,
};

static const struct link_map *last_lasting;     /* the last one that the loader had at start */
static atomic_size_t load_at;           /* the place, or one of the above */

/* Returns whether the numbers at a place in the entries are those of loads. */
static bool is_number_of_load(size_t place)
{
	const struct link_map *object = fxt_loaded_first();
	uint64_t latest = 0, number;
	unsigned count, outliers = 0;

	for (count = 0; object && count < NUMBER_MOST; count++, object = object->l_next) {
		number = *(const uint64_t *)((const char *)object + place);
		if (count && number <= latest && (number || outliers++))
			return false;
		if ((!count && number) || number > 2 * NUMBER_MOST)
			return false;
		if (number > latest)
			latest = number;
		if (object == last_lasting)
			break;
	}
	return count + 1 >= NUMBER_LEAST + outliers;
}

/* Returns how much of the entries can be read, up to ENTRY_BYTES of each. */
static size_t readable_bytes(void)
{
	const struct link_map *object = fxt_loaded_first();
	size_t bytes = ENTRY_BYTES, left;
	unsigned count;

	for (count = 0; object && count < NUMBER_MOST; count++, object = object->l_next) {
		/* An entry lies on two pages at most. */
		left = FXT_PAGE_BYTES - (uintptr_t)object % FXT_PAGE_BYTES;
		if (left < bytes && !fxt_sys_can_read((uintptr_t)object + left))
			bytes = left;
		if (object == last_lasting)
			break;
	}
	return bytes;
}

static size_t find_load_at(void)
{
	size_t bytes = last_lasting ? readable_bytes() : 0, found = NOT_FOUND, place;

	for (place = sizeof(struct link_map); place + sizeof(uint64_t) <= bytes; place += sizeof(uint64_t)) {
		if (!is_number_of_load(place))
			continue;
		if (found != NOT_FOUND)
			return NOT_FOUND;
		found = place;
	}
	return found;
}

uint64_t fxt_load_number(const struct link_map *map)
{
	size_t place = atomic_load_explicit(&load_at, memory_order_relaxed);

	if (place == NOT_LOOKED_FOR) {
		place = find_load_at();
		atomic_store_explicit(&load_at, place, memory_order_relaxed);
	}
	return place == NOT_FOUND ? 0 : *(const uint64_t *)((const char *)map + place);
}

void fxt_load_numbers_start(void)
{
	const struct link_map *object = fxt_loaded_first();

	for (; object; object = object->l_next)
		last_lasting = object;
}

bool fxt_load_is_lasting(const struct link_map *map)
{
	const struct link_map *object = last_lasting ? fxt_loaded_first() : NULL;

	for (; object; object = object->l_next) {
		if (object == map)
			return true;
		if (object == last_lasting)
			break;
	}
	return false;
}
