/* This tests who is responsible on stacks that go through an engine and the functions that it makes at run
 * time (tools/callers/culprit.h). Random stacks are compared with a model that looks at each of them alone.
 * FXT_SEED=N draws the same ones again. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "apps/random.h"
#include "suite.h"
#include "tools/analysis/made_names.h"
#include "trace_maker.h"

#define NODE(number) (UINT64_C(0x7fe0000000000000) + (number))

static struct fxt_report report;

static struct fxt_culprits *read_with(const char *wrappers)
{
	make_report_with(&report, &(struct fxt_report_options){.top = 10, .wrappers = wrappers});
	return &report.who->culprits;
}

static uint32_t place_of(const struct fxt_culprits *c, unsigned number)
{
	for (uint32_t i = 0; i < c->stacks->count; i++)
		if (c->stacks->frames[i].id == NODE(number))
			return i;
	ck_abort_msg("there is no node %u", number);
}

/* Returns the number of a node by its place, or -1. */
static int number_of(const struct fxt_culprits *c, uint32_t place)
{
	return place == FXT_NO_FRAME ? -1 : (int)(c->stacks->frames[place].id - NODE(0));
}

/* Writes a stack with a name and a file for each function, the innermost first, from node 1 on. Fails unless
 * function number `expected` is the culprit, or if it is 0, none. */
static void expect_culprit(int expected, const char *wrappers, enum fxt_purpose purpose,
			   const char *const (*functions)[2])
{
	struct fxt_culprits *c;
	int found;

	begin_trace();
	for (unsigned i = 0; functions[i][0]; i++)
		frame(NODE(i + 1), functions[i + 1][0] ? NODE(i + 2) : 0,
		      *functions[i][0] ? functions[i][0] : NULL, functions[i][1], 0x1000 + i);
	c = read_with(wrappers);
	found = number_of(c, fxt_culprit_of(c, purpose, place_of(c, 1)));
	ck_assert_int_eq(found, expected ? expected : -1);
	end_report(&report);
}
#define STACK(...) ((const char *const[][2]){__VA_ARGS__, {NULL, NULL}})

#define MALLOC {"malloc", "/lib/libfxtagent.so.0"}
#define NODE_CODE {"node::AllocateUninitialized(unsigned long)", "/usr/bin/node"}
#define BUILTIN {"Builtins_InterpreterEntryTrampoline", "/usr/bin/node"}
#define NODES_OWN {"JS:^createUnsafeBuffer node:internal/buffer:1056:28", NULL}
#define USERS {"JS:^allocOne /tmp/bufs.js:3:18", NULL}
#define MAIN {"main", "/usr/bin/node"}

START_TEST(skips_engine)
{
	expect_culprit(5, NULL, FXT_FOR_HEAP,
		       STACK(MALLOC, NODE_CODE, BUILTIN, NODES_OWN, USERS, BUILTIN, MAIN));
	expect_culprit(3, NULL, FXT_FOR_LOCK, STACK({"pthread_mutex_lock", "/lib/libfxtagent.so.0"},
						    {"uv_mutex_lock", "/usr/bin/node"}, USERS, MAIN));
	/* Code that is no engine's stays responsible, wherever it stands. */
	expect_culprit(2, NULL, FXT_FOR_HEAP,
		       STACK(MALLOC, {"resize", "/srv/sharp.node"}, NODE_CODE, USERS, MAIN));
	expect_culprit(3, NULL, FXT_FOR_CALL,
		       STACK({"read", "/lib/libfxtagent.so.0"}, NODE_CODE,
			     {"JS:*f file:///a b/c.mjs:1:2", NULL}, USERS, MAIN));
}
END_TEST

