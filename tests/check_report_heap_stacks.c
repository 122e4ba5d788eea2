/* This tests the heap by call stacks: random lifetimes of blocks, samples and mappings, and random calls, are
 * compared with a model that goes through all blocks at each moment. FXT_SEED=N draws the same ones again. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/random.h"
#include "suite.h"
#include "trace_maker.h"

enum { ROUNDS = 60, NODES = 12, MOST = 400, KINDS = 2, GAPS = 4, STEP = 10 };
#define NODE(number) (UINT64_C(0x7fe0000000000000) + (number))
#define NEVER UINT64_MAX

enum kind { BLOCK, SAMPLE, MAPPING };

static struct block {
	enum kind kind;
	unsigned node;                  /* NODES: it has no stack */
	uint64_t size, stands_for, address, from, to;
} blocks[MOST];
static unsigned block_count;
static uint64_t gaps[GAPS];
static unsigned gap_count;

struct sum {
	unsigned __int128 bytes;
	uint64_t blocks;
};

/* -- The model ---------------------------------------------------------------------------------------- */

static uint64_t bytes_of(const struct block *b)
{
	return b->kind == SAMPLE ? b->stands_for : b->size;
}

static uint64_t blocks_of(const struct block *b)
{
	uint64_t bytes = bytes_of(b);

	if (b->kind != SAMPLE || !b->size || bytes <= b->size)
		return 1;
	return bytes / b->size + (bytes % b->size >= b->size - b->size / 2);
}

/* Returns whether the block is there right after what happened at this time. */
static bool is_there(const struct block *b, uint64_t at)
{
	if (b->from > at || b->to <= at)
		return false;
	for (unsigned i = 0; i < gap_count; i++)
		if (gaps[i] > b->from && gaps[i] <= at)
			return false;
	return true;
}

static unsigned __int128 in_use(uint64_t at, bool of_mappings)
{
	unsigned __int128 sum = 0;

	for (unsigned i = 0; i < block_count; i++)
		if ((blocks[i].kind == MAPPING) == of_mappings && is_there(&blocks[i], at))
			sum += bytes_of(&blocks[i]);
	return sum;
}

/* Returns when most was in use for the first time, as somebody asked for more then; 0: never. */
static uint64_t peak(bool of_mappings)
{
	unsigned __int128 most = 0;
	uint64_t at = 0;

	for (unsigned i = 0; i < block_count; i++) {
		unsigned __int128 sum = in_use(blocks[i].from, of_mappings);

		if (sum > most || (sum == most && at && blocks[i].from < at)) {
			most = sum;
			at = blocks[i].from;
		}
	}
	return at;
}

static struct sum sum_of(unsigned node, bool is_mapping, uint64_t at, bool all)
{
	struct sum sum = {0};

	for (unsigned i = 0; i < block_count; i++) {
		const struct block *b = &blocks[i];

		if (b->node != node || (b->kind == MAPPING) != is_mapping || !(all || is_there(b, at)))
			continue;
		sum.bytes += bytes_of(b);
		sum.blocks += blocks_of(b);
	}
	return sum;
}

/* -- Random traces ------------------------------------------------------------------------------------- */

static uint64_t random_size(void)
{
	switch (random_below(8)) {
	case 0: return 0;
	case 1: return UINT64_MAX - random_below(3);
	default: return random_number(24);
	}
}

static void draw_blocks(bool only_blocks)
{
	memset(blocks, 0, sizeof(blocks));
	block_count = 1 + (unsigned)random_below(MOST / 2);
	gap_count = random_below(3) ? 0 : (unsigned)random_below(GAPS);
	for (unsigned i = 0; i < block_count; i++) {
		struct block *b = &blocks[i];

		b->kind = only_blocks ? BLOCK : (enum kind)random_below(3);
		b->node = (unsigned)random_below(NODES + !only_blocks);
		b->size = random_size();
		b->stands_for = random_below(4) ? b->size + random_number(17) : random_size();
		b->address = 0x1000 + 16 * (uint64_t)i;
		b->from = STEP * (1 + 2 * (uint64_t)i);
		/* Times of ends lie between those of begins, and none is that of another. */
		b->to = random_below(4) ? STEP * (2 * i + 2 * random_below(block_count) + 2) + 1 + i % 8
					: NEVER;
		for (unsigned k = 0; k < i; k++)
			if (blocks[k].to == b->to)
				b->to = NEVER;
	}
	for (unsigned i = 0; i < gap_count; i++)
		gaps[i] = STEP * (1 + 2 * random_below(block_count)) + 5;
}

