/* What was asked for, and what all figures have in common. See figures.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "figures.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/common/nearest.h"
#include "tools/findings/rules.h"
#include "tools/printing/print.h"

/* -- Reading --------------------------------------------------------------------------------------- */

char *fxt_quantity_form(const struct fxt_quantity *q)
{
	static const char *const of[] = {
		[FXT_OF_NOTHING] = "", [FXT_OF_CALL] = "CALL", [FXT_OF_LOCK] = "LOCK", [FXT_OF_FILE] = "FILE",
		[FXT_OF_FUNCTION] = "FUNCTION", [FXT_OF_RULE] = "RULE"};
	const char *what = of[q->of], *by = q->has_by ? *what ? " [by FUNCTION]" : "by FUNCTION" : "";

	if (!*what && !*by)
		return fxt_strdup(q->name);
	return fxt_format(q->needs_of ? "%s(%s%s)" : "%s[(%s%s)]", q->name, what, by);
}

static char *no_quantity(const char *name)
{
	const char *names[64] = {0}, *nearest;
	size_t count = 0, bytes;
	char *text;
	FILE *out;

	for (const struct fxt_quantity *q = fxt_quantities; q->name; q++)
		names[count++] = q->name;
	nearest = fxt_nearest(name, names, count);
	out = fxt_text_stream(&text, &bytes);
	fprintf(out, "'%s' is no quantity", name);
	if (nearest)
		fprintf(out, ": did you mean %s?", nearest);
	fputs(nearest ? " There are " : ": there are ", out);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " and ", names[i]);
	fclose(out);
	return text;
}

/* Returns a copy of the text without spaces at its ends. */
static char *trimmed(const char *from, const char *to)
{
	while (from < to && isspace((unsigned char)*from))
		from++;
	while (to > from && isspace((unsigned char)to[-1]))
		to--;
	return fxt_format("%.*s", (int)(to - from), from);
}

/* Sets what stands in the parentheses. */
static void set_argument(struct fxt_asked *asked, const char *text)
{
	static const struct {
		const char *word;
		enum fxt_figure_by how;
	} words[] = {{"by ", FXT_BY_CULPRIT}, {"under ", FXT_BY_ANY_CALLER}};
	const char *end = text + strlen(text), *of_end = end;

	for (size_t i = 0; asked->quantity->has_by && i < sizeof(words) / sizeof(*words); i++) {
		const char *at = strstr(text, words[i].word);

		while (at && at > text && at[-1] != ' ')
			at = strstr(at + 1, words[i].word);
		if (!at || asked->by)
			continue;
		asked->how = words[i].how;
		asked->by = trimmed(at + strlen(words[i].word), end);
		of_end = at;
	}
	asked->of = trimmed(text, of_end);
	if (!*asked->of) {
		free(asked->of);
		asked->of = NULL;
	}
}

static char *no_rule(const char *name)
{
	char *labels[FXT_RULES], *hint, *text = NULL;
	bool found = false;

	for (size_t i = 0; i < FXT_RULES; i++) {
		labels[i] = fxt_rule_label(&fxt_rules[i]);
		found |= fxt_name_fits(name, labels[i]);
	}
	if (!found) {
		hint = fxt_did_you_mean(name, (const char *const *)labels, FXT_RULES);
		text = fxt_format("there is no rule '%s'%s", name,
				  *hint ? hint : ": docs/findings.md and fxt report --findings=-x list them");
		free(hint);
	}
	for (size_t i = 0; i < FXT_RULES; i++)
		free(labels[i]);
	return text;
}

/* Returns what is wrong with what stands in the parentheses, or NULL. */
static char *wrong_argument(const struct fxt_asked *asked, bool has_parentheses)
{
	const struct fxt_quantity *q = asked->quantity;
	bool takes_of = q->of != FXT_OF_NOTHING;
	char *form = fxt_quantity_form(q), *bad = NULL;

	if ((has_parentheses && !asked->of && !asked->by) || (asked->of && !takes_of) ||
	    (q->needs_of && !asked->of) || (asked->by && !*asked->by))
		bad = fxt_format("write %s", form);
	else if (q->of == FXT_OF_RULE && asked->of)
		bad = no_rule(asked->of);
	free(form);
	return bad;
}

