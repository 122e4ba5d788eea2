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
#include "suite.h"
#include "tools/common/message.h"
#include "tools/join/merge.h"
#include "tools/perfetto/perfetto_blob.h"
#include "tools/perfetto/perfetto_trace.pb-c.h"
#include "trace_maker.h"

enum { HZ = 250, ROUNDS = 12, NODES = 150, FUNCTIONS = 12, SAMPLES = 4000, BLOCKS = 3000 };
#define NODE(number) (UINT64_C(0xfff0000000000000) + (number))

/* -- Lines: what a trace says, as text ------------------------------------------------------------- */

struct lines {
	char **list;
	size_t count, capacity;
};

static void add(struct lines *l, char *line)
{
	l->list = fxt_grow(l->list, &l->capacity, l->count + 1, sizeof(*l->list));
	l->list[l->count++] = line;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void compare(struct lines *drawn, struct lines *found)
{
	if (drawn->count)
		qsort(drawn->list, drawn->count, sizeof(char *), by_text);
	if (found->count)
		qsort(found->list, found->count, sizeof(char *), by_text);
	for (size_t i = 0; i < drawn->count && i < found->count; i++)
		ck_assert_str_eq(found->list[i], drawn->list[i]);
	ck_assert_uint_eq(found->count, drawn->count);
}

static void free_lines(struct lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->list[i]);
	free(l->list);
	*l = (struct lines){0};
}

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

/* Draws what process 7 asks for and frees, or has still at its end. */
static void draw_heap(struct lines *drawn)
{
	static struct sums by_node[NODES];
	static unsigned node_of[BLOCKS];
	static uint64_t bytes_of[BLOCKS];
	static bool is_live[BLOCKS];
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
		/* Another thread has freed it, whose part of the file comes first. */
		if (!is_live[i]) {
			event(ASYNC_END, 1, "malloc", is_sample ? "heap sample" : "heap block", at + 2, i + 1,
			      NO_ARGS);
			by_node[node].freed += bytes_of[i];
			by_node[node].freed_blocks++;
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
	}
	/* Nodes that differ by their number alone are one stack. */
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
			add(drawn, fxt_format("heap 7 %" PRIu64 "-%" PRIu64 " in %" PRIu64 "-%" PRIu64 " %s",
					      s->allocated, s->freed, s->blocks, s->freed_blocks, s->stack));
	}
	for (unsigned i = 0; i < tree.count; i++)
		free(by_node[i].stack);
}

/* -- What is found --------------------------------------------------------------------------------- */

/* The packets of all blob records, and places of what has an iid. */
static struct found {
	Perfetto__Trace *traces[2000];
	size_t trace_count, record_count;
	struct fxt_map names, paths, mappings, frames, stacks;
	struct lines lines;
	uint64_t next_index;
	bool is_begun, is_continued, has_clocks;
} found;

static void intern(struct fxt_map *map, uint64_t iid, const void *what)
{
	bool fresh;

	ck_assert_uint_ne(iid, 0);
	fxt_map_put(map, iid, 0, &fresh)->value[0] = (uint64_t)(uintptr_t)what;
	ck_assert(fresh);
}

static const void *interned(const struct fxt_map *map, uint64_t iid)
{
	const struct fxt_slot *slot = fxt_map_find(map, iid, 0);

	ck_assert_msg(slot, "nothing has the number %" PRIu64, iid);
	return (const void *)(uintptr_t)slot->value[0];
}

static void take_interned(const Perfetto__InternedData *data)
{
	for (size_t i = 0; i < data->n_function_names; i++)
		intern(&found.names, data->function_names[i]->iid, data->function_names[i]);
	for (size_t i = 0; i < data->n_mapping_paths; i++)
		intern(&found.paths, data->mapping_paths[i]->iid, data->mapping_paths[i]);
	for (size_t i = 0; i < data->n_mappings; i++)
		intern(&found.mappings, data->mappings[i]->iid, data->mappings[i]);
	for (size_t i = 0; i < data->n_frames; i++)
		intern(&found.frames, data->frames[i]->iid, data->frames[i]);
	for (size_t i = 0; i < data->n_callstacks; i++)
		intern(&found.stacks, data->callstacks[i]->iid, data->callstacks[i]);
}

static char *found_stack(uint64_t iid)
{
	const Perfetto__Callstack *stack = interned(&found.stacks, iid);
	char *text = fxt_strdup("");

	ck_assert_uint_ne(stack->n_frame_ids, 0);
	for (size_t i = 0; i < stack->n_frame_ids; i++) {
		const Perfetto__Frame *f = interned(&found.frames, stack->frame_ids[i]);
		const Perfetto__Mapping *mapping = interned(&found.mappings, f->mapping_id);
		const Perfetto__InternedString *name = interned(&found.names, f->function_name_id),
					       *path = NULL;
		char *longer;

		if (mapping->n_path_string_ids)
			path = interned(&found.paths, mapping->path_string_ids[0]);
		longer = fxt_format("%s;%.*s@%.*s+%" PRIu64, text, (int)name->str.len, (char *)name->str.data,
				    path ? (int)path->str.len : 0, path ? (char *)path->str.data : "",
				    f->rel_pc);
		free(text);
		text = longer;
	}
	return text;
}