static const char *const names[] = {"heap block", "heap sample", "mapping"};

static void begin_of(const struct block *b, unsigned id)
{
	struct argument args[5] = {{"ptr", POINTER, b->address}, {"size", UINT, b->size}};
	unsigned count = 2;

	if (b->kind == SAMPLE)
		args[count++] = (struct argument){"stands_for", UINT, b->stands_for};
	if (b->node < NODES)
		args[count++] = (struct argument){"stack", POINTER, NODE(b->node)};
	event(ASYNC_BEGIN, 1 + id % 3, "malloc", names[b->kind], b->from, id, args);
}

static void end_of(const struct block *b, unsigned id)
{
	event(ASYNC_END, 1 + id / 7 % 3, "malloc", names[b->kind], b->to, id, NO_ARGS);
}

/* Writes the lifetimes, out of order: some begins stand right before their ends, and some behind them. The
 * join has made ends for some blocks that were never freed, and some begins are there twice. */
static void put_lives(void)
{
	for (unsigned i = 0; i < block_count; i++) {
		unsigned how = (unsigned)random_below(5);

		if (how == 0 && blocks[i].to != NEVER)
			end_of(&blocks[i], i);
		if (how != 1)
			begin_of(&blocks[i], i);
		if (how == 2)
			begin_of(&blocks[i], i);
		for (unsigned k = i > 20 ? i - 20 : 0; k < i && how == 3; k++)
			call(1, "io", "read", blocks[i].from, blocks[i].from + 1);
		if (how == 1)
			begin_of(&blocks[i], i);
		if (how != 0 && blocks[i].to != NEVER)
			end_of(&blocks[i], i);
		if (blocks[i].to == NEVER && random_below(2))
			event(ASYNC_END, 1, "malloc", names[blocks[i].kind], STEP * (4 * MOST), i,
			      ARGS({"ended_by", TEXT, TEXT_OF("exit")}));
	}
}

/* Writes calls instead. Some frees are the first half of a realloc that gets another block of the list. */
static void put_calls(void)
{
	for (unsigned i = 0; i < block_count; i++) {
		const struct block *b = &blocks[i];
		const struct argument args[] = {{"size", UINT, b->size},
						{"ret", POINTER, b->address},
						{b->node < NODES ? "stack" : NULL, POINTER, NODE(b->node)},
						{0}};

		event(COMPLETE, 1, "malloc", "malloc", b->from - 3, b->from, args);
		if (b->to != NEVER)
			event(COMPLETE, 2, "malloc", "free", b->to, b->to + 1,
			      ARGS({"ptr", POINTER, b->address}));
	}
}

static void put_frames(void)
{
	for (unsigned i = 0; i < NODES; i++)
		frame(NODE(i), i ? NODE(random_below(i)) : 0, i % 2 ? "f" : "g", "/bin/app", 16 * (1 + i));
}

/* -- Comparison --------------------------------------------------------------------------------------- */

static void expect_sum(const struct fxt_heap_sum *found, struct sum expected, const char *what, unsigned node,
		       bool is_mapping)
{
	ck_assert_msg(found->bytes == expected.bytes && found->blocks == expected.blocks,
		      "%s of %s of node %u: %.0f bytes in %" PRIu64 " blocks, expected %.0f in %" PRIu64,
		      what, is_mapping ? "mappings" : "blocks", node, (double)found->bytes, found->blocks,
		      (double)expected.bytes, expected.blocks);
}

static void compare(const struct fxt_report *report)
{
	static const struct fxt_heap_sum none;
	bool of_mappings = true, any_stack = false;
	uint64_t at;

	for (unsigned i = 0; i < block_count; i++) {
		of_mappings = of_mappings && blocks[i].kind == MAPPING;
		any_stack = any_stack || blocks[i].node < NODES;
	}
	if (!any_stack)
		return;
	at = peak(of_mappings);
	for (unsigned node = 0; node <= NODES; node++) {
		for (unsigned kind = 0; kind < KINDS; kind++) {
			const struct fxt_heap_sum *left = &none, *at_peak = &none, *all = &none;

			for (size_t i = 0; i < report->heap_stacks.count; i++) {
				const struct fxt_heap_stack *s = &report->heap_stacks.list[i];
				uint64_t id = s->innermost == FXT_NO_FRAME
						      ? NODE(NODES)
						      : report->who->stacks.frames[s->innermost].id;

				if (id != NODE(node) || s->is_mapping != kind)
					continue;
				left = &s->left;
				at_peak = &s->at_peak;
				all = &s->all;
			}
			expect_sum(left, sum_of(node, kind, NEVER - 1, false), "left", node, kind);
			expect_sum(at_peak, at ? sum_of(node, kind, at, false) : (struct sum){0}, "peak",
				   node, kind);
			expect_sum(all, sum_of(node, kind, 0, true), "all", node, kind);
		}
	}
}

