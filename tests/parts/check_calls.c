/* This tests calls in progress (agent/emit/in_progress.c): what their slots show, and which of them are
 * closed, by their frames. */
#include "calls_fixture.h"

/* -- Slots --------------------------------------------------------------------------------------- */

START_TEST(a_slot_shows_its_call)
{
	struct fxt_in_progress *outer, *inner;

	outer = call(STACK + 900);
	EXPECT(outer == fxt_in_progress_entries(&part_thread) && shown_pages == 1);
	ck_assert_str_eq(slots_show(), "begin io:call1 @1001 size=77ul\n");
	inner = function(STACK + 800, 0x444, 5);
	ck_assert_str_eq(slots_show(),
			 "begin io:call1 @1001 size=77ul\nbegin function:call2 @1002 function=0x444\n");
	EXPECT(fxt_end(&part_thread, inner) == 1003 && open_count() == 1);
	ck_assert_str_eq(slots_show(), "begin io:call1 @1001 size=77ul\n");
	EXPECT(fxt_end(&part_thread, outer) == 1004 && !open_count() && !*slots_show());
	EXPECT(outer->frame == FXT_IN_PROGRESS_NOBODY);
	/* Where koids are inline. */
	setup();
	part_thread.event_thread = 0;
	fxt_in_progress_shape(&part_thread);
	call(STACK + 900);
	ck_assert_str_eq(slots_show(), "begin io:call1 @1001 70/71 size=77ul\n");
	EXPECT(!part_thread.quick_limit);
	SAID("");
}
END_TEST

START_TEST(all_entries_have_slots)
{
	unsigned inline_koids, n;

	for (inline_koids = 0; inline_koids < 2; inline_koids++) {
		setup();
		if (inline_koids)
			part_thread.event_thread = 0;
		fxt_in_progress_shape(&part_thread);
		for (n = 0; n < FXT_IN_PROGRESS_MAX; n++) {
			struct fxt_in_progress *entry = call(STACK + STACK_BYTES - 16 * (n + 1));

			EXPECT(entry && entry->slot && entry->slot != part_thread.pages.no_slot);
			/* The quick way reaches as far as there are slots, or functions have entries. */
			if (!n && !inline_koids)
				EXPECT(part_thread.quick_limit == entry + FIRST_SLOTS);
		}
		ck_assert_uint_eq(part_thread.pages.count, inline_koids ? 10 : 6);
		EXPECT(shown_pages == part_thread.pages.count);
		if (!inline_koids)
			EXPECT(part_thread.quick_limit ==
			       fxt_in_progress_entries(&part_thread) + FXT_FUNCTION_DEPTH);
		EXPECT(!call(STACK + 16) && open_count() == FXT_IN_PROGRESS_MAX);
		(void)slots_show();
		fxt_in_progress_close_all(&part_thread);
		EXPECT(!open_count() && !*slots_show());
	}
	/* Calls that have no page are recorded when they end. */
	setup();
	has_pages = false;
	EXPECT(call(STACK + 900)->slot == part_thread.pages.no_slot);
	part_thread.pages.count = PAGES;
	has_pages = true;
	part_thread.open->slot = NULL;
	EXPECT(call(STACK + 800)->slot == part_thread.pages.no_slot && !taken);
	setup();
	gets_ready = part_thread.ready = false;
	EXPECT(call(STACK + 900)->slot == part_thread.pages.no_slot && !taken);
	/* With little stack there is no entry. */
	setup();
	part.stack_is_short = true;
	EXPECT(!call(STACK + 900) && !open_count());
	part_thread.ready = false;
	fxt_in_progress_make_ready(&part_thread);
	EXPECT(!part_thread.ready);
	part.stack_is_short = false;
	fxt_in_progress_make_ready(&part_thread);
	EXPECT(part_thread.ready);
}
END_TEST

START_TEST(deep_functions_go_slowly)
{
	call(STACK + 900);
	EXPECT(part_thread.names.quick == defined && part_thread.quick_limit);
	fxt_in_progress_set_deep_count(&part_thread, 1);
	EXPECT(part_thread.deep_count == 1 && part_thread.names.quick == fxt_functions_none_defined &&
	       !part_thread.quick_limit);
	fxt_in_progress_set_deep_count(&part_thread, 0);
	EXPECT(part_thread.quick_limit == fxt_in_progress_entries(&part_thread) + FIRST_SLOTS);
	fxt_fibers_are_there = true;
	fxt_in_progress_set_deep_count(&part_thread, 0);
	EXPECT(!part_thread.quick_limit);
}
END_TEST

/* -- Calls that were left ------------------------------------------------------------------------ */

START_TEST(a_call_further_up_closes_what_was_left)
{
	struct fxt_in_progress *outer = call(STACK + 900);

	function(STACK + 800, 0x444, 5);
	call(STACK + 700);
	/* The stale ones ended before this one began. */
	call(STACK + 850);
	SAID("slice io:call1 @1003 -> 1003\n"
	     "slice function:call9 @1002 function=0x444 -> 1003\n");
	EXPECT(open_count() == 2);
	/* The end of a call closes what is above it. */
	function(STACK + 600, 0x555, 5);
	EXPECT(fxt_end(&part_thread, outer) == 1008 - 1);
	SAID("slice function:call9 @1005 function=0x555 -> 1006\n"
	     "slice io:call1 @1004 -> 1006\n");
	EXPECT(!open_count());
	/* A function and the wrapper that it calls may share a frame; two calls may not. */
	function(STACK + 800, 0x444, 5);
	call(STACK + 800);
	EXPECT(open_count() == 2);
	call(STACK + 800);
	EXPECT(open_count() == 2);
	SAID("slice io:call1 @1009 -> 1009\n");
	fxt_in_progress_close_last(&part_thread);
	EXPECT(open_count() == 1);
	(void)part_said();
	/* Functions that are inlined share a frame, and none is entered twice from one site. */
	function(STACK + 800, 0x445, 6);
	function(STACK + 800, 0x446, 7);
	EXPECT(open_count() == 3);
	function(STACK + 800, 0x447, 6);
	EXPECT(open_count() == 2);
	SAID("slice function:call9 @1013 function=0x446 -> 1013\n"
	     "slice function:call9 @1012 function=0x445 -> 1013\n");
}
END_TEST

