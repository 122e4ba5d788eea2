/* This tests how functions begin and end (agent/emit/function_call.c): where their names stand, which
 * entry ends if several could, and what becomes of those that nest too deep. The entries are the agent's
 * own (in_progress.c); no page of the file shows them here. */
#include <stdio.h>
#include <string.h>

#include "agent/base/parts.h"
#include "agent/emit/deferred.h"
#include "agent/emit/explain.h"
#include "agent/emit/filtered.h"
#include "agent/emit/function.h"
#include "agent/emit/threads.h"
#include "agent/names/plt_call.h"
#include "part.h"
#include "suite.h"

enum { STACK = 0x100000, STACK_BYTES = 0x100000, TABLE = 16, INDEX = FXT_STR_CALLS + 5 };

struct fxt_functions fxt_functions;
struct fxt_threads fxt_threads;
uint32_t fxt_functions_none_defined[FXT_STRING_MAX_INDEX + 1];
/* The library has the code of these in assembler. */
const char fxt_plt_stubs[FXT_PLT_CALLS * FXT_PLT_STUB_BYTES] __attribute__((aligned(128)));

static struct fxt_function table[TABLE];
static struct fxt_filtered_count left_out;
static uint64_t filtered, dropped, dropped_ns;
static unsigned unusual, searched, deferred_before, overtaken;

/* -- What stands for the rest of the agent ------------------------------------------------------- */

void fxt_agent_overwritten(const struct fxt_chunk *chunk, uint64_t now_ns)
{
	EXPECT(chunk && now_ns);
}

void fxt_thread_show_page(struct fxt_thread *thread, uint64_t *page)
{
	(void)thread, (void)page;
	ck_abort_msg("a page");
}

bool fxt_thread_ready(struct fxt_thread *thread)
{
	thread->ready = true;
	return true;
}

bool fxt_call_nests(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns)
{
	EXPECT(thread && start_ns <= end_ns);
	return true;
}

void fxt_lanes_after_vfork(struct fxt_thread *thread)
{
	(void)thread;
}

void fxt_parts_storage_ends(int error)
{
	(void)error;
}

uint64_t *fxt_room_left(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns, size_t words,
			enum fxt_category_bit category)
{
	(void)end_ns, (void)category;
	return fxt_reserve(thread, start_ns, words);
}

uint64_t *fxt_room_unusual(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns, size_t words,
			   enum fxt_category_bit category)
{
	EXPECT(category == FXT_BIT_function && words > FXT_EXPLAIN_WORDS + 2);
	unusual++;
	if (end_ns - start_ns < fxt_agent.config.threshold_ns[category])
		return NULL;
	return fxt_reserve(thread, start_ns, words);
}

const struct fxt_function *fxt_function_find(uintptr_t address)
{
	(void)address;
	searched++;
	return NULL;
}

uint64_t fxt_function_names(uintptr_t address)
{
	return fxt_names_of(FXT_STR_CATEGORIES + fxt_function_category(address), INDEX);
}

struct fxt_filtered_count *fxt_filtered_make(struct fxt_thread *thread, unsigned number)
{
	EXPECT(thread == &part_thread && number == 7);
	return &left_out;
}

void fxt_deferred_before(struct fxt_thread *thread)
{
	EXPECT(thread == &part_thread);
	deferred_before++;
}

void fxt_thread_overtaken(struct fxt_thread *thread, unsigned events)
{
	EXPECT(thread == &part_thread && events == 1);
	overtaken++;
}

/* Puts a function into the table. */
static struct fxt_function *enter_known(uintptr_t address, const char *name, unsigned index)
{
	struct fxt_function *function = &table[address / 16 % TABLE];

	*function = (struct fxt_function){.address = address, .name = name, .bytes = (uint16_t)strlen(name),
					  .index = (uint16_t)index, .number = 7,
					  .names = fxt_event_name(index)};
	return function;
}

