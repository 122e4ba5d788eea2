/* This tests how call stacks are read (tools/analysis/call_stacks.h). Random nodes in random order, told
 * several times, with callers that are missing or lead in a circle, are compared with a model. FXT_SEED=N
 * draws the same ones again. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/random.h"
#include "suite.h"
#include "tools/analysis/call_stacks.h"
#include "trace_maker.h"

enum { NODES = 100, MODULES = 4, ROUNDS = 40, PROVIDERS = 2, NOBODY = NODES, MISSING = NODES + 1 };
#define NODE(number) (UINT64_C(0x7fe0000000000000) + (number))
#define MODULE(number) (UINT64_C(0x7fd0000000000000) + (number))

/* The nodes of one provider. */
static struct model {
	unsigned count, parent[NODES];  /* NOBODY: it is an outermost one; MISSING: its caller is not told */
	unsigned module[NODES];         /* MODULES: it is in no file; above: its module is not told */
	uint64_t offset[NODES];
	bool has_record[NODES], has_name[NODES], is_asked[NODES];
	unsigned asked_place[NODES];
} models[PROVIDERS];

static const char *const paths[MODULES] = {"/bin/one", "/lib/two.so", "/lib/three.so", "/lib/four.so"};
static const char *const ids[MODULES] = {"00", "11aa", NULL, "33"};
static struct fxt_call_stacks stacks;

static const char *name_of(unsigned node)
{
	static const char *const names[] = {"main", "parse", "hash()", "[unknown]", "ns::sort(int)"};

	return names[node % 5];
}

/* Draws a forest, in which some callers are then changed to any node: that may make circles. */
static void draw_model(struct model *m)
{
	memset(m, 0, sizeof(*m));
	m->count = 1 + (unsigned)random_below(NODES);
	for (unsigned i = 0; i < m->count; i++) {
		unsigned kind = (unsigned)random_below(20);

		m->parent[i] = i == 0 || kind == 0 ? NOBODY : (unsigned)random_below(i);
		if (kind == 1)
			m->parent[i] = MISSING;
		if (kind == 2 && random_below(2))
			m->parent[i] = (unsigned)random_below(m->count);
		m->module[i] = (unsigned)random_below(MODULES + 2);
		m->offset[i] = random_below(1000);
		m->has_record[i] = random_below(20) != 0;
		m->has_name[i] = random_below(2);
		m->is_asked[i] = random_below(3) == 0;
	}
}

static uint64_t parent_id(const struct model *m, unsigned i)
{
	return m->parent[i] == NOBODY ? 0 : NODE(m->parent[i]);
}

static void write_node(const struct model *m, unsigned i, bool with_name)
{
	if (with_name)
		frame(NODE(i), parent_id(m, i), name_of(i),
		      m->module[i] < MODULES ? paths[m->module[i]] : NULL, m->offset[i]);
	else
		node(NODE(i), parent_id(m, i), m->module[i] == MODULES ? 0 : MODULE(m->module[i]),
		     m->offset[i]);
}

/* Writes all records of a provider in random order, some of them several times. */
static void write_model(const struct model *m)
{
	enum { MOST = 4 * NODES + 2 * MODULES };
	struct {
		char kind;
		unsigned which;
	} list[MOST], one;
	unsigned count = 0, k;

	for (unsigned i = 0; i < m->count; i++) {
		for (unsigned n = (unsigned)random_below(3); m->has_record[i] && n < 3; n++)
			list[count].kind = 'n', list[count++].which = i;
		if (m->has_name[i] && m->has_record[i])
			list[count].kind = 'f', list[count++].which = i;
		else if (m->is_asked[i])
			list[count].kind = 'e', list[count++].which = i;
	}
	for (unsigned i = 0; i < MODULES * 2; i++)
		list[count].kind = 'm', list[count++].which = i % MODULES;
	for (unsigned i = count; i > 1; i--) {
		k = (unsigned)random_below(i);
		one = list[i - 1];
		list[i - 1] = list[k];
		list[k] = one;
	}
	for (unsigned i = 0; i < count; i++) {
		switch (list[i].kind) {
		case 'n': write_node(m, list[i].which, false); break;
		case 'f': write_node(m, list[i].which, true); break;
		case 'm': mapped(MODULE(list[i].which), paths[list[i].which], ids[list[i].which]); break;
		default:
			event(INSTANT, 1, "io", "open", i, 0, ARGS({"stack", POINTER, NODE(list[i].which)}));
		}
	}
}

