/* This tests the records of lifetimes (agent/arrows/async.h): what they say, and that a begin moves to the
 * chunk of its end. */
#include <stdio.h>
#include <string.h>

#include "agent/arrows/async.h"
#include "part.h"
#include "suite.h"

enum { ID = 77, CHUNK = 9, PLACES = 8192 };

static void setup(void)
{
	part_setup();
	fxt_async_again();
	fxt_async_begin_anew(0);
}

#define NAMES fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_io, FXT_STR_frame)

static uint64_t begun[64];
static unsigned retracts;
static size_t begun_words, begun_at;
static bool is_gone;

static bool retract(struct fxt_storage *storage, uint32_t number, size_t at, uint64_t *record, size_t words,
		    uint64_t last)
{
	(void)storage;
	retracts++;
	EXPECT(number == CHUNK && at == begun_at && words == begun_words && last == begun[words - 1]);
	if (is_gone)
		return false;
	memcpy(record, begun, words * FXT_WORD_BYTES);
	return true;
}

static void use_storage(void)
{
	static const struct fxt_storage_ops ops = {.retract = retract};
	static struct fxt_storage storage = {.ops = &ops};

	fxt_agent.storage = &storage;
	part_thread.lanes->chunk = CHUNK;
	retracts = 0;
	is_gone = false;
}

static void begin(uint64_t id, const char *text)
{
	uint64_t *from;
	uint64_t *at = fxt_reserve_extra(&part_thread, fxt_now(&part_thread), 80);

	from = part_thread.lanes->at;
	begun_at = FXT_CHUNK_WORDS - 1 - (size_t)(part_thread.lanes->end - from);
	at = fxt_put_int(fxt_put_text(at, FXT_STR_path, text, strlen(text)), FXT_STR_count, 4);
	fxt_async_commit_begin(&part_thread, at, id, NAMES, 2);
	begun_words = fxt_get_record_words(*from);
	memcpy(begun, from, begun_words * FXT_WORD_BYTES);
}

static void end(uint64_t id)
{
	uint64_t *at = fxt_async_reserve_end(&part_thread, 2000, 1, id);

	fxt_async_commit_end(&part_thread, fxt_put_int(at, FXT_STR_status, -3), id, NAMES, 1);
	EXPECT(!part_thread.lanes->raised_at && !part_thread.lanes->events);
}

START_TEST(a_begin_moves_to_its_end)
{
	use_storage();
	begin(ID, "abc");
	SAID("async-begin io:frame @1001 path=\"abc\" count=4 #77\n");
	end(ID);
	SAID("async-end io:frame @2000 status=-3 #77\n");
	EXPECT(!retracts);
	/* In another chunk. */
	part_thread.lanes->chunk = CHUNK + 1;
	end(ID);
	SAID("async-begin io:frame @1001 path=\"abc\" count=4 #77\n"
	     "async-end io:frame @2000 status=-3 #77\n");
	EXPECT(retracts == 1);
	/* By another thread of the process, with its own index or without one. */
	part_thread.tid = 72;
	part_thread.index = 5;
	part_thread.event_thread = fxt_event_thread(5);
	end(ID);
	SAID("async-begin io:frame @1001 70/71 path=\"abc\" count=4 #77\n"
	     "async-end io:frame @2000 t5 status=-3 #77\n");
	part_thread.index = 0;
	part_thread.event_thread = 0;
	end(ID);
	SAID("async-begin io:frame @1001 70/71 path=\"abc\" count=4 #77\n"
	     "async-end io:frame @2000 70/72 status=-3 #77\n");
	/* Koids that stand in the begin stay. */
	part_thread.tid = 73;
	part_thread.lanes->chunk = CHUNK;
	begin(ID, "abcdefghi");
	SAID("async-begin io:frame @1002 70/73 path=\"abcdefghi\" count=4 #77\n");
	part_thread.index = 5;
	part_thread.event_thread = fxt_event_thread(5);
	part_thread.tid = 74;
	part_thread.lanes->chunk = CHUNK - 1;
	end(ID);
	SAID("async-begin io:frame @1002 70/73 path=\"abcdefghi\" count=4 #77\n"
	     "async-end io:frame @2000 t5 status=-3 #77\n");
}
END_TEST

