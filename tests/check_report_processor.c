/* This tests what the report says of processor time. Random call trees and samples, and random switches, are
 * compared with simple models. FXT_SEED=N draws the same ones again. */
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
#include "tools/stacks/stacks.h"
#include "trace_maker.h"

enum { HZ = 1000, MS = 1000000, ROUNDS = 20 };
#define NODE(number) (UINT64_C(0xfff0000000000000) + (number))

static void begin_kernel(void)
{
	kernel();
	fact(7, 7, "sampling", 0, ARGS({"hz", UINT, HZ}, {"kernel", TEXT, TEXT_OF("sampled")}));
}

/* -- The call tree, against a model --------------------------------------------------------------- */

enum { NODES = 120, FUNCTIONS = 12, THREADS = 5 };

static struct {
	unsigned count, parent[NODES], function[NODES];
	bool is_orphan[NODES];          /* its caller is none of the nodes */
	uint64_t samples[NODES][THREADS];
} model;

static const char *function_name(unsigned function)
{
	static const char *const names[FUNCTIONS] = {"main", "parse", "hash",  "sort",	 "merge", "copy",
						     "walk", "visit", "_Zfoo", "[kernel]", "spin", "wait"};

	return names[function];
}

/* Functions of the same name stand in two modules. */
static const char *module_of(unsigned function)
{
	return function % 3 == 0 ? "/bin/one" : function % 3 == 1 ? "/lib/two.so" : NULL;
}

static void draw_tree(void)
{
	uint64_t caller;

	memset(&model, 0, sizeof(model));
	model.count = 1 + (unsigned)random_below(NODES);
	for (unsigned i = 0; i < model.count; i++) {
		model.function[i] = (unsigned)random_below(FUNCTIONS);
		model.parent[i] = i && random_below(10) ? (unsigned)random_below(i) : i;
		model.is_orphan[i] = model.parent[i] == i && random_below(2);
		caller = model.parent[i] == i ? 0 : NODE(model.parent[i]);
		frame(NODE(i), model.is_orphan[i] ? NODE(NODES + i) : caller,
		      function_name(model.function[i]), module_of(model.function[i]), 16 * (1 + i % 4));
	}
}

static void draw_samples(void)
{
	unsigned number = (unsigned)random_below(600);

	for (unsigned i = 0; i < number; i++) {
		unsigned node = (unsigned)random_below(model.count), who = (unsigned)random_below(THREADS);

		sample(7, 7 + who, i * (uint64_t)MS, NODE(node), function_name(model.function[node]));
		model.samples[node][who]++;
	}
}

static uint64_t samples_in(unsigned node)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < THREADS; i++)
		sum += model.samples[node][i];
	return sum;
}

/* Returns whether the function is in the stack that ends with the node. */
static bool has_function(unsigned node, unsigned function)
{
	for (;; node = model.parent[node]) {
		if (model.function[node] == function)
			return true;
		if (model.parent[node] == node)
			return false;
	}
}

static const struct fxt_tree_function *find(const struct fxt_call_tree *t, unsigned function)
{
	for (size_t i = 0; i < t->function_count; i++) {
		const struct fxt_tree_function *f = &t->functions[i];
		struct fxt_text name = fxt_symbol_text(&reader, f->name);
		struct fxt_text module = fxt_sampled_module(&reader, f);

		if (fxt_text_is(&name, function_name(function)) &&
		    fxt_text_is(&module, module_of(function) ? module_of(function) : ""))
			return f;
	}
	return NULL;
}

static void compare_functions(const struct fxt_call_tree *t)
{
	for (unsigned function = 0; function < FUNCTIONS; function++) {
		const struct fxt_tree_function *f = find(t, function);
		uint64_t self = 0, total = 0, of_addresses = 0;

		for (unsigned i = 0; i < model.count; i++) {
			self += model.function[i] == function ? samples_in(i) : 0;
			total += has_function(i, function) ? samples_in(i) : 0;
		}
		ck_assert_uint_eq(f ? f->self : 0, self);
		ck_assert_uint_eq(f ? f->total : 0, total);
		for (size_t i = 0; f && i < f->address_count; i++)
			of_addresses += t->addresses[f->addresses + i].self;
		ck_assert_uint_eq(of_addresses, self);
		for (size_t i = 1; f && i < f->address_count; i++)
			ck_assert_uint_ge(t->addresses[f->addresses + i - 1].self,
					  t->addresses[f->addresses + i].self);
	}
}

