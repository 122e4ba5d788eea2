/* This tests what a thread does that finds no chunk (agent/emit/lane.c): whether it waits for one, and
 * what it does where recording ends meanwhile. */
#include "turns_fixture.h"

/* -- Waiting ------------------------------------------------------------------------------------- */

static void give_one(void)
{
	available = pauses + sleeps >= 3;
}

START_TEST(a_call_waits_for_room)
{
	static const struct {
		int failure;
		bool on_full, for_manager, waits, is_said;
	} tests[] = {{-ENOSPC, true, false, true, true},  {-EDQUOT, true, false, true, true},
		     {-ENOSPC, false, true, false, false}, {-EAGAIN, true, false, true, false},
		     {-EAGAIN, false, true, true, false}, {-EAGAIN, false, false, false, false},
		     {-EBUSY, false, true, true, false},  {-EFBIG, true, true, false, false},
		     {0, true, true, false, false}};
	unsigned i;

	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		setup();
		available = 0;
		failure = tests[i].failure;
		fxt_agent.config.wait_on_full = tests[i].on_full;
		fxt_agent.config.waits_for_manager = tests[i].for_manager;
		while_sleeping = give_one;
		ck_assert_msg(turn_to(0, 10, true) == tests[i].waits, "test %u", i);
		EXPECT(pauses == (tests[i].waits ? 3 : 0) && !sleeps);
		EXPECT((strstr(asked, "lost 0;") != NULL) == tests[i].is_said);
		if (!tests[i].waits)
			continue;
		/* The chunk says so. */
		EXPECT(strstr(head(0), "slice agent:waiting for room @1001 -> "));
	}
	/* A ring's chunk that a snapshot was reading. */
	setup();
	template.has_waited = true;
	EXPECT(turn_to(0, 10, true));
	ck_assert_str_eq(head(0), "thread 3 is 70/71\nslice agent:waiting for room @1001 -> 1001\n");
	/* Another coroutine of the thread has waited meanwhile, and waits still. */
	setup();
	template.has_waited = true;
	wait_nests = false;
	EXPECT(turn_to(0, 10, true) && !part.lost[FXT_LOSS_SIGNALS]);
	ck_assert_str_eq(head(0), "thread 3 is 70/71\n");
	/* Chunks that others hold in the middle of a record may never come back. */
	setup();
	available = 0;
	failure = -EBUSY;
	fxt_agent.config.wait_on_full = true;
	EXPECT(!turn_to(0, 10, true) && part.lost[FXT_LOSS_ROOM] == 1);
	EXPECT(pauses >= 1000 && pauses <= 1002 && part_thread.last_ns > SECOND_NS);
}
END_TEST

static void pass_time(void)
{
	part_thread.last_ns += 1000 * 1000;
}

START_TEST(the_child_of_a_vfork_waits_once)
{
	available = 0;
	failure = -EAGAIN;
	fxt_agent.config.waits_for_manager = true;
	fxt_lender = (uint32_t)fxt_sys_getpid() + 1;
	while_sleeping = give_one;
	/* A manager that does not save now will not save. */
	EXPECT(!turn_to(0, 10, true) && !sleeps);
	is_saving = true;
	EXPECT(turn_to(0, 10, true) && sleeps == 3 && !pauses && !part_thread.vfork.has_waited);
	EXPECT(!part_thread.vfork.chunk.words);
	while_sleeping = pass_time;
	sleeps = available = 0;
	EXPECT(!turn_to(1, 10, true) && sleeps > 900 && part_thread.vfork.has_waited);
	sleeps = 0;
	EXPECT(!turn_to(1, 10, true) && !sleeps);
	part_thread.vfork.has_waited = false;
	failure = -ENOSPC;
	fxt_agent.config.wait_on_full = true;
	EXPECT(!turn_to(1, 10, true) && !sleeps);
	failure = -EAGAIN;
	fxt_agent.config.waits_for_manager = false;
	EXPECT(!turn_to(1, 10, true) && !sleeps);
	/* It was killed while it was taking a chunk: its parent empties that. */
	setup();
	part_thread.vfork.chunk = (struct fxt_chunk){.words = 5, .number = 6, .overwritten = 2};
	EXPECT(turn_to(0, 10, true));
	ASKED("clear 6;overwritten 2;finish 6;with 0;take 1001;note 1;sample 1;");
	EXPECT(!part_thread.vfork.chunk.words);
	/* Or just behind that: then the lane goes on there. */
	part_thread.vfork.chunk = (struct fxt_chunk){.words = 5, .number = 0};
	fxt_lanes_after_vfork(&part_thread);
	ASKED("");
	EXPECT(!part_thread.vfork.chunk.words);
}
END_TEST

/* -- Ends of recording --------------------------------------------------------------------------- */

static void lend(void)
{
	fxt_gate_lent = true;
}

static void begin_again(void)
{
	fxt_agent.starts++;
}

static void leave_manager(void)
{
	static unsigned tries;

	if (++tries % 4)
		return;
	failure = 0;
	available = 1;
}

static void stay(void)
{
}

START_TEST(recording_ends_meanwhile)
{
	/* The record is written still, and the next one asks again. */
	while_taking = lend;
	EXPECT(turn_to(0, 10, true) && !part_thread.lanes[0].limit && part_thread.lanes[0].hold);
	setup();
	while_taking = begin_again;
	EXPECT(turn_to(0, 10, true) && !part_thread.lanes[0].limit);
	/* The manager is gone: one thread makes a file, and the others wait for that. */
	setup();
	available = 0;
	failure = -EPIPE;
	while_ending = leave_manager;
	EXPECT(!turn_to(0, 10, false) && !sleeps);
	EXPECT(turn_to(0, 10, true) && sleeps == 3);
	setup();
	available = 0;
	failure = -EPIPE;
	while_ending = stay;
	EXPECT(!turn_to(0, 10, true) && sleeps == LEAVE_TRIES - 1 && part.lost[FXT_LOSS_ROOM] == 1);
	sleeps = 0;
	atomic_store(&fxt_gate.mask, 0);
	EXPECT(!turn_to(0, 10, true) && !sleeps);
	atomic_store(&fxt_gate.mask, UINT32_MAX);
	fxt_lender = (uint32_t)fxt_sys_getpid() + 1;
	*asked = 0;
	EXPECT(!turn_to(0, 10, true) && !sleeps && !strstr(asked, "ends"));
}
END_TEST

int main(void)
{
	TCase *waits = tcase_create("waits");

	tcase_add_checked_fixture(waits, setup, NULL);
	tcase_add_test(waits, a_call_waits_for_room);
	tcase_add_test(waits, the_child_of_a_vfork_waits_once);
	tcase_add_test(waits, recording_ends_meanwhile);
	return RUN_SUITE("turn waits", waits);
}
