/* This tests what is said of losses (agent/emit/losses.h and counter.h): the counters, the reasons, which are
 * told once, and the windows from where a thread finds no room to where it does again. The text of
 * losses.c is included, with functions of ours in the place of the buffer's. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/koid.h"
#include "agent/base/log.h"
#include "agent/emit/counter.h"
#include "part.h"
#include "suite.h"
#include "writer/fxt_encode.h"

static bool is_cut;
static uint64_t overwritten, lost_by_thread[FXT_LOSS_COUNT];
static bool (*retracted)(const uint64_t *record);

#define fxt_buffer_is_cut(buffer) is_cut
#define fxt_buffer_overwritten(buffer) overwritten
#define fxt_buffer_durable_retract(buffer, is_over) (retracted = (is_over))
#include "agent/emit/losses.c"

enum { SLOT = 64, RECORDS = 64 };

static uint64_t slots[FXT_LOSS_COUNT][FXT_COUNTER_WORDS];
static char durable_said[8192], logged[2000];
static int failure;
static uint64_t none_before;
static bool durable_is_full;

/* -- What stands for the rest of the agent ------------------------------------------------------- */

static bool durable(struct fxt_storage *storage, const uint64_t *record, size_t words, size_t reserve_words)
{
	(void)storage;
	EXPECT(words == fxt_get_record_words(*record) && !reserve_words);
	if (durable_is_full)
		return false;
	if (fxt_get_record_type(*record) == FXT_RECORD_METADATA)
		sprintf(durable_said + strlen(durable_said), "provider event %d of %d\n",
			(int)fxt_get_provider_event(*record), (int)fxt_get_provider_id(*record));
	else
		part_describe(durable_said + strlen(durable_said), record);
	return true;
}

static int why(const struct fxt_storage *storage)
{
	(void)storage;
	return failure;
}

static uint64_t has_none_before(const struct fxt_storage *storage)
{
	(void)storage;
	return none_before;
}

uint32_t fxt_koid_of_thread(uint32_t tid)
{
	EXPECT(tid == (uint32_t)fxt_sys_gettid());
	return 444;
}

uint64_t fxt_threads_lost(enum fxt_loss cause)
{
	return lost_by_thread[cause];
}

void fxt_log(const char *format, ...)
{
	va_list arguments;
	char *end = logged + strlen(logged);

	va_start(arguments, format);
	vsprintf(end, format, arguments);
	strcat(end, "\n");
	va_end(arguments);
}

const char *fxt_error_name(int error)
{
	return strerror(-error);
}

#define DURABLE(text)                              \
	ck_assert_str_eq(durable_said, text);      \
	*durable_said = 0
#define LOGGED(text)                               \
	ck_assert_str_eq(logged, text);            \
	*logged = 0

static void setup(void)
{
	static const struct fxt_storage_ops ops = {
		.durable = durable, .failure = why, .none_before = has_none_before};
	static struct fxt_storage storage = {.ops = &ops};
	unsigned i;

	part_setup();
	fxt_agent.storage = &storage;
	fxt_agent.file_made = true;
	fxt_agent.config.max_bytes = 7 << 20;
	fxt_agent.config.buffer_bytes = 5 << 20;
	strcpy(fxt_agent.buffer.path, "PATH");
	for (i = 0; i < FXT_LOSS_COUNT; i++) {
		fxt_counter_clear(slots[i], 500);
		fxt_agent.losses[i] = slots[i];
		lost_by_thread[i] = 0;
	}
	memset((void *)told_for_pid, 0, sizeof(told_for_pid));
	*durable_said = *logged = 0;
	failure = 0;
	none_before = 0;
	overwritten = 0;
	is_cut = durable_is_full = false;
	fxt_lender = 0;
}

static const char *slot_text(const uint64_t *slot)
{
	static char text[400];

	if (fxt_is_filler(*slot))
		return fxt_get_record_words(*slot) == FXT_COUNTER_WORDS ? "empty\n" : "a filler\n";
	part_describe(text, slot);
	return text;
}

