/* The table of rules, and what several of them ask. See rules.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "rules.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/common/message.h"
#include "tools/printing/print.h"

const struct fxt_rule fxt_rules[FXT_RULES] = {
#define RULE(name, gravity, least, unit, says) {#name, gravity, least, unit, says, fxt_find_##name},
#include "rules.def"
#undef RULE
};

const char *const fxt_gravity_names[FXT_GRAVITIES] = {
	[FXT_IS_NOTE] = "note", [FXT_IS_HAZARD] = "hazard", [FXT_IS_COST] = "cost", [FXT_IS_END] = "end"};

char *fxt_rule_label(const struct fxt_rule *rule)
{
	char *label = fxt_strdup(rule->symbol);

	for (char *c = label; *c; c++)
		*c = *c == '_' ? '-' : *c;
	return label;
}

uint64_t fxt_rule_run_ns(const struct fxt_report *report)
{
	return report->overview.events ? fxt_ns_between(report->overview.first_ns, report->overview.last_ns)
				       : 0;
}

double fxt_rule_percent(const struct fxt_report *report, uint64_t ns)
{
	uint64_t run_ns = fxt_rule_run_ns(report);

	return run_ns ? 100.0 * (double)ns / (double)run_ns : 0;
}

uint64_t fxt_rule_first_process(const struct fxt_report *report)
{
	uint64_t first_ns = UINT64_MAX, pid = 0;

	for (size_t i = 0; i < report->threads.count; i++) {
		const struct fxt_thread_time *t = &report->threads.list[i];

		if (t->has_events && t->first_ns < first_ns) {
			first_ns = t->first_ns;
			pid = report->r->threads[t->thread].pid;
		}
	}
	return pid;
}

static bool is_one_of(const struct fxt_text *name, const char *const *names)
{
	for (; *names; names++)
		if (fxt_text_is(name, *names))
			return true;
	return false;
}

struct fxt_rule_calls fxt_rule_calls(const struct fxt_report *report, const char *const *names)
{
	struct fxt_rule_calls sum = {.innermost = FXT_NO_FRAME};
	uint64_t longest_ns = 0;

	for (size_t i = 0; i < report->calls.count; i++) {
		const struct fxt_call *c = &report->calls.list[i];
		struct fxt_text name = fxt_symbol_text(report->r, c->name);
		struct fxt_text category = fxt_symbol_text(report->r, c->category);
		struct fxt_stack_sum most;

		if (fxt_text_is(&category, "function") || !is_one_of(&name, names))
			continue;
		sum.total_ns += c->total_ns;
		sum.count += c->count;
		if (!sum.name || c->total_ns > longest_ns) {
			longest_ns = c->total_ns;
			free(sum.name);
			sum.name = fxt_call_label(report->r, c->category, c->name, 32);
		}
		if (fxt_stack_sums_most(&report->call_stacks, fxt_call_key(c->category, c->name), report->who,
					FXT_FOR_CALL, &most) &&
		    most.total_ns > sum.by_ns) {
			sum.innermost = most.innermost;
			sum.key = fxt_call_key(c->category, c->name);
			sum.by_ns = most.total_ns;
			sum.by_count = most.count;
		}
	}
	return sum;
}

/* Returns "app 1234" or "process 1234". */
static char *name_and_number(const struct fxt_report *report, uint64_t pid)
{
	struct fxt_text text = fxt_process_name(report->r, pid);
	char *name = fxt_printable(&text, 32, true);
	char *label = fxt_format("%s %" PRIu64, *name ? name : "process", fxt_number(report->r, pid));

	free(name);
	return label;
}

char *fxt_rule_process(const struct fxt_report *report, uint64_t pid)
{
	bool has_name = fxt_process_name(report->r, pid).bytes;
	uint64_t parent = has_name ? 0 : fxt_ends_parent(&report->process_ends, pid);
	char *label = name_and_number(report, pid), *maker, *both;

	if (!parent)
		return label;
	maker = name_and_number(report, parent);
	both = fxt_format("%s (a child of %s)", label, maker);
	free(maker);
	free(label);
	return both;
}
