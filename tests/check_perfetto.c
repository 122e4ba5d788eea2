/* This tests what Perfetto is to read. Random call trees, samples and heaps are made into a trace and joined.
 * What is in the blob then is decoded again, and compared line by line with what was drawn. FXT_SEED=N draws
 * the same again. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/random.h"
#include "perfetto_found.h"
#include "suite.h"
#include "tools/common/message.h"
#include "tools/join/merge.h"
#include "tools/perfetto/perfetto_blob.h"
#include "trace_maker.h"

enum { HZ = 250, ROUNDS = 12, NODES = 150, FUNCTIONS = 12, SAMPLES = 4000, BLOCKS = 3000 };
#define NODE(number) (UINT64_C(0xfff0000000000000) + (number))

/* -- What is drawn --------------------------------------------------------------------------------- */

static struct tree {
	unsigned count, parent[NODES], function[NODES];
	uint64_t offset[NODES];
} tree;

static const char *function_name(unsigned function)
{
	static const char *const names[FUNCTIONS] = {"main",	 "parse", "hash", "sort",
						     "merge",	 "copy",  "walk", "visit",
						     "[kernel]", "",	  "spin", "a::b<int>(c const&)"};

	return names[function];
}

static const char *module_of(unsigned function)
{
	return function == 8	   ? "[kernel]"
	       : function % 3 == 0 ? "/bin/one"
	       : function % 3 == 1 ? "lib/two.so"
				   : NULL;
}

/* Draws a tree and writes it. A node without a caller is its own parent here. */
static void draw_tree(unsigned most)
{
	tree.count = 1 + (unsigned)random_below(most);
	for (unsigned i = 0; i < tree.count; i++) {
		unsigned function = tree.function[i] = (unsigned)random_below(FUNCTIONS);

		tree.parent[i] = i && random_below(12) ? i - 1 - (unsigned)random_below(i < 3 ? i : 3) : i;
		tree.offset[i] = random_below(4);
		frame(NODE(i), tree.parent[i] != i ? NODE(tree.parent[i]) : 0, function_name(function),
		      module_of(function), tree.offset[i]);
	}
}

/* Returns the stack as text, the outermost function first. */
static char *drawn_stack(unsigned node)
{
	const char *name = function_name(tree.function[node]), *module = module_of(tree.function[node]);
	char *callers = tree.parent[node] != node ? drawn_stack(tree.parent[node]) : fxt_strdup(""), *made,
	     *text;

	if (*name)
		made = fxt_strdup(name);
	else if (module)
		made = fxt_format("%s+0x%" PRIx64, strrchr(module, '/') + 1, tree.offset[node]);
	else
		made = fxt_strdup(tree.offset[node] ? "[code in no file]" : "[unknown]");
	text = fxt_format("%s;%s@%s+%" PRIu64, callers, made, module ? module : "", tree.offset[node]);
	free(callers);
	free(made);
	return text;
}

static void draw_samples(struct lines *drawn)
{
	unsigned count =
		(unsigned)random_below(2) ? (unsigned)random_below(SAMPLES) : (unsigned)random_below(5);

	kernel();
	fact(7, 7, "sampling", 0, ARGS({"hz", UINT, HZ}, {"kernel", TEXT, TEXT_OF("sampled")}));
	draw_tree(NODES);
	for (unsigned i = 0; i < count; i++) {
		unsigned node = (unsigned)random_below(tree.count);
		uint64_t pid = 7 + random_below(3), tid = pid + random_below(2), at = 1000 + 10 * i;
		bool has_stack = random_below(20);
		char *stack = has_stack ? drawn_stack(node) : fxt_strdup(";spin@+0");

		sample(pid, tid, at, has_stack ? NODE(node) : 0, has_stack ? "any" : "spin");
		add(drawn,
		    fxt_format("sample %" PRIu64 " %" PRIu64 "/%" PRIu64 " cpu 0 %s %s", at, pid, tid,
			       has_stack && tree.function[node] == 8 ? "kernel" : "user", stack));
		free(stack);
	}
}

struct sums {
	char *stack;
	uint64_t allocated, freed, blocks, freed_blocks;
};