/* Where nobody has named the functions, or all of them are the engine's own, nothing changes. */
START_TEST(keeps_engine)
{
	expect_culprit(2, NULL, FXT_FOR_HEAP, STACK(MALLOC, NODE_CODE, BUILTIN, MAIN));
	expect_culprit(2, NULL, FXT_FOR_HEAP, STACK(MALLOC, NODE_CODE, {"", NULL}, BUILTIN, MAIN));
	expect_culprit(2, NULL, FXT_FOR_HEAP,
		       STACK(MALLOC, NODE_CODE, {"[code in no file]", NULL}, BUILTIN, MAIN));
	expect_culprit(2, NULL, FXT_FOR_HEAP, STACK(MALLOC, NODE_CODE, BUILTIN, {"[further callers]", NULL}));
	expect_culprit(2, NULL, FXT_FOR_HEAP, STACK(MALLOC, NODE_CODE, NODES_OWN, BUILTIN, MAIN));
	/* It works for a function that is further in, and not for one that is further out. */
	expect_culprit(2, NULL, FXT_FOR_HEAP, STACK(MALLOC, USERS, NODE_CODE, MAIN));
	expect_culprit(2, NULL, FXT_FOR_HEAP, STACK(MALLOC, {"JS_Parse", "/usr/bin/gjs"}, USERS, MAIN));
}
END_TEST

START_TEST(asks_user)
{
	/* A made function that the user calls a wrapper is not who the engine works for. */
	expect_culprit(2, "JS:^allocOne*", FXT_FOR_HEAP, STACK(MALLOC, NODE_CODE, USERS, MAIN));
	expect_culprit(4, "JS:^allocOne*", FXT_FOR_HEAP,
		       STACK(MALLOC, NODE_CODE, USERS, {"JS:^fill /tmp/bufs.js:4:14", NULL}, MAIN));
	expect_culprit(3, "node::*,Builtins_*", FXT_FOR_HEAP,
		       STACK(MALLOC, NODE_CODE, NODES_OWN, BUILTIN, MAIN));
	/* Somebody has to be it. */
	expect_culprit(3, "JS:*,main", FXT_FOR_HEAP, STACK(MALLOC, NODE_CODE, USERS));
	expect_culprit(0, "node", FXT_FOR_HEAP, STACK(MALLOC, NODE_CODE, MAIN));
}
END_TEST

