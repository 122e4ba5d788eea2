/* This tests the lifetimes of memory, and what names them: agent/objects/blocks.h, memory_life.h,
 * allocation_site.h and label_text.c, with the table of blocks. Names of code are
 * made up here. Blocks come and go at random and are compared with a model; FXT_SEED names the choices. */
#include <stdio.h>
#include <string.h>

#include "agent/arrows/async.h"
#include "agent/base/lazy_table.h"
#include "agent/emit/call_stack.h"
#include "agent/emit/function.h"
#include "agent/emit/held_locks.h"
#include "agent/objects/allocation_site.h"
#include "agent/objects/block_table.h"
#include "agent/objects/blocks.h"
#include "agent/stacks/poisson.h"
#include "agent/stacks/stack_nodes.h"
#include "apps/random.h"
#include "part.h"
#include "suite.h"
#include "writer/fxt_encode.h"

enum { NODES = 8, BLOCKS = 300, STEPS = 20000 };

static struct fxt_stack_node nodes[NODES];
static enum fxt_code_kind kinds[256];           /* of the code at an address, which is below 256 here */
static unsigned looked_up, unloaded, told_blocks;
static uint64_t distance;
static char *place_name;

/* -- What stands for the rest of the agent ------------------------------------------------------- */

struct fxt_stack_node *fxt_stack_node(uint32_t number)
{
	EXPECT(number && number < NODES);
	return &nodes[number];
}

enum fxt_code_kind fxt_function_code(uintptr_t address)
{
	EXPECT(address < 256);
	looked_up++;
	return kinds[address];
}

bool fxt_functions_unloaded(void)
{
	unloaded++;
	return true;
}

const char *fxt_label_place(struct fxt_thread *thread, uintptr_t place, size_t *bytes)
{
	EXPECT(thread == &part_thread);
	*bytes = place && place_name ? strlen(place_name) : 0;
	return *bytes ? place_name : NULL;
}

struct fxt_label fxt_label_block(struct fxt_thread *thread, uintptr_t place)
{
	struct fxt_label label = {.kind = FXT_LABEL_BLOCK, .how = FXT_LABEL_MADE};
	size_t bytes;

	label.text = fxt_label_place(thread, place, &bytes);
	label.bytes = (uint32_t)bytes;
	return label;
}

void fxt_label_tell_block(struct fxt_thread *thread, uintptr_t block, const struct fxt_label *label,
			  uintptr_t place, uint64_t since_ns, uint64_t bytes)
{
	EXPECT(thread == &part_thread && block && label->kind == FXT_LABEL_BLOCK && place && since_ns &&
	       bytes);
	told_blocks++;
}

uint64_t fxt_poisson_distance(uint64_t *random, uint64_t mean)
{
	EXPECT(mean == fxt_agent.config.heap_sample_bytes && *random);
	++*random;
	return distance;
}

uint64_t fxt_poisson_weight(uint64_t bytes, uint64_t mean)
{
	EXPECT(mean == fxt_agent.config.heap_sample_bytes);
	return bytes * 2;
}

static uint64_t first_own;

bool fxt_flow_id_is_own(uint64_t id)
{
	return id && id >= first_own;
}

static void setup(void)
{
	random_seed(0);
	part_setup();
	memset(nodes, 0, sizeof(nodes));
	memset(kinds, 0, sizeof(kinds));
	looked_up = unloaded = told_blocks = 0;
	place_name = NULL;
	distance = 100;
	first_own = 1;
	fxt_async_again();
	fxt_blocks_again();
}

/* -- Names as text ------------------------------------------------------------------------------- */

static const char *name_of(struct fxt_label label)
{
	static uint64_t words[40];
	static char text[400];
	uint64_t *end = words + 2;

	memset(words, 0xee, sizeof(words));
	end = fxt_put_label(words + 2, &label);
	EXPECT((size_t)(end - words - 2) == fxt_label_words(&label) - 1);
	EXPECT(*end == UINT64_C(0xeeeeeeeeeeeeeeee));
	words[0] = fxt_record_type(FXT_RECORD_EVENT) | fxt_record_words((uint64_t)(end - words)) |
		   fxt_event_args(1) | fxt_event_thread(PART_INDEX);
	words[1] = 1;
	part_describe(text, words);
	*strrchr(text, '"') = 0;
	return strchr(text, '"') + 1;
}