/* Adds a line for each stack of process 7, which begins with `what`, and frees that. Nodes that differ by
 * their number alone are one stack. */
static void add_sums(struct lines *drawn, struct sums *by_node, char *what)
{
	for (unsigned i = 0; i < tree.count; i++)
		by_node[i].stack = drawn_stack(i);
	for (unsigned i = 0; i < tree.count; i++) {
		struct sums *s = &by_node[i];

		for (unsigned k = i + 1; k < tree.count; k++) {
			if (!s->blocks || strcmp(s->stack, by_node[k].stack) != 0)
				continue;
			s->allocated += by_node[k].allocated;
			s->freed += by_node[k].freed;
			s->blocks += by_node[k].blocks;
			s->freed_blocks += by_node[k].freed_blocks;
			by_node[k].blocks = 0;
		}
		if (s->blocks)
			add(drawn, fxt_format("%s 7 %" PRIu64 "-%" PRIu64 " in %" PRIu64 "-%" PRIu64 " %s",
					      what, s->allocated, s->freed, s->blocks, s->freed_blocks,
					      s->stack));
	}
	for (unsigned i = 0; i < tree.count; i++)
		free(by_node[i].stack);
	free(what);
}

/* Draws what process 7 asks for and frees, or has still at its end. */
static void draw_heap(struct lines *drawn)
{
	static struct sums by_node[NODES], at_peak[NODES];
	static unsigned node_of[BLOCKS];
	static uint64_t bytes_of[BLOCKS];
	static bool is_live[BLOCKS];
	uint64_t in_use = 0, peak = 0, peak_ns = 0;
	bool has_freed = false;
	unsigned count =
		(unsigned)random_below(2) ? (unsigned)random_below(BLOCKS) : (unsigned)random_below(5);

	draw_tree(NODES);
	memset(by_node, 0, sizeof(by_node));
	for (unsigned i = 0; i < count; i++) {
		unsigned node = node_of[i] = (unsigned)random_below(tree.count), old;
		uint64_t size = 1 + random_below(100000), is_sample = random_below(2);
		uint64_t stands_for = bytes_of[i] = is_sample && size < 65536 ? 65536 : size;
		uint64_t at = 1000 + 10 * i, address = 0x1000 * (uint64_t)(i + 1);

		is_live[i] = random_below(5);
		by_node[node].allocated += bytes_of[i];
		by_node[node].blocks++;
		in_use += bytes_of[i];
		if (in_use > peak) {
			peak = in_use;
			peak_ns = at;
			has_freed = false;
			memcpy(at_peak, by_node, sizeof(at_peak));
		}
		/* Another thread has freed it, whose part of the file comes first. */
		if (!is_live[i]) {
			event(ASYNC_END, 1, "malloc", is_sample ? "heap sample" : "heap block", at + 2, i + 1,
			      NO_ARGS);
			by_node[node].freed += bytes_of[i];
			by_node[node].freed_blocks++;
			in_use -= bytes_of[i];
			has_freed = true;
		}
		if (is_sample)
			event(ASYNC_BEGIN, 1, "malloc", "heap sample", at, i + 1,
			      ARGS({"ptr", POINTER, address}, {"size", UINT, size},
				   {"stands_for", UINT, stands_for}, {"stack", POINTER, NODE(node)}));
		else
			event(ASYNC_BEGIN, 1, "malloc", "heap block", at, i + 1,
			      ARGS({"ptr", POINTER, address}, {"size", UINT, size},
				   {"stack", POINTER, NODE(node)}));
		/* Blocks without a stack, and other lifetimes, are none of the profile's. */
		event(ASYNC_BEGIN, 1, "malloc", "heap block", at, 3 * BLOCKS + i, ARGS({"size", UINT, size}));
		event(ASYNC_END, 1, "malloc", "heap block", at + 1, 3 * BLOCKS + i, NO_ARGS);
		old = (unsigned)random_below(i + 1);
		if (!is_live[old] || !random_below(3))
			continue;
		is_live[old] = false;
		if (!random_below(8)) {
			event(ASYNC_END, 1, "malloc", "heap sample", at + 2, old + 1,
			      ARGS({"ended_by", TEXT, TEXT_OF("exit")}));
			continue;
		}
		event(ASYNC_END, 1, "malloc", random_below(2) ? "heap sample" : "heap block", at + 2, old + 1,
		      NO_ARGS);
		by_node[node_of[old]].freed += bytes_of[old];
		by_node[node_of[old]].freed_blocks++;
		in_use -= bytes_of[old];
		has_freed = true;
	}
	if (has_freed)
		add_sums(drawn, at_peak, fxt_format("peak at %" PRIu64, peak_ns));
	add_sums(drawn, by_node, fxt_strdup("heap"));
}

