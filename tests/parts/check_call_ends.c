/* This tests how calls in progress end (agent/emit/in_progress.c): slow ones, those that a child goes on
 * with, and those that end with the program. Calls and functions come and go at random, some are left by
 * jumps, and are compared with a list of their frames. FXT_SEED names the choices. */
#include "calls_fixture.h"

START_TEST(a_slow_call_stays_in_its_slot_until_it_is_written)
{
	struct fxt_in_progress *entry;

	fxt_agent.config.least_stack_ns = 100;
	part_thread.usual_ns = 50;
	entry = call(STACK + 900);
	part_thread.last_ns += 98;
	fxt_end(&part_thread, entry);
	EXPECT(!*slots_show() && !part_thread.shown);
	entry = call(STACK + 900);
	part_thread.last_ns += 99;
	fxt_end(&part_thread, entry);
	EXPECT(*slots_show() && part_thread.shown == entry && part_thread.commit & FXT_COMMIT_SHOWN);
	EXPECT(!open_count());
	/* A call of a handler has the entry now, and leaves the slot. */
	part_thread.open++;
	fxt_in_progress_settle(&part_thread);
	EXPECT(part_thread.shown == entry);
	part_thread.open--;
	fxt_in_progress_settle(&part_thread);
	EXPECT(!*slots_show() && !part_thread.shown && !(part_thread.commit & FXT_COMMIT_SHOWN));
	/* Only one at a time. */
	entry = call(STACK + 900);
	part_thread.shown = entry + 5;
	part_thread.last_ns += 500;
	fxt_end(&part_thread, entry);
	EXPECT(!*slots_show() && part_thread.shown == entry + 5);
	part_thread.shown = NULL;
	/* A call that was in progress when the trace was stopped says how long. */
	part_thread.stopped_ns = 9000;
	entry = call(STACK + 900);
	part_thread.last_ns += 500;
	EXPECT(fxt_end(&part_thread, entry) == part_thread.lasted_ns);
}
END_TEST

/* -- Children, and other programs ---------------------------------------------------------------- */

START_TEST(a_child_goes_on_with_functions)
{
	struct fxt_in_progress *entries = fxt_in_progress_entries(&part_thread);
	uint64_t ended;

	call(STACK + 900);
	function(STACK + 800, 0x443, 5);
	fxt_in_progress_push_silent(&part_thread, STACK + 700, 0x444, 5);
	call(STACK + 600)->names = 0;
	part_thread.last_ns = 2000;
	part_thread.born_ns = 2000;
	fxt_in_progress_after_fork(&part_thread);
	EXPECT(!part_thread.pages.count && open_count() == 4);
	EXPECT(entries[0].slot == part_thread.pages.no_slot && entries[4].slot == part_thread.pages.no_slot &&
	       !entries[5].slot);
	EXPECT(entries[0].function == entries[0].start_ns && entries[0].start_ns == 2001);
	EXPECT(entries[1].names == FXT_FUNCTION_UNNAMED(0x443) && entries[1].function == 0x443);
	EXPECT(entries[3].function != entries[3].start_ns);
	/* A page shows the function again. */
	EXPECT(fxt_in_progress_add_page(&part_thread, 2500, false));
	ck_assert_str_eq(slots_show(), "begin function:call3 @2002 function=0x443\n");
	/* The start of an interposed call is known here. */
	part_thread.open = entries;
	ended = 3000;
	EXPECT(fxt_in_progress_start_in_child(&part_thread, ended) == 2001);
	EXPECT(fxt_in_progress_start_in_child(&part_thread, 2001) == 2001);
	part_thread.born_ns = 2002;
	EXPECT(fxt_in_progress_start_in_child(&part_thread, ended) == ended);
	part_thread.born_ns = 2000;
	entries[0].function++;
	EXPECT(fxt_in_progress_start_in_child(&part_thread, ended) == ended);
	/* What the trace has already is not shown again. */
	setup();
	function(STACK + 800, 0x443, 5);
	part_thread.pages.count = 0;
	part_thread.open[-1].slot = part_thread.pages.no_slot;
	EXPECT(fxt_in_progress_add_page(&part_thread, 2500, true) && !*slots_show());
	EXPECT(part_thread.open[-1].slot == part_thread.pages.no_slot && part_thread.open->slot);
	/* The child of a clone is in none of them. */
	part_thread.filtered.hidden = 3;
	part_thread.shown = part_thread.open;
	fxt_in_progress_set_deep_count(&part_thread, 4);
	fxt_in_progress_forget(&part_thread);
	EXPECT(!open_count() && !entries[0].slot && !entries[0].names && !part_thread.shown &&
	       !part_thread.filtered.hidden && !part_thread.deep_count);
}
END_TEST

