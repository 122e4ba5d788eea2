/* This tests how lanes turn to their next chunk (agent/emit/lane.c): where a chunk comes from, what stands
 * at its head, what becomes of the one before, and how records without room are counted. */
#include "turns_fixture.h"

/* -- Chunks -------------------------------------------------------------------------------------- */

START_TEST(a_lane_turns_to_a_new_chunk)
{
	EXPECT(turn_to(0, 10, true));
	ASKED("take 1001;note 1;sample 1;");
	ck_assert_str_eq(head(0), "thread 3 is 70/71\n");
	EXPECT(part_thread.serial == 1 && part_thread.lanes[0].serial == 1 && part_thread.lanes[0].hold);
	EXPECT(part_thread.last_ns == PART_START_NS);
	/* The one before is given back, in a trace that keeps everything. */
	part_thread.lanes[0].events = 6;
	part_thread.lanes[0].limit = 0;
	window_words = 2;
	EXPECT(turn_to(0, 10, true));
	ASKED("finish 0;with 6;take 1001;note 2;sample 1;");
	ck_assert_str_eq(head(1), "thread 3 is 70/71\ninstant agent:dropped @3\n");
	EXPECT(!part_thread.full[0].hold);
	/* A thread without an index has no record there. */
	part_thread.index = 0;
	window_words = 0;
	EXPECT(turn_to(3, 10, false));
	ck_assert_str_eq(head(2), "");
	/* The storage could not keep what was in the chunk. */
	kept_out = 6;
	*asked = 0;
	part_thread.lanes[0].limit = 0;
	part_thread.lanes[0].events = 6;
	EXPECT(turn_to(0, 10, true));
	ASKED("finish 1;with 6;lost 0;take 1001;note 4;sample 1;");
	EXPECT(part.lost[FXT_LOSS_ROOM] == 6 && !dropped);
	/* Where the lane has room after all, nothing is taken. */
	EXPECT(turn_to(0, 10, true));
	ASKED("");
}
END_TEST

START_TEST(a_ring_keeps_the_chunk_before)
{
	fxt_agent.config.mode = FXT_CIRCULAR;
	EXPECT(turn_to(0, 10, true));
	part_thread.lanes[0].events = 6;
	part_thread.lanes[0].limit = 0;
	part_thread.last_ns = 2000;
	EXPECT(turn_to(0, 10, true));
	ASKED("take 1001;note 1;sample 1;take 2001;note 2;sample 1;");
	EXPECT(part_thread.full[0].hold >> 32 == 1 && part_thread.full[0].events == 6 &&
	       part_thread.full[0].last_ns == 2000);
	part_thread.lanes[0].events = 8;
	part_thread.lanes[0].limit = 0;
	template.overwritten = 9;
	EXPECT(turn_to(0, 10, true));
	ASKED("take 2001;finish 0;with 6;note 3;overwritten 9;sample 1;");
	EXPECT((uint32_t)part_thread.full[0].hold == 1 && part_thread.full[0].events == 8);
	/* When there is none, full ones are given back: its own first, and then those of others. */
	template.overwritten = 0;
	available = 0;
	full_of_others = 2;
	part_thread.lanes[0].limit = 0;
	EXPECT(!turn_to(0, 10, true));
	ASKED("take 2001;finish 1;with 8;take 2001;finish 2;with 0;take 2001;full 2;take 2001;full 1;"
	      "take 2001;full 0;rest 1;");
	EXPECT(part.lost[FXT_LOSS_ROOM] == 1 && !part_thread.full[0].hold && !part_thread.lanes[0].hold);
	has_rest = true;
	EXPECT(turn_to(0, 10, true));
	EXPECT(part_thread.lanes[0].events == 4);
	/* A full chunk that somebody has taken is not given back. */
	EXPECT(!fxt_lane_give_back_full(&part_thread.full[0]));
	/* After a session that was circular the full chunk is given back. */
	part_thread.full[0].hold = 77;
	part_thread.full[0].events = 3;
	fxt_agent.config.mode = FXT_STREAMING;
	part_thread.lanes[0].limit = 0;
	*asked = 0;
	available = 1;
	EXPECT(turn_to(0, 10, true));
	EXPECT(strstr(asked, "finish 77;with 3;"));
}
END_TEST

