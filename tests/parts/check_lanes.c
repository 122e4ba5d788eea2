/* This tests the lanes of a thread and what the emission path does that is not inlined (agent/emit/emit.c,
 * lanes.h): which emissions were left, what becomes of their records and of their lanes, and how texts are
 * stored. FXT_SEED names the choices. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/emit/in_progress.h"
#include "apps/random.h"
#include "part.h"
#include "suite.h"
#include "writer/fxt_encode.h"

enum { OTHER_WORDS = 200 };

static _Alignas(64) uint64_t others[FXT_LANES][OTHER_WORDS];

static struct fxt_lane *nth(unsigned n)
{
	return &part_thread.lanes[n];
}

/* Gives each lane but the first a chunk of its own. */
static void setup(void)
{
	unsigned n;

	random_seed(0);
	part_setup();
	for (n = 1; n < FXT_LANES; n++) {
		const struct fxt_chunk chunk = {.base = others[n], .words = OTHER_WORDS, .number = n};

		others[n][0] = fxt_filler(OTHER_WORDS - 1);
		fxt_lane_enter(nth(n), &chunk, n + 1);
	}
}

/* -- Which lane ---------------------------------------------------------------------------------- */

START_TEST(an_interrupted_emission_keeps_its_lane)
{
	struct fxt_lane *lanes[FXT_LANES + 2];
	unsigned n;

	for (n = 0; n <= FXT_LANES; n++) {
		lanes[n] = fxt_lane_raise(&part_thread, n % 2 ? FXT_LANE_CALL : FXT_LANE_EXTRA);
		EXPECT(lanes[n] == nth(n) && (n == FXT_LANES || nth(n)->raised_at));
		EXPECT(n == FXT_LANES || (nth(n)->raised_at & FXT_LANE_CALL) == n % 2);
		/* Each handler is further down the stack. */
		if (n < FXT_LANES)
			nth(n)->raised_at += 1 << 20;
	}
	/* The fence has no room. */
	EXPECT(!fxt_lane_has(nth(FXT_LANES), 1) && !nth(FXT_LANES)->raised_at);
	EXPECT(fxt_lane_next(&part_thread) == nth(FXT_LANES));
	fxt_lane_lower(nth(2));
	EXPECT(fxt_lane_next(&part_thread) == nth(2) &&
	       fxt_lane_raise(&part_thread, FXT_LANE_CALL) == nth(2));
	EXPECT(fxt_is_interrupted(&part_thread));
	for (n = 0; n < FXT_LANES; n++)
		fxt_lane_lower(nth(n));
	EXPECT(!fxt_is_interrupted(&part_thread) && !part.lost[FXT_LOSS_SIGNALS]);
	nth(FXT_LANES - 1)->raised_at = 1;
	EXPECT(fxt_is_interrupted(&part_thread));
	nth(FXT_LANES - 1)->raised_at = 0;
	/* An entry that is being made or taken away. */
	part_thread.open++->frame = 5;
	EXPECT(fxt_is_interrupted(&part_thread));
	part_thread.open[-1].frame = FXT_IN_PROGRESS_NOBODY;
	EXPECT(fxt_is_interrupted(&part_thread));
	part_thread.open[-1].frame = FXT_IN_PROGRESS_HOLE;
	EXPECT(!fxt_is_interrupted(&part_thread));
	part_thread.open[-1].frame = 5;
	part_thread.open[-1].names = 1;
	EXPECT(!fxt_is_interrupted(&part_thread));
}
END_TEST