/* Joins the trace that `r` reads. Returns the joined one, and frees the reader. */
static unsigned char *join(struct fxt_reader *r, bool lacks_perfetto, uint64_t *bytes)
{
	struct fxt_merge m = {.lacks_perfetto = lacks_perfetto};
	char *out;
	size_t size;
	FILE *f = fxt_text_stream(&out, &size);

	ck_assert(fxt_merge_begin(&m, f));
	ck_assert(fxt_merge_trace(&m, r));
	ck_assert(fxt_merge_end(&m));
	fclose(f);
	ck_assert_uint_eq(m.bytes, size);
	fxt_merge_free(&m);
	fxt_reader_free(r);
	*bytes = size;
	return (unsigned char *)out;
}

/* -- Tests ----------------------------------------------------------------------------------------- */

START_TEST(the_blob_has_what_was_drawn)
{
	struct lines drawn = {0};
	unsigned char *once, *twice, *without;
	uint64_t bytes, bytes_twice, bytes_without;
	struct fxt_reader again;

	random_seed((uint64_t)_i);
	begin_trace();
	draw_heap(&drawn);
	draw_samples(&drawn);
	read_trace();
	once = join(&reader, false, &bytes);
	find(once, bytes);
	compare(&drawn, &found.lines);
	free_found();
	/* A join of what was joined makes it anew. */
	fxt_reader_init(&again, once, bytes);
	twice = join(&again, false, &bytes_twice);
	find(twice, bytes_twice);
	compare(&drawn, &found.lines);
	ck_assert_uint_eq(bytes_twice, bytes);
	free_found();
	fxt_reader_init(&again, twice, bytes_twice);
	without = join(&again, true, &bytes_without);
	find(without, bytes_without);
	ck_assert_uint_eq(found.record_count, 0);
	free_found();
	free_lines(&drawn);
	free(once);
	free(twice);
	free(without);
}
END_TEST

/* Perfetto merges nothing, so a trace that has nothing for it has no blob. */
START_TEST(nothing_makes_no_blob)
{
	unsigned char *joined;
	uint64_t bytes;

	begin_trace();
	call(1, "io", "read", 10, 20);
	read_trace();
	joined = join(&reader, false, &bytes);
	find(joined, bytes);
	ck_assert_uint_eq(found.record_count, 0);
	free_found();
	free(joined);
}
END_TEST

/* A chain of callers that is deeper than a stack may be, and a name that is longer than a record. */
START_TEST(the_deepest_stack_and_the_longest_name_fit)
{
	static char name[20000];
	unsigned char *joined;
	uint64_t bytes;

	memset(name, 'n', sizeof(name) - 1);
	begin_trace();
	kernel();
	for (unsigned i = 0; i < 5000; i++)
		frame(NODE(i), i ? NODE(i - 1) : 0, i % 128 ? "short" : name, "/bin/one", i);
	for (unsigned i = 0; i < 40; i++)
		sample(7, 7, 10 + i, NODE(4999 - i), "any");
	read_trace();
	joined = join(&reader, false, &bytes);
	find(joined, bytes);
	ck_assert_uint_eq(found.lines.count, 40);
	ck_assert_uint_gt(found.record_count, 1);
	free_found();
	free(joined);
}
END_TEST

int main(void)
{
	TCase *packets = tcase_create("packets");

	random_seed(0);
	tcase_set_timeout(packets, 120);
	tcase_add_loop_test(packets, the_blob_has_what_was_drawn, 0, ROUNDS);
	tcase_add_test(packets, nothing_makes_no_blob);
	tcase_add_test(packets, the_deepest_stack_and_the_longest_name_fit);
	return RUN_SUITE("perfetto", packets);
}