/* Reads all records. Events ask for their nodes while the trace is read. */
static void take_all(void)
{
	struct fxt_record rec;

	memset(&stacks, 0, sizeof(stacks));
	read_trace();
	while (fxt_reader_next(&reader, &rec)) {
		fxt_call_stacks_take(&stacks, &reader, &rec);
		if (rec.type == FXT_RECORD_EVENT) {
			uint32_t place = fxt_call_stack_of(&stacks, &rec);
			uint64_t id = fxt_argument_or(&rec, "stack", 0);

			if (!id) {
				ck_assert_uint_eq(place, FXT_NO_FRAME);
				continue;
			}
			ck_assert_uint_lt(place, stacks.count);
			ck_assert_uint_eq(stacks.frames[place].id, id);
			models[rec.provider->id - 7].asked_place[id - NODE(0)] = place;
		}
	}
	ck_assert_uint_eq(reader.damaged_records, 0);
	fxt_call_stacks_finish(&stacks);
}

static void free_all(void)
{
	fxt_call_stacks_free(&stacks);
	ck_assert_uint_eq(stacks.count, 0);
	fxt_reader_free(&reader);
}

/* -- Comparing ------------------------------------------------------------------------------------- */

static unsigned known_parent(const struct model *m, unsigned i)
{
	return m->parent[i] < m->count && m->has_record[m->parent[i]] ? m->parent[i] : NOBODY;
}

/* Returns whether the node is on a circle. */
static bool is_on_circle(const struct model *m, unsigned i)
{
	unsigned at = known_parent(m, i);

	for (unsigned steps = 0; at != NOBODY && at != i && steps < m->count; steps++)
		at = known_parent(m, at);
	return at == i;
}

/* Returns the place of the provider among those of the file. */
static uint32_t provider_index(unsigned p)
{
	uint32_t i = 0;

	while (reader.providers[i]->id != 7 + p)
		i++;
	return i;
}

/* Returns the place of the node, or FXT_NO_FRAME. */
static uint32_t place_of(unsigned p, unsigned i)
{
	const struct fxt_slot *slot = fxt_map_find(&stacks.by_id, provider_index(p), NODE(i));

	return slot ? (uint32_t)slot->value[0] : FXT_NO_FRAME;
}

static void expect_text(uint32_t symbol, const char *text)
{
	if (text && *text)
		expect_symbol(symbol, text);
	else
		ck_assert_uint_eq(symbol, 0);
}

static void compare_node(const struct model *m, unsigned p, unsigned i)
{
	const struct fxt_call_frame *frame = &stacks.frames[place_of(p, i)];
	bool has_module = m->module[i] < MODULES;

	ck_assert_uint_eq(frame->id, NODE(i));
	ck_assert_uint_eq(frame->provider, provider_index(p));
	ck_assert_uint_eq(frame->offset, m->offset[i]);
	expect_text(frame->name, m->has_name[i] ? name_of(i) : "");
	expect_text(frame->module, has_module ? paths[m->module[i]] : "");
	/* The record with a name has no build id here. */
	expect_text(frame->build_id, has_module && !m->has_name[i] ? ids[m->module[i]] : "");
}