START_TEST(threads_share_chunks_where_there_are_many)
{
	part_thread.last_ns = 10000000;
	plenty = has_rest = true;
	EXPECT(turn_to(0, 10, true));
	ASKED("rest 0;note 1;sample 1;");
	EXPECT(rest_before_ns == part_thread.last_ns + 1 - FXT_IDLE_NS);
	plenty = false;
	EXPECT(turn_to(1, 10, true));
	ASKED("take 10000001;note 2;sample 1;");
	/* A trace that is recorded until it is full has no gaps. */
	plenty = true;
	fxt_agent.config.mode = FXT_ONESHOT;
	EXPECT(turn_to(2, 10, true));
	ASKED("rest 0;note 3;sample 1;");
	part_thread.no_room_before_ns = 5;
	EXPECT(turn_to(3, 10, true));
	ASKED("take 10000001;note 4;sample 1;");
	available = 0;
	EXPECT(!turn_to(4, 10, true));
	ASKED("take 10000001;");
}
END_TEST

START_TEST(a_chunk_that_another_wanted_is_kept)
{
	uint64_t hold;

	EXPECT(turn_to(0, 10, true));
	hold = part_thread.lanes[0].hold;
	part_thread.lanes[0].limit = FXT_LANE_WANTED;
	*asked = 0;
	EXPECT(turn_to(0, 10, true));
	ASKED("");
	EXPECT(part_thread.lanes[0].hold != hold && (uint32_t)part_thread.lanes[0].hold == (uint32_t)hold &&
	       part_thread.serial == 2 && part_thread.lanes[0].limit == (uintptr_t)part_thread.lanes[0].end);
	/* Not one that is too short, and not one that was taken. */
	part_thread.lanes[0].limit = FXT_LANE_WANTED;
	part_thread.lanes[0].at = part_thread.lanes[0].end - 10 - FXT_LANE_SLACK_WORDS;
	EXPECT(turn_to(0, 10, true));
	ASKED("finish 0;with 0;take 1001;note 3;sample 1;");
	part_thread.lanes[0].limit = FXT_LANE_WANTED;
	part_thread.lanes[0].hold = 0;
	EXPECT(turn_to(0, 10, true));
	ASKED("take 1001;note 4;sample 1;");
	part_thread.lanes[0].limit = FXT_LANE_WANTED;
	part_thread.lanes[0].at = part_thread.lanes[0].end - 11 - FXT_LANE_SLACK_WORDS;
	EXPECT(turn_to(0, 10, true));
	ASKED("");
}
END_TEST

/* -- Records that are dropped -------------------------------------------------------------------- */

START_TEST(what_finds_no_room_is_counted_by_its_cause)
{
	static struct fxt_thread other;

	part_thread.lanes[FXT_LANES].raised_at = 0;
	EXPECT(!turn_to(FXT_LANES, 10, true) && part.lost[FXT_LOSS_SIGNALS] == 1);
	/* What has gone on in another thread takes no chunk for the first one. */
	fxt_self = &other;
	EXPECT(!turn_to(0, 10, true) && part.lost[FXT_LOSS_SIGNALS] == 2);
	fxt_self = &part_thread;
	ASKED("");
	EXPECT(!turn_to(0, MOST_WORDS + 1, true) && part.lost[FXT_LOSS_SIZE] == 1);
	EXPECT(turn_to(0, MOST_WORDS, true));
	available = 0;
	EXPECT(!turn_to(1, 10, true) && part.lost[FXT_LOSS_ROOM] == 1);
	EXPECT(!turn_to(1, 10, false) && part.lost[FXT_LOSS_ROOM] == 1);
	/* A small chunk at the end of a file. */
	available = 1;
	template.words = 40;
	EXPECT(!turn_to(2, 40, true) && part.lost[FXT_LOSS_SIZE] == 2);
	available = 1;
	template.words = 0;
	is_ready = part_thread.ready = false;
	EXPECT(!turn_to(3, 10, true) && part.lost[FXT_LOSS_ROOM] == 2 && ready_asked == 1);
	is_ready = true;
	EXPECT(turn_to(3, 10, true) && ready_asked == 2);
	/* With little stack. */
	part.stack_is_short = true;
	*asked = 0;
	EXPECT(!turn_to(4, 10, true));
	ASKED("short 1000;");
	EXPECT(!turn_to(4, 10, false));
	ASKED("");
	EXPECT(turn_to(3, 10, true));
	part.stack_is_short = false;
	/* A manager wants no more, or has lent the gate. */
	available = 0;
	failure = -ESHUTDOWN;
	EXPECT(!turn_to(4, 10, true) && part.lost[FXT_LOSS_ROOM] == 2);
	EXPECT(strstr(asked, "ends 108;"));
	fxt_gate_lent = true;
	*asked = 0;
	EXPECT(!turn_to(4, 10, true) && part.lost[FXT_LOSS_ROOM] == 2);
	ASKED("");
}
END_TEST