static uint64_t *no_page(struct fxt_storage *storage, uint64_t now_ns, uint32_t words,
			 struct fxt_chunk *chunk)
{
	(void)storage, (void)now_ns, (void)words;
	chunk->overwritten = 0;
	return NULL;
}

static void setup(void)
{
	static const struct fxt_storage_ops ops = {.take_page = no_page};
	static struct fxt_storage storage = {.ops = &ops};

	part_setup();
	fxt_agent.storage = &storage;
	memset(table, 0, sizeof(table));
	memset(&left_out, 0, sizeof(left_out));
	atomic_store(&fxt_functions.entries, table);
	atomic_store(&fxt_functions.mask, TABLE - 1);
	part_thread.names.defined = fxt_functions_none_defined;
	part_thread.names.quick = fxt_functions_none_defined;
	part_thread.counts.filtered = &filtered;
	part_thread.counts.dropped = &dropped;
	part_thread.counts.dropped_ns = &dropped_ns;
	part_thread.stack.low = STACK;
	part_thread.stack.high = STACK + STACK_BYTES;
	part_thread.vfork.entry = part_thread.fenced_entries + FXT_IN_PROGRESS_MAX + 1;
	fxt_agent.config.least_stack_ns = UINT64_MAX;
	fxt_in_progress_shape(&part_thread);
	filtered = dropped = dropped_ns = unusual = searched = deferred_before = overtaken = 0;
	fxt_fibers_are_there = false;
	fxt_self_ending = &part_thread;
}

static void enter(uintptr_t frame, uintptr_t address)
{
	fxt_function_enter(&part_thread, frame, frame + 1, address, 0x99);
}

static void leave(uintptr_t frame, uintptr_t address)
{
	fxt_function_exit(&part_thread, frame, address);
}

static unsigned open_count(void)
{
	return (unsigned)(part_thread.open - fxt_in_progress_entries(&part_thread));
}

/* -- Names --------------------------------------------------------------------------------------- */

/* Returns the text of what was recorded, with `string N` for the index INDEX + N. */
static const char *said(void)
{
	static char text[4000], number[40];
	const char *from = part_said();
	char *found;
	unsigned n;

	snprintf(text, sizeof(text), "%s", from);
	for (n = 0; n < 3; n++) {
		snprintf(number, sizeof(number), "string %u is", INDEX + n);
		while ((found = strstr(text, number))) {
			memmove(found + 8, found + strlen(number) - 3,
				strlen(found + strlen(number) - 3) + 1);
			found[7] = (char)('0' + n);
		}
	}
	return text;
}

#define SAYS(what) ck_assert_str_eq(said(), what)

START_TEST(a_chunk_defines_the_names_that_it_uses)
{
	enter_known(0x440, "first", INDEX);
	enter_known(0x450, "eightish", INDEX + 1);
	enter(STACK + 900, 0x440);
	EXPECT(deferred_before == 1 && open_count() == 1);
	leave(STACK + 900, 0x440);
	SAYS("string 0 is \"first\"\nslice function:call5 @1001 -> 1002\n");
	EXPECT(part_thread.names.defined != fxt_functions_none_defined && part_thread.lanes->events == 1);
	/* Once in a chunk. */
	enter(STACK + 900, 0x440);
	enter(STACK + 800, 0x450);
	leave(STACK + 800, 0x450);
	leave(STACK + 900, 0x440);
	SAYS("string 1 is \"eightish\"\n"
	     "slice function:call6 @1004 -> 1005\n"
	     "slice function:call5 @1003 -> 1006\n");
	part_thread.lanes->serial = 2;
	enter(STACK + 900, 0x440);
	leave(STACK + 900, 0x440);
	SAYS("string 0 is \"first\"\nslice function:call5 @1007 -> 1008\n");
	/* Without an index the name stands inline; without a name there is none. */
	enter_known(0x460, "inline name", 0);
	enter(STACK + 900, 0x460);
	leave(STACK + 900, 0x460);
	SAYS("slice function:\"inline name\" @1009 -> 1010\n");
	enter(STACK + 900, 0x470);
	leave(STACK + 900, 0x470);
	SAYS("slice function:function @1011 -> 1012\n");
	EXPECT(searched);
	/* Where koids are inline. */
	part_thread.event_thread = 0;
	fxt_in_progress_shape(&part_thread);
	enter(STACK + 900, 0x460);
	leave(STACK + 900, 0x460);
	enter(STACK + 900, 0x440);
	leave(STACK + 900, 0x440);
	SAYS("slice function:\"inline name\" @1013 70/71 -> 1014\n"
	     "slice function:call5 @1015 70/71 -> 1016\n");
}
END_TEST