static void put_gaps(void)
{
	for (unsigned i = 0; i < gap_count; i++)
		event(INSTANT, 1, "agent", "recording started", gaps[i], 0, NO_ARGS);
}

START_TEST(sums_random_lives)
{
	struct fxt_report report;
	bool before;

	random_seed((uint64_t)_i);
	begin_trace();
	before = random_below(2);
	if (before)
		put_frames();
	draw_blocks(false);
	put_gaps();
	put_lives();
	if (!before)
		put_frames();
	make_report(&report, 10);
	compare(&report);
	end_report(&report);
}
END_TEST

START_TEST(sums_random_calls)
{
	struct fxt_report report;

	random_seed((uint64_t)_i);
	begin_trace();
	draw_blocks(true);
	put_gaps();
	put_calls();
	put_frames();
	make_report(&report, 10);
	ck_assert(fxt_heap_is_exact(&report.heap_stacks.processes[0]));
	compare(&report);
	/* The same as the sums that need no stacks. */
	ck_assert_uint_eq(report.heaps.list[0].calls, block_count);
	end_report(&report);
}
END_TEST

/* -- Single cases --------------------------------------------------------------------------------------- */

/* A slow malloc() has a stack too. That says nothing of the others, so the lifetimes count. */
START_TEST(few_stacks_are_not_exact)
{
	struct fxt_report report;

	begin_trace();
	frame(NODE(1), 0, "main", "/bin/app", 16);
	event(COMPLETE, 1, "malloc", "malloc", 0, 200000,
	      ARGS({"size", UINT, 100}, {"ret", POINTER, 0x10}, {"stack", POINTER, NODE(1)}));
	for (unsigned i = 0; i < 10; i++)
		event(COMPLETE, 1, "malloc", "malloc", 300000 + i, 300000 + i,
		      ARGS({"size", UINT, 100}, {"ret", POINTER, 0x100 + 16 * i}));
	event(ASYNC_BEGIN, 1, "malloc", "heap sample", 400000, 1,
	      ARGS({"ptr", POINTER, 0x10}, {"size", UINT, 100}, {"stands_for", UINT, 65586},
		   {"stack", POINTER, NODE(1)}));
	make_report(&report, 10);
	ck_assert_uint_eq(report.heap_stacks.count, 1);
	ck_assert_uint_eq((uint64_t)report.heap_stacks.list[0].left.bytes, 65586);
	ck_assert_uint_eq(report.heap_stacks.list[0].left.blocks, 656);
	/* 1 - exp(-100 / 65536) is 100 / 65586. */
	ck_assert_uint_eq(report.heap_stacks.processes[0].bytes_a_sample, 65536);
	end_report(&report);
}
END_TEST

/* A trace without stacks has none of this. */
START_TEST(nothing_without_stacks)
{
	struct fxt_report report;

	begin_trace();
	event(ASYNC_BEGIN, 1, "malloc", "heap block", 10, 1,
	      ARGS({"ptr", POINTER, 0x10}, {"size", UINT, 100000}, {"function", TEXT, TEXT_OF("load")}));
	make_report(&report, 10);
	ck_assert_uint_eq(report.heap_stacks.count, 0);
	ck_assert_uint_eq(report.askers.count, 0);
	ck_assert_uint_eq(report.leaks.count, 1);
	end_report(&report);
}
END_TEST

int main(void)
{
	TCase *sums = tcase_create("sums"), *cases = tcase_create("cases");

	tcase_set_timeout(sums, 60);
	tcase_add_loop_test(sums, sums_random_lives, 0, ROUNDS);
	tcase_add_loop_test(sums, sums_random_calls, 0, ROUNDS);
	tcase_add_test(cases, few_stacks_are_not_exact);
	tcase_add_test(cases, nothing_without_stacks);
	return RUN_SUITE("report: the heap by stacks", sums, cases);
}