START_TEST(names_are_written)
{
	static const char *const kind_texts[] = {"mutex",   "cond", "rwlock", "spinlock", "sem",
						 "barrier", "FILE", "DIR",    "block"};
	char expected[100];
	unsigned i, kind;

	for (kind = FXT_LABEL_MUTEX; kind < FXT_LABEL_KINDS; kind++) {
		struct fxt_label label = {.text = "abcdef", .bytes = 5, .kind = (uint8_t)kind,
					  .how = FXT_LABEL_MADE};

		sprintf(expected, "%s of abcde", kind_texts[kind - 1]);
		ck_assert_str_eq(name_of(label), expected);
		label.how = FXT_LABEL_USED;
		sprintf(expected, "%s first used by abcde", kind_texts[kind - 1]);
		ck_assert_str_eq(name_of(label), expected);
		label.how = FXT_LABEL_PATH;
		sprintf(expected, "%s abcde", kind_texts[kind - 1]);
		ck_assert_str_eq(name_of(label), expected);
		label.offset = 1;
		label.text = "a\xff" "cde";
		sprintf(expected, "%s ..a?cde", kind_texts[kind - 1]);
		ck_assert_str_eq(name_of(label), expected);
		label = (struct fxt_label){.text = "", .bytes = 3, .kind = (uint8_t)kind, .how = FXT_LABEL_FD,
					   .offset = 123};
		sprintf(expected, "%s of descriptor 123", kind_texts[kind - 1]);
		ck_assert_str_eq(name_of(label), expected);
	}
	for (i = 0; i < 5000; i++) {
		struct fxt_label label = {.text = "variable", .bytes = 1 + (uint32_t)random_below(8),
					  .kind = FXT_LABEL_COND, .how = FXT_LABEL_SYMBOL,
					  .offset = (uint32_t)random_number(32)};

		if (label.offset)
			sprintf(expected, "%.*s+0x%x", (int)label.bytes, label.text, label.offset);
		else
			sprintf(expected, "%.*s", (int)label.bytes, label.text);
		ck_assert_str_eq(name_of(label), expected);
		EXPECT(fxt_label_bytes(&label) == strlen(expected));
	}
	EXPECT(!fxt_label_words(&(struct fxt_label){.kind = FXT_LABEL_COND}));
	EXPECT(!strcmp(name_of((struct fxt_label){.text = "x", .bytes = 1}), "x"));
}
END_TEST

/* -- Lifetimes of memory ------------------------------------------------------------------------- */

START_TEST(a_lifetime_says_who_asked_for_the_memory)
{
	static char long_name[300], expected[400];
	struct fxt_memory memory = {.name = FXT_STR_heap_block, .address = 0x5000, .bytes = 77, .place = 9};
	struct fxt_memory_life life = {.begin_ns = 2000};
	const struct fxt_label label = {.text = "main", .bytes = 4, .kind = FXT_LABEL_BLOCK,
					.how = FXT_LABEL_MADE}, nameless = {0};
	unsigned bytes;

	EXPECT(fxt_memory_life_begin(&part_thread, &life, &memory) && life.id == 1);
	SAID("async-begin malloc:heap block @2000 ptr=0x5000 size=77u pid=70u #1\n");
	fxt_memory_life_end(&part_thread, life, FXT_STR_heap_block, &nameless, 0, 2500);
	SAID("async-end malloc:heap block @2500 #1\n");
	place_name = "main";
	memory.label = label;
	memory.stack = part.stack = 3;
	EXPECT(fxt_memory_life_begin(&part_thread, &life, &memory) && life.id == 2);
	SAID("async-begin malloc:heap block @2000 ptr=0x5000 size=77u function=\"main\" "
	     "object=\"block of main\" stack=0x7fe0000000000003 pid=70u #2\n");
	/* Clocks of threads differ, and an end is later than its begin. */
	fxt_memory_life_end(&part_thread, life, FXT_STR_heap_block, &label, 3, 2000);
	SAID("async-end malloc:heap block @2001 object=\"block of main\" stack=0x7fe0000000000003 #2\n");
	fxt_memory_life_end(&part_thread, life, FXT_STR_heap_block, &label, 0, 2001);
	SAID("async-end malloc:heap block @2001 object=\"block of main\" #2\n");
	/* A sample says what it stands for, and no function. */
	memory = (struct fxt_memory){.name = FXT_STR_heap_sample, .address = 0x5000, .bytes = 7, .place = 9,
				     .stack = 3, .stands_for = UINT64_C(5000000000)};
	EXPECT(fxt_memory_life_begin(&part_thread, &life, &memory));
	SAID("async-begin malloc:heap sample @2000 ptr=0x5000 size=7u stands_for=5000000000ul "
	     "stack=0x7fe0000000000003 pid=70u #3\n");
	/* The begin is in the parent's trace, or there is none. */
	first_own = 4;
	fxt_memory_life_end(&part_thread, life, FXT_STR_heap_sample, &nameless, 3, 9000);
	life.id = 0;
	first_own = 1;
	fxt_memory_life_end(&part_thread, life, FXT_STR_heap_sample, &nameless, 3, 9000);
	SAID("");
	/* The longest names are cut, so that the begin can be moved, and it has the room that it needs. */
	place_name = long_name;
	memory = (struct fxt_memory){.name = FXT_STR_heap_block, .address = 0x5000, .stack = 3,
				     .bytes = UINT64_C(1) << 40, .place = 9, .label = label};
	for (bytes = 167; bytes < 171; bytes++) {
		memset(long_name, 'n', bytes);
		EXPECT(fxt_memory_life_begin(&part_thread, &life, &memory));
		snprintf(expected, sizeof(expected), " size=%llu" "ul function=\"%.*s\" object=",
			 (unsigned long long)memory.bytes, bytes < 168 ? (int)bytes : 168, long_name);
		EXPECT(strstr(part_said(), expected));
	}
	part_lane(3);
	EXPECT(!fxt_memory_life_begin(&part_thread, &life, &memory) && !part.lost[FXT_LOSS_ROOM]);
	fxt_memory_life_end(&part_thread, life, FXT_STR_heap_block, &label, 3, 9000);
	EXPECT(!part_thread.lanes->raised_at && !*part_said());
}
END_TEST