START_TEST(a_call_that_is_not_usual_has_room_for_more)
{
	enter_known(0x440, "first", INDEX);
	part_thread.usual_ns = 100;
	fxt_function_complete(&part_thread, 0x440, 2000, 2099);
	EXPECT(!unusual);
	fxt_function_complete(&part_thread, 0x440, 2000, 2100);
	EXPECT(unusual == 1);
	SAYS("string 0 is \"first\"\n"
	     "slice function:call5 @2000 -> 2099\n"
	     "slice function:call5 @2000 -> 2100\n");
	/* One that is too short is counted for its function. */
	fxt_agent.config.threshold_ns[FXT_BIT_function] = 101;
	fxt_function_complete(&part_thread, 0x440, 2000, 2100);
	EXPECT(left_out.calls == 1 && left_out.ns == 100);
	fxt_function_complete(&part_thread, 0x440, 2000, 2101);
	EXPECT(left_out.calls == 1);
	(void)said();
	/* Without room nothing is counted there. */
	part_lane(12);
	fxt_function_complete(&part_thread, 0x440, 2000, 2200);
	EXPECT(left_out.calls == 1 && part.lost[FXT_LOSS_ROOM] == 1);
	/* Both records have the room that they need, name and all. */
	fxt_agent.config.threshold_ns[FXT_BIT_function] = 0;
	part_thread.usual_ns = UINT64_MAX;
	part_lane(5 + 1 + 1 + 7 - 1);
	part_thread.lanes->serial = 9;
	fxt_function_complete(&part_thread, 0x440, 2000, 2050);
	SAYS("");
	part_lane(5 + 1 + 1 + 7 + 1);
	part_thread.lanes->serial = 10;
	fxt_function_complete(&part_thread, 0x440, 2000, 2050);
	SAYS("string 0 is \"first\"\nslice function:call5 @2000 -> 2050\n");
}
END_TEST

START_TEST(a_function_of_another_track)
{
	enter_known(0x440, "first", INDEX);
	enter_known(0x460, "inline name", 0);
	fxt_function_complete_on(&part_thread, 555, 0x440, 2000, 2100);
	SAYS("string 0 is \"first\"\nslice function:call5 @2000 70/555 -> 2100\n");
	fxt_function_complete_on(&part_thread, 555, 0x460, 2000, 2100);
	SAYS("slice function:\"inline name\" @2000 70/555 -> 2100\n");
	fxt_function_complete_on(&part_thread, 555, 0x470, 2000, 2100);
	SAYS("slice function:function @2000 70/555 -> 2100\n");
	EXPECT(part_thread.lanes->events == 3 && !part_thread.lanes->raised_at && !part.deferred);
	part_thread.commit = FXT_COMMIT_DEFERRED;
	fxt_function_complete_on(&part_thread, 555, 0x440, 2000, 2100);
	EXPECT(part.deferred == 1);
	fxt_agent.config.threshold_ns[FXT_BIT_function] = 100;
	fxt_function_complete_on(&part_thread, 555, 0x440, 2000, 2099);
	EXPECT(filtered == 1 && left_out.calls == 1 && left_out.ns == 99);
	fxt_function_complete_on(&part_thread, 555, 0x440, 2000, 2100);
	EXPECT(filtered == 1);
	part_lane(5 + 1 + 1 + 7 - 1);
	part_thread.lanes->serial = 9;
	fxt_function_complete_on(&part_thread, 555, 0x440, 2000, 2100);
	EXPECT(part.lost[FXT_LOSS_ROOM] == 1 && !part_thread.lanes->raised_at);
}
END_TEST