/* -- Counters ------------------------------------------------------------------------------------ */

START_TEST(losses_are_counted_by_cause)
{
	static const char *const texts[FXT_LOSS_COUNT] = {
		"dropped", "dropped_depth", "dropped_signals", "dropped_size", "filtered", "overwritten",
		"unnamed", "blocks_not_kept", "stacks_not_kept"};
	char expected[200];
	unsigned i;

	for (i = 0; i < FXT_LOSS_COUNT; i++) {
		fxt_agent_count((enum fxt_loss)i, 0, 9000);
		ck_assert_str_eq(slot_text(slots[i]), "empty\n");
		EXPECT(!fxt_counter_value(slots[i]));
		fxt_agent_count((enum fxt_loss)i, 3 + i, 600);
		fxt_agent_count((enum fxt_loss)i, 1, 500 + i);
		sprintf(expected, "counter agent:%s @600 70/70 records=%uul #0\n", texts[i], 4 + i);
		ck_assert_str_eq(slot_text(slots[i]), expected);
		EXPECT(fxt_counter_value(slots[i]) == 4 + i);
		fxt_agent_count((enum fxt_loss)i, 1, 601);
		EXPECT(strstr(slot_text(slots[i]), " @601 ") && fxt_counter_value(slots[i]) == 5 + i);
	}
	fxt_agent.losses[0] = NULL;
	fxt_agent_count(FXT_LOSS_ROOM, 1, 1);
}
END_TEST

START_TEST(a_thread_has_counters_of_its_own)
{
	uint64_t slot[FXT_COUNTER_WORDS + 1], *value;
	unsigned i;

	memset(slot, 0xee, sizeof(slot));
	value = fxt_counter_show(slot, FXT_STR_dropped, fxt_event_thread(PART_INDEX), 70, 71, 71, 9);
	ck_assert_str_eq(slot_text(slot), "counter agent:dropped @1000 records=9ul #71\n" + 0 * !value);
	EXPECT(*value == 9 && fxt_counter_value(slot) == 9);
	value = fxt_counter_show(slot, FXT_STR_dropped, 0, 70, 71, 71, 10);
	ck_assert_str_eq(slot_text(slot), "counter agent:dropped @1000 70/71 records=10ul #71\n");
	EXPECT(*value == 10 && fxt_counter_value(slot) == 10);
	EXPECT(slot[FXT_COUNTER_WORDS] == UINT64_C(0xeeeeeeeeeeeeeeee));
	/* One for the whole process, which has no size yet. */
	memset(slot, 0xee, sizeof(slot));
	fxt_counter_describe(slot, FXT_STR_overwritten, 70);
	EXPECT(!fxt_get_record_words(*slot));
	*slot |= fxt_record_words(FXT_COUNTER_WORDS);
	ck_assert_str_eq(slot_text(slot), "counter agent:overwritten @0 70/70 records=0ul #0\n");
	EXPECT(slot[FXT_COUNTER_WORDS] == UINT64_C(0xeeeeeeeeeeeeeeee));
	fxt_counter_clear(slot, 33);
	for (i = 2; i < FXT_COUNTER_WORDS; i++)
		EXPECT(!slot[i]);
	EXPECT(slot[1] == 33 && slot[FXT_COUNTER_WORDS] == UINT64_C(0xeeeeeeeeeeeeeeee));
}
END_TEST

