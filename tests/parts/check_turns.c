/* This tests how lanes turn to their next chunk (agent/emit/lane.c): where a chunk comes from, what stands at its
 * head, what becomes of the one before, and what a thread does that finds none. The text of the file is
 * included; the storage here hands out chunks of an array, as many as a test lets it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/base/parts.h"
#include "agent/emit/in_progress.h"
#include "agent/emit/sample.h"
#include "part.h"
#include "suite.h"

static bool is_saving;
static unsigned pauses, sleeps;
static void (*while_sleeping)(void);

static long nap(long number, const void *time)
{
	EXPECT(number == SYS_nanosleep && time);
	EXPECT(++sleeps < 100000);
	if (while_sleeping)
		while_sleeping();
	return 0;
}

#undef FXT_SYSCALL2
#define FXT_SYSCALL2(number, time, rest) nap(number, time)
#define fxt_managed_is_saving(buffer) is_saving
#include "agent/emit/lane.c"

enum { CHUNKS = 8, SECOND_NS = 1000 * 1000 * 1000 };

static _Alignas(64) uint64_t chunks[CHUNKS][FXT_CHUNK_WORDS];
static char asked[4000];                /* what was asked of the storage and of other parts */
static unsigned next, available, ready_asked;
static int failure;
static struct fxt_chunk template;       /* what the next chunk has besides its memory */
static bool is_ready, plenty, has_rest;
static uint32_t kept_out;               /* events that the storage could not keep */
static uint64_t rest_before_ns;
static size_t window_words;
static void (*while_taking)(void), (*while_ending)(void);

static void ask(const char *what, uint64_t number)
{
	if (strlen(asked) < 3900)
		sprintf(asked + strlen(asked), "%s %llu;", what, (unsigned long long)number);
}

#define ASKED(text)                        \
	ck_assert_str_eq(asked, text);     \
	*asked = 0

/* -- What stands for the rest of the agent ------------------------------------------------------- */

static void fill(struct fxt_chunk *chunk, unsigned number)
{
	*chunk = template;
	chunk->base = chunks[number];
	chunk->number = number;
	if (!chunk->words)
		chunk->words = FXT_CHUNK_WORDS;
	chunks[number][0] = fxt_filler(chunk->words - 1);
}

static bool take(struct fxt_storage *storage, uint64_t now_ns, struct fxt_chunk *chunk)
{
	(void)storage;
	ask("take", now_ns);
	if (while_taking)
		while_taking();
	if (!available)
		return false;
	available--;
	fill(chunk, next++ % CHUNKS);
	return true;
}

static uint32_t finish(struct fxt_storage *storage, uint32_t number, uint32_t events, uint64_t last_ns)
{
	(void)storage, (void)last_ns;
	ask("finish", number);
	ask("with", events);
	return kept_out;
}

static void clear(struct fxt_storage *storage, const struct fxt_chunk *chunk)
{
	(void)storage;
	ask("clear", chunk->number);
}

static int why_none(const struct fxt_storage *storage)
{
	(void)storage;
	return failure;
}

static void pause_storage(struct fxt_storage *storage)
{
	(void)storage;
	EXPECT(++pauses < 100000);
	part_thread.last_ns += 1000 * 1000;
	if (while_sleeping)
		while_sleeping();
}

void fxt_agent_lost(enum fxt_loss why, uint64_t now_ns)
{
	EXPECT(now_ns);
	ask("lost", why);
}

void fxt_agent_overwritten(const struct fxt_chunk *chunk, uint64_t now_ns)
{
	EXPECT(now_ns);
	if (chunk->overwritten)
		ask("overwritten", chunk->overwritten);
}

bool fxt_chunks_are_plenty(void)
{
	return plenty;
}

bool fxt_chunks_take_rest(struct fxt_thread *self, size_t words, uint64_t before_ns, struct fxt_chunk *rest)
{
	EXPECT(self == &part_thread && words);
	rest_before_ns = before_ns;
	ask("rest", before_ns == UINT64_MAX);
	if (!has_rest)
		return false;
	fill(rest, next++ % CHUNKS);
	rest->events = 4;
	return true;
}

static unsigned full_of_others;

bool fxt_chunks_give_back_full(void)
{
	ask("full", full_of_others);
	return full_of_others && full_of_others--;
}

void fxt_chunks_note(struct fxt_thread *thread)
{
	EXPECT(thread == &part_thread);
	ask("note", thread->serial);
}