/* The names that engines write. All but the last of each engine are its own. */
START_TEST(knows_names)
{
	static const char *const names[][12] = {
		{"/usr/lib/libnode.so.108", "Builtin:ArrayMap", "BytecodeHandler:LdaConstant.ExtraWide",
		 "RegExp:^a(b|c)$", "JS:~ node:internal/validators:94:3", "Script:~ node:fs:1:1",
		 "Eval:~ node:internal/main/run_main_module:1:1", "LazyCompile:*emit node:events:263:44",
		 "JS:*get size node:buffer:1:2", "Eval:~ /srv/my node/a.js:1:1"},
		{"/usr/lib/libpython3.12.so.1.0", "py::_find_and_load:<frozen importlib._bootstrap>",
		 "py::<module>:<frozen importlib._bootstrap_external>", "py::<module>:/tmp/frozen.py"},
		{"/usr/lib/jvm/lib/server/libjvm.so", "void java.nio.ByteBuffer.<init>(int, byte[])",
		 "byte[] java.util.Arrays.copyOf(byte[], int)",
		 "long jdk.internal.misc.Unsafe.allocateMemory0(long)", "Interpreter",
		 "StubRoutines (1)", "I2C/C2I adapters", "new_instance Runtime1 stub",
		 "_new_instance_Java", "Ljava/util/ArrayList;::add",
		 "java.lang.String my.java.Util.call_stub(java.lang.Object, java.util.List)"},
		{"/usr/bin/luajit-2.1", "TRACE_1::a.lua:5"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		for (size_t k = 1; names[i][k]; k++) {
			bool is_last = k + 1 == 12 || !names[i][k + 1];

			expect_culprit(is_last ? 3 : 2, NULL, FXT_FOR_HEAP,
				       STACK(MALLOC, {"allocate", names[i][0]}, {names[i][k], NULL},
					     {"", NULL}, {"start", names[i][0]}));
		}
	}
}
END_TEST

/* A made function that calls itself, with the engine in between, is in the path once. */
START_TEST(recursion)
{
	static const char *const functions[][2] = {MALLOC,  NODE_CODE, NODES_OWN, USERS,
						   BUILTIN, USERS,     USERS,     MAIN};
	enum { COUNT = sizeof(functions) / sizeof(*functions) };
	struct fxt_culprits *c;
	struct fxt_call_path *list;
	uint32_t path;

	begin_trace();
	for (unsigned i = 0; i < COUNT; i++)
		frame(NODE(i + 1), i + 1 < COUNT ? NODE(i + 2) : 0, functions[i][0], functions[i][1], i + 1);
	c = read_with(NULL);
	path = fxt_path_of(c, FXT_FOR_HEAP, place_of(c, 1));
	list = c->paths[FXT_FOR_HEAP].list;
	ck_assert_uint_ne(path, FXT_NO_PATH);
	expect_symbol(list[path].name, functions[3][0]);
	ck_assert_uint_ne(list[path].caller, FXT_NO_PATH);
	expect_symbol(list[list[path].caller].name, "main");
	ck_assert_uint_eq(list[list[path].caller].caller, FXT_NO_PATH);
	ck_assert_int_eq(number_of(c, fxt_culprit_of(c, FXT_FOR_HEAP, place_of(c, 1))), 4);
	/* What is further out than the made functions is not skipped. */
	for (unsigned i = 1; i <= COUNT; i++)
		ck_assert_int_eq(fxt_is_wrapper(c, FXT_FOR_HEAP, place_of(c, i)), i <= 3 || i == 5);
	end_report(&report);
}
END_TEST

/* What tables show of a name; NULL: nothing is known of its parts. */
START_TEST(splits_names)
{
	static const char *const names[][3] = {
		{"JS:^allocOne /tmp/bufs.js:3:18", "allocOne", "bufs.js:3:18"},
		{"JS:*get size file:///srv/my app/a.mjs:10:2", "get size", "a.mjs:10:2"},
		{"JS:~ /tmp/bufs.js:1:1", "(anonymous)", "bufs.js:1:1"},
		{"LazyCompile:+f [eval]:1:2", "f", "[eval]:1:2"},
		{"JS:f evalmachine.<anonymous>:1:2", "f", "evalmachine.<anonymous>:1:2"},
		{"JS:^now node:internal/util:7:8", "now", "node:internal/util:7:8"},
		{"py::A.f.<locals>.<lambda>:/srv/a b/c.py", "A.f.<locals>.<lambda>", "c.py"},
		{"py::<module>:<string>", "<module>", "<string>"},
		{"Builtin:ArrayMap", NULL, NULL},
		{"JS:", NULL, NULL},
		{"JS:^", NULL, NULL},
		{"JS:^f:1:2", NULL, NULL},
		{"JS:^f /a.js:1", NULL, NULL},
		{"JS:^f /a.js:1:", NULL, NULL},
		{"py::f:", NULL, NULL},
		{"py::", NULL, NULL},
		{"void A.spin(int)", NULL, NULL},
		{"", NULL, NULL},
	};
	struct fxt_made_name parts;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct fxt_text name = fxt_text_of(names[i][0]);
		bool is_split = fxt_split_made_name(&name, &parts);

		ck_assert_msg(is_split == !!names[i][1], "%s", names[i][0]);
		if (is_split)
			ck_assert_msg(fxt_text_is(&parts.function, names[i][1]) &&
					      fxt_text_is(&parts.place, names[i][2]),
				      "%s: %.*s in %.*s", names[i][0], (int)parts.function.bytes,
				      parts.function.text, (int)parts.place.bytes, parts.place.text);
	}
}
END_TEST

/* -- Random stacks ------------------------------------------------------------------------------------- */

enum { ROUNDS = 200, NODES = 60 };