START_TEST(what_the_trace_lacks_is_counted_if_there_is_one)
{
	part_thread.last_ns = 700;
	fxt_thread_lacks(&part_thread, FXT_LOSS_BLOCKS);
	EXPECT(fxt_counter_value(slots[FXT_LOSS_BLOCKS]) == 1 && !part_thread.lanes->raised_at);
	EXPECT(slots[FXT_LOSS_BLOCKS][1] == 700);
	part.has_file = false;
	fxt_thread_lacks(&part_thread, FXT_LOSS_BLOCKS);
	EXPECT(fxt_counter_value(slots[FXT_LOSS_BLOCKS]) == 1);
	/* With little stack no file is made. */
	part.stack_is_short = true;
	fxt_thread_lacks(&part_thread, FXT_LOSS_BLOCKS);
	EXPECT(fxt_counter_value(slots[FXT_LOSS_BLOCKS]) == 2);
	fxt_agent.file_made = false;
	part.has_file = true;
	fxt_thread_lacks(&part_thread, FXT_LOSS_BLOCKS);
	EXPECT(fxt_counter_value(slots[FXT_LOSS_BLOCKS]) == 2);
	fxt_agent_count_short(900);
	EXPECT(!fxt_counter_value(slots[FXT_LOSS_SIGNALS]));
	fxt_agent.file_made = true;
	fxt_agent_count_short(900);
	EXPECT(fxt_counter_value(slots[FXT_LOSS_SIGNALS]) == 1 && slots[FXT_LOSS_SIGNALS][1] == 900);
	EXPECT(!part_thread.lanes->raised_at);
	/* An emission that was interrupted stays as it is. */
	part_thread.lanes->raised_at = 77;
	fxt_agent_count_short(0);
	EXPECT(part_thread.lanes->raised_at == 77 && fxt_counter_value(slots[FXT_LOSS_SIGNALS]) == 2);
	fxt_self = NULL;
	fxt_agent_count_short(0);
	EXPECT(fxt_counter_value(slots[FXT_LOSS_SIGNALS]) == 3);
}
END_TEST

/* -- Reasons ------------------------------------------------------------------------------------- */

START_TEST(a_reason_is_told_once)
{
	fxt_agent_lost(FXT_LOSS_DEPTH, 2000);
	DURABLE("instant agent:dropped @2000 70/71 reason=\"functions nest deeper than 500\"\n");
	fxt_agent_lost(FXT_LOSS_DEPTH, 2001);
	DURABLE("");
	fxt_agent_lost(FXT_LOSS_SIGNALS, 2002);
	DURABLE("instant agent:dropped @2002 70/71 "
		"reason=\"signal handlers nest deeper than 6, or switch between coroutines\"\n");
	fxt_agent_lost(FXT_LOSS_SIZE, 2003);
	DURABLE("instant agent:dropped @2003 70/71 reason=\"a record is larger than a chunk\"\n");
	fxt_agent_lost(FXT_LOSS_STATE, 2004);
	DURABLE("instant agent:dropped @2004 70/71 "
		"reason=\"there is no memory for the state of one more thread\"\n");
	LOGGED("");
	fxt_agent_lost(FXT_LOSS_SHARED, 2005);
	DURABLE("instant agent:dropped @2005 70/71 "
		"reason=\"clone() without CLONE_SETTLS: neither thread nor child records any more\"\n");
	LOGGED("clone() without CLONE_SETTLS: neither thread nor child records any more\n");
	/* A child tells its own; a thread without a state has the number that its process gives it. */
	fxt_agent.pid++;
	fxt_self = NULL;
	fxt_agent_lost(FXT_LOSS_DEPTH, 2006);
	DURABLE("instant agent:dropped @2006 70/444 reason=\"functions nest deeper than 500\"\n");
	fxt_agent.pid++;
	/* Not where there is no file, and not in the child of a vfork. */
	fxt_agent.file_made = false;
	fxt_agent_lost(FXT_LOSS_DEPTH, 2007);
	fxt_agent.file_made = true;
	fxt_lender = (uint32_t)fxt_sys_getpid() + 1;
	fxt_agent_lost(FXT_LOSS_DEPTH, 2007);
	DURABLE("");
	fxt_lender = (uint32_t)fxt_sys_getpid();
	fxt_agent_lost(FXT_LOSS_DEPTH, 2008);
	EXPECT(*durable_said);
}
END_TEST