/* An emission was left by longjmp if its frame lies below the present one on the same stack. */
START_TEST(lanes_of_emissions_that_were_left_are_free)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), low = here - (1 << 16),
		  high = here + (1 << 16);
	const struct {
		intptr_t distance;      /* of the emission's frame, in bytes below the present one */
		bool is_own, is_left;   /* the thread's own stack reaches so far */
	} tests[] = {{6000, true, true},  {-6000, true, false}, {60000, true, true},  {70000, true, false},
		     {1500, false, true}, {6000, false, false}, {-1500, false, false}};
	unsigned i;

	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		struct fxt_lane *lane;

		setup();
		part_thread.stack.low = tests[i].is_own ? low : 0;
		part_thread.stack.high = tests[i].is_own ? high : 0;
		nth(0)->raised_at = (here - (uintptr_t)tests[i].distance) | FXT_LANE_CALL;
		lane = fxt_lane_raise_another(&part_thread, here);
		ck_assert_msg(lane == nth(tests[i].is_left ? 0 : 1), "test %u", i);
		ck_assert_uint_eq(part.lost[FXT_LOSS_SIGNALS], tests[i].is_left);
		EXPECT(lane->raised_at == here);
	}
	/* At the same frame the emission is over, too. */
	setup();
	part_thread.stack.low = low;
	part_thread.stack.high = high;
	nth(0)->raised_at = here;
	EXPECT(fxt_lane_raise_another(&part_thread, here | FXT_LANE_CALL) == nth(0));
	/* What is no call of the program is not lost, and neither is a call whose record is there. */
	EXPECT(!part.lost[FXT_LOSS_SIGNALS]);
	setup();
	part_thread.stack.low = low;
	part_thread.stack.high = high;
	nth(1)->raised_at = nth(3)->raised_at = (here - 100) | FXT_LANE_CALL;
	nth(0)->raised_at = here + 100;
	others[1][0] = fxt_record_type(FXT_RECORD_EVENT) | fxt_record_words(4);
	EXPECT(fxt_lane_raise_another(&part_thread, here | FXT_LANE_CALL) == nth(1));
	EXPECT(nth(1)->at == others[1] + 4 && nth(3)->at == others[3] && !nth(3)->raised_at);
	EXPECT(part.lost[FXT_LOSS_SIGNALS] == 1);
	/* Without a file nothing is counted. */
	setup();
	part_thread.stack.low = low;
	part_thread.stack.high = high;
	part.has_file = false;
	nth(0)->raised_at = (here - 100) | FXT_LANE_CALL;
	EXPECT(fxt_lane_raise_another(&part_thread, here | FXT_LANE_CALL) == nth(0));
	EXPECT(!part.lost[FXT_LOSS_SIGNALS]);
}
END_TEST

START_TEST(all_emissions_end_with_their_thread)
{
	unsigned n;

	for (n = 0; n < FXT_LANES; n++)
		nth(n)->raised_at = n == 2 ? 0 : 16 | (n == 1 ? FXT_LANE_EXTRA : FXT_LANE_CALL);
	others[3][0] = fxt_record_type(FXT_RECORD_EVENT) | fxt_record_words(7);
	fxt_lane_leave(nth(4));
	/* Not the one of the extra, the free one, and the one whose record is there. */
	EXPECT(fxt_lanes_left(&part_thread) == FXT_LANES - 3);
	for (n = 0; n < FXT_LANES; n++)
		EXPECT(!nth(n)->raised_at);
	EXPECT(nth(3)->at == others[3] + 7);
	/* In the child of a fork. */
	nth(1)->raised_at = 5;
	part_thread.full[2].events = 3;
	fxt_lanes_after_fork(&part_thread, true);
	EXPECT(nth(1)->raised_at == 5 && nth(1)->at == others[1] && !nth(1)->hold && !nth(1)->limit &&
	       !nth(5)->hold && !part_thread.full[2].events);
	setup();
	nth(1)->raised_at = 5;
	part_thread.full[2].events = 3;
	fxt_lanes_after_fork(&part_thread, false);
	EXPECT(!nth(1)->raised_at && !nth(1)->at && !nth(5)->end && !part_thread.full[2].events);
}
END_TEST

/* What has gone on in another thread takes no lane of the first one. */
START_TEST(an_emission_in_another_thread_has_no_lane)
{
	static struct fxt_thread other;
	uint32_t own_tid = part_thread.own_tid;
	unsigned n;

	fxt_self = &other;
	EXPECT(fxt_has_moved(&part_thread) && !fxt_has_moved(&other));
	EXPECT(fxt_lane_raise(&part_thread, FXT_LANE_CALL) == nth(FXT_LANES));
	/* There is no room, and no other look for it. */
	EXPECT(!fxt_reserve(&part_thread, 1000, 1) && part.lost[FXT_LOSS_ROOM] == 1);
	for (n = 0; n <= FXT_LANES; n++)
		EXPECT(!nth(n)->raised_at);
	fxt_self = &part_thread;
	EXPECT(!fxt_has_moved(&part_thread) && fxt_lane_raise(&part_thread, FXT_LANE_CALL) == nth(0));
	fxt_lane_lower(nth(0));
	/* A thread without a state: the kernel knows whether it is this one. */
	fxt_self = NULL;
	part_thread.in_use = true;
	EXPECT(!fxt_has_moved(&part_thread));
	part_thread.own_tid++;
	EXPECT(fxt_has_moved(&part_thread));
	/* It gets the state of one that is gone, and puts it in order. */
	part_thread.claimed = true;
	EXPECT(!fxt_has_moved(&part_thread));
	part_thread.claimed = part_thread.in_use = false;
	part_thread.own_tid = own_tid;
}
END_TEST