bool fxt_thread_ready(struct fxt_thread *thread)
{
	ready_asked++;
	thread->ready = is_ready;
	return is_ready;
}

size_t fxt_loss_window(const struct fxt_thread *thread, uint64_t *record)
{
	EXPECT(thread == &part_thread);
	if (!window_words)
		return 0;
	record[0] = fxt_record_type(FXT_RECORD_EVENT) | fxt_record_words(2) | fxt_event_thread(PART_INDEX) |
		    fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_agent, FXT_STR_dropped);
	record[1] = 3;
	return 2;
}

void fxt_loss_note(const struct fxt_thread *thread, bool may_pass)
{
	EXPECT(thread == &part_thread);
	ask("noted", may_pass);
}

void fxt_sample_renewed(struct fxt_thread *thread, uint64_t now_ns)
{
	EXPECT(thread == &part_thread && now_ns == thread->last_ns);
	ask("sample", 1);
}

void fxt_parts_storage_ends(int error)
{
	ask("ends", (uint64_t)-error);
	if (while_ending)
		while_ending();
}

void fxt_agent_count_short(uint64_t now_ns)
{
	ask("short", now_ns);
}

static unsigned settled;

void fxt_in_progress_settle(struct fxt_thread *thread)
{
	EXPECT(thread == &part_thread && !thread->lanes->raised_at);
	settled++;
}

static uint64_t dropped, dropped_ns;

static void setup(void)
{
	static const struct fxt_storage_ops ops = {.take = take, .finish = finish, .clear = clear,
						   .failure = why_none, .pause = pause_storage};
	static struct fxt_storage storage = {.ops = &ops};

	part_setup();
	fxt_lanes_reset(&part_thread);
	fxt_agent.storage = &storage;
	fxt_agent.config.mode = FXT_STREAMING;
	part_thread.counts.dropped = &dropped;
	part_thread.counts.dropped_ns = &dropped_ns;
	dropped = dropped_ns = 0;
	memset(&template, 0, sizeof(template));
	next = ready_asked = pauses = sleeps = settled = full_of_others = kept_out = 0;
	available = CHUNKS;
	failure = 0;
	is_ready = true;
	plenty = has_rest = is_saving = false;
	window_words = 0;
	while_sleeping = while_taking = while_ending = NULL;
	fxt_lender = 0;
	fxt_gate_lent = false;
	*asked = 0;
}

/* Asks for room in a lane, and returns whether there was some. Nothing is written. */
static bool turn_to(unsigned lane, size_t words, bool is_call)
{
	bool has_turned;

	part_thread.lanes[lane].raised_at = 5;
	has_turned = fxt_lane_turn(&part_thread, &part_thread.lanes[lane], words, is_call);
	EXPECT((part_thread.lanes[lane].raised_at != 0) == has_turned);
	part_thread.lanes[lane].raised_at = 0;
	return has_turned;
}

/* Returns what stands at the head of a chunk. */
static const char *head(unsigned number)
{
	static char text[1000];
	const uint64_t *at = chunks[number];
	char *end = text;

	*end = 0;
	for (; !fxt_is_filler(*at); at += fxt_get_record_words(*at)) {
		part_describe(end, at);
		end += strlen(end);
	}
	return text;
}

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
	ASKED("take 2001;finish 1;with 8;take 2001;finish 2;with 0;take 2001;full 2;take 2001;full 1;take 2001;"
	      "full 0;rest 1;");
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
	part_thread.lanes[FXT_LANES].raised_at = 0;
	EXPECT(!turn_to(FXT_LANES, 10, true) && part.lost[FXT_LOSS_SIGNALS] == 1);
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

START_TEST(losses_are_told_where_there_is_room_for_them)
{
	size_t words;

	window_words = 2;
	for (words = 1; words < 120; words++) {
		setup();
		window_words = 2;
		template.words = 120;
		if (turn_to(0, words, true))
			EXPECT(part_thread.lanes[0].at + words + FXT_LANE_SLACK_WORDS < part_thread.lanes[0].end);
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
	tcase_add_test(turns, a_call_waits_for_room);
	tcase_add_test(turns, the_child_of_a_vfork_waits_once);
	tcase_add_test(turns, recording_ends_meanwhile);
	tcase_add_test(turns, losses_are_told_where_there_is_room_for_them);
	return RUN_SUITE("turns", turns);
}