#define FULL "provider event 0 of 70\ninstant agent:buffer full @2000 70/71 reason="

static void lose_room(void)
{
	fxt_agent.pid++;
	fxt_agent_lost(FXT_LOSS_ROOM, 2000);
}

START_TEST(why_there_is_no_room)
{
	fxt_agent.config.mode = FXT_STREAMING;
	lose_room();
	DURABLE(FULL "\"the allowed size is used up\" limit_bytes=7340032ul\n");
	LOGGED("PATH is full at 7 MiB; what follows is dropped and counted "
	       "(FXT_MAX_SIZE_MB or --max-size allows more)\n");
	fxt_agent.config.mode = FXT_ONESHOT;
	lose_room();
	DURABLE(FULL "\"the allowed size is used up\" limit_bytes=5242880ul\n");
	LOGGED("PATH is full at 5 MiB; what follows is dropped and counted (FXT_BUFFER_SIZE_MB allows "
	       "more)\n");
	/* In the memory of a manager. */
	fxt_agent.config.mode = FXT_STREAMING;
	fxt_agent.buffer.managed = true;
	lose_room();
	DURABLE(FULL "\"the allowed size is used up\" limit_bytes=5242880ul\n");
	fxt_agent.buffer.full_bytes = 3 << 20;
	*logged = 0;
	lose_room();
	DURABLE(FULL "\"the allowed size is used up\" limit_bytes=3145728ul\n");
	LOGGED("PATH is full at 3 MiB; what follows is dropped and counted "
	       "(FXT_MAX_SIZE_MB or --max-size allows more)\n");
	failure = -EAGAIN;
	lose_room();
	DURABLE(FULL "\"the manager does not save as fast\" limit_bytes=3145728ul\n");
	LOGGED("the manager does not save as fast as this program records; what has no room is dropped and "
	       "counted\n");
	failure = -EPIPE;
	lose_room();
	DURABLE(FULL "\"the manager is gone\"\n");
	LOGGED("");
	/* Of a manager that is being left; once it is used up, that is the reason. */
	fxt_agent.buffer.managed = false;
	failure = 0;
	strcpy(fxt_agent.config.manager, "m");
	lose_room();
	DURABLE(FULL "\"the manager is gone\"\n");
	none_before = FXT_NEVER;
	lose_room();
	DURABLE(FULL "\"the allowed size is used up\" limit_bytes=7340032ul\n");
	*logged = 0;
	failure = -ENOSPC;
	lose_room();
	DURABLE(FULL "\"No space left on device\"\n");
	LOGGED("PATH cannot grow: No space left on device; what follows is dropped and counted\n");
	fxt_agent.config.wait_on_full = true;
	lose_room();
	LOGGED("PATH cannot grow: No space left on device; what follows waits for room\n");
	is_cut = true;
	*durable_said = 0;
	lose_room();
	DURABLE(FULL "\"No space left on device\"\n");
	LOGGED("");
}
END_TEST

START_TEST(a_ring_says_that_it_overwrites)
{
	struct fxt_chunk chunk = {.overwritten = 0};

	fxt_agent_overwritten(&chunk, 2000);
	DURABLE("");
	chunk.overwritten = 1;
	fxt_agent_overwritten(&chunk, 2000);
	DURABLE("instant agent:overwritten @2000 70/71 reason=\"the ring keeps the newest\" "
		"limit_bytes=5242880ul\n");
	LOGGED("");
	fxt_agent.pid++;
	failure = -ENOSPC;
	fxt_agent_overwritten(&chunk, 2000);
	DURABLE("instant agent:overwritten @2000 70/71 reason=\"No space left on device\"\n");
	LOGGED("PATH cannot grow: No space left on device; its oldest part is overwritten and counted\n");
	fxt_agent_unseen("a program");
	DURABLE("instant agent:unseen @1000 70/71 reason=\"a program\"\n");
	fxt_agent.file_made = false;
	fxt_agent_unseen("a program");
	DURABLE("");
}
END_TEST