char *fxt_asked_parse(struct fxt_asked *asked, const char *text)
{
	const char *open = strchr(text, '('), *end = text + strlen(text);
	char *name, *inside, *bad;

	*asked = (struct fxt_asked){0};
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	name = trimmed(text, open ? open : end);
	for (const struct fxt_quantity *q = fxt_quantities; q->name; q++)
		if (strcmp(q->name, name) == 0)
			asked->quantity = q;
	if (!asked->quantity) {
		bad = no_quantity(name);
	} else if (open && end[-1] != ')') {
		bad = fxt_format("there is no ) at the end of '%s'", text);
	} else {
		inside = open ? fxt_format("%.*s", (int)(end - open - 2), open + 1) : fxt_strdup("");
		set_argument(asked, inside);
		free(inside);
		bad = wrong_argument(asked, open != NULL);
	}
	free(name);
	if (bad)
		fxt_asked_free(asked);
	return bad;
}

void fxt_asked_free(struct fxt_asked *asked)
{
	free(asked->of);
	free(asked->by);
	*asked = (struct fxt_asked){0};
}

enum fxt_unit fxt_asked_unit(const struct fxt_asked *asked)
{
	return asked->quantity->unit;
}

bool fxt_asked_needs_durations(const struct fxt_asked *asked)
{
	return asked->by && asked->quantity->of == FXT_OF_CALL;
}

/* -- What all figures have in common --------------------------------------------------------------- */

/* Names of functions have brackets and stars of their own, so what is the same fits whatever it has. */
bool fxt_name_fits(const char *pattern, const char *name)
{
	return strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0;
}

void fxt_figure_certain(struct fxt_figure *x, uint64_t value)
{
	x->is_known = true;
	x->value = x->low = x->high = value;
}

void fxt_figure_unknown(struct fxt_figure *x, char *why)
{
	fxt_figure_free(x);
	*x = (struct fxt_figure){.high = FXT_ANY, .doubt = why};
}

void fxt_figure_may_be(struct fxt_figure *x, uint64_t low, uint64_t high, char *why)
{
	char *both = x->doubt ? fxt_format("%s; %s", x->doubt, why) : fxt_strdup(why);

	x->low = low < x->low ? low : x->low;
	x->high = high > x->high ? high : x->high;
	free(x->doubt);
	free(why);
	x->doubt = both;
}

uint64_t fxt_calls_missing(const struct fxt_report *report, bool are_functions)
{
	const struct fxt_overview *o = &report->overview;
	uint64_t left_out = fxt_left_out_calls(&report->left_out);
	uint64_t filtered = fxt_overview_lost(o, FXT_LOSS_FILTERED);
	uint64_t missing = fxt_overview_lost(o, FXT_LOSS_NO_ROOM) + fxt_overview_lost(o, FXT_LOSS_SIGNALS) +
			   fxt_overview_lost(o, FXT_LOSS_SIZE) + fxt_overview_lost(o, FXT_LOSS_OVERWRITTEN);

	/* What cannot be read may be a call, and a cut end may be many; either is one more than none. */
	missing += report->r->damaged_records + (report->r->tail_bytes != 0);
	if (are_functions)
		return missing + fxt_overview_lost(o, FXT_LOSS_DEPTH) + left_out;
	return missing + (filtered > left_out ? filtered - left_out : 0);
}

char *fxt_calls_missing_why(uint64_t calls)
{
	return fxt_format("%s call%s of which this may be %s lost or left out", fxt_count(calls).text,
			  calls == 1 ? "" : "s", calls == 1 ? "one was" : "some were");
}

void fxt_figure_find(struct fxt_figure *x, const struct fxt_asked *asked, const struct fxt_known *known)
{
	*x = (struct fxt_figure){0};
	asked->quantity->find(x, asked, known);
}

void fxt_figure_free(struct fxt_figure *x)
{
	free(x->doubt);
	free(x->remark);
	x->doubt = x->remark = NULL;
}