/* -- Allocation sites ---------------------------------------------------------------------------- */

/* Makes a stack of these places, the innermost first. Returns its number. */
static uint32_t stack_of(unsigned count, const uintptr_t *places)
{
	unsigned i;

	for (i = 0; i < count; i++) {
		nodes[i + 1].place = places[i];
		nodes[i + 1].caller = i + 1 < count ? i + 2 : 0;
	}
	return count ? 1 : 0;
}

START_TEST(the_first_code_that_is_no_allocator)
{
	const uintptr_t places[] = {11, 21, 31};
	uint32_t stack = stack_of(3, places);

	unsigned i;

	for (i = 0; i < 256; i++)
		kinds[i] = FXT_CODE_ALLOCATOR;
	EXPECT(fxt_allocation_site(&part_thread, 0, 99) == 99 && !looked_up);
	EXPECT(fxt_allocation_site(&part_thread, stack, 99) == 99 && looked_up == 3);
	/* What was found is known. */
	kinds[20] = FXT_CODE_OWN;
	EXPECT(fxt_allocation_site(&part_thread, stack, 99) == 99 && looked_up == 3);
	fxt_allocation_sites_unloaded();
	EXPECT(unloaded == 1);
	EXPECT(fxt_allocation_site(&part_thread, stack, 99) == 21 && looked_up == 5);
	/* Code that cannot be looked at now is taken, and looked at again. */
	fxt_allocation_sites_unloaded();
	kinds[10] = FXT_CODE_UNKNOWN;
	EXPECT(fxt_allocation_site(&part_thread, stack, 99) == 11 && looked_up == 6);
	EXPECT(fxt_allocation_site(&part_thread, stack, 99) == 11 && looked_up == 7);
	fxt_held_lock_push(&part_thread, 8, part_thread.last_ns, 9);
	kinds[10] = FXT_CODE_ALLOCATOR;
	EXPECT(fxt_allocation_site(&part_thread, stack, 99) == 11 && looked_up == 7);
	fxt_held_lock_pop(&part_thread, 8);
	atomic_store(&fxt_forbidden, FXT_NO_WORD);
	EXPECT(fxt_allocation_site(&part_thread, stack, 99) == 11 && looked_up == 7);
	atomic_store(&fxt_forbidden, 0);
	fxt_lender = 1;
	EXPECT(fxt_allocation_site(&part_thread, stack, 99) == 11 && looked_up == 7);
	fxt_allocation_sites_unloaded();
	EXPECT(unloaded == 2);
	fxt_lender = 0;
	part.stack_is_short = true;
	fxt_allocation_sites_unloaded();
	EXPECT(unloaded == 2);
	part.stack_is_short = false;
	EXPECT(fxt_allocation_site(&part_thread, stack, 99) == 21);
	/* The stack ends at a frame that is not known. */
	nodes[2].place = 0;
	EXPECT(fxt_allocation_site(&part_thread, stack, 99) == 99);
	nodes[1].place = 0;
	EXPECT(fxt_allocation_site(&part_thread, stack, 99) == 99);
}
END_TEST