/* The lane of an emission is found by the place of its record. */
START_TEST(a_record_is_found_in_its_lane)
{
	unsigned n;

	for (n = 0; n < FXT_LANES; n++) {
		uint64_t *at = nth(n)->at;

		EXPECT(fxt_lane_of(&part_thread, at) == nth(n) &&
		       fxt_lane_of(&part_thread, at + 9) == nth(n));
		EXPECT(fxt_lane_of(&part_thread, nth(n)->end - 1) == nth(n));
		EXPECT(fxt_lane_of(&part_thread, nth(n)->end) != nth(n));
		EXPECT(fxt_lane_of(&part_thread, at - 1) != nth(n));
	}
	/* In the child of a fork no lane holds the memory. */
	fxt_lane_leave(nth(3));
	EXPECT(!fxt_lane_of(&part_thread, others[3] + 5));
	nth(3)->raised_at = 5;
	EXPECT(fxt_lane_of(&part_thread, others[3] + 5) == nth(3) && !fxt_lane_of(&part_thread, others[3]) &&
	       !fxt_lane_of(&part_thread, nth(3)->end));
}
END_TEST

START_TEST(a_new_thread_is_named_in_every_lane)
{
	unsigned n;

	nth(1)->raised_at = 5;
	fxt_lane_leave(nth(2));
	nth(3)->at = nth(3)->end - 9;
	nth(4)->at = nth(4)->end - 11;
	*nth(4)->at = fxt_filler(11);
	part_thread.index = 0;
	fxt_lanes_put_thread(&part_thread);
	SAID("");
	part_thread.index = PART_INDEX;
	fxt_lanes_put_thread(&part_thread);
	SAID("thread 3 is 70/71\n");
	for (n = 0; n < FXT_LANES; n++)
		EXPECT(!nth(n)->raised_at == (n != 1));
	EXPECT(fxt_get_record_type(others[1][0]) == FXT_RECORD_THREAD && nth(1)->at == others[1] + 3);
	EXPECT(!nth(2)->limit && nth(2)->at == others[2]);
	/* One without room turns to another chunk before its next record. */
	EXPECT(nth(3)->at == nth(3)->end - 9 && !nth(3)->limit && nth(3)->hold);
	EXPECT(nth(4)->at == nth(4)->end - 8 && nth(4)->limit == (uintptr_t)nth(4)->end);
}
END_TEST

/* -- Calls that find no room --------------------------------------------------------------------- */

