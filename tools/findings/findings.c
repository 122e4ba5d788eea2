/* Runs the rules, and puts their findings in order. See finding.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "finding.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"
#include "tools/common/message.h"
#include "tools/common/nearest.h"

/* -- For rules ------------------------------------------------------------------------------------ */

static char *text_of(const char *format, va_list args)
{
	char *text;
	size_t bytes;
	FILE *out = fxt_text_stream(&text, &bytes);

	vfprintf(out, format, args);
	fclose(out);
	return text;
}

struct fxt_finding *fxt_finding_add(struct fxt_findings *f, uint32_t innermost, enum fxt_purpose purpose,
				    const char *what, ...)
{
	struct fxt_finding *x;
	va_list args;

	f->list = fxt_grow(f->list, &f->capacity, f->count + 1, sizeof(*f->list));
	x = &f->list[f->count++];
	*x = (struct fxt_finding){.innermost = innermost, .purpose = purpose};
	va_start(args, what);
	x->what = text_of(what, args);
	va_end(args);
	return x;
}

void fxt_finding_evidence(struct fxt_finding *x, const char *line, ...)
{
	va_list args;

	if (x->evidence_count == FXT_FINDING_EVIDENCE)
		return;
	va_start(args, line);
	x->evidence[x->evidence_count++] = text_of(line, args);
	va_end(args);
}

void fxt_finding_stack(struct fxt_finding *x, const char *of, enum fxt_purpose purpose, uint32_t innermost)
{
	if (innermost != FXT_NO_FRAME && x->stack_count < FXT_FINDING_STACKS)
		x->stacks[x->stack_count++] = (struct fxt_finding_stack){fxt_strdup(of), purpose, innermost};
}

/* -- All of them ---------------------------------------------------------------------------------- */

/* Returns the most bytes that were in use in any process. */
static uint64_t peak_bytes(const struct fxt_report *report)
{
	uint64_t most = 0;

	for (size_t i = 0; i < report->heaps.count; i++)
		if (report->heaps.list[i].peak_bytes > most)
			most = report->heaps.list[i].peak_bytes;
	return most;
}

/* Sets the share of a finding whose rule has set none: the larger of that of the run and that of the peak. */
static void set_share(struct fxt_finding *x, const struct fxt_report *report)
{
	uint64_t peak = peak_bytes(report);
	double of_run = fxt_rule_percent(report, x->cost_ns) / 100;
	double of_peak = peak ? (double)x->cost_bytes / (double)peak : 0;

	if (x->share == 0)
		x->share = of_run > of_peak ? of_run : of_peak;
	if (x->share > 1)
		x->share = 1;
}

static int by_cost(const void *a, const void *b)
{
	const struct fxt_finding *x = a, *y = b;

	if (x->rule->gravity != y->rule->gravity)
		return x->rule->gravity > y->rule->gravity ? -1 : 1;
	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	if (x->cost_calls != y->cost_calls)
		return x->cost_calls > y->cost_calls ? -1 : 1;
	return x->rule != y->rule ? (x->rule < y->rule ? -1 : 1) : strcmp(x->what, y->what);
}

void fxt_findings_make(struct fxt_findings *f, const struct fxt_report *report, uint64_t off)
{
	*f = (struct fxt_findings){.off = off};
	for (size_t i = 0; i < FXT_RULES; i++) {
		size_t before = f->count;

		if (off >> i & 1)
			continue;
		fxt_rules[i].find(report, f);
		for (size_t k = before; k < f->count; k++) {
			f->list[k].rule = &fxt_rules[i];
			set_share(&f->list[k], report);
		}
	}
	if (f->count)
		qsort(f->list, f->count, sizeof(*f->list), by_cost);
}

void fxt_findings_free(struct fxt_findings *f)
{
	for (size_t i = 0; i < f->count; i++) {
		struct fxt_finding *x = &f->list[i];

		free(x->what);
		free(x->culprit);
		for (unsigned k = 0; k < x->evidence_count; k++)
			free(x->evidence[k]);
		for (unsigned k = 0; k < x->stack_count; k++)
			free(x->stacks[k].of);
	}
	free(f->list);
	*f = (struct fxt_findings){0};
}

bool fxt_findings_has_fault(const struct fxt_findings *f)
{
	/* They are in order, and notes come last. */
	return f->count && f->list[0].rule->gravity != FXT_IS_NOTE;
}

/* -- Switching rules off -------------------------------------------------------------------------- */

/* Returns what is wrong with a word that names no rule. */
static char *no_rule(const char *word, char *const *names)
{
	char *hint = fxt_did_you_mean(word, (const char *const *)names, FXT_RULES), *all, *message;
	size_t bytes;
	FILE *out = fxt_text_stream(&all, &bytes);

	for (size_t i = 0; i < FXT_RULES; i++)
		fprintf(out, "%s%s", i == 0 ? "" : i + 1 < FXT_RULES ? ", " : " and ", names[i]);
	fclose(out);
	message = fxt_format("no rule '%s'%s%s there are %s", word, hint, *hint ? "" : ":", all);
	free(all);
	free(hint);
	return message;
}

char *fxt_findings_switch(uint64_t *off, const char *list)
{
	char *names[FXT_RULES], *bad = NULL;

	_Static_assert(FXT_RULES <= 64, "struct fxt_findings.off has a bit for each rule");
	for (size_t i = 0; i < FXT_RULES; i++)
		names[i] = fxt_rule_label(&fxt_rules[i]);
	if (!list[strspn(list, ", ")])
		bad = fxt_format("'%s' names no rule", list);
	while (!bad && list[strspn(list, ", ")]) {
		size_t bytes, rule = FXT_RULES;
		char *word;

		list += strspn(list, ", ");
		bytes = strcspn(list, ", ");
		word = fxt_format("%.*s", (int)bytes, list);
		list += bytes;
		for (size_t i = 0; i < FXT_RULES; i++)
			if (strcmp(word + (*word == '-'), names[i]) == 0)
				rule = i;
		if (rule == FXT_RULES)
			bad = no_rule(word + (*word == '-'), names);
		else if (*word != '-')
			bad = fxt_format("all rules are on; -%s switches this one off", word);
		else
			*off |= UINT64_C(1) << rule;
		free(word);
	}
	for (size_t i = 0; i < FXT_RULES; i++)
		free(names[i]);
	return bad;
}
