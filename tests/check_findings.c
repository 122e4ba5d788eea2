/* This tests the rules of fxt report: traces that each have one fault, or nearly have it; the order of
 * findings; the option that switches rules off; and that docs/findings.md has the table of the rules. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "tools/common/message.h"
#include "tools/findings/rules.h"
#include "trace_maker.h"

enum { MS = 1000000 };

static struct fxt_report report;
static struct fxt_findings findings;

static void find(void)
{
	make_report(&report, 10);
	fxt_findings_make(&findings, &report, 0);
}

static void end(void)
{
	fxt_findings_free(&findings);
	end_report(&report);
}

/* Returns the first finding of a rule, or NULL. */
static const struct fxt_finding *found(const char *rule)
{
	for (size_t i = 0; i < findings.count; i++) {
		char *label = fxt_rule_label(findings.list[i].rule);
		bool is_it = strcmp(label, rule) == 0;

		free(label);
		if (is_it)
			return &findings.list[i];
	}
	return NULL;
}

static void expect_part(const char *text, const char *part)
{
	ck_assert_msg(text && strstr(text, part), "there is no '%s' in '%s'", part, text ? text : "(null)");
}

/* Fails unless the culprit of a finding is this function. */
static void expect_culprit(const struct fxt_finding *x, const char *function)
{
	char *line = fxt_who_line(report.who, x->purpose, x->innermost, 100);

	expect_part(line, function);
	free(line);
}

/* -- Ends ------------------------------------------------------------------------------------------- */

static void run_that_ends(const char *how, int number)
{
	begin_trace();
	call(1, "io", "fsync", 10 * MS, 20 * MS);
	said(1, 25 * MS, "cannot open the ledger");
	event(INSTANT, 1, "process", "exit", 30 * MS, 0, ARGS({how, INT, (uint64_t)number}));
	find();
}

START_TEST(a_killed_process_is_found)
{
	run_that_ends("signal", 11);
	ck_assert_ptr_nonnull(found("ends"));
	expect_part(found("ends")->what, "was killed by signal 11 (Segmentation fault)");
	expect_part(found("ends")->evidence[0], "cannot open the ledger");
	ck_assert(fxt_findings_has_fault(&findings));
	end();
}
END_TEST

START_TEST(a_status_is_found)
{
	run_that_ends("status", 3);
	ck_assert_ptr_nonnull(found("ends"));
	expect_part(found("ends")->what, "ended with status 3");
	end();
	run_that_ends("status", 0);
	ck_assert_ptr_null(found("ends"));
	ck_assert(!fxt_findings_has_fault(&findings));
	end();
}
END_TEST

/* A child that its parent ended is nobody's fault; one that did something wrong is. */
START_TEST(children_end_by_some_signals)
{
	const int ended[] = {15, 9, 13, 2, 1}, wrong[] = {11, 6, 7, 4, 8};

	for (unsigned i = 0; i < 5; i++) {
		for (unsigned k = 0; k < 2; k++) {
			begin_trace();
			call(1, "io", "fsync", 10 * MS, 20 * MS);
			provider(8);
			thread(1, 8, 8);
			call(1, "io", "fsync", 15 * MS, 20 * MS);
			event(INSTANT, 1, "process", "exit", 30 * MS, 0,
			      ARGS({"signal", INT, (uint64_t)(k ? wrong[i] : ended[i])}));
			find();
			ck_assert_int_eq(found("ends") != NULL, k);
			end();
		}
	}
}
END_TEST

/* Of a child that left no name, its parent's is told. */
START_TEST(a_child_without_a_name_is_its_parents)
{
	for (unsigned is_named = 0; is_named < 2; is_named++) {
		begin_trace();
		object_name(7, 0, "maker");
		if (is_named)
			object_name(70, 0, "named");
		call(1, "process", "fork", 10 * MS, 20 * MS);
		event(ASYNC_BEGIN, 1, "process", "child", 20 * MS, 1, ARGS({"pid", UINT, 70}));
		event(ASYNC_END, 1, "process", "child", 30 * MS, 1,
		      ARGS({"pid", UINT, 70}, {"signal", UINT, 11}));
		find();
		ck_assert_ptr_nonnull(found("ends"));
		expect_part(found("ends")->what, is_named ? "named 70 was killed by signal 11"
							  : "process 70 (a child of maker 7) was killed by");
		end();
	}
}
END_TEST

/* -- Locks ------------------------------------------------------------------------------------------ */

/* A thread waits for a lock, which another one holds. */
static void wait_for_lock(uint64_t from, uint64_t to)
{
	event(COMPLETE, 2, "lock", "pthread_mutex_lock", from, to,
	      ARGS({"mutex", POINTER, 0x5000}, {"at", TEXT, TEXT_OF("find_session")},
		   {"held_at", TEXT, TEXT_OF("rebuild_order")}, {"held_ns", UINT, to - from},
		   {"stack", POINTER, 1}, {"held_stack", POINTER, 2}));
}

static void run_with_a_lock(uint64_t waited)
{
	begin_trace();
	frame(1, 0, "find_session", "/bin/app", 0x10);
	frame(2, 0, "rebuild_order", "/bin/app", 0x20);
	call(1, "io", "fsync", 0, 1000 * MS);
	wait_for_lock(100 * MS, 100 * MS + waited);
	find();
}

START_TEST(a_lock_is_found)
{
	run_with_a_lock(300 * MS);
	ck_assert_ptr_nonnull(found("contention"));
	ck_assert_uint_eq(found("contention")->cost_ns, 300 * MS);
	expect_culprit(found("contention"), "rebuild_order");
	expect_part(found("contention")->evidence[1], "wanted by find_session");
	end();
}
END_TEST

