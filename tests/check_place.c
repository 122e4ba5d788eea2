/* This tests the places of the agent's own mappings (writer/place.h): they do not overlap, what is mapped
 * there is known to the page, and no place is given away that the program holds or that was set aside.
 * Mappings of random sizes come and go, and are compared with a list. FXT_SEED names the choices. */
#include <check.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "apps/random.h"
#include "suite.h"
#include "writer/place.h"

enum { MOST = 60, STEPS = 4000, PAGE = 4096, UNIT = 64 << 10, LARGE = 2 << 20 };

/* Check notes the line of each of its own assertions, which takes long where there are many. */
#define EXPECT(what)                               \
	do {                                       \
		if (!(what))                       \
			ck_abort_msg("%s", #what); \
	} while (0)

struct mapping {
	uintptr_t at;
	size_t bytes;
};

static struct mapping list[MOST];
static unsigned count;
static uintptr_t lowest = UINTPTR_MAX, highest;

static uintptr_t map(size_t bytes, int flags)
{
	long at = fxt_place_map(bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	EXPECT(at > 0 && at % UNIT == 0);
	if ((uintptr_t)at < lowest)
		lowest = (uintptr_t)at;
	if ((uintptr_t)at + bytes > highest)
		highest = (uintptr_t)at + bytes;
	return (uintptr_t)at;
}

static size_t any_bytes(void)
{
	return (size_t)PAGE * (1 + random_below(random_below(4) ? 40 : 1500));
}

static void unmap(unsigned which)
{
	EXPECT(!fxt_place_unmap((void *)list[which].at, list[which].bytes));
	list[which] = list[--count];
}

/* Returns the first mapped piece of a range, or the last one, as the list has it. Neighbours are one. */
static struct fxt_range piece(struct fxt_range range, bool first)
{
	struct fxt_range found = {0, 0};
	bool grows = true;
	unsigned i;

	while (grows) {
		grows = false;
		for (i = 0; i < count; i++) {
			uintptr_t from = list[i].at > range.from ? list[i].at : range.from,
				  end = list[i].at + list[i].bytes;

			end = end < range.end ? end : range.end;
			if (from >= end)
				continue;
			if (!found.end || (first ? from < found.from && end < found.from
						 : end > found.end && from > found.end))
				found = (struct fxt_range){from, end}, grows = true;
			else if ((from < found.from && end >= found.from) ||
				 (end > found.end && from <= found.end)) {
				found.from = from < found.from ? from : found.from;
				found.end = end > found.end ? end : found.end;
				grows = true;
			}
		}
	}
	return found;
}

static void compare(void)
{
	struct fxt_range range, found, expected;
	uintptr_t span = highest - lowest + 4 * UNIT;

	range.from = (lowest - 2 * UNIT + random_below(span)) & ~(uintptr_t)(PAGE - 1);
	range.end = range.from + random_below(random_below(2) ? span : 20 * UNIT);
	range.end &= ~(uintptr_t)(PAGE - 1);
	if (range.end <= range.from)
		return;
	expected = piece(range, true);
	found = fxt_place_first(range);
	if (expected.end)
		EXPECT(found.from == expected.from && found.end == expected.end);
	else
		EXPECT(found.from == range.end && found.end == range.end);
	expected = piece(range, false);
	found = fxt_place_last(range);
	if (expected.end)
		EXPECT(found.from == expected.from && found.end == expected.end);
	else
		EXPECT(found.from == range.from && found.end == range.from);
}

START_TEST(what_is_mapped_is_known)
{
	const uintptr_t stack = getauxval(AT_EXECFN), loader = getauxval(AT_BASE);
	uintptr_t last = 0;
	unsigned step, i;

	random_seed((uint64_t)_i);
	for (step = 0; step < STEPS; step++) {
		if (count < MOST && random_below(2)) {
			size_t bytes = any_bytes();
			int flags = random_below(2) ? MAP_SHARED : MAP_PRIVATE;
			uintptr_t at = map(bytes, flags);

			/* What is large and shared is aligned, and all else lies behind the last one. */
			if (flags == MAP_SHARED && bytes >= LARGE)
				EXPECT(at % LARGE == 0);
			else
				EXPECT(!last || at == last || at < last - LARGE);
			last = (at + bytes + UNIT - 1) & ~(uintptr_t)(UNIT - 1);
			for (i = 0; i < count; i++)
				EXPECT(at + bytes <= list[i].at || at >= list[i].at + list[i].bytes);
			*(char *)at = *(char *)(at + bytes - 1) = 1;
			list[count++] = (struct mapping){at, bytes};
		} else if (count) {
			unmap((unsigned)random_below(count));
		}
		if (count)
			compare();
	}
	/* 4 GiB, or half of what lies between the libraries and the stack. */
	EXPECT(highest - lowest <= UINT64_C(4) << 30);
	/* They lie there, if that is wide enough. */
	if (stack > loader && stack - loader >= UINT64_C(8) << 30)
		EXPECT(lowest > loader && highest < stack);
}
END_TEST

/* After the last place the first ones come again. */
START_TEST(places_are_used_again)
{
	uintptr_t at, before = 0;
	unsigned step, turns = 0;

	for (step = 0; step < 3000; step++) {
		at = map(64 * UNIT, MAP_PRIVATE);
		turns += at < before;
		EXPECT(at > before || at == lowest);
		before = at;
		EXPECT(!fxt_place_unmap((void *)at, 64 * UNIT));
	}
	EXPECT(turns >= 1);
}
END_TEST

/* The program holds the next places: the agent maps nothing there. */
START_TEST(held_places_are_not_given)
{
	struct fxt_range held;
	uintptr_t at;
	unsigned step;

	random_seed((uint64_t)_i);
	map(PAGE, MAP_PRIVATE);
	for (step = 0; step < 200; step++) {
		uintptr_t next = map(PAGE, MAP_PRIVATE) + UNIT;

		held.from = next + random_below(3) * PAGE;
		held.end = held.from + PAGE * (1 + random_below(60));
		EXPECT(fxt_place_hold(held));
		at = map(PAGE, MAP_PRIVATE);
		EXPECT(at == ((held.end + UNIT - 1) & ~(uintptr_t)(UNIT - 1)));
		EXPECT(!fxt_place_unmap((void *)at, PAGE));
		fxt_place_release(held);
		/* The next one comes behind; what was held is free later. */
		EXPECT(map(PAGE, MAP_PRIVATE) == at + UNIT);
	}
	/* The program's own addresses are none of the agent's. */
	EXPECT(!fxt_place_hold((struct fxt_range){0x10000, 0x20000}));
	EXPECT(!fxt_place_hold((struct fxt_range){held.from, held.from}));
}
END_TEST

/* Something of the program's lies there, that nobody knows of: another place is found. */
START_TEST(what_the_program_has_stays)
{
	uintptr_t next = map(PAGE, MAP_PRIVATE) + UNIT, at;
	char *own = mmap((void *)next, 2 * UNIT, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	EXPECT(own == (char *)next);
	own[0] = own[2 * UNIT - 1] = 7;
	at = map(UNIT, MAP_PRIVATE);
	EXPECT(at == next + 2 * UNIT);
	memset((void *)at, 1, UNIT);
	EXPECT(own[0] == 7 && own[2 * UNIT - 1] == 7);
	/* The agent has nothing there. */
	EXPECT(fxt_place_first((struct fxt_range){next, next + 2 * UNIT}).from == next + 2 * UNIT);
}
END_TEST

START_TEST(a_place_is_set_aside)
{
	enum { BYTES = 10 * UNIT };
	uintptr_t place, at, next;
	struct fxt_range found;

	map(PAGE, MAP_PRIVATE);
	place = fxt_place_set_aside(BYTES);
	EXPECT(place && place % UNIT == 0);
	/* Nothing is mapped yet, and nothing else comes there. */
	found = fxt_place_first((struct fxt_range){place, place + BYTES});
	EXPECT(found.from == found.end);
	at = map(PAGE, MAP_PRIVATE);
	EXPECT(at >= place + BYTES);
	EXPECT(fxt_place_grow(place, 0, 3 * PAGE));
	found = fxt_place_first((struct fxt_range){place, place + BYTES});
	EXPECT(found.from == place && found.end == place + 3 * PAGE);
	EXPECT(fxt_place_grow(place, 3 * PAGE, UNIT + PAGE));
	found = fxt_place_first((struct fxt_range){place, place + BYTES});
	EXPECT(found.from == place && found.end == place + UNIT + PAGE);
	/* Memory that was there already stays noted. */
	EXPECT(fxt_place_grow(place, 0, 2 * PAGE));
	found = fxt_place_last((struct fxt_range){place, place + BYTES});
	EXPECT(found.from == place && found.end == place + UNIT + PAGE);
	/* The program takes the place behind that, and it stays the program's. */
	EXPECT(fxt_place_hold((struct fxt_range){place + 2 * UNIT, place + 3 * UNIT}));
	EXPECT(!fxt_place_grow(place, UNIT + PAGE, 2 * UNIT + PAGE));
	fxt_place_release((struct fxt_range){place + 2 * UNIT, place + 3 * UNIT});
	EXPECT(!fxt_place_grow(place, 2 * UNIT, 2 * UNIT + PAGE));
	EXPECT(fxt_place_grow(place, 3 * UNIT, 4 * UNIT));
	next = fxt_place_set_aside(UNIT);
	fxt_place_give_up(place + 4 * UNIT, BYTES - 4 * UNIT);
	EXPECT(fxt_place_grow(next, 0, PAGE));
	next = fxt_place_set_aside(UNIT);
	at = fxt_place_set_aside(UNIT);
	EXPECT(at == next + UNIT);
	fxt_place_give_up(next, UNIT);
	EXPECT(!fxt_place_grow(next, 0, PAGE) && fxt_place_grow(at, 0, PAGE));
	EXPECT(!fxt_place_grow(place, 4 * UNIT, 4 * UNIT + PAGE));
	EXPECT(fxt_place_grow(place, 3 * UNIT, 4 * UNIT));
}
END_TEST

/* Returns whether the memory is mapped and may not be touched, or is not mapped (-1). */
static int protection(uintptr_t at)
{
	unsigned char there;

	if (mincore((void *)at, PAGE, &there))
		return -1;
	return madvise((void *)at, PAGE, MADV_POPULATE_READ) ? PROT_NONE : PROT_READ;
}

/* The program has mapped something over the agent's: what the agent unmaps there stays, without access. */
START_TEST(claimed_places_stay_mapped)
{
	uintptr_t at = map(4 * UNIT, MAP_PRIVATE);
	struct fxt_range middle = {at + UNIT, at + 3 * UNIT};

	EXPECT(!fxt_place_is_claimed(middle));
	fxt_place_claim(middle, true);
	EXPECT(fxt_place_is_claimed(middle));
	EXPECT(!fxt_place_is_claimed((struct fxt_range){at, at + UNIT}));
	EXPECT(!fxt_place_is_claimed((struct fxt_range){at + 3 * UNIT, at + 4 * UNIT}));
	/* It is mapped still, and the agent's. */
	EXPECT(fxt_place_first((struct fxt_range){at, at + 4 * UNIT}).end == at + 4 * UNIT);
	if (_i) {
		fxt_place_claim((struct fxt_range){at + UNIT, at + 2 * UNIT}, false);
		EXPECT(!fxt_place_is_claimed((struct fxt_range){at + UNIT, at + 2 * UNIT}));
		EXPECT(fxt_place_is_claimed((struct fxt_range){at + 2 * UNIT, at + 3 * UNIT}));
	}
	EXPECT(!fxt_place_unmap((void *)at, 4 * UNIT));
	EXPECT(protection(at) == -1 && protection(at + 3 * UNIT) == -1);
	EXPECT(protection(at + UNIT) == (_i ? -1 : PROT_NONE));
	EXPECT(protection(at + 2 * UNIT) == PROT_NONE);
	EXPECT(protection(at + 3 * UNIT - PAGE) == PROT_NONE);
	EXPECT(!fxt_place_is_claimed(middle));
	/* The first part is claimed, or all of it. */
	at = map(4 * UNIT, MAP_PRIVATE);
	fxt_place_claim((struct fxt_range){at, at + (_i ? 4 : 1) * UNIT}, true);
	EXPECT(!fxt_place_unmap((void *)at, 4 * UNIT));
	EXPECT(protection(at) == PROT_NONE && protection(at + UNIT) == (_i ? PROT_NONE : -1));
	EXPECT(protection(at + 3 * UNIT) == (_i ? PROT_NONE : -1));
}
END_TEST

int main(void)
{
	TCase *places = tcase_create("places");

	tcase_set_timeout(places, 60);
	tcase_add_loop_test(places, what_is_mapped_is_known, 0, 4);
	tcase_add_test(places, places_are_used_again);
	tcase_add_loop_test(places, held_places_are_not_given, 0, 2);
	tcase_add_test(places, what_the_program_has_stays);
	tcase_add_test(places, a_place_is_set_aside);
	tcase_add_loop_test(places, claimed_places_stay_mapped, 0, 2);
	return RUN_SUITE("place", places);
}