static void compare_threads(const struct fxt_processor_time *p)
{
	for (unsigned who = 0; who < THREADS; who++) {
		uint64_t expected = 0, found = 0;

		for (unsigned i = 0; i < model.count; i++)
			expected += model.samples[i][who];
		for (size_t i = 0; i < p->thread_count; i++) {
			if (reader.threads[p->threads[i].thread].tid == 7 + who)
				found += p->threads[i].samples;
		}
		ck_assert_uint_eq(found, expected);
	}
	for (size_t i = 1; i < p->thread_count; i++)
		ck_assert_uint_ge(p->threads[i - 1].times.running_ns, p->threads[i].times.running_ns);
}

/* Returns the sum of the lines of folded stacks that end with the function. */
static uint64_t folded_self(const char *folded, const char *function)
{
	uint64_t sum = 0;

	for (const char *line = folded; *line; line = strchr(line, '\n') + 1) {
		const char *end = strchr(line, '\n'), *space = memrchr(line, ' ', (size_t)(end - line));
		const char *name = memrchr(line, ';', (size_t)(space - line));

		if (name && (size_t)(space - name - 1) == strlen(function) &&
		    strncmp(name + 1, function, strlen(function)) == 0)
			sum += strtoull(space + 1, NULL, 10);
	}
	return sum;
}

static void compare_folded(const struct fxt_report *report)
{
	struct fxt_stacks stacks;
	char *folded;
	size_t bytes;
	FILE *out = open_memstream(&folded, &bytes);

	fxt_stacks_make(&stacks, &report->processor, report->r);
	fxt_stacks_print_folded(&stacks, out);
	fclose(out);
	for (unsigned function = 0; function < FUNCTIONS; function++) {
		uint64_t self = 0;

		for (unsigned i = 0; i < model.count; i++)
			self += model.function[i] == function ? samples_in(i) : 0;
		ck_assert_uint_eq(folded_self(folded, function_name(function)), self);
	}
	fxt_stacks_free(&stacks);
	free(folded);
}

START_TEST(sums_random_trees)
{
	struct fxt_report report;

	random_seed((uint64_t)_i);
	begin_trace();
	begin_kernel();
	draw_tree();
	draw_samples();
	make_report(&report, 10);
	compare_functions(&report.processor.tree);
	compare_threads(&report.processor);
	compare_folded(&report);
	/* Nothing of this is a call, an object, or a record that a program wrote. */
	ck_assert_uint_eq(report.calls.count, 0);
	ck_assert_uint_eq(report.objects.count, 0);
	ck_assert_uint_eq(report.overview.written, 0);
	ck_assert_uint_eq(report.threads.count, 0);
	end_report(&report);
}
END_TEST

/* -- Switches, against a model --------------------------------------------------------------------- */

/* Draws what each thread does from one millisecond to the next, and writes a switch when that changes. What
 * it did before its first switch is not known, and what it does after its last one lasts until the trace
 * ends. */
START_TEST(sums_random_switches)
{
	enum { RUNS, IS_READY, IS_BLOCKED, STATES, STEPS = 200 };
	uint64_t ms[THREADS][STATES] = {{0}}, preemptions[THREADS] = {0};
	unsigned state[THREADS];
	bool is_known[THREADS] = {false};
	struct fxt_report report;

	random_seed((uint64_t)_i);
	begin_trace();
	for (unsigned who = 0; who < THREADS; who++) {
		thread(4 + who, 7, 7 + who);
		state[who] = (unsigned)random_below(STATES);
	}
	begin_kernel();
	for (uint64_t step = 0; step < STEPS; step++) {
		for (unsigned who = 0; who < THREADS; who++) {
			unsigned next = (unsigned)random_below(STATES);

			ms[who][state[who]] += is_known[who];
			if (random_below(4) || next == state[who] || (state[who] != RUNS && next != RUNS))
				continue;
			is_known[who] = true;
			preemptions[who] += next == IS_READY;
			state[who] = next;
			if (next == RUNS)
				switched((step + 1) * MS, 1, 0, 7 + who);
			else
				switched((step + 1) * MS, next == IS_READY ? 1 : 3, 7 + who, 0);
		}
	}
	fact(1, 1, "lost", STEPS * (uint64_t)MS, ARGS({"records", UINT, 5}));
	make_report(&report, 10);
	for (size_t i = 0; i < report.processor.thread_count; i++) {
		const struct fxt_processor_thread *one = &report.processor.threads[i];
		uint64_t who = tid_of(one->thread) - 7;

		ck_assert_uint_lt(who, THREADS);
		ck_assert_uint_eq(one->times.running_ns, ms[who][RUNS] * MS);
		ck_assert_uint_eq(one->times.ready_ns, ms[who][IS_READY] * MS);
		ck_assert_uint_eq(one->times.blocked_ns, ms[who][IS_BLOCKED] * MS);
		ck_assert_uint_eq(one->times.preemptions, preemptions[who]);
		is_known[who] = false;
	}
	for (unsigned who = 0; who < THREADS; who++)
		ck_assert(!is_known[who]);
	ck_assert_uint_eq(report.processor.lost_records, 5);
	end_report(&report);
}
END_TEST