/* -- Which entry ends ---------------------------------------------------------------------------- */

START_TEST(functions_that_were_left_end_with_their_caller)
{
	enter(STACK + 900, 0x440);
	enter(STACK + 800, 0x450);
	enter(STACK + 700, 0x460);
	leave(STACK + 900, 0x440);
	SAYS("slice function:function @1003 -> 1004\n"
	     "slice function:function @1002 -> 1004\n"
	     "slice function:function @1001 -> 1005\n");
	EXPECT(!open_count());
	/* One that has no entry. */
	leave(STACK + 900, 0x440);
	enter(STACK + 900, 0x450);
	leave(STACK + 800, 0x440);
	EXPECT(open_count() == 1);
	SAYS("");
	leave(STACK + 900, 0x450);
	(void)said();
	/* A function that calls itself, and the exit hook as a tail call: its frame is further up. */
	enter(STACK + 900, 0x440);
	enter(STACK + 800, 0x440);
	enter(STACK + 700, 0x450);
	leave(STACK + 850, 0x440);
	EXPECT(open_count() == 0 || open_count() == 1);
	(void)said();
	part_thread.open = fxt_in_progress_entries(&part_thread);
	/* The one whose frame is at the hook's or above it ends. */
	enter(STACK + 900, 0x440);
	enter(STACK + 800, 0x440);
	enter(STACK + 700, 0x450);
	leave(STACK + 800, 0x440);
	EXPECT(open_count() == 1);
	(void)said();
	leave(STACK + 950, 0x440);
	EXPECT(!open_count());
}
END_TEST

START_TEST(too_deep_functions_are_counted)
{
	unsigned n;

	for (n = 0; n < FXT_FUNCTION_DEPTH; n++)
		enter(STACK + STACK_BYTES - 64 - 32 * n, 0x440);
	EXPECT(open_count() == FXT_FUNCTION_DEPTH && !part.lost[FXT_LOSS_DEPTH]);
	enter(STACK + 5000, 0x450);
	enter(STACK + 4900, 0x450);
	EXPECT(open_count() == FXT_FUNCTION_DEPTH && part.lost[FXT_LOSS_DEPTH] == 2);
	EXPECT(part_thread.deep_count == 2);
	leave(STACK + 4900, 0x450);
	EXPECT(part_thread.deep_count == 1);
	/* A frame that is equal is deeper, too. */
	leave(part_thread.open[-1].frame, 0x450);
	EXPECT(!part_thread.deep_count && open_count() == FXT_FUNCTION_DEPTH);
	/* They were left with what called them. */
	enter(STACK + 4900, 0x450);
	part_lane(FXT_CHUNK_WORDS);
	leave(part_thread.open[-1].frame + 8, 0x440);
	EXPECT(!part_thread.deep_count && open_count() == FXT_FUNCTION_DEPTH - 1);
	enter(STACK + 5000, 0x440);
	enter(STACK + 4900, 0x450);
	EXPECT(part_thread.deep_count == 1 && part.lost[FXT_LOSS_DEPTH] == 4);
	part_lane(FXT_CHUNK_WORDS);
	enter(STACK + STACK_BYTES - 64 - 32 * 300, 0x450);
	EXPECT(!part_thread.deep_count && open_count() < 310);
}
END_TEST