START_TEST(a_call_without_room_is_dropped_at_once)
{
	struct fxt_in_progress *entry = part_thread.open++;
	uint64_t slot[4] = {0}, dropped = 0, dropped_ns = 0;

	entry->slot = slot;
	part_thread.slot_filler = fxt_filler(4);
	part_thread.counts.dropped = &dropped;
	part_thread.counts.dropped_ns = &dropped_ns;
	/* There may be room. */
	EXPECT(!fxt_drop(&part_thread, entry));
	part_thread.no_room_before_ns = FXT_NEVER;
	EXPECT(!fxt_drop(&part_thread, entry));
	nth(0)->limit = 0;
	nth(0)->raised_at = 5;
	EXPECT(!fxt_drop(&part_thread, entry));
	nth(0)->raised_at = 0;
	part_thread.no_room_before_ns = part_thread.last_ns;
	EXPECT(!fxt_drop(&part_thread, entry));
	part_thread.no_room_before_ns = part_thread.last_ns + 1;
	/* Calls were left within this one. */
	part_thread.open++;
	EXPECT(!fxt_drop(&part_thread, entry) && part_thread.open == entry + 2 && !dropped);
	part_thread.open--;
	EXPECT(fxt_drop(&part_thread, entry));
	EXPECT(part_thread.open == entry && slot[0] == fxt_filler(4) && dropped == 1 &&
	       dropped_ns == part_thread.last_ns && !nth(0)->raised_at && !part.deferred);
	part_thread.open++;
	part_thread.commit = FXT_COMMIT_DEFERRED;
	EXPECT(fxt_drop(&part_thread, entry) && dropped == 2 && part.deferred == 1);
	/* A thread that has no page counts for the process. */
	part_thread.open++;
	part_thread.counts.dropped = &part_thread.pages.none[1];
	EXPECT(fxt_drop(&part_thread, entry) && part.lost[FXT_LOSS_ROOM] == 1 && !part_thread.pages.none[1]);
	/* Its end is not read then. */
	EXPECT(fxt_now_at_end(&part_thread) == PART_START_NS + 1);
	part_thread.no_room_before_ns = FXT_NEVER;
	EXPECT(fxt_now_at_end(&part_thread) == PART_START_NS + 1);
	fxt_self_ending = &part_thread;
	EXPECT(fxt_now_at_end(&part_thread) == PART_START_NS + 2);
	fxt_self_ending = NULL;
	nth(0)->limit = 9;
	EXPECT(fxt_now_at_end(&part_thread) == PART_START_NS + 3);
}
END_TEST

/* -- Arguments ----------------------------------------------------------------------------------- */

START_TEST(texts_fill_their_words)
{
	char text[300], expected[400];
	uint64_t words[60];
	size_t bytes, i;

	for (bytes = 0; bytes < 280; bytes++) {
		for (i = 0; i < bytes; i++)
			text[i] = (char)('a' + random_below(26));
		text[bytes] = 'X';
		memset(words, 0xee, sizeof(words));
		words[0] = fxt_event_args(1) | fxt_record_type(FXT_RECORD_EVENT) |
			   fxt_event_thread(PART_INDEX);
		words[1] = 5;
		i = (size_t)(fxt_put_text(words + 2, FXT_STR_path, text, bytes) - words);
		EXPECT(i == 3 + fxt_words_of(bytes) && (words[i] == UINT64_C(0xeeeeeeeeeeeeeeee) || !bytes));
		words[0] |= fxt_record_words(i);
		part_describe(expected, words);
		text[bytes] = 0;
		EXPECT(strstr(expected, " path=") && (!bytes || strstr(expected, text)));
	}
	/* A text that becomes shorter when it is made valid. */
	words[2] = 0;
	i = (size_t)(fxt_put_text(words + 2, FXT_STR_path, "abc\0defghi", 10) - words);
	EXPECT(i >= 4 && fxt_get_arg_words(words[2]) == i - 2);
	EXPECT(!fxt_text_bytes(NULL) && fxt_text_bytes("abc") == 3);
}
END_TEST

START_TEST(numbers_take_as_little_as_they_can)
{
	uint64_t words[2] = {0, 7};

	EXPECT(fxt_put_uint(words, 9, UINT32_MAX) == words + 1);
	EXPECT(fxt_get_arg_type(*words) == FXT_ARG_UINT32 && fxt_get_arg_value32(*words) == UINT32_MAX);
	EXPECT(fxt_put_uint(words, 9, UINT64_C(1) << 32) == words + 2 && words[1] == UINT64_C(1) << 32 &&
	       fxt_get_arg_type(*words) == FXT_ARG_UINT64 && fxt_get_arg_name(*words) == 9);
	EXPECT(fxt_put_long(words, 9, INT32_MAX) == words + 1 && fxt_get_arg_type(*words) == FXT_ARG_INT32);
	EXPECT(fxt_put_long(words, 9, INT32_MIN) == words + 1 &&
	       (int)fxt_get_arg_value32(*words) == INT32_MIN);
	EXPECT(fxt_put_long(words, 9, (int64_t)INT32_MAX + 1) == words + 2 &&
	       fxt_get_arg_type(*words) == FXT_ARG_INT64 && (int64_t)words[1] == (int64_t)INT32_MAX + 1);
	EXPECT(fxt_put_long(words, 9, (int64_t)INT32_MIN - 1) == words + 2 &&
	       (int64_t)words[1] == (int64_t)INT32_MIN - 1);
	EXPECT(fxt_put_pointer(words, 9, words) == words + 2 && words[1] == (uintptr_t)words);
}
END_TEST

