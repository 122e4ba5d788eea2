/* Says who waits for child processes: for their ends, and for what a command says. That is no fault, and
 * shells and their like, which do little else, are passed over. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "rule_facts.h"
#include "tools/printing/print.h"

static bool is_one_of(const struct fxt_text *name, const char *const *names)
{
	for (; *names; names++)
		if (fxt_text_is(name, *names))
			return true;
	return false;
}

/* Returns for how long the process had streams of popen() that it has closed. */
static uint64_t commands_ns(const struct fxt_report *report, uint64_t pid)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < report->made.count; i++) {
		const struct fxt_maker *m = &report->made.list[i];
		struct fxt_text call;

		if (m->pid != pid || !m->call)
			continue;
		call = fxt_symbol_text(report->r, m->call);
		ns += fxt_text_is(&call, "popen") ? m->lives_ns : 0;
	}
	return ns;
}

/* Returns whether the call waits for a child of the process: for its end, or for what it says. */
static bool waits(const struct fxt_report *report, const struct fxt_stack_sum *sum, uint64_t pid)
{
	static const char *const for_end[] = {"waitpid", "wait",   "wait3",  "wait4",
					      "waitid",	 "system", "pclose", NULL};
	static const char *const for_words[] = {"fgets", "fread", "getline", "getdelim",
						"fgetc", "getc",  "fscanf",  NULL};
	struct fxt_text name = fxt_symbol_text(report->r, (uint32_t)sum->key);

	return is_one_of(&name, for_end) ||
	       (is_one_of(&name, for_words) && sum->total_ns <= commands_ns(report, pid));
}

void fxt_find_slow_child(const struct fxt_report *report, struct fxt_findings *f)
{
	struct fxt_stack_sums sums = {0};
	struct fxt_stack_sum longest = {0};
	struct fxt_finding *x;
	char *name;

	for (size_t i = 0; i < report->call_stacks.count; i++) {
		const struct fxt_stack_sum *sum = &report->call_stacks.list[i];
		uint64_t pid = fxt_rule_process_of(report, sum->innermost);

		if (waits(report, sum, pid) && !fxt_rule_starts_programs(report, pid))
			fxt_stack_sums_add_all(&sums, sum);
	}
	fxt_stack_sums_finish(&sums);
	for (size_t i = 0; i < sums.count; i++) {
		struct fxt_stack_sum most;

		if ((!i || sums.list[i].key != sums.list[i - 1].key) &&
		    fxt_stack_sums_most(&sums, sums.list[i].key, report->who, FXT_FOR_CALL, &most) &&
		    most.total_ns > longest.total_ns)
			longest = most;
	}
	fxt_stack_sums_free(&sums);
	if (!longest.count || fxt_rule_percent(report, longest.total_ns) < FXT_LEAST(slow_child))
		return;
	name = fxt_rule_name(report, (uint32_t)longest.key, 16);
	x = fxt_finding_add(f, longest.innermost, FXT_FOR_CALL, "waited for child processes: %s in %s call%s",
			    name, fxt_count(longest.count).text, longest.count == 1 ? "" : "s");
	fxt_rule_contrast_waits(report, x, longest.key);
	x->cost_ns = longest.total_ns;
	x->cost_calls = longest.count;
	free(name);
}