START_TEST(a_function_without_room_is_dropped)
{
	uint64_t before;

	fxt_self_ending = NULL;
	enter(STACK + 900, 0x440);
	part_thread.no_room_before_ns = FXT_NEVER;
	part_thread.lanes->limit = 0;
	before = part_thread.last_ns;
	leave(STACK + 900, 0x440);
	EXPECT(!open_count() && dropped == 1 && part_thread.last_ns == before);
	/* A silent one has no record, and is not lost. */
	fxt_in_progress_push_silent(&part_thread, STACK + 900, 0x440, 5);
	leave(STACK + 900, 0x440);
	EXPECT(!open_count() && dropped == 1);
	/* The quick way, with a reading of the clock. */
	EXPECT(!fxt_function_drop(&part_thread, 0x440, 5000));
	enter(STACK + 900, 0x440);
	EXPECT(!fxt_function_drop(&part_thread, 0x450, 5000));
	part_thread.deep_count = 1;
	EXPECT(!fxt_function_drop(&part_thread, 0x440, 5000));
	part_thread.deep_count = 0;
	fxt_fibers_are_there = true;
	EXPECT(!fxt_function_drop(&part_thread, 0x440, 5000));
	fxt_fibers_are_there = false;
	EXPECT(fxt_function_drop(&part_thread, 0x440, 5000) && dropped == 2 && part_thread.last_ns == 5000);
	EXPECT(!open_count() && dropped_ns == 5000);
	/* One that is not usual may be filtered, or explained. */
	enter(STACK + 900, 0x440);
	part_thread.usual_ns = 10;
	EXPECT(fxt_function_drop(&part_thread, 0x440, 6000) && unusual == 1 && !open_count());
	part_thread.no_room_before_ns = 0;
	enter(STACK + 900, 0x440);
	EXPECT(!fxt_function_drop(&part_thread, 0x440, 7000) && open_count() == 1);
}
END_TEST

START_TEST(the_last_function_ends)
{
	EXPECT(!fxt_function_end(&part_thread, 0x440, 2000));
	enter(STACK + 900, 0x440);
	EXPECT(!fxt_function_end(&part_thread, 0x450, 2000) && open_count() == 1);
	EXPECT(fxt_function_end(&part_thread, 0x440, 2000) && !open_count());
	SAYS("slice function:function @1001 -> 2000\n");
	/* A handler has forked since the clock was read. */
	enter(STACK + 900, 0x440);
	part_thread.open[-1].start_ns = 3000;
	part_thread.last_ns = 3000;
	EXPECT(fxt_function_end(&part_thread, 0x440, 2500));
	SAYS("slice function:function @3000 -> 3001\n");
}
END_TEST

START_TEST(a_fiber_makes_all_go_slowly)
{
	static struct fxt_thread other;
	static uint32_t defined[4];
	struct fxt_thread *list[] = {&part_thread, NULL, &other};

	fxt_threads.list = list;
	fxt_threads.count = 3;
	other.names.quick = part_thread.names.quick = defined;
	other.quick_limit = part_thread.quick_limit = part_thread.open + 5;
	fxt_lender = (uint32_t)fxt_sys_getpid() + 1;
	fxt_functions_meet_fiber(&part_thread);
	EXPECT(fxt_has_fibers() && !part_thread.quick_limit && other.quick_limit);
	EXPECT(part_thread.names.quick == fxt_functions_none_defined);
	fxt_lender = 0;
	fxt_functions_meet_fiber(&part_thread);
	EXPECT(!other.quick_limit && other.names.quick == fxt_functions_none_defined);
	EXPECT(!fxt_threads.lock.taken);
	/* Once is enough. */
	other.quick_limit = part_thread.open;
	fxt_functions_meet_fiber(&part_thread);
	EXPECT(other.quick_limit);
}
END_TEST

/* Ends a function by the quick way, at this time. */
static enum fxt_exit leave_quickly(uintptr_t address, uint64_t at_ns, uint64_t *end_ns)
{
	enum fxt_exit how;
	uint32_t high;