START_TEST(a_session_begins_with_what_was_lost_before)
{
	uint64_t before[FXT_LOST_BEFORE_WORDS + 1], record[32];
	size_t words;

	memset(before, 0xee, sizeof(before));
	before[0] = fxt_filler(FXT_LOST_BEFORE_WORDS);
	fxt_losses_session();
	fxt_agent.lost_before = before;
	fxt_agent.file_made = false;
	fxt_losses_session();
	fxt_agent.file_made = true;
	fxt_agent_lost(FXT_LOSS_DEPTH, 2000);
	*durable_said = 0;
	fxt_losses_session();
	EXPECT(before[0] == fxt_filler(FXT_LOST_BEFORE_WORDS) && !retracted);
	/* The reason is told anew. */
	fxt_agent_lost(FXT_LOSS_DEPTH, 2000);
	EXPECT(*durable_said);
	lost_by_thread[FXT_LOSS_ROOM] = 5;
	lost_by_thread[FXT_LOSS_OVERWRITTEN] = 2;
	lost_by_thread[FXT_LOSS_STACKS] = 1;
	overwritten = 3;
	fxt_losses_session();
	ck_assert_str_eq(slot_text(before),
			 "instant agent:lost before @1000 70/70 dropped=5ul overwritten=5ul "
			 "stacks_not_kept=1ul\n");
	words = fxt_get_record_words(*before);
	EXPECT(before[words] == fxt_filler(FXT_LOST_BEFORE_WORDS - words));
	EXPECT(before[FXT_LOST_BEFORE_WORDS] == UINT64_C(0xeeeeeeeeeeeeeeee));
	/* All of them at once fill the place. */
	for (words = 0; words < FXT_LOSS_COUNT; words++)
		lost_by_thread[words] = 1 + words;
	fxt_losses_session();
	EXPECT(fxt_get_record_words(*before) == FXT_LOST_BEFORE_WORDS);
	EXPECT(strstr(slot_text(before), " overwritten=9ul ") && strstr(slot_text(before), "=9ul\n"));
	EXPECT(before[FXT_LOST_BEFORE_WORDS] == UINT64_C(0xeeeeeeeeeeeeeeee));
	/* Which records go: reasons, and nothing else of the durable area. */
	EXPECT(retracted);
	fxt_encode_provider_event(record, 2, 70, FXT_PROVIDER_EVENT_BUFFER_FULL);
	EXPECT(retracted(record));
	fxt_encode_provider_section(record, 2, 70);
	EXPECT(!retracted(record));
#define EVENT(type, category, name)                                                                     \
	(fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(type) | fxt_names_of(category, name))
#define AGENT (FXT_STR_CATEGORIES + FXT_BIT_agent)
	record[0] = EVENT(FXT_EVENT_INSTANT, AGENT, FXT_STR_buffer_full);
	EXPECT(retracted(record));
	record[0] = EVENT(FXT_EVENT_INSTANT, AGENT, FXT_STR_dropped);
	EXPECT(retracted(record));
	record[0] = EVENT(FXT_EVENT_INSTANT, AGENT, FXT_STR_overwritten);
	EXPECT(retracted(record));
	record[0] = EVENT(FXT_EVENT_INSTANT, AGENT, FXT_STR_unseen);
	EXPECT(!retracted(record));
	record[0] = EVENT(FXT_EVENT_COUNTER, AGENT, FXT_STR_dropped);
	EXPECT(!retracted(record));
	record[0] = EVENT(FXT_EVENT_INSTANT, AGENT - 1, FXT_STR_dropped);
	EXPECT(!retracted(record));
	record[0] ^= fxt_record_type(FXT_RECORD_EVENT ^ FXT_RECORD_USERSPACE_OBJECT);
	EXPECT(!retracted(record));
}
END_TEST

