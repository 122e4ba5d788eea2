/* This tests the table of mappings with lifetimes (agent/objects/mappings.h). Pages are mapped, unmapped
 * and kept at random, and compared with a model that knows of each page whose it is: each lifetime ends
 * once, with the last of its pages. FXT_SEED names the choices. */
#include <check.h>
#include <stdlib.h>

#include "agent/base/agent.h"
#include "agent/base/stack.h"
#include "agent/emit/call_stack.h"
#include "agent/emit/clock.h"
#include "agent/objects/mappings.h"
#include "apps/random.h"
#include "suite.h"

enum { PAGES = 300, STEPS = 3000, PAGE = 4096, LIVES = 1 << 16, LEAST_PAGES = 4, MAPPINGS = 1024 };

#define BASE ((uintptr_t)0x7f0000000000)

/* Check notes the line of each of its own assertions, which takes long where there are millions. */
#define EXPECT(what)                               \
	do {                                       \
		if (!(what))                       \
			ck_abort_msg("%s", #what); \
	} while (0)

struct fxt_agent fxt_agent;
__thread struct fxt_thread *fxt_self;

static struct fxt_thread thread;
static uint32_t owner[PAGES];           /* whose each page is; 0: nobody's that has a lifetime */
static bool leaves[PAGES];
static unsigned begun;
static bool has_ended[LIVES], has_no_room, is_short;
static struct fxt_memory last;

uint64_t fxt_clock_from_kernel(struct fxt_thread *it)
{
	return it->last_ns;
}

bool fxt_stack_has_less(size_t bytes)
{
	(void)bytes;
	return is_short;
}

uint32_t fxt_call_stack(struct fxt_thread *it)
{
	(void)it;
	return 99;
}

bool fxt_memory_life_begin(struct fxt_thread *it, struct fxt_memory_life *life,
			   const struct fxt_memory *memory)
{
	ck_assert_ptr_eq(it, &thread);
	ck_assert_uint_gt(life->begin_ns, 0);
	last = *memory;
	if (has_no_room)
		return false;
	life->id = ++begun;
	ck_assert_uint_lt(begun, LIVES);
	return true;
}

void fxt_memory_life_end(struct fxt_thread *it, struct fxt_memory_life life, uint64_t name,
			 const struct fxt_label *label, uint32_t stack, uint64_t end_ns)
{
	ck_assert_ptr_eq(it, &thread);
	ck_assert(life.id && life.id <= begun && !has_ended[life.id]);
	ck_assert_uint_eq(name, FXT_STR_mapping);
	ck_assert(!label->text && !stack);
	ck_assert_uint_gt(end_ns, life.begin_ns);
	has_ended[life.id] = true;
}

/* Each lifetime is over if and only if it has no page any more. */
static void compare(void)
{
	static bool lives[LIVES];
	unsigned i;

	memset(lives, 0, begun + 1);
	for (i = 0; i < PAGES; i++)
		lives[owner[i]] = true;
	for (i = 1; i <= begun; i++)
		EXPECT(has_ended[i] != lives[i]);
}

static const void *address_of(unsigned page)
{
	return (const void *)(BASE + (uintptr_t)page * PAGE);
}

/* A mapping of `pages` pages, the last of which may be used in part. */
static void came(unsigned page, unsigned pages)
{
	size_t bytes = (size_t)pages * PAGE - random_below(2) * random_below(PAGE);
	bool is_tracked = bytes >= LEAST_PAGES * PAGE && !is_short;
	unsigned before = begun, i;

	last = (struct fxt_memory){0};
	fxt_mapping_came(&thread, address_of(page), bytes, 77);
	ck_assert_uint_eq(begun - before, is_tracked && !has_no_room);
	if (is_tracked) {
		ck_assert_uint_eq(last.address, (uintptr_t)address_of(page));
		ck_assert_uint_eq(last.bytes, bytes);
		ck_assert_uint_eq(last.place, 77);
		ck_assert_uint_eq(last.stack, 99);
		ck_assert_uint_eq(last.name, FXT_STR_mapping);
	}
	for (i = page; i < page + pages && !is_short; i++)
		owner[i] = begun > before ? begun : 0;
}

/* A call that may unmap pages, and does or fails. Another one may come in between. */
static void goes(unsigned page, unsigned pages, bool are_gone, bool has_other)
{
	size_t bytes = (size_t)pages * PAGE - random_below(2) * random_below(PAGE);
	uint32_t leaving = fxt_mappings_leave(address_of(page), bytes);
	bool own[PAGES] = {false};
	unsigned i, any = 0;

	for (i = page; i < page + pages; i++)
		if (owner[i] && !leaves[i]) {
			own[i] = leaves[i] = true;
			any++;
		}
	ck_assert_int_eq(leaving != 0, any != 0);
	compare();
	if (has_other) {
		unsigned from = (unsigned)random_below(PAGES), most = PAGES - from;

		goes(from, 1 + (unsigned)random_below(most < 20 ? most : 20), random_below(2), false);
	}
	fxt_mappings_left(&thread, leaving, are_gone);
	for (i = page; i < page + pages; i++)
		if (own[i]) {
			leaves[i] = false;
			if (are_gone)
				owner[i] = 0;
		}
	compare();
}

START_TEST(each_page)
{
	unsigned step;

	random_seed((uint64_t)_i);
	fxt_agent.config.heap_track_bytes = LEAST_PAGES * PAGE;
	for (step = 0; step < STEPS; step++) {
		unsigned page = (unsigned)random_below(PAGES), most = PAGES - page,
			 pages = 1 + (unsigned)random_below(most < 40 ? most : 40);

		has_no_room = random_below(10) == 0;
		/* No bytes are no pages. */
		ck_assert_uint_eq(fxt_mappings_leave(address_of(page), 0), 0);
		if (random_below(2))
			came(page, pages);
		else
			goes(page, pages, random_below(3), random_below(4) == 0);
		compare();
	}
	/* Nothing is known where the stack is short, and what was known stays. */
	is_short = true;
	ck_assert_uint_eq(fxt_mappings_leave(address_of(0), PAGES * PAGE), 0);
	came(0, PAGES);
	is_short = false;
	compare();
	/* All goes at once. */
	goes(0, PAGES, true, false);
	ck_assert_uint_eq(fxt_mappings_leave(address_of(0), PAGES * PAGE), 0);
}
END_TEST

/* The table has places for so many mappings and not one more. Places are used again. */
START_TEST(as_many_as_there_are_places)
{
	unsigned i, round;

	random_seed((uint64_t)_i);
	fxt_agent.config.heap_track_bytes = LEAST_PAGES * PAGE;
	for (round = 0; round < 3; round++) {
		unsigned before = begun;

		for (i = 0; i < MAPPINGS + 10; i++)
			fxt_mapping_came(&thread, address_of(8 * i), LEAST_PAGES * PAGE, 77);
		ck_assert_uint_eq(begun - before, MAPPINGS);
		/* The middle of each leaves two pieces, and the table has places for all of them but the
		 * last: while its middle goes, it has three. */
		for (i = 0; i < MAPPINGS; i++)
			fxt_mappings_left(&thread, fxt_mappings_leave(address_of(8 * i + 1), PAGE), true);
		for (i = 0; i < MAPPINGS; i++) {
			EXPECT(!has_ended[before + 1 + i]);
			fxt_mappings_left(&thread, fxt_mappings_leave(address_of(8 * i), PAGE), true);
			EXPECT(has_ended[before + 1 + i] == (i == MAPPINGS - 1));
			if (round == 1)
				continue;
			fxt_mappings_left(&thread, fxt_mappings_leave(address_of(8 * i + 2), 2 * PAGE), true);
			EXPECT(has_ended[before + 1 + i]);
		}
		if (round == 1) {
			/* When recording begins again, nothing is known, and nothing ends. */
			fxt_mappings_again();
			ck_assert_uint_eq(fxt_mappings_leave(address_of(0), 8 * MAPPINGS * PAGE), 0);
			for (i = 0; i < MAPPINGS - 1; i++)
				EXPECT(!has_ended[before + 1 + i]);
		}
	}
}
END_TEST

/* Without FXT_HEAP_TRACK_BYTES nothing has a lifetime. */
START_TEST(none_is_wanted)
{
	fxt_mapping_came(&thread, address_of(0), 64 * PAGE, 77);
	ck_assert_uint_eq(begun, 0);
	ck_assert_uint_eq(fxt_mappings_leave(address_of(0), 64 * PAGE), 0);
}
END_TEST

int main(void)
{
	TCase *pages = tcase_create("pages");

	tcase_set_timeout(pages, 60);
	tcase_add_loop_test(pages, each_page, 0, 4);
	tcase_add_test(pages, as_many_as_there_are_places);
	tcase_add_test(pages, none_is_wanted);
	return RUN_SUITE("mappings", pages);
}