/* Every circle has lost one link, and no other node has. */
static void compare_links(const struct model *m, unsigned p)
{
	bool is_counted[NODES] = {false};

	for (unsigned i = 0; i < m->count; i++) {
		unsigned cut = 0, at = i;
		uint32_t parent;

		if (!m->has_record[i] || is_counted[i])
			continue;
		if (!is_on_circle(m, i)) {
			parent = stacks.frames[place_of(p, i)].parent;
			ck_assert_uint_eq(parent, known_parent(m, i) == NOBODY ? FXT_NO_FRAME
									       : place_of(p, m->parent[i]));
			continue;
		}
		do {
			parent = stacks.frames[place_of(p, at)].parent;
			cut += parent == FXT_NO_FRAME;
			ck_assert(parent == FXT_NO_FRAME || parent == place_of(p, m->parent[at]));
			is_counted[at] = true;
			at = m->parent[at];
		} while (at != i);
		ck_assert_uint_eq(cut, 1);
	}
}

START_TEST(reads_random_nodes)
{
	random_seed((uint64_t)_i);
	begin_trace();
	for (unsigned p = 0; p < PROVIDERS; p++) {
		draw_model(&models[p]);
		if (p)
			provider(7 + p);
		thread(1, 7 + p, 7 + p);
		write_model(&models[p]);
	}
	take_all();
	for (unsigned p = 0; p < PROVIDERS; p++) {
		const struct model *m = &models[p];

		for (unsigned i = 0; i < m->count; i++) {
			if (m->has_record[i])
				compare_node(m, p, i);
			else if (place_of(p, i) != FXT_NO_FRAME)
				ck_assert_uint_eq(stacks.frames[place_of(p, i)].parent, FXT_NO_FRAME);
			if (m->is_asked[i] && !(m->has_name[i] && m->has_record[i]))
				ck_assert_uint_eq(m->asked_place[i], place_of(p, i));
		}
		compare_links(m, p);
	}
	free_all();
}
END_TEST

/* Afterwards an event's node is found if the trace has a record of it. */
START_TEST(finds_nodes_of_events)
{
	struct fxt_record rec;
	unsigned events = 0;

	begin_trace();
	node(NODE(1), 0, 0, 16);
	event(INSTANT, 1, "io", "open", 1, 0, ARGS({"stack", POINTER, NODE(1)}));
	event(INSTANT, 1, "io", "open", 2, 0, ARGS({"stack", POINTER, NODE(2)}));
	event(INSTANT, 1, "io", "open", 3, 0, ARGS({"stack", POINTER, 0}));
	event(INSTANT, 1, "io", "open", 4, 0, NO_ARGS);
	take_all();
	fxt_reader_free(&reader);
	read_trace();
	while (fxt_reader_next(&reader, &rec)) {
		fxt_call_stacks_take(&stacks, &reader, &rec);
		if (rec.type == FXT_RECORD_EVENT)
			ck_assert_uint_eq(fxt_call_stack_of(&stacks, &rec), events++ ? FXT_NO_FRAME : 0);
	}
	ck_assert_uint_eq(events, 4);
	free_all();
}
END_TEST

/* A chain as deep as a hostile trace may have one, its callees first; as one circle, if _i is 1. */
START_TEST(bears_deep_chains)
{
	enum { DEEP = 100000 };
	size_t steps = 0;
	uint32_t at;

	begin_trace();
	for (unsigned i = DEEP; i > 0; i--)
		node(NODE(i), i == 1 ? (_i ? NODE(DEEP) : 0) : NODE(i - 1), 0, i);
	take_all();
	ck_assert_uint_eq(stacks.count, DEEP);
	for (at = 0; at != FXT_NO_FRAME; at = stacks.frames[at].parent)
		steps++;
	ck_assert_uint_eq(steps, DEEP);
	free_all();
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("call stacks");

	random_begin();
	tcase_add_loop_test(c, reads_random_nodes, 1, 1 + ROUNDS);
	tcase_add_test(c, finds_nodes_of_events);
	tcase_add_loop_test(c, bears_deep_chains, 0, 2);
	return RUN_SUITE("call stacks", c);
}
