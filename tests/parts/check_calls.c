/* This tests calls in progress (agent/emit/in_progress.c): which entries are closed, by which frames, and what
 * their slots show. The text of the file is included, with functions of ours in the place of the buffer's. Calls
 * and functions come and go at random, some are left by jumps, and are compared with a list of their frames.
 * FXT_SEED names the choices. */
#include <stdio.h>
#include <string.h>

#include "agent/base/parts.h"
#include "agent/emit/function.h"
#include "agent/names/plt_call.h"
#include "apps/random.h"
#include "part.h"
#include "suite.h"

static unsigned grown;
#define fxt_buffer_grow_before_vfork(buffer, now_ns) (grown++)
#include "agent/emit/in_progress.c"

enum { STACK = 0x100000, STACK_BYTES = 0x100000, PAGES = FXT_IN_PROGRESS_PAGES, FIRST_SLOTS = 9, SLOTS = 121 };

struct fxt_functions fxt_functions;
atomic_bool fxt_fibers_are_there;
uint32_t fxt_functions_none_defined[FXT_STRING_MAX_INDEX + 1];
/* The library has the code of these in assembler. */
const char fxt_plt_stubs[FXT_PLT_CALLS * FXT_PLT_STUB_BYTES] __attribute__((aligned(128)));

static uint64_t pages[PAGES + 1][FXT_PAGE_WORDS];
static unsigned taken, shown_pages, storage_ended, vfork_chunks;
static int failure;
static bool nests, has_pages, gets_ready;
static uint32_t defined[16];

/* -- What stands for the rest of the agent ------------------------------------------------------- */

static uint64_t *take_page(struct fxt_storage *storage, uint64_t now_ns, uint32_t words, struct fxt_chunk *chunk)
{
	uint64_t *page = pages[taken];

	(void)storage;
	EXPECT(now_ns && words == (part_thread.pages.count ? FXT_PAGE_WORDS : FXT_SMALL_PAGE_WORDS));
	chunk->overwritten = 0;
	if (!has_pages)
		return NULL;
	EXPECT(taken++ < PAGES);
	memset(page, 0, sizeof(*pages));
	page[0] = fxt_filler(words - 1);
	page[words - 1] = fxt_filler(1);
	return page;
}

static int why(const struct fxt_storage *storage)
{
	(void)storage;
	return failure;
}

void fxt_agent_overwritten(const struct fxt_chunk *chunk, uint64_t now_ns)
{
	EXPECT(!chunk->overwritten && now_ns);
}

/* The record of the thread and its counters stand in front of the slots. */
void fxt_thread_show_page(struct fxt_thread *thread, uint64_t *page)
{
	EXPECT(thread == &part_thread);
	page[0] = fxt_filler(PAGE_FIRST_SLOT);
	shown_pages++;
}

bool fxt_thread_ready(struct fxt_thread *thread)
{
	thread->ready = gets_ready;
	return gets_ready;
}

bool fxt_call_nests(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns)
{
	EXPECT(thread == &part_thread && start_ns <= end_ns);
	return nests;
}

void fxt_function_complete(struct fxt_thread *thread, uintptr_t address, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t *at = fxt_reserve(thread, start_ns, 2);

	EXPECT(thread->left_ns == end_ns);
	fxt_complete(thread, fxt_put_pointer(at, FXT_STR_function, (const void *)address), end_ns,
		     fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_function, FXT_STR_CALLS + 9), 1);
}

uint64_t *fxt_room_left(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns, size_t words,
			enum fxt_category_bit category)
{
	EXPECT(thread->left_ns == end_ns && category == FXT_BIT_io);
	return fxt_reserve(thread, start_ns, words);
}

uint64_t fxt_function_names(uintptr_t address)
{
	return fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_function, FXT_STR_CALLS + address % 16);
}

void fxt_lanes_after_vfork(struct fxt_thread *thread)
{
	thread->vfork.chunk.words = 0;
	vfork_chunks++;
}

void fxt_parts_storage_ends(int error)
{
	EXPECT(error == -EPIPE);
	storage_ended++;
}