START_TEST(a_short_wait_is_none)
{
	uint64_t least = (uint64_t)(1000 * MS * (fxt_rules[FXT_RULE_contention].least / 100));

	run_with_a_lock(least - MS);
	ck_assert_ptr_null(found("contention"));
	end();
	run_with_a_lock(least + MS);
	ck_assert_ptr_nonnull(found("contention"));
	end();
}
END_TEST

/* -- The whole -------------------------------------------------------------------------------------- */

START_TEST(what_ends_a_run_comes_first)
{
	begin_trace();
	frame(1, 0, "find_session", "/bin/app", 0x10);
	frame(2, 0, "rebuild_order", "/bin/app", 0x20);
	call(1, "io", "fsync", 0, 1000 * MS);
	wait_for_lock(100 * MS, 900 * MS);
	event(INSTANT, 1, "process", "exit", 1000 * MS, 0, ARGS({"status", INT, 1}));
	find();
	ck_assert_uint_eq(findings.count, 2);
	ck_assert_ptr_eq(found("ends"), &findings.list[0]);
	ck_assert_ptr_eq(found("contention"), &findings.list[1]);
	end();
}
END_TEST

static void explain(const char *handle, const char *expected, const char *bad)
{
	char *text, *message;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	message = fxt_findings_explain(&findings, &report, handle, "app.fxt", out);
	fclose(out);
	ck_assert_int_eq(message != NULL, bad != NULL);
	if (bad)
		expect_part(message, bad);
	else
		expect_part(text, expected);
	free(message);
	free(text);
}

START_TEST(a_finding_is_explained)
{
	run_with_a_lock(300 * MS);
	explain("F1", "CONTENDED LOCKS", NULL);
	explain("F1", "find_session", NULL);
	explain("F1", "This is rule contention (threshold: 10 % of the run)", NULL);
	explain("F2", NULL, "no handle 'F2': there are F1; 1 process (P...), ");
	explain("F0", NULL, "no handle 'F0'");
	explain("F1x", NULL, "no handle 'F1x'");
	explain("1", NULL, "no handle '1'");
	explain("", NULL, "no handle ''");
	end();
}
END_TEST

START_TEST(rules_are_switched_off)
{
	uint64_t off = 0;
	char *bad;

	make_report(&report, 10);
	end_report(&report);
	ck_assert_ptr_null(fxt_findings_switch(&off, "-contention"));
	ck_assert_uint_eq(off, UINT64_C(1) << FXT_RULE_contention);
	ck_assert_ptr_null(fxt_findings_switch(&off, " -lock-order,-ends, "));
	ck_assert_uint_eq(off, UINT64_C(1) << FXT_RULE_contention | UINT64_C(1) << FXT_RULE_lock_order |
				       UINT64_C(1) << FXT_RULE_ends);
	run_with_a_lock(300 * MS);
	fxt_findings_free(&findings);
	fxt_findings_make(&findings, &report, off);
	ck_assert_ptr_null(found("contention"));
	end();
	bad = fxt_findings_switch(&off, "-contenton");
	expect_part(bad, "no rule 'contenton': did you mean contention?");
	free(bad);
	bad = fxt_findings_switch(&off, "contention");
	expect_part(bad, "all rules are on");
	free(bad);
	bad = fxt_findings_switch(&off, "-qqqqqq");
	expect_part(bad, "no rule 'qqqqqq': there are ends, deadlock");
	free(bad);
	bad = fxt_findings_switch(&off, ",");
	expect_part(bad, "names no rule");
	free(bad);
}
END_TEST

/* Each rule has its row in the page, and the page has no other. */
START_TEST(the_page_has_the_table)
{
	const char *source = getenv("abs_top_srcdir");
	char *path = fxt_format("%s/docs/findings.md", source ? source : "."), line[512];
	FILE *page = fopen(path, "re");
	size_t rows = 0;

	free(path);
	if (!source && !page)
		return;
	ck_assert_ptr_nonnull(page);
	while (fgets(line, sizeof(line), page)) {
		char *label, *expected;

		/* Rows have four columns; the first two lines of the table are its head. */
		if (line[0] != '|' || strncmp(line, "| rule |", 8) == 0 || strncmp(line, "|---", 4) == 0)
			continue;
		ck_assert_uint_lt(rows, FXT_RULES);
		label = fxt_rule_label(&fxt_rules[rows]);
		expected = fxt_format("| %s | %s | %g %s | %s |\n", label,
				      fxt_gravity_names[fxt_rules[rows].gravity], fxt_rules[rows].least,
				      fxt_rules[rows].unit, fxt_rules[rows].says);
		ck_assert_str_eq(line, expected);
		free(expected);
		free(label);
		rows++;
	}
	fclose(page);
	ck_assert_uint_eq(rows, FXT_RULES);
}
END_TEST

int main(void)
{
	TCase *rules = tcase_create("rules"), *whole = tcase_create("whole");

	tcase_add_test(rules, a_killed_process_is_found);
	tcase_add_test(rules, a_status_is_found);
	tcase_add_test(rules, children_end_by_some_signals);
	tcase_add_test(rules, a_child_without_a_name_is_its_parents);
	tcase_add_test(rules, a_lock_is_found);
	tcase_add_test(rules, a_short_wait_is_none);
	tcase_add_test(whole, what_ends_a_run_comes_first);
	tcase_add_test(whole, a_finding_is_explained);
	tcase_add_test(whole, rules_are_switched_off);
	tcase_add_test(whole, the_page_has_the_table);
	return RUN_SUITE("findings", rules, whole);
}