/* -- Windows ------------------------------------------------------------------------------------- */

static const char *window(void)
{
	static char text[400];
	uint64_t record[FXT_LOSS_WINDOW_WORDS];
	size_t words = fxt_loss_window(&part_thread, record);

	if (!words)
		return "";
	EXPECT(words == fxt_get_record_words(*record));
	part_describe(text, record);
	return text;
}

START_TEST(a_window_says_how_many_records_were_lost)
{
	struct fxt_managed_header header = {0};
	unsigned i;

	fxt_loss_windows_forget();
	(void)window();
	ck_assert_str_eq(window(), "");
	for (i = 0; i < 3; i++) {
		part_thread.last_ns = 3000 + 100 * i;
		fxt_loss_note(&part_thread, true);
	}
	ck_assert_str_eq(window(), "instant agent:\"lost\" @3200 records=3ul \"ns\"=200ul\n");
	ck_assert_str_eq(window(), "");
	fxt_loss_note(&part_thread, false);
	ck_assert_str_eq(window(), "instant agent:\"lost\" @3200 records=1ul \"ns\"=0ul\n");
	/* Another session, and another process, know nothing of it. */
	fxt_loss_note(&part_thread, false);
	fxt_loss_windows_forget();
	ck_assert_str_eq(window(), "");
	fxt_loss_note(&part_thread, false);
	fxt_loss_windows_forget();
	part_thread.last_ns = 4000;
	fxt_loss_note(&part_thread, false);
	ck_assert_str_eq(window(), "instant agent:\"lost\" @4000 records=1ul \"ns\"=0ul\n");
	fxt_loss_note(&part_thread, false);
	fxt_agent.pid++;
	ck_assert_str_eq(window(), "");
	fxt_agent.pid--;
	fxt_loss_note(&part_thread, false);
	fxt_agent.pid++;
	fxt_loss_note(&part_thread, false);
	ck_assert_str_eq(window(), "instant agent:\"lost\" @4000 records=1ul \"ns\"=0ul\n");
	/* The header of a manager's memory has the sum: at once, or after so many, or so long. */
	fxt_agent.buffer.header = &header;
	fxt_loss_note(&part_thread, false);
	EXPECT(!header.num_records_dropped);
	fxt_agent.buffer.managed = true;
	fxt_loss_note(&part_thread, false);
	i = (unsigned)header.num_records_dropped;
	EXPECT(i >= 1);
	part_thread.last_ns += 9999;
	for (i = 0; i < 15; i++)
		fxt_loss_note(&part_thread, true);
	i = (unsigned)header.num_records_dropped;
	fxt_loss_note(&part_thread, true);
	EXPECT(header.num_records_dropped == i + 16);
	part_thread.last_ns += 9999;
	fxt_loss_note(&part_thread, true);
	EXPECT(header.num_records_dropped == i + 16);
	part_thread.last_ns += 1;
	fxt_loss_note(&part_thread, true);
	EXPECT(header.num_records_dropped == i + 18);
	fxt_loss_note(&part_thread, false);
	EXPECT(header.num_records_dropped == i + 19);
}
END_TEST

int main(void)
{
	TCase *losses = tcase_create("losses");

	tcase_add_checked_fixture(losses, setup, NULL);
	tcase_add_test(losses, losses_are_counted_by_cause);
	tcase_add_test(losses, a_thread_has_counters_of_its_own);
	tcase_add_test(losses, what_the_trace_lacks_is_counted_if_there_is_one);
	tcase_add_test(losses, a_reason_is_told_once);
	tcase_add_test(losses, why_there_is_no_room);
	tcase_add_test(losses, a_ring_says_that_it_overwrites);
	tcase_add_test(losses, a_session_begins_with_what_was_lost_before);
	tcase_add_test(losses, a_window_says_how_many_records_were_lost);
	return RUN_SUITE("losses", losses);
}
