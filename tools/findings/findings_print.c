/* Prints findings, and one of them with all that it stands on. See finding.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rules.h"
#include "tools/things/things.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

enum { INDENT = 4, EVIDENCE_SHOWN = 3 };

/* Returns what a finding costs, as "1.20 s, 61% of the run"; "": the rule does not say. Threads that wait at
 * the same time may have waited longer than the run was. */
static char *cost_of(const struct fxt_finding *x, const struct fxt_report *report)
{
	double percent = fxt_rule_percent(report, x->cost_ns);
	char *share = percent <= 100 ? fxt_format(", %.*f%% of the run", percent < 10 ? 1 : 0, percent)
				     : fxt_strdup(" in all threads");
	char *ns = x->cost_ns ? fxt_format("%s%s", fxt_duration(x->cost_ns).text, share) : fxt_strdup("");
	char *all = x->cost_bytes ? fxt_format("%s%s%s", ns, *ns ? ", " : "", fxt_bytes(x->cost_bytes).text)
				  : fxt_strdup(ns);

	free(share);
	free(ns);
	return all;
}

static void print_line(FILE *out, const char *begin, const char *line)
{
	fxt_put_line(out, fxt_format("%*s%s%s", INDENT, "", begin, line));
}

/* Prints at most so many lines of evidence; what the finding costs stands with the first. */
static void print_evidence(const struct fxt_finding *x, const struct fxt_report *report, unsigned most,
			   FILE *out)
{
	char *cost = cost_of(x, report);
	unsigned i = 0;

	if (*cost && x->evidence_count &&
	    fxt_columns(cost) + fxt_columns(x->evidence[0]) + 2 + INDENT <= fxt_width()) {
		char *line = fxt_format("%s: %s", cost, x->evidence[i++]);

		print_line(out, "", line);
		free(line);
	} else if (*cost) {
		print_line(out, "", cost);
		most--;
	}
	for (; i < x->evidence_count && i < most; i++)
		print_line(out, "", x->evidence[i]);
	free(cost);
}

static void print_what(const struct fxt_finding *x, size_t place, FILE *out)
{
	char *handle = fxt_format("F%zu", place + 1);

	fxt_put_line(out, fxt_format("%-3s %s%s%s%s", handle, x->what, x->sure ? " (" : "",
				     x->sure ? x->sure : "", x->sure ? ")" : ""));
	free(handle);
}

static void print_finding(const struct fxt_finding *x, size_t place, const struct fxt_report *report,
			  FILE *out)
{
	char *who = fxt_who_line(report->who, x->purpose, x->innermost, fxt_width() - INDENT - 3);

	print_what(x, place, out);
	if (who || x->culprit)
		print_line(out, "by ", who ? who : x->culprit);
	print_evidence(x, report, EVIDENCE_SHOWN, out);
	free(who);
}

void fxt_findings_print_one(const struct fxt_findings *f, size_t place, const struct fxt_report *report,
			    FILE *out)
{
	print_finding(&f->list[place], place, report, out);
}

static size_t rules_on(const struct fxt_findings *f)
{
	return FXT_RULES - (size_t)__builtin_popcountll(f->off);
}

static void print_findings(const struct fxt_findings *f, const struct fxt_report *report, FILE *out)
{
	size_t most = report->options.top >= FXT_TOP_ALL ? f->count : FXT_FINDINGS_SHOWN;

	/* Without events the rules had nothing to look at, which the first lines say. */
	if (!f->count && !report->overview.events)
		return;
	fputc('\n', out);
	if (!fxt_findings_has_fault(f))
		fprintf(out, "no fault found by %zu rule%s, which know some kinds of faults and not all\n",
			rules_on(f), rules_on(f) == 1 ? "" : "s");
	for (size_t i = 0; i < f->count && i < most; i++)
		print_finding(&f->list[i], i, report, out);
	if (f->count > most)
		fprintf(out, "and %zu finding%s more, which --all shows\n", f->count - most,
			f->count - most == 1 ? "" : "s");
	fputs(f->count ? "The tables are below; --explain F1 shows what a finding stands on.\n"
		       : "The tables are below.\n",
	      out);
}

void fxt_findings_print_report(const struct fxt_findings *f, const struct fxt_report *report, FILE *out)
{
	fxt_report_print_head(report, out);
	print_findings(f, report, out);
	fxt_report_print_tables(report, out);
}

/* -- One finding ---------------------------------------------------------------------------------- */

static void explain(const struct fxt_finding *x, size_t place, const struct fxt_report *report,
		    const char *path, FILE *out)
{
	enum { FRAMES = 64 };
	char *label = fxt_rule_label(x->rule);

	print_what(x, place, out);
	if (x->culprit)
		print_line(out, "by ", x->culprit);
	print_evidence(x, report, FXT_FINDING_EVIDENCE + 1, out);
	if (x->innermost != FXT_NO_FRAME) {
		fputs("\n  by\n", out);
		fxt_who_print(report->who, x->purpose, x->innermost, FRAMES, out);
	}
	for (unsigned i = 0; i < x->stack_count; i++) {
		fprintf(out, "\n  %s\n", x->stacks[i].of);
		fxt_who_print(report->who, x->stacks[i].purpose, x->stacks[i].innermost, FRAMES, out);
	}
	if (x->print_rows)
		x->print_rows(report, x, out);
	if (*x->about.text)
		fprintf(out, "\nfxt report --explain %s %s says what is known of what it is about.",
			x->about.text, path);
	fprintf(out, "\nfxt dump --around F%zu %s prints the records about its moment.\n", place + 1, path);
	fprintf(out, "\nThis is rule %s (threshold: %g %s).\n%s\n", label, x->rule->least, x->rule->unit,
		x->rule->says);
	free(label);
}

bool fxt_findings_place(const struct fxt_findings *f, const char *handle, size_t *place)
{
	char *end;
	size_t number = (*handle == 'F' || *handle == 'f') && handle[1] >= '1' && handle[1] <= '9'
				? strtoul(handle + 1, &end, 10)
				: 0;

	*place = number - 1;
	return number && !*end && number <= f->count;
}

char *fxt_findings_no_handle(const struct fxt_findings *f, const struct fxt_report *report,
			     const char *handle)
{
	char *things = fxt_things_there_are(report), *message;
	char *findings = f->count > 1   ? fxt_format("F1 to F%zu", f->count)
			 : f->count == 1 ? fxt_strdup("F1")
					 : fxt_strdup("no findings");

	message = fxt_format("no handle '%s': there are %s%s%s", handle, findings, *things ? "; " : "",
			     things);
	free(findings);
	free(things);
	return message;
}

char *fxt_findings_explain(const struct fxt_findings *f, const struct fxt_report *report, const char *handle,
			   const char *path, FILE *out)
{
	size_t place;

	if (!fxt_findings_place(f, handle, &place))
		return fxt_things_explain(f, report, handle, path, out);
	explain(&f->list[place], place, report, path, out);
	return NULL;
}