/* Returns the times of the thread with this id, of which there has to be something. */
static struct fxt_switch_sums times_of(const struct fxt_report *report, uint64_t pid, uint64_t tid)
{
	const struct fxt_processor_time *p = &report->processor;

	for (size_t i = 0; i < p->thread_count; i++) {
		const struct fxt_trace_thread *thread_of = &reader.threads[p->threads[i].thread];

		if (thread_of->pid == pid && thread_of->tid == tid)
			return p->threads[i].times;
	}
	ck_abort_msg("nothing of %" PRIu64 "/%" PRIu64, pid, tid);
}

/* A thread that was blocked last has ended, if its process has. One that ran last did so until then. */
START_TEST(ends_with_the_process)
{
	struct fxt_report report;

	begin_trace();
	begin_kernel();
	fact(7, 7, "executed", 1 * MS, NO_ARGS);
	switched(2 * MS, 3, 7, 0);
	switched(5 * MS, 1, 0, 8);
	switched(6 * MS, 3, 8, 0);
	switched(7 * MS, 1, 0, 9);
	switched(8 * MS, 1, 0, 7);
	if (_i)
		fact(7, 7, "ended", 10 * MS, NO_ARGS);
	fact(1, 1, "other", 20 * MS, NO_ARGS);
	make_report(&report, 10);
	ck_assert_uint_eq(times_of(&report, 7, 7).running_ns, (_i ? 1 + 2 : 1 + 12) * MS);
	ck_assert_uint_eq(times_of(&report, 7, 7).blocked_ns, 6 * MS);
	ck_assert_uint_eq(times_of(&report, 7, 8).running_ns, 1 * MS);
	ck_assert_uint_eq(times_of(&report, 7, 8).blocked_ns, _i ? 0 : 14 * MS);
	ck_assert_uint_eq(times_of(&report, 7, 9).running_ns, (_i ? 3 : 13) * MS);
	end_report(&report);
}
END_TEST

/* The id of a thread that has ended is another's later. What it did in between is not known, nor whose the id
 * is at last. */
START_TEST(tells_threads_of_one_id_apart)
{
	struct fxt_report report;

	begin_trace();
	begin_kernel();
	sample(7, 8, 1 * MS, 0, "spin");
	switched(3 * MS, 3, 8, 0);
	sample(70, 8, 10 * MS, 0, "spin");
	switched(11 * MS, 1, 8, 0);
	switched(14 * MS, 1, 0, 8);
	switched(15 * MS, 5, 8, 0);
	switched(16 * MS, 1, 0, 8);
	switched(18 * MS, 3, 8, 0);
	fact(1, 1, "other", 20 * MS, NO_ARGS);
	make_report(&report, 10);
	ck_assert_uint_eq(times_of(&report, 7, 8).running_ns, 2 * MS);
	ck_assert_uint_eq(times_of(&report, 7, 8).blocked_ns, 0);
	ck_assert_uint_eq(times_of(&report, 70, 8).running_ns, 2 * MS);
	ck_assert_uint_eq(times_of(&report, 70, 8).ready_ns, 3 * MS);
	ck_assert_uint_eq(times_of(&report, 70, 8).blocked_ns, 0);
	end_report(&report);
}
END_TEST

/* If a switch was lost, the time around it is left out. */
START_TEST(leaves_out_what_is_not_known)
{
	struct fxt_report report;

	begin_trace();
	begin_kernel();
	switched(1 * MS, 1, 0, 8);
	switched(3 * MS, 1, 0, 8);
	switched(4 * MS, 3, 8, 0);
	switched(6 * MS, 3, 8, 0);
	switched(7 * MS, 1, 0, 8);
	switched(6 * MS, 5, 8, 0);
	fact(1, 1, "other", 20 * MS, NO_ARGS);
	make_report(&report, 10);
	ck_assert_uint_eq(times_of(&report, 7, 8).running_ns, 1 * MS);
	ck_assert_uint_eq(times_of(&report, 7, 8).blocked_ns, 1 * MS);
	end_report(&report);
}
END_TEST