START_TEST(a_full_trace_costs_nothing_more)
{
	available = 0;
	part_thread.no_room_before_ns = FXT_NEVER;
	EXPECT(!turn_to(0, 10, true) && dropped == 1 && dropped_ns == PART_START_NS);
	ASKED("noted 1;");
	EXPECT(!turn_to(0, 10, false) && dropped == 1);
	atomic_store(&fxt_gate.mask, 0);
	EXPECT(!turn_to(0, 10, true) && dropped == 1);
	atomic_store(&fxt_gate.mask, UINT32_MAX);
	ASKED("");
	/* What is due after a call is done all the same. */
	part_thread.commit = FXT_COMMIT_DEFERRED | FXT_COMMIT_SHOWN;
	EXPECT(!turn_to(0, 10, false) && !settled && !part.deferred);
	EXPECT(!turn_to(0, 10, true) && settled == 1 && part.deferred == 1);
	*asked = 0;
	/* Where there may be room it is looked for. */
	EXPECT(!turn_to(1, 10, false));
	ASKED("take 1001;rest 1;");
	EXPECT(!turn_to(0, MOST_WORDS + 1, true) && part.lost[FXT_LOSS_SIZE] == 1);
	part_thread.no_room_before_ns = part_thread.last_ns;
	EXPECT(!turn_to(0, 10, false));
	ASKED("take 1001;rest 1;");
	part_thread.no_room_before_ns = part_thread.last_ns + 1;
	part_thread.lanes[0].limit = 1;
	EXPECT(!turn_to(0, 10, false));
	ASKED("take 1001;rest 1;");
}
END_TEST

START_TEST(losses_are_told_where_there_is_room_for_them)
{
	size_t words;

	window_words = 2;
	for (words = 1; words < 120; words++) {
		setup();
		window_words = 2;
		template.words = 120;
		if (turn_to(0, words, true))
			EXPECT(part_thread.lanes[0].at + words + FXT_LANE_SLACK_WORDS <
			       part_thread.lanes[0].end);
		/* The record has room if it would have had it without what was lost. */
		EXPECT((part.lost[FXT_LOSS_SIZE] == 0) == (3 + words + FXT_LANE_SLACK_WORDS < 119));
		EXPECT((strstr(head(0), "dropped") != NULL) ==
		       (116 > words + FXT_LOSS_WINDOW_WORDS + 3 * FXT_LANE_SLACK_WORDS));
	}
}
END_TEST

int main(void)
{
	TCase *turns = tcase_create("turns");

	tcase_add_checked_fixture(turns, setup, NULL);
	tcase_add_test(turns, a_lane_turns_to_a_new_chunk);
	tcase_add_test(turns, a_ring_keeps_the_chunk_before);
	tcase_add_test(turns, threads_share_chunks_where_there_are_many);
	tcase_add_test(turns, a_chunk_that_another_wanted_is_kept);
	tcase_add_test(turns, what_finds_no_room_is_counted_by_its_cause);
	tcase_add_test(turns, a_full_trace_costs_nothing_more);
	tcase_add_test(turns, losses_are_told_where_there_is_room_for_them);
	return RUN_SUITE("turns", turns);
}