START_TEST(other_stacks_say_nothing)
{
	/* The frame of a coroutine. */
	call(0x500000 + 800);
	call(0x500000 + 900);
	EXPECT(open_count() == 2);
	/* The same frame does say something, wherever it is. */
	call(0x500000 + 900);
	EXPECT(open_count() == 2);
	(void)part_said();
	/* A handler may switch between coroutines, whose calls go on. */
	fxt_handlers_begin();
	fxt_end(&part_thread, fxt_in_progress_entries(&part_thread));
	SAID("");
	EXPECT(open_count() == 2);
	EXPECT(fxt_in_progress_entries(&part_thread)->frame == FXT_IN_PROGRESS_HOLE);
	/* The hole is given out again when the next call begins. */
	fxt_end(&part_thread, part_thread.open - 1);
	EXPECT(open_count() == 1);
	call(STACK + 900);
	EXPECT(open_count() == 1);
	fxt_end(&part_thread, part_thread.open - 1);
	/* The alternate stack is left as a whole. */
	part_thread.stack.alternate_low = 0x600000;
	part_thread.stack.alternate_high = 0x601000;
	{
		static const struct {
			uintptr_t frame;
			bool is_left;
		} tests[] = {{0x5fffff, false}, {0x600000, true}, {0x600fff, true}, {0x601000, false}};
		unsigned i;

		for (i = 0; i < 4; i++) {
			struct fxt_in_progress *outer = call(STACK + 900);

			call(tests[i].frame);
			fxt_end(&part_thread, outer);
			EXPECT(open_count() == (tests[i].is_left ? 0 : 2));
			part_thread.open = fxt_in_progress_entries(&part_thread);
			(void)part_said();
		}
	}
}
END_TEST

START_TEST(an_entry_that_was_changing_has_no_record)
{
	call(STACK + 900);
	call(STACK + 800)->names = 0;
	call(STACK + 850);
	SAID("");
	EXPECT(open_count() == 2);
	fxt_in_progress_push_silent(&part_thread, STACK + 700, 0x444, 5);
	EXPECT(open_count() == 3 && fxt_in_progress_is_silent(part_thread.open - 1) &&
	       part_thread.open[-1].site == 5 && part_thread.open[-1].function == 0x444);
	fxt_in_progress_push_silent(&part_thread, STACK + 750, 0x445, 6);
	EXPECT(open_count() == 3);
	SAID("");
	fxt_in_progress_close_all(&part_thread);
	SAID("slice io:call1 @1003 -> 1005\n"
	     "slice io:call1 @1001 -> 1005\n");
}
END_TEST

START_TEST(ends_that_nobody_saw)
{
	struct fxt_in_progress *entry = call(STACK + 900);

	/* The child of a vfork left the call when it executed a program. */
	part_thread.vfork.entry = entry;
	part_thread.vfork.left_ns = 1005;
	part_thread.last_ns = 1020;
	fxt_in_progress_close_last(&part_thread);
	SAID("slice io:call1 @1001 -> 1005\n");
	part_thread.vfork.left_ns = 1010;
	entry = call(STACK + 900);
	fxt_in_progress_close_last(&part_thread);
	SAID("slice io:call1 @1022 -> 1023\n");
	/* The trace was stopped meanwhile. */
	entry = call(STACK + 900);
	fxt_agent.stopped_ns = 1030;
	part_thread.last_ns = 1050;
	fxt_in_progress_close_last(&part_thread);
	SAID("slice io:call1 @1024 -> 1030\n");
	part_thread.lasted_ns = 1060;
	part_thread.stopped_ns = 1055;
	entry = call(STACK + 900);
	part_thread.last_ns = 1100;
	fxt_in_progress_close_last(&part_thread);
	SAID("slice io:call1 @1052 -> 1060\n");
	entry = call(STACK + 900);
	fxt_in_progress_close_last(&part_thread);
	SAID("slice io:call1 @1102 -> 1103\n");
	/* The time of a fork may be later than the end that was read before. */
	entry = call(STACK + 900);
	entry->start_ns = 5000;
	fxt_in_progress_drop_stale(&part_thread, STACK + 950, 0, 0, 4000);
	SAID("slice io:call1 @5000 -> 5000\n");
	EXPECT(!part_thread.left_ns);
}
END_TEST

int main(void)
{
	TCase *calls = tcase_create("calls");

	tcase_add_checked_fixture(calls, setup, NULL);
	tcase_add_test(calls, a_slot_shows_its_call);
	tcase_add_test(calls, all_entries_have_slots);
	tcase_add_test(calls, deep_functions_go_slowly);
	tcase_add_test(calls, a_call_further_up_closes_what_was_left);
	tcase_add_test(calls, other_stacks_say_nothing);
	tcase_add_test(calls, an_entry_that_was_changing_has_no_record);
	tcase_add_test(calls, ends_that_nobody_saw);
	return RUN_SUITE("calls", calls);
}
