/* See mappings.h. A mapping's pages are kept as pieces, because parts of it may be unmapped. Pieces are in
 * no order, because programs have few mappings that are so large. */
#include "mappings.h"

#include <sys/auxv.h>

#include "agent/base/stack.h"
#include "agent/emit/call_stack.h"

enum { MAPPINGS = 1024, PIECES = 2 * MAPPINGS };

struct mapping {
	struct fxt_memory_life life;
	size_t bytes;                   /* bytes that are still mapped; 0: the place is free */
};

struct piece {
	uintptr_t low, high;            /* equal: the place is free */
	uint32_t mapping;
	uint32_t leaving;               /* the number of the call that is about to unmap it, or 0 */
};

static FXT_WIPED struct {
	struct fxt_lock lock;           /* it nests in no lock */
	atomic_uint live;               /* the number of mappings with a lifetime */
	uint32_t mapping_count, piece_count;    /* the number of places that were ever used */
	uint32_t last_leaving;
	struct mapping mappings[MAPPINGS];
	struct piece pieces[PIECES];
} mapped;

/* -- Under the lock ---------------------------------------------------------------------------- */

static bool add_piece(uintptr_t low, uintptr_t high, uint32_t mapping)
{
	uint32_t i;

	for (i = 0; i < mapped.piece_count && mapped.pieces[i].low != mapped.pieces[i].high; i++)
		;
	if (i == PIECES)
		return false;
	if (i == mapped.piece_count)
		mapped.piece_count++;
	mapped.pieces[i] = (struct piece){low, high, mapping, 0};
	return true;
}

/* Takes bytes off a mapping. Returns true if they were its last. */
static bool lose_bytes(uint32_t mapping, size_t bytes)
{
	mapped.mappings[mapping].bytes -= bytes;
	if (mapped.mappings[mapping].bytes)
		return false;
	atomic_fetch_sub_explicit(&mapped.live, 1, memory_order_relaxed);
	return true;
}

/* Keeps the pages of `piece` that stay. If there is no place for them, they are not known any more. The
 * mapping has other pieces. */
static void keep(const struct piece *piece, uintptr_t low, uintptr_t high)
{
	if (low < high && !add_piece(low, high, piece->mapping))
		lose_bytes(piece->mapping, high - low);
}

static bool begin(uintptr_t low, uintptr_t high, uint32_t *mapping)
{
	uint32_t i;

	for (i = 0; i < mapped.mapping_count && mapped.mappings[i].bytes; i++)
		;
	if (i == MAPPINGS || !add_piece(low, high, i))
		return false;
	if (i == mapped.mapping_count)
		mapped.mapping_count++;
	mapped.mappings[i] = (struct mapping){{0, 0}, high - low};
	atomic_fetch_add_explicit(&mapped.live, 1, memory_order_relaxed);
	*mapping = i;
	return true;
}

/* -- What happens to pages --------------------------------------------------------------------- */

/* Tells whether the table may be used: a handler's stack may have no room for it. */
static bool is_on(void)
{
	return !fxt_may_not_lock() && !fxt_stack_is_short();
}

static uintptr_t page_above(uintptr_t address)
{
	uintptr_t page = getauxval(AT_PAGESZ);

	return (address + page - 1) & ~(page - 1);
}

uint32_t fxt_mappings_leave(const void *address, size_t bytes)
{
	uintptr_t low = (uintptr_t)address, high = page_above(low + bytes);
	uint32_t i, count, leaving = 0;
	uint64_t mask;

	if (!atomic_load_explicit(&mapped.live, memory_order_relaxed) || low >= high || !is_on())
		return 0;
	mask = fxt_lock(&mapped.lock);
	/* Pieces that this loop adds are what is left of the earlier ones. */
	count = mapped.piece_count;
	for (i = 0; i < count; i++) {
		struct piece *piece = &mapped.pieces[i], was = *piece;

		if (was.leaving || was.low >= high || was.high <= low || was.low == was.high)
			continue;
		if (!leaving) {
			if (!++mapped.last_leaving)
				mapped.last_leaving = 1;
			leaving = mapped.last_leaving;
		}
		piece->leaving = leaving;
		piece->low = was.low > low ? was.low : low;
		piece->high = was.high < high ? was.high : high;
		keep(&was, was.low, piece->low);
		keep(&was, piece->high, was.high);
	}
	fxt_unlock(&mapped.lock, mask);
	return leaving;
}