START_TEST(calls_end_with_the_program)
{
	const char *before = "begin io:call1 @1001 size=77ul\nbegin function:call2 @1002 function=0x443\n";

	call(STACK + 900);
	function(STACK + 800, 0x443, 5);
	fxt_in_progress_end(&part_thread, 1500, FXT_STR_frame);
	ck_assert_str_eq(slots_show(), "slice io:call1 @1001 ended_by=frame -> 1500\n"
				       "slice function:call2 @1002 ended_by=frame -> 1500\n");
	fxt_in_progress_go_on(&part_thread);
	ck_assert_str_eq(slots_show(), before);
	fxt_in_progress_go_on(&part_thread);
	ck_assert_str_eq(slots_show(), before);
	/* Entries without a slot, and calls that would not nest. */
	part_thread.open->slot = NULL;
	part_thread.open++;
	fxt_in_progress_end(&part_thread, 1500, FXT_STR_frame);
	fxt_in_progress_go_on(&part_thread);
	part_thread.open--;
	ck_assert_str_eq(slots_show(), before);
	nests = false;
	fxt_in_progress_end(&part_thread, 1500, FXT_STR_frame);
	EXPECT(!*slots_show() && part.lost[FXT_LOSS_SIGNALS] == 2);
}
END_TEST

START_TEST(before_a_vfork_the_trace_has_room)
{
	struct fxt_in_progress *entry = call(STACK + 900);

	part_thread.vfork.has_waited = true;
	part_thread.vfork.left_ns = 5;
	fxt_in_progress_before_vfork();
	EXPECT(part_thread.may_be_child && fxt_lender == fxt_agent.pid);
	EXPECT(part_thread.vfork.entry == entry + 1);
	EXPECT(!part_thread.vfork.has_waited && !part_thread.vfork.left_ns && grown == 1 && !vfork_chunks);
	part_thread.vfork.chunk.words = 5;
	failure = -EPIPE;
	fxt_in_progress_before_vfork();
	EXPECT(vfork_chunks == 1 && grown == 2 && storage_ended == 1);
	fxt_agent.file_made = false;
	fxt_in_progress_before_vfork();
	EXPECT(grown == 2 && storage_ended == 1);
	fxt_agent.file_made = true;
	fxt_agent.pid++;
	fxt_in_progress_before_vfork();
	EXPECT(grown == 2);
	fxt_self = NULL;
	fxt_in_progress_before_vfork();
	EXPECT(grown == 2);
}
END_TEST

/* -- At random ----------------------------------------------------------------------------------- */

/* The entries that there should be: those of live calls, and of calls that were left by a jump as long as
 * nothing shows it. */
static struct {
	uintptr_t frame;
	bool is_function, is_alive;
} model[FXT_IN_PROGRESS_MAX];
static unsigned models;

/* Something begins with this frame, and shows that what is further down was left. */
static void begin(uintptr_t frame, bool is_function)
{
	while (models && (model[models - 1].frame < frame ||
			  (model[models - 1].frame == frame && !model[models - 1].is_function)))
		models--;
	model[models].frame = frame;
	model[models].is_alive = true;
	model[models++].is_function = is_function;
}

/* Returns the number of the innermost live call, counted from 1; 0: none lives. */
static unsigned innermost(void)
{
	unsigned n = models;

	while (n && !model[n - 1].is_alive)
		n--;
	return n;
}

START_TEST(entries_are_as_the_stack)
{
	struct fxt_in_progress *entries = fxt_in_progress_entries(&part_thread);
	uintptr_t frame;
	unsigned step, n, left = 0;

	for (step = 0; step < 20000; step++) {
		bool is_function = random_below(2);

		part_lane(FXT_CHUNK_WORDS);
		n = innermost();
		switch (random_below(5)) {
		case 0:
		case 1:
			/* The innermost one ends, and with it those above that were left. */
			if (!n)
				break;
			fxt_end(&part_thread, entries + n - 1);
			models = n - 1;
			break;
		case 2:
			/* A jump leaves some. */
			for (; n > 1 && random_below(3); n--, left++)
				model[n - 1].is_alive = false;
			break;
		default:
			if (models > 300)
				break;
			frame = (n ? model[n - 1].frame : STACK + STACK_BYTES) - 16 * (1 + random_below(4));
			/* A function may call a wrapper from its own frame. */
			if (n && model[n - 1].is_function && !is_function && random_below(2))
				frame = model[n - 1].frame;
			begin(frame, is_function);
			if (is_function)
				function(frame, 0x440 + random_below(9), step);
			else
				call(frame);
		}
		ck_assert_uint_eq(open_count(), models);
		for (n = 0; n < models; n++)
			EXPECT(entries[n].frame == model[n].frame);
		EXPECT(part_thread.open->frame == FXT_IN_PROGRESS_NOBODY || !part_thread.open->frame);
	}
	EXPECT(left > 500);
}
END_TEST

int main(void)
{
	TCase *ends = tcase_create("ends");

	tcase_add_checked_fixture(ends, setup, NULL);
	tcase_add_test(ends, a_slow_call_stays_in_its_slot_until_it_is_written);
	tcase_add_test(ends, a_child_goes_on_with_functions);
	tcase_add_test(ends, calls_end_with_the_program);
	tcase_add_test(ends, before_a_vfork_the_trace_has_room);
	tcase_add_test(ends, entries_are_as_the_stack);
	return RUN_SUITE("call ends", ends);
}