	/* The line has that time everywhere, until the upper half of the counter changes. */
	do {
		high = (uint32_t)(fxt_clock_tick() >> 32);
		part_thread.clock = (struct fxt_clock_line){
			.origin_ns = at_ns, .high = high, .until = UINT32_MAX};
		how = fxt_function_exit_try(&part_thread, address, end_ns);
	} while (how == FXT_EXIT_OTHER && (uint32_t)(fxt_clock_tick() >> 32) != high);
	return how;
}

START_TEST(the_quick_end_gives_up_where_it_must)
{
	struct fxt_lane *lane = part_thread.lanes;
	uint64_t end_ns = 0;

	part_thread.usual_function_ns = 100;
	enter_known(0x440, "first", INDEX);
	enter(STACK + 900, 0x440);
	/* The chunk does not define the name yet. */
	EXPECT(leave_quickly(0x440, 5000, &end_ns) == FXT_EXIT_NO_ROOM && end_ns == 5000);
	leave(STACK + 900, 0x440);
	part_said();
	part_thread.names.quick = part_thread.names.defined;
	part_thread.last_ns = 5000;
	enter(STACK + 900, 0x440);
	/* The last call is that of another function; another emission has the lane. */
	EXPECT(leave_quickly(0x450, 5010, &end_ns) == FXT_EXIT_OTHER);
	lane->raised_at = 1;
	EXPECT(leave_quickly(0x440, 5010, &end_ns) == FXT_EXIT_OTHER);
	lane->raised_at = 0;
	/* Another chunk lacks the name. */
	lane->serial++;
	EXPECT(leave_quickly(0x440, 5010, &end_ns) == FXT_EXIT_NO_ROOM);
	lane->serial--;
	EXPECT(open_count() == 1 && !lane->raised_at);
	SAYS("");
	EXPECT(leave_quickly(0x440, 5010, &end_ns) == FXT_EXIT_DONE && end_ns == 5010);
	SAYS("slice function:call5 @5001 -> 5010\n");
	EXPECT(open_count() == 0 && !lane->raised_at && part_thread.last_ns == 5010);
	/* Times go on, and one that took long has room for more. */
	enter(STACK + 900, 0x440);
	EXPECT(leave_quickly(0x440, 4000, &end_ns) == FXT_EXIT_DONE && end_ns == 5012);
	SAYS("slice function:call5 @5011 -> 5012\n");
	enter(STACK + 900, 0x440);
	EXPECT(leave_quickly(0x440, 5113, &end_ns) == FXT_EXIT_UNUSUAL && end_ns == 5113);
	EXPECT(open_count() == 1 && !lane->raised_at);
	SAYS("");
	/* Without room nothing is recorded. */
	atomic_store(&lane->limit, 0);
	EXPECT(leave_quickly(0x440, 5112, &end_ns) == FXT_EXIT_NO_ROOM);
	EXPECT(open_count() == 1 && !lane->raised_at);
}
END_TEST

int main(void)
{
	TCase *functions = tcase_create("functions");

	tcase_add_checked_fixture(functions, setup, NULL);
	tcase_add_test(functions, a_chunk_defines_the_names_that_it_uses);
	tcase_add_test(functions, a_call_that_is_not_usual_has_room_for_more);
	tcase_add_test(functions, a_function_of_another_track);
	tcase_add_test(functions, functions_that_were_left_end_with_their_caller);
	tcase_add_test(functions, too_deep_functions_are_counted);
	tcase_add_test(functions, a_function_without_room_is_dropped);
	tcase_add_test(functions, the_last_function_ends);
	tcase_add_test(functions, a_fiber_makes_all_go_slowly);
	tcase_add_test(functions, the_quick_end_gives_up_where_it_must);
	return RUN_SUITE("function calls", functions);
}
