/* What the tests of calls in progress share (agent/emit/in_progress.c). The text of the file is included,
 * with functions of ours in the place of the buffer's. */
#ifndef CALLS_FIXTURE_H
#define CALLS_FIXTURE_H

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

enum { STACK = 0x100000, STACK_BYTES = 0x100000, PAGES = FXT_IN_PROGRESS_PAGES, FIRST_SLOTS = 9 };

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

static uint64_t *take_page(struct fxt_storage *storage, uint64_t now_ns, uint32_t words,
			   struct fxt_chunk *chunk)
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

static inline void setup(void)
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

static inline struct fxt_in_progress *call(uintptr_t frame)
{
	return fxt_in_progress_push(&part_thread, frame, 0, 0, fxt_now(&part_thread), IO,
				    fxt_arg_header(FXT_ARG_UINT64, 2, FXT_STR_size), 77);
}

static inline struct fxt_in_progress *function(uintptr_t frame, uintptr_t address, uintptr_t site)
{
	return fxt_in_progress_push(&part_thread, frame, address, site, fxt_now(&part_thread), FUNCTION,
				    fxt_arg_header(FXT_ARG_POINTER, 2, FXT_STR_function), address);
}

static inline unsigned open_count(void)
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

#endif