static void take_dump(const Perfetto__ProfilePacket *profile)
{
	ck_assert_uint_eq(profile->index, found.next_index++);
	found.is_continued = profile->continued;
	ck_assert_uint_eq(profile->n_process_dumps, 1);
	for (size_t i = 0; i < profile->process_dumps[0]->n_samples; i++) {
		const Perfetto__ProfilePacket__ProcessHeapSamples *dump = profile->process_dumps[0];
		const Perfetto__ProfilePacket__HeapSample *s = dump->samples[i];
		char *stack = found_stack(s->callstack_id);

		ck_assert_uint_eq(dump->sampling_interval_bytes, 65536);
		ck_assert_str_eq(dump->heap_name, "libc.malloc");
		ck_assert_uint_ge(dump->timestamp, dump->start_timestamp);
		add(&found.lines,
		    fxt_format("heap %" PRIu64 " %" PRIu64 "-%" PRIu64 " in %" PRIu64 "-%" PRIu64 " %s",
			       dump->pid, s->self_allocated, s->self_freed, s->alloc_count, s->free_count,
			       stack));
		free(stack);
	}
}

static void take_packet(const Perfetto__TracePacket *packet)
{
	const Perfetto__PerfSample *s = packet->perf_sample;
	char *stack;

	ck_assert_uint_ne(packet->trusted_packet_sequence_id, 0);
	if (packet->clock_snapshot) {
		ck_assert_uint_eq(packet->clock_snapshot->n_clocks, 2);
		found.has_clocks = true;
		return;
	}
	if (packet->trace_packet_defaults) {
		ck_assert_uint_eq(packet->sequence_flags, 1);
		ck_assert_uint_eq(packet->trace_packet_defaults->timestamp_clock_id, 6);
		ck_assert(!found.is_begun);
		found.is_begun = true;
		return;
	}
	ck_assert_uint_eq(packet->sequence_flags, 2);
	ck_assert(found.is_begun);
	if (packet->interned_data)
		take_interned(packet->interned_data);
	if (packet->profile_packet)
		take_dump(packet->profile_packet);
	if (!s)
		return;
	/* Perfetto takes a counter for the sample's weight. */
	ck_assert(!s->has_timebase_count);
	stack = found_stack(s->callstack_iid);
	add(&found.lines,
	    fxt_format("sample %" PRIu64 " %u/%u cpu %u %s %s", packet->timestamp, s->pid, s->tid, s->cpu,
		       s->cpu_mode == PERFETTO__PROFILING__CPU_MODE__MODE_KERNEL ? "kernel" : "user",
		       stack));
	free(stack);
}

/* Decodes the blob of a trace. Each record of it has whole packets, and is small enough. */
static void find(const unsigned char *trace, uint64_t bytes)
{
	struct fxt_reader r;
	struct fxt_record rec;
	bool has_ended = false;

	fxt_reader_init(&r, trace, bytes);
	while (fxt_reader_next(&r, &rec)) {
		const unsigned char *data =
			trace + rec.offset + 8 + (sizeof(FXT_PERFETTO_BLOB) - 1 + 7) / 8 * 8;

		ck_assert(!rec.damaged);
		if (!fxt_perfetto_is_own(&rec)) {
			ck_assert_msg(!has_ended || !found.record_count, "something follows the blob");
			continue;
		}
		has_ended = true;
		ck_assert_uint_le(rec.words, FXT_RECORD_MAX_WORDS);
		ck_assert_uint_lt(found.trace_count, sizeof(found.traces) / sizeof(found.traces[0]));
		found.traces[found.trace_count] = perfetto__trace__unpack(NULL, rec.blob_bytes, data);
		ck_assert_msg(found.traces[found.trace_count], "the record's packets are not whole");
		found.trace_count++;
		found.record_count++;
	}
	ck_assert_int_eq(r.stop, FXT_STOP_END);
	fxt_reader_free(&r);
	for (size_t i = 0; i < found.trace_count; i++)
		for (size_t k = 0; k < found.traces[i]->n_packet; k++)
			take_packet(found.traces[i]->packet[k]);
	ck_assert(!found.is_continued);
	ck_assert_int_eq(found.has_clocks, found.record_count != 0);
}

static void free_found(void)
{
	for (size_t i = 0; i < found.trace_count; i++)
		perfetto__trace__free_unpacked(found.traces[i], NULL);
	fxt_map_free(&found.names);
	fxt_map_free(&found.paths);
	fxt_map_free(&found.mappings);
	fxt_map_free(&found.frames);
	fxt_map_free(&found.stacks);
	free_lines(&found.lines);
	memset(&found, 0, sizeof(found));
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