/* -- Blocks -------------------------------------------------------------------------------------- */

static const uintptr_t frame[2] = {0, 55};

START_TEST(a_block_is_told_once_of_an_address)
{
	void *block = (void *)0x10000;
	struct fxt_block taken;

	place_name = "make";
	kinds[10] = FXT_CODE_OWN;
	part.stack = stack_of(1, (const uintptr_t[]){11});
	fxt_agent.config.stacks = true;
	fxt_block_came_at(&part_thread, block, 4096, frame, 2000);
	SAID("async-begin malloc:heap block @2000 ptr=0x10000 size=4096u function=\"make\" "
	     "object=\"block of make\" stack=0x7fe0000000000001 pid=70u #1\n");
	EXPECT(told_blocks == 1 && !fxt_block_may_be_sample(block));
	taken = fxt_block_take(block);
	EXPECT(taken.life.id == 1 && taken.life.begin_ns == 2000 && !taken.is_sample);
	EXPECT(taken.label.text == place_name);
	/* It is not there any more. */
	EXPECT(!fxt_block_take(block).life.id && !fxt_block_take((void *)0x20000).life.id);
	part.stack = 2;
	fxt_block_gone(&part_thread, &taken, 3000);
	part.stack = 1;
	SAID("async-end malloc:heap block @3000 object=\"block of make\" stack=0x7fe0000000000002 #1\n");
	/* The same block once more, then one of another size, and of another function. */
	fxt_agent.config.stacks = false;
	part_thread.last_ns = 4000;
	fxt_block_came(&part_thread, block, 4096, frame);
	SAID("async-begin malloc:heap block @4000 ptr=0x10000 size=4096u function=\"make\" "
	     "object=\"block of make\" pid=70u #2\n");
	EXPECT(told_blocks == 1);
	/* One that the table still has was freed while nothing was recorded. */
	fxt_block_came_at(&part_thread, block, 4097, frame, 5000);
	SAID("async-end malloc:heap block @5000 object=\"block of make\" #2\n"
	     "async-begin malloc:heap block @5000 ptr=0x10000 size=4097u function=\"make\" "
	     "object=\"block of make\" pid=70u #3\n");
	EXPECT(told_blocks == 2);
	place_name = "other";
	fxt_block_came_at(&part_thread, block, 4097, frame, 6000);
	EXPECT(told_blocks == 3);
	/* Without a name it is told each time. */
	place_name = NULL;
	fxt_block_came_at(&part_thread, block, 4097, frame, 6000);
	fxt_block_came_at(&part_thread, block, 4097, frame, 6000);
	EXPECT(told_blocks == 5);
	/* realloc() may fail. */
	(void)part_said();
	taken = fxt_block_take(block);
	fxt_block_put_back(block, &taken);
	EXPECT(fxt_block_take(block).life.id == taken.life.id);
	fxt_blocks_again();
	EXPECT(!fxt_block_take(block).life.id);
	EXPECT(!part.lost[FXT_LOSS_BLOCKS]);
	/* With little stack, and without room in the trace, there is no lifetime. */
	part.stack_is_short = true;
	fxt_block_came_at(&part_thread, block, 4097, frame, 6000);
	EXPECT(part.lost[FXT_LOSS_BLOCKS] == 1 && told_blocks == 5);
	part.stack_is_short = false;
	part_lane(3);
	fxt_block_came_at(&part_thread, block, 4097, frame, 6000);
	EXPECT(part.lost[FXT_LOSS_BLOCKS] == 2 && !fxt_block_take(block).life.id);
}
END_TEST