static void setup(void)
{
	static const struct fxt_storage_ops ops = {.take_page = take_page, .failure = why};
	static struct fxt_storage storage = {.ops = &ops};

	random_seed(0);
	part_setup();
	fxt_agent.storage = &storage;
	fxt_agent.file_made = true;
	taken = shown_pages = storage_ended = vfork_chunks = grown = 0;
	failure = 0;
	nests = has_pages = gets_ready = true;
	fxt_fibers_are_there = false;
	part_thread.stack.low = STACK;
	part_thread.stack.high = STACK + STACK_BYTES;
	part_thread.names.defined = defined;
	part_thread.vfork.entry = part_thread.fenced_entries + FXT_IN_PROGRESS_MAX + 1;
	fxt_agent.config.least_stack_ns = UINT64_MAX;
	fxt_in_progress_shape(&part_thread);
	fxt_lender = 0;
}

#define IO fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_io, FXT_STR_CALLS + 1)
#define FUNCTION fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_function, FXT_STR_CALLS + 2)

static struct fxt_in_progress *call(uintptr_t frame)
{
	return fxt_in_progress_push(&part_thread, frame, 0, 0, fxt_now(&part_thread), IO,
				    fxt_arg_header(FXT_ARG_UINT64, 2, FXT_STR_size), 77);
}

static struct fxt_in_progress *function(uintptr_t frame, uintptr_t address, uintptr_t site)
{
	return fxt_in_progress_push(&part_thread, frame, address, site, fxt_now(&part_thread), FUNCTION,
				    fxt_arg_header(FXT_ARG_POINTER, 2, FXT_STR_function), address);
}

static unsigned open_count(void)
{
	return (unsigned)(part_thread.open - fxt_in_progress_entries(&part_thread));
}

/* Returns what the slots show. */
static const char *slots_show(void)
{
	static char text[60000];
	char *end = text;
	unsigned page;

	*end = 0;
	for (page = 0; page < part_thread.pages.count; page++) {
		const uint64_t *at = part_thread.pages.list[page];
		const uint64_t *stop = at + (page ? FXT_PAGE_WORDS : FXT_SMALL_PAGE_WORDS);

		for (; at < stop; at += fxt_get_record_words(*at)) {
			ck_assert_int_ne((int)fxt_get_record_words(*at), 0);
			if (fxt_is_filler(*at))
				continue;
			part_describe(end, at);
			end += strlen(end);
		}
		EXPECT(at == stop);
	}
	return text;
}

/* -- Slots --------------------------------------------------------------------------------------- */

START_TEST(a_slot_shows_its_call)
{
	struct fxt_in_progress *outer, *inner;

	outer = call(STACK + 900);
	EXPECT(outer == fxt_in_progress_entries(&part_thread) && shown_pages == 1);
	ck_assert_str_eq(slots_show(), "begin io:call1 @1001 size=77ul\n");
	inner = function(STACK + 800, 0x444, 5);
	ck_assert_str_eq(slots_show(), "begin io:call1 @1001 size=77ul\nbegin function:call2 @1002 function=0x444\n");
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
			EXPECT(part_thread.quick_limit == fxt_in_progress_entries(&part_thread) + FXT_FUNCTION_DEPTH);
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
	EXPECT(part_thread.may_be_child && fxt_lender == fxt_agent.pid && part_thread.vfork.entry == entry + 1);
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
	TCase *calls = tcase_create("calls");

	tcase_add_checked_fixture(calls, setup, NULL);
	tcase_add_test(calls, a_slot_shows_its_call);
	tcase_add_test(calls, all_entries_have_slots);
	tcase_add_test(calls, deep_functions_go_slowly);
	tcase_add_test(calls, a_call_further_up_closes_what_was_left);
	tcase_add_test(calls, other_stacks_say_nothing);
	tcase_add_test(calls, an_entry_that_was_changing_has_no_record);
	tcase_add_test(calls, ends_that_nobody_saw);
	tcase_add_test(calls, a_slow_call_stays_in_its_slot_until_it_is_written);
	tcase_add_test(calls, a_child_goes_on_with_functions);
	tcase_add_test(calls, calls_end_with_the_program);
	tcase_add_test(calls, before_a_vfork_the_trace_has_room);
	tcase_add_test(calls, entries_are_as_the_stack);
	return RUN_SUITE("calls", calls);
}