START_TEST(a_begin_that_is_gone_stays_where_it_is)
{
	char text[8 * (FXT_ASYNC_MOVED_WORDS + 1 - 5) + 1] = "";

	use_storage();
	begin(ID, "abc");
	part_thread.lanes->chunk = CHUNK + 1;
	is_gone = true;
	(void)part_said();
	end(ID);
	SAID("async-end io:frame @2000 status=-3 #77\n");
	EXPECT(retracts == 1);
	/* Another lifetime's begin took the place in the table. */
	is_gone = false;
	part_thread.lanes->chunk = CHUNK;
	begin(ID + PLACES, "abc");
	part_thread.lanes->chunk = CHUNK + 1;
	(void)part_said();
	end(ID);
	EXPECT(retracts == 1);
	end(ID + PLACES);
	EXPECT(retracts == 2);
	/* With little stack it is not moved. */
	part.stack_is_short = true;
	end(ID + PLACES);
	EXPECT(retracts == 2);
	part.stack_is_short = false;
	/* Nor in a ring, nor one that is too long, nor after everything began again. */
	fxt_async_again();
	end(ID + PLACES);
	EXPECT(retracts == 2);
	fxt_agent.config.mode = FXT_CIRCULAR;
	part_thread.lanes->chunk = CHUNK;
	begin(ID, "abc");
	part_thread.lanes->chunk = CHUNK + 1;
	end(ID);
	EXPECT(retracts == 2);
	fxt_agent.config.mode = FXT_STREAMING;
	part_thread.lanes->chunk = CHUNK;
	memset(text, 'x', sizeof(text) - 1);
	begin(ID, text);
	EXPECT(begun_words == FXT_ASYNC_MOVED_WORDS + 1);
	part_thread.lanes->chunk = CHUNK + 1;
	end(ID);
	EXPECT(retracts == 2);
	part_thread.lanes->chunk = CHUNK;
	begin(ID, text + 8);
	EXPECT(begun_words == FXT_ASYNC_MOVED_WORDS);
	part_thread.lanes->chunk = CHUNK + 1;
	end(ID);
	EXPECT(retracts == 3);
}
END_TEST

START_TEST(an_end_needs_its_begin_in_the_trace)
{
	use_storage();
	fxt_async_begin_anew(ID);
	EXPECT(!fxt_async_reserve_end(&part_thread, 2000, 1, ID - 1));
	EXPECT(!part_thread.lanes->raised_at);
	end(ID);
	end(ID + 1);
	fxt_async_begin_anew(0);
	end(ID - 1);
	SAID("async-end io:frame @2000 status=-3 #77\n"
	     "async-end io:frame @2000 status=-3 #78\n"
	     "async-end io:frame @2000 status=-3 #76\n");
	/* One reservation is for both records. */
	begin(ID, "abc");
	part_lane(7 + begun_words + FXT_LANE_SLACK_WORDS);
	EXPECT(!fxt_async_reserve_end(&part_thread, 2000, 1, ID) && !part.lost[FXT_LOSS_ROOM]);
	part_lane(7 + begun_words + 2 + FXT_LANE_SLACK_WORDS + 1);
	part_thread.lanes->chunk = CHUNK + 1;
	end(ID);
	EXPECT(retracts == 1);
	/* What is not noted needs no such room. */
	part_lane(8);
	end(ID + 1);
}
END_TEST

int main(void)
{
	TCase *async = tcase_create("async");

	tcase_add_checked_fixture(async, setup, NULL);
	tcase_add_test(async, a_begin_moves_to_its_end);
	tcase_add_test(async, a_begin_that_is_gone_stays_where_it_is);
	tcase_add_test(async, an_end_needs_its_begin_in_the_trace);
	return RUN_SUITE("async", async);
}