START_TEST(a_sample_is_drawn)
{
	void *block = (void *)0x30010;
	struct fxt_block taken;
	unsigned i;

	part.stack = 1;
	part_thread.bytes.until_sample = -5;
	/* Where none is wanted. */
	fxt_block_drawn_at(&part_thread, block, 48, 2000);
	EXPECT(part_thread.bytes.until_sample == INT64_MAX);
	fxt_agent.config.heap_sample_bytes = 1000;
	fxt_block_drawn_at(&part_thread, block, 48, 2000);
	EXPECT(part_thread.bytes.until_sample == INT64_MAX && !part.flow);
	/* The first bytes of a thread are counted from the last that was drawn. */
	fxt_agent.config.stacks = true;
	part_thread.bytes.until_sample = -100;
	fxt_block_drawn_at(&part_thread, block, 48, 2000);
	EXPECT(!part_thread.bytes.until_sample && part_thread.bytes.random);
	SAID("");
	fxt_block_drawn_at(&part_thread, block, 48, 2000);
	SAID("async-begin malloc:heap sample @2000 ptr=0x30010 size=48u stands_for=96u "
	     "stack=0x7fe0000000000001 pid=70u #2\n");
	EXPECT(part_thread.bytes.until_sample == 99 && fxt_block_may_be_sample(block));
	EXPECT(!told_blocks);
	taken = fxt_block_take(block);
	EXPECT(taken.is_sample && taken.life.id == 2 && !fxt_block_may_be_sample(block));
	fxt_block_gone(&part_thread, &taken, 2500);
	SAID("async-end malloc:heap sample @2500 stack=0x7fe0000000000001 #2\n");
	fxt_block_put_back(block, &taken);
	EXPECT(fxt_block_may_be_sample(block) && fxt_block_take(block).is_sample);
	EXPECT(!fxt_block_may_be_sample(block));
	part_thread.last_ns = 2700;
	fxt_block_drawn(&part_thread, block, 48);
	EXPECT(strstr(part_said(), "sample @2700 "));
	fxt_blocks_again();
	EXPECT(!fxt_block_may_be_sample(block));
	/* One of a thread whose first draw says so at once. */
	part_thread.bytes.random = 0;
	part_thread.bytes.until_sample = -101;
	fxt_block_drawn_at(&part_thread, block, 48, 2800);
	EXPECT(part_thread.bytes.until_sample == 99 && strstr(part_said(), "sample @2800 "));
	(void)fxt_block_take(block);
	/* A hash that had 255 at once counts no more. */
	for (i = 0; i < 300; i++)
		fxt_block_put_back(block, &taken);
	EXPECT(fxt_block_take(block).is_sample && fxt_block_may_be_sample(block));
	/* A block of its own does not pass for a sample where it has taken a sample's entry. */
	fxt_block_came_at(&part_thread, block, 4096, frame, 3000);
	EXPECT(!fxt_block_take(block).is_sample);
	/* Another thread draws other numbers. */
	part_thread.bytes.random = 0;
	part_thread.tid = 5;
	part_thread.bytes.until_sample = -101;
	fxt_block_drawn_at(&part_thread, block, 48, 2800);
	EXPECT(part_thread.bytes.random >> 32 == 5);
}
END_TEST

/* Blocks come and go; what is taken is what came. */
START_TEST(blocks_are_as_in_a_list)
{
	static uint64_t lives[BLOCKS];
	static bool samples[BLOCKS];
	unsigned step, kept = 0;

	fxt_agent.config.stacks = true;
	fxt_agent.config.heap_sample_bytes = 1000;
	part_thread.bytes.random = 1;
	part.stack = stack_of(1, (const uintptr_t[]){11});
	for (step = 0; step < STEPS; step++) {
		unsigned n = (unsigned)random_below(BLOCKS);
		void *block = (void *)(0x100000 + (uintptr_t)n * 48);
		struct fxt_block taken;

		part_lane(FXT_CHUNK_WORDS);
		if (random_below(2)) {
			taken = fxt_block_take(block);
			EXPECT(taken.life.id == lives[n] && taken.is_sample == (lives[n] && samples[n]));
			kept += taken.life.id != 0;
			lives[n] = 0;
			continue;
		}
		samples[n] = random_below(2);
		part.lost[FXT_LOSS_BLOCKS] = 0;
		if (samples[n])
			fxt_block_drawn_at(&part_thread, block, 48, 2000 + step);
		else
			fxt_block_came_at(&part_thread, block, 48, frame, 2000 + step);
		lives[n] = part.lost[FXT_LOSS_BLOCKS] ? 0 : part.flow;
	}
	EXPECT(kept > STEPS / 8);
}
END_TEST

int main(void)
{
	TCase *names = tcase_create("names"), *blocks = tcase_create("blocks");

	tcase_add_checked_fixture(names, setup, NULL);
	tcase_add_test(names, names_are_written);
	tcase_add_test(names, a_lifetime_says_who_asked_for_the_memory);
	tcase_add_checked_fixture(blocks, setup, NULL);
	tcase_add_test(blocks, the_first_code_that_is_no_allocator);
	tcase_add_test(blocks, a_block_is_told_once_of_an_address);
	tcase_add_test(blocks, a_sample_is_drawn);
	tcase_add_test(blocks, blocks_are_as_in_a_list);
	return RUN_SUITE("memory", names, blocks);
}