/* A thread lives from the first event to the last that is its own or that the kernel tells of it. One that
 * has none of its own is not among those that called anything. */
START_TEST(lives_while_it_computes)
{
	enum { OWN = 3, TOLD = 5, EVENTS = 12, LAST_MS = 1000 };
	struct {
		bool has_events;
		uint64_t first_ns, last_ns;
	} life[TOLD];
	struct fxt_report report;
	size_t count = 0;

	for (unsigned i = 0; i < TOLD; i++)
		life[i].has_events = false, life[i].first_ns = UINT64_MAX, life[i].last_ns = 0;
	random_seed((uint64_t)_i);
	begin_trace();
	for (unsigned i = (unsigned)random_below(2) * EVENTS; i < EVENTS; i++) {
		unsigned who = (unsigned)random_below(OWN);
		uint64_t from = random_below(LAST_MS) * MS, to = from + random_below(5 * MS);

		call(1 + who, "malloc", "malloc", from, to);
		life[who].has_events = true;
		life[who].first_ns = from < life[who].first_ns ? from : life[who].first_ns;
		life[who].last_ns = to > life[who].last_ns ? to : life[who].last_ns;
	}
	kernel();
	for (unsigned i = (unsigned)random_below(2) * EVENTS; i < EVENTS; i++) {
		unsigned who = (unsigned)random_below(TOLD);
		uint64_t at = random_below(LAST_MS) * MS;

		if (random_below(2))
			sample(7, 7 + who, at, 0, "spin");
		else
			fact(7, 7 + who, random_below(2) ? "executed" : "ended", at, NO_ARGS);
		life[who].first_ns = at < life[who].first_ns ? at : life[who].first_ns;
		life[who].last_ns = at > life[who].last_ns ? at : life[who].last_ns;
	}
	make_report(&report, 10);
	for (unsigned i = 0; i < TOLD; i++)
		count += life[i].has_events;
	ck_assert_uint_eq(report.threads.count, count);
	for (size_t i = 0; i < count; i++) {
		const struct fxt_thread_time *one = &report.threads.list[i];
		uint64_t who = tid_of(one->thread) - 7;

		ck_assert_uint_eq(one->first_ns, life[who].first_ns);
		ck_assert_uint_eq(one->last_ns, life[who].last_ns);
		ck_assert_uint_eq(one->running_ns, life[who].last_ns - life[who].first_ns);
	}
	end_report(&report);
}
END_TEST

/* While the kernel has a thread blocked for longer than its calls say, the thread did not run. What calls say
 * is not more than that: they may end after the thread got a processor back. What an untraced program did in
 * the same thread afterwards does not count. */
START_TEST(does_not_run_while_it_is_blocked)
{
	enum { CALLS = 5, STEP_MS = 20 };
	uint64_t slept_ms = 0, on_ms = CALLS * STEP_MS, life_ms = CALLS * STEP_MS, expected_ms;
	const struct fxt_thread_time *one;
	struct fxt_report report;
	uint64_t later_ms;

	random_seed((uint64_t)_i);
	later_ms = random_below(2) * random_below(1000);
	begin_trace();
	for (uint64_t i = 0; i < CALLS; i++) {
		uint64_t from = i * STEP_MS, ms = random_below(STEP_MS / 2);

		call(1, "time", "nanosleep", from * MS, (from + ms) * MS);
		slept_ms += ms;
	}
	call(1, "malloc", "malloc", life_ms * MS, life_ms * MS);
	begin_kernel();
	switched(0, 1, 0, 7);
	for (uint64_t i = 0; i < CALLS; i++) {
		uint64_t from = i * STEP_MS + 1, ms = 1 + random_below(STEP_MS - 2);

		switched(from * MS, 3, 7, 0);
		switched((from + ms) * MS, 1, 0, 7);
		on_ms -= ms;
	}
	fact(7, 7, "executed", life_ms * MS, NO_ARGS);
	if (later_ms) {
		switched(life_ms * MS, 3, 7, 0);
		switched((life_ms + later_ms) * MS, 1, 0, 7);
	}
	make_report(&report, 10);
	one = &report.threads.list[0];
	ck_assert_uint_eq(report.threads.count, 1);
	life_ms = (one->last_ns - one->first_ns) / MS;
	expected_ms = life_ms - slept_ms < on_ms ? life_ms - slept_ms : on_ms;
	ck_assert_uint_eq(one->waiting_ns, slept_ms * MS);
	ck_assert_uint_eq(one->running_ns + one->unseen_ns + one->waiting_ns, life_ms * MS);
	ck_assert_uint_ge(one->running_ns, expected_ms * MS);
	if (!later_ms)
		ck_assert_uint_eq(one->running_ns, expected_ms * MS);
	end_report(&report);
}
END_TEST

