/* Prints findings as JSON. See finding.h and docs/json.md. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "rules.h"
#include "tools/common/message.h"
#include "tools/printing/json.h"

/* Puts the culprit with his line, or null. */
static void put_culprit(struct fxt_json *j, const struct fxt_finding *x, const struct fxt_report *report)
{
	struct fxt_who_function one;

	if (!fxt_who_functions(report->who, x->purpose, x->innermost, false, &one, 1)) {
		fxt_json_string(j, "culprit", x->culprit);
		return;
	}
	if (one.place) {
		char *label = fxt_format("%s (%s)", one.name, one.place);

		fxt_json_string(j, "culprit", label);
		free(label);
	} else {
		fxt_json_string(j, "culprit", one.name);
	}
	fxt_who_free_functions(&one, 1);
}

static void put_stacks(struct fxt_json *j, const struct fxt_finding *x, const struct fxt_report *report)
{
	fxt_who_json(report->who, j, "stack", x->purpose, x->innermost);
	fxt_json_array(j, "stacks");
	for (unsigned i = 0; i < x->stack_count; i++) {
		fxt_json_object(j, NULL);
		fxt_json_string(j, "of", x->stacks[i].of);
		fxt_who_json(report->who, j, "stack", x->stacks[i].purpose, x->stacks[i].innermost);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

static void put_finding(struct fxt_json *j, const struct fxt_finding *x, size_t place,
			const struct fxt_report *report)
{
	char *handle = fxt_format("F%zu", place + 1), *rule = fxt_rule_label(x->rule);

	fxt_json_object(j, NULL);
	fxt_json_string(j, "handle", handle);
	fxt_json_string(j, "about", *x->about.text ? x->about.text : NULL);
	fxt_json_string(j, "rule", rule);
	fxt_json_string(j, "gravity", fxt_gravity_names[x->rule->gravity]);
	fxt_json_string(j, "what", x->what);
	put_culprit(j, x, report);
	fxt_json_u64(j, "cost_ns", x->cost_ns);
	fxt_json_u64(j, "cost_bytes", x->cost_bytes);
	fxt_json_u64(j, "cost_calls", x->cost_calls);
	fxt_json_i64(j, "permille", (int64_t)(x->share * 1000 + 0.5));
	fxt_json_string(j, "sure", x->sure ? x->sure : "certain");
	fxt_json_array(j, "evidence");
	for (unsigned i = 0; i < x->evidence_count; i++)
		fxt_json_string(j, NULL, x->evidence[i]);
	fxt_json_end(j);
	put_stacks(j, x, report);
	fxt_json_end(j);
	free(rule);
	free(handle);
}

void fxt_findings_json(const struct fxt_findings *f, const struct fxt_report *report, struct fxt_json *j)
{
	fxt_json_array(j, "findings");
	for (size_t i = 0; i < f->count; i++)
		put_finding(j, &f->list[i], i, report);
	fxt_json_end(j);
}

static void put_first(const void *context, const struct fxt_report *report, struct fxt_json *j)
{
	fxt_findings_json(context, report, j);
}

void fxt_findings_json_report(const struct fxt_findings *f, const struct fxt_report *report, FILE *out)
{
	fxt_report_json(report, put_first, f, out);
}