static const struct function {
	const char *name, *module;
	bool is_wrapper, is_always, is_engine, is_made;
} functions[] = {
	{"malloc", "/lib/libfxtagent.so.0", true, true, false, false},
	{"xmalloc", "/opt/app/bank", true, false, false, false},
	{"load", "/opt/app/bank", false, false, false, false},
	{"main", "/opt/app/bank", false, false, false, false},
	{"v8::internal::Heap::Grow(int)", "/opt/app/bank", false, false, true, false},
	{"node::Buffer::New(int)", "/usr/bin/node", false, false, true, false},
	{"node::my_malloc", "/usr/bin/node", true, false, true, false},
	{"JS:^alloc node:buffer:1:2", NULL, false, false, true, true},
	{"JS:^f /a.js:1:2", NULL, false, false, false, true},
	{"JS:^g /a.js:2:2", NULL, false, false, false, true},
	{"void A.x_malloc(int)", NULL, true, false, false, true},
	{NULL, NULL, false, false, false, false},
	{"[code in no file]", NULL, false, false, false, false},
	{"[further callers]", NULL, true, true, false, false},
};
enum { FUNCTIONS = sizeof(functions) / sizeof(*functions) };

/* Returns the node of the culprit, or -1. stack[0] is the outermost. A function is left if it is no wrapper,
 * and if it is no engine's where a made one that is left stands further out. A wrapper is left, too, if
 * nothing further out is and all that it is known by is its name. */
static int model(const unsigned *function, const unsigned *stack, unsigned depth)
{
	bool is_left[NODES];
	int culprit = -1;

	for (unsigned i = 0; i < depth; i++) {
		const struct function *f = &functions[function[stack[i]]];
		bool has_made = false, has_any = false;

		for (unsigned k = 0; k < i; k++) {
			const struct function *outer = &functions[function[stack[k]]];

			has_any |= is_left[k];
			has_made |= is_left[k] && outer->is_made && !outer->is_engine;
		}
		is_left[i] = f->is_wrapper ? !has_any && !f->is_always : !(f->is_engine && has_made);
		/* Code in no file is what stacks look like that begin in the loader. */
		if (!i && (!f->name || strcmp(f->name, "[code in no file]") == 0))
			is_left[i] = false;
		if (is_left[i])
			culprit = (int)stack[i];
	}
	return culprit;
}

START_TEST(random_stacks)
{
	unsigned function[NODES], parent[NODES], count, order[NODES];
	struct fxt_culprits *c;

	random_seed((uint64_t)_i);
	count = 1 + (unsigned)random_below(NODES);
	begin_trace();
	for (unsigned i = 0; i < count; i++) {
		function[i] = (unsigned)random_below(FUNCTIONS);
		parent[i] = i && random_below(12) ? (unsigned)random_below(i) : i;
		if (random_below(2) && i)
			parent[i] = i - 1;
		frame(NODE(i), parent[i] == i ? 0 : NODE(parent[i]), functions[function[i]].name,
		      functions[function[i]].module, 0x100 + i);
		order[i] = i;
	}
	c = read_with(NULL);
	/* Who is asked about first must not matter. */
	for (unsigned left = count; left; left--) {
		unsigned pick = (unsigned)random_below(left), node = order[pick];
		unsigned stack[NODES], depth = 0, at = node;

		order[pick] = order[left - 1];
		for (;; at = parent[at]) {
			memmove(stack + 1, stack, depth++ * sizeof(*stack));
			stack[0] = at;
			if (parent[at] == at)
				break;
		}
		ck_assert_int_eq(number_of(c, fxt_culprit_of(c, FXT_FOR_HEAP, place_of(c, node))),
				 model(function, stack, depth));
	}
	end_report(&report);
}
END_TEST

int main(void)
{
	TCase *engines = tcase_create("engines"), *any = tcase_create("random");

	random_begin();
	tcase_add_test(engines, skips_engine);
	tcase_add_test(engines, keeps_engine);
	tcase_add_test(engines, asks_user);
	tcase_add_test(engines, knows_names);
	tcase_add_test(engines, recursion);
	tcase_add_test(engines, splits_names);
	tcase_add_loop_test(any, random_stacks, 1, 1 + ROUNDS);
	return RUN_SUITE("culprits", engines, any);
}