/* -- Hostile traces ------------------------------------------------------------------------------------ */

/* A node whose caller is not there or comes later is an outermost one; a node whose id comes twice is a new
 * one; and a sample of an unknown node has its function's name alone. */
START_TEST(takes_nodes_as_they_come)
{
	struct fxt_report report;
	const struct fxt_call_tree *t = &report.processor.tree;

	begin_trace();
	begin_kernel();
	frame(NODE(0), NODE(0), "itself", "/bin/app", 1);
	frame(NODE(1), NODE(2), "early", "/bin/app", 2);
	frame(NODE(2), NODE(1), "late", "/bin/app", 3);
	frame(NODE(1), NODE(2), "again", "/bin/app", 4);
	sample(7, 7, 1, NODE(0), "itself");
	sample(7, 7, 2, NODE(1), "again");
	sample(7, 7, 3, NODE(9), "unknown");
	sample(7, 7, 4, 0, "unknown");
	sample(7, 7, 5, 0, "");
	make_report(&report, 10);
	ck_assert_uint_eq(t->samples, 5);
	ck_assert_uint_eq(t->count, 6);
	ck_assert_uint_eq(t->nodes[0].parent, FXT_NO_NODE);
	ck_assert_uint_eq(t->nodes[1].parent, FXT_NO_NODE);
	ck_assert_uint_eq(t->nodes[1].total, 1);
	ck_assert_uint_eq(t->nodes[3].parent, 2);
	ck_assert_uint_eq(t->nodes[3].self, 1);
	ck_assert_uint_eq(t->nodes[4].self, 2);
	expect_symbol(t->functions[t->nodes[5].function].name, "[unknown]");
	end_report(&report);
}
END_TEST

/* Stacks may be deeper than any stack of this process. Each node has a sample, so that output which had whole
 * stacks would have some billions of functions. */
START_TEST(bears_deep_stacks)
{
	enum { DEEP = 60000 };
	struct fxt_report report;
	struct fxt_stacks stacks;
	char *out_text;
	size_t bytes;
	FILE *out = open_memstream(&out_text, &bytes);

	begin_trace();
	begin_kernel();
	for (uint64_t i = 0; i < DEEP; i++) {
		frame(NODE(i), i ? NODE(i - 1) : 0, i % 2 ? "odd;<&\n" : "even", "/bin/app", i);
		if (i % 100 == 0)
			sample(7, 7, i, NODE(i), "even");
	}
	make_report(&report, 10);
	ck_assert_uint_eq(report.processor.tree.functions[0].total, DEEP / 100);
	ck_assert_uint_eq(report.processor.tree.functions[1].total, DEEP / 100 - 1);
	fxt_stacks_make(&stacks, &report.processor, report.r);
	fxt_stacks_print_folded(&stacks, out);
	fxt_stacks_print_flame(&stacks, "a <trace>", HZ, out);
	fclose(out);
	ck_assert_ptr_nonnull(strstr(out_text, ";[...];"));
	ck_assert_ptr_nonnull(strstr(out_text, "odd:<&\\n;even"));
	ck_assert_ptr_nonnull(strstr(out_text, "odd;&lt;&amp;\\n"));
	ck_assert_ptr_null(strstr(out_text, "odd;<"));
	ck_assert_ptr_nonnull(strstr(out_text, "a &lt;trace&gt;"));
	fxt_stacks_free(&stacks);
	free(out_text);
	end_report(&report);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("processor");

	random_begin();
	tcase_add_loop_test(c, sums_random_trees, 1, 1 + ROUNDS);
	tcase_add_loop_test(c, sums_random_switches, 1, 1 + ROUNDS);
	tcase_add_loop_test(c, ends_with_the_process, 0, 2);
	tcase_add_test(c, tells_threads_of_one_id_apart);
	tcase_add_test(c, leaves_out_what_is_not_known);
	tcase_add_loop_test(c, lives_while_it_computes, 1, 1 + ROUNDS);
	tcase_add_loop_test(c, does_not_run_while_it_is_blocked, 1, 1 + ROUNDS);
	tcase_add_test(c, takes_nodes_as_they_come);
	tcase_add_test(c, bears_deep_stacks);
	return RUN_SUITE("report: processor time", c);
}