/* -- Quick ways ---------------------------------------------------------------------------------- */

START_TEST(the_quick_way_gives_up_where_it_must)
{
	const uint64_t names = fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_io, FXT_STR_frame);
	struct fxt_spot spot;
	uint64_t start_ns;

	part_thread.usual_ns = 100;
	EXPECT(fxt_quick_room(&part_thread, 1000, 1099, 1, &spot));
	fxt_quick_complete(&part_thread, &spot, fxt_put_int(spot.arguments, FXT_STR_fd, 4), 1099, names, 1);
	SAID("slice io:frame @1000 fd=4 -> 1099\n");
	EXPECT(nth(0)->events == 1 && !nth(0)->raised_at);
	EXPECT(!fxt_quick_room(&part_thread, 1000, 1100, 1, &spot) && !nth(0)->raised_at);
	/* A call at which the count falls below zero is drawn; one that is not usual is counted elsewhere. */
	part_thread.until_sample = 99 + FXT_CALL_SAMPLE_NS;
	EXPECT(!fxt_quick_room(&part_thread, 1000, 1100, 1, &spot));
	EXPECT(part_thread.until_sample == 99 + FXT_CALL_SAMPLE_NS);
	EXPECT(fxt_quick_room(&part_thread, 1000, 1099, 1, &spot) && part_thread.until_sample == 0);
	fxt_quick_leave(&spot);
	EXPECT(!fxt_quick_room(&part_thread, 1000, 1000, 1, &spot) && part_thread.until_sample < 0);
	EXPECT(!nth(0)->raised_at && nth(0)->events == 1);
	part_thread.until_sample = INT64_MAX;
	part_thread.commit = FXT_COMMIT_WATCHED;
	EXPECT(!fxt_quick_reserve(&part_thread, 1000, 1, &spot) && !nth(0)->raised_at);
	part_thread.commit = 0;
	part_lane(5);
	EXPECT(!fxt_quick_reserve(&part_thread, 1000, 1, &spot) && !nth(0)->raised_at);
	part_lane(7);
	EXPECT(fxt_quick_reserve(&part_thread, 1000, 1, &spot));
	fxt_quick_leave(&spot);
	EXPECT(!nth(0)->raised_at && !nth(0)->events);
	EXPECT(!fxt_quick_start(&part_thread, names, &start_ns));
	/* The start of a call that is to be explained is later. */
	EXPECT(fxt_explain_bit(names) == UINT64_C(1) << FXT_STR_frame % 64);
	EXPECT(fxt_category_of(names) == FXT_BIT_io && fxt_is_on(FXT_CAT_io));
	atomic_store(&fxt_gate.mask, FXT_CAT_net);
	EXPECT(!fxt_is_on(FXT_CAT_io) && !fxt_enter(FXT_CAT_io) && fxt_enter(FXT_CAT_net) == &part_thread);
	EXPECT(fxt_frame_words(&part_thread) == 3);
	part_thread.event_thread = 0;
	EXPECT(fxt_frame_words(&part_thread) == 5);
}
END_TEST

int main(void)
{
	TCase *lanes = tcase_create("lanes");

	tcase_add_checked_fixture(lanes, setup, NULL);
	tcase_add_test(lanes, an_interrupted_emission_keeps_its_lane);
	tcase_add_test(lanes, lanes_of_emissions_that_were_left_are_free);
	tcase_add_test(lanes, all_emissions_end_with_their_thread);
	tcase_add_test(lanes, an_emission_in_another_thread_has_no_lane);
	tcase_add_test(lanes, a_record_is_found_in_its_lane);
	tcase_add_test(lanes, a_new_thread_is_named_in_every_lane);
	tcase_add_test(lanes, a_call_without_room_is_dropped_at_once);
	tcase_add_test(lanes, texts_fill_their_words);
	tcase_add_test(lanes, numbers_take_as_little_as_they_can);
	tcase_add_test(lanes, the_quick_way_gives_up_where_it_must);
	return RUN_SUITE("lanes", lanes);
}