/* Removes one of the pieces that are unmapped. Returns false if there is no other. `ended` is the lifetime
 * of its mapping, if that is over. */
static bool remove_one(uint32_t leaving, struct fxt_memory_life *ended)
{
	uint64_t mask = fxt_lock(&mapped.lock);
	bool found = false;
	uint32_t i;

	*ended = (struct fxt_memory_life){0, 0};
	for (i = 0; i < mapped.piece_count && !found; i++) {
		struct piece *piece = &mapped.pieces[i];

		if (piece->leaving != leaving)
			continue;
		found = true;
		if (lose_bytes(piece->mapping, piece->high - piece->low))
			*ended = mapped.mappings[piece->mapping].life;
		*piece = (struct piece){0, 0, 0, 0};
	}
	fxt_unlock(&mapped.lock, mask);
	return found;
}

static void stay(uint32_t leaving)
{
	uint64_t mask = fxt_lock(&mapped.lock);
	uint32_t i;

	for (i = 0; i < mapped.piece_count; i++)
		if (mapped.pieces[i].leaving == leaving)
			mapped.pieces[i].leaving = 0;
	fxt_unlock(&mapped.lock, mask);
}

static const struct fxt_label nameless;

void fxt_mappings_left(struct fxt_thread *thread, uint32_t leaving, bool are_gone)
{
	struct fxt_memory_life ended;

	if (!leaving || fxt_may_not_lock())
		return;
	if (!are_gone) {
		stay(leaving);
		return;
	}
	while (remove_one(leaving, &ended))
		if (ended.id)
			fxt_memory_life_end(thread, ended, FXT_STR_mapping, &nameless, 0,
					    fxt_now(thread));
}

/* Removes a mapping that has no lifetime after all. */
static void forget(uint32_t mapping)
{
	uint32_t i;

	for (i = 0; i < mapped.piece_count; i++)
		if (mapped.pieces[i].mapping == mapping && mapped.pieces[i].low < mapped.pieces[i].high)
			mapped.pieces[i] = (struct piece){0, 0, 0, 0};
	lose_bytes(mapping, mapped.mappings[mapping].bytes);
}

/* Does what fxt_mapping_came() does, with stack enough. */
static __attribute__((noinline)) void came(struct fxt_thread *thread, const void *address, size_t bytes,
					   uintptr_t place)
{
	uintptr_t low = (uintptr_t)address, high = page_above(low + bytes);
	struct fxt_memory memory = {.name = FXT_STR_mapping, .address = low, .bytes = bytes, .place = place};
	struct fxt_memory_life life;
	bool fits, is_told;
	uint32_t mapping;
	uint64_t mask;

	/* Earlier mappings of these pages have gone in a way that was not seen. */
	fxt_mappings_left(thread, fxt_mappings_leave(address, bytes), true);
	if (!fxt_agent.config.heap_track_bytes || bytes < fxt_agent.config.heap_track_bytes || !is_on())
		return;
	mask = fxt_lock(&mapped.lock);
	fits = begin(low, high, &mapping);
	fxt_unlock(&mapped.lock, mask);
	if (!fits)
		return;
	/* No thread unmaps the mapping meanwhile, because the program does not know of it yet. */
	life.begin_ns = fxt_now(thread);
	memory.stack = fxt_call_stack(thread);
	is_told = fxt_memory_life_begin(thread, &life, &memory);
	mask = fxt_lock(&mapped.lock);
	if (is_told)
		mapped.mappings[mapping].life = life;
	else
		forget(mapping);
	fxt_unlock(&mapped.lock, mask);
}

/* A mapping that is made with little stack left is not known. */
void fxt_mapping_came(struct fxt_thread *thread, const void *address, size_t bytes, uintptr_t place)
{
	if (!fxt_stack_is_short())
		came(thread, address, bytes, place);
}

void fxt_mappings_again(void)
{
	uint64_t mask = fxt_lock(&mapped.lock);

	atomic_store(&mapped.live, 0);
	mapped.mapping_count = mapped.piece_count = 0;
	fxt_unlock(&mapped.lock, mask);
}
