/* Reads limits, and compares them with what a trace has. See limit.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "limit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"

const char *const fxt_verdict_names[FXT_VERDICTS] = {
	[FXT_MET] = "met", [FXT_BROKEN] = "broken", [FXT_UNTOLD] = "unknown"};

/* Two characters come before one. */
static const struct {
	const char *text;
	enum fxt_comparison comparison;
} comparisons[] = {
	{"<=", FXT_AT_MOST}, {">=", FXT_AT_LEAST}, {"==", FXT_EQUAL}, {"!=", FXT_NOT_EQUAL},
	{"<", FXT_LESS},     {">", FXT_MORE},      {"=", FXT_EQUAL},
};

enum { COMPARISONS = sizeof(comparisons) / sizeof(*comparisons) };

static const struct {
	const char *name;
	enum fxt_unit of;
	uint64_t scale;
} units[] = {
	{"ns", FXT_UNIT_NS, 1},
	{"us", FXT_UNIT_NS, 1000},
	{"ms", FXT_UNIT_NS, 1000000},
	{"s", FXT_UNIT_NS, 1000000000},
	{"min", FXT_UNIT_NS, UINT64_C(60000000000)},
	{"h", FXT_UNIT_NS, UINT64_C(3600000000000)},
	{"B", FXT_UNIT_BYTES, 1},
	{"kB", FXT_UNIT_BYTES, 1000},
	{"MB", FXT_UNIT_BYTES, 1000000},
	{"GB", FXT_UNIT_BYTES, 1000000000},
	{"KiB", FXT_UNIT_BYTES, 1 << 10},
	{"MiB", FXT_UNIT_BYTES, 1 << 20},
	{"GiB", FXT_UNIT_BYTES, 1 << 30},
};

enum { UNITS = sizeof(units) / sizeof(*units) };

/* Returns where the comparison stands: the first one outside of parentheses, because names of functions may
 * have such characters. Returns NULL if there is none. */
static const char *find_comparison(const char *text, size_t *which)
{
	unsigned depth = 0;

	for (; *text; text++) {
		depth += *text == '(';
		depth -= *text == ')' && depth;
		for (*which = 0; depth == 0 && *which < COMPARISONS; ++*which)
			if (strncmp(text, comparisons[*which].text, strlen(comparisons[*which].text)) == 0)
				return text;
	}
	return NULL;
}

/* Returns what is accepted: "a number with ns, us, ms, s, min or h". */
static char *accepted(enum fxt_unit unit)
{
	char *text = NULL;
	size_t left = 0, bytes;
	FILE *out;

	if (unit == FXT_UNIT_NUMBER)
		return fxt_strdup("a whole number without a unit");
	for (size_t i = 0; i < UNITS; i++)
		left += units[i].of == unit;
	out = fxt_text_stream(&text, &bytes);
	fputs("a number with ", out);
	for (size_t i = 0; i < UNITS; i++)
		if (units[i].of == unit)
			fprintf(out, "%s%s", units[i].name, --left > 1 ? ", " : left ? " or " : "");
	fclose(out);
	return text;
}

/* Multiplies a decimal number. Returns false if the product is no whole number of 64 bits. */
static bool multiply(const char *number, size_t bytes, uint64_t scale, uint64_t *product)
{
	unsigned __int128 sum = 0;
	uint64_t divisor = 1;
	bool is_fraction = false;

	for (size_t i = 0; i < bytes; i++) {
		if (number[i] == '.') {
			is_fraction = true;
			continue;
		}
		sum = sum * 10 + (unsigned)(number[i] - '0');
		if (is_fraction)
			divisor *= 10;
		if (sum >= (unsigned __int128)1 << 64 || divisor > UINT64_C(1000000000000000000))
			return false;
	}
	sum *= scale;
	*product = (uint64_t)(sum / divisor);
	return sum % divisor == 0 && sum / divisor < FXT_ANY;
}

/* Sets the value. Returns NULL, or what is wrong. */
static char *set_value(struct fxt_limit *limit, const char *text)
{
	enum fxt_unit unit = fxt_asked_unit(&limit->asked);
	size_t bytes, digits = strspn(text, "0123456789"), unit_bytes;
	const char *rest;
	char *what, *bad;
	bool is_number;

	bytes = digits;
	if (text[bytes] == '.')
		bytes += 1 + strspn(text + bytes + 1, "0123456789");
	is_number = digits && isdigit((unsigned char)text[bytes - 1]);
	rest = text + bytes + strspn(text + bytes, " \t");
	unit_bytes = strlen(rest);
	while (unit_bytes && isspace((unsigned char)rest[unit_bytes - 1]))
		unit_bytes--;
	limit->unit = "";
	limit->scale = unit_bytes ? 0 : 1;
	for (size_t i = 0; i < UNITS; i++) {
		if (units[i].of == unit && strlen(units[i].name) == unit_bytes &&
		    memcmp(units[i].name, rest, unit_bytes) == 0) {
			limit->unit = units[i].name;
			limit->scale = units[i].scale;
		}
	}
	if (is_number && limit->scale && multiply(text, bytes, limit->scale, &limit->value) &&
	    (unit == FXT_UNIT_NUMBER || unit_bytes || limit->value == 0))
		return NULL;
	what = accepted(unit);
	bad = fxt_format("'%s' is no value of it: give %s", text, what);
	free(what);
	return bad;
}

char *fxt_limits_add(struct fxt_limits *limits, const char *text)
{
	struct fxt_limit limit = {.text = text};
	size_t which;
	const char *at = find_comparison(text, &which);
	char *quantity, *bad, *whole;

	if (!at)
		return fxt_format("'%s' compares nothing: write a quantity, one of < <= > >= = !=, and a "
				  "value, as heap.peak<24MB", text);
	quantity = fxt_format("%.*s", (int)(at - text), text);
	bad = fxt_asked_parse(&limit.asked, quantity);
	free(quantity);
	at += strlen(comparisons[which].text);
	limit.comparison = comparisons[which].comparison;
	if (!bad)
		bad = set_value(&limit, at + strspn(at, " \t"));
	if (bad) {
		fxt_asked_free(&limit.asked);
		whole = fxt_format("'%s': %s", text, bad);
		free(bad);
		return whole;
	}
	limits->list = fxt_grow(limits->list, &limits->capacity, limits->count + 1, sizeof(limit));
	limits->list[limits->count++] = limit;
	return NULL;
}

void fxt_limits_free(struct fxt_limits *limits)
{
	for (size_t i = 0; i < limits->count; i++)
		fxt_asked_free(&limits->list[i].asked);
	free(limits->list);
	*limits = (struct fxt_limits){0};
}

/* -- Verdicts -------------------------------------------------------------------------------------- */

/* Returns the verdict if the figure has to lie within [least, most]. */
static enum fxt_verdict within(const struct fxt_figure *x, uint64_t least, uint64_t most)
{
	if (least <= most && x->low >= least && x->high <= most)
		return FXT_MET;
	return least > most || x->low > most || x->high < least ? FXT_BROKEN : FXT_UNTOLD;
}

enum fxt_verdict fxt_limit_verdict(const struct fxt_limit *limit, const struct fxt_figure *figure)
{
	uint64_t v = limit->value;
	enum fxt_verdict equal = within(figure, v, v);

	switch (limit->comparison) {
	case FXT_LESS: return v ? within(figure, 0, v - 1) : FXT_BROKEN;
	case FXT_AT_MOST: return within(figure, 0, v);
	case FXT_MORE: return within(figure, v + 1, FXT_ANY);
	case FXT_AT_LEAST: return within(figure, v, FXT_ANY);
	case FXT_NOT_EQUAL: return equal == FXT_MET ? FXT_BROKEN : equal == FXT_BROKEN ? FXT_MET : equal;
	default: return equal;
	}
}

struct examined {
	const struct fxt_limits *limits;
	struct fxt_limit_results *results;
};

static void examine(const struct fxt_findings *f, const struct fxt_report *report, void *context)
{
	struct examined *e = context;
	struct fxt_known known = {.report = report, .findings = f, .recorded = e->limits->recorded};
	size_t bytes;
	FILE *out;

	for (size_t i = 0; i < e->limits->count; i++) {
		struct fxt_limit_result *one = &e->results->list[i];

		one->limit = &e->limits->list[i];
		fxt_figure_find(&one->figure, &one->limit->asked, &known);
		one->verdict = fxt_limit_verdict(one->limit, &one->figure);
	}
	out = fxt_text_stream(&e->results->not_seen, &bytes);
	fxt_unseen_print(&report->unseen, report->r, report->options.top, out);
	fclose(out);
	e->results->is_read = true;
}

void fxt_limits_examine(const struct fxt_limits *limits, const char *path, struct fxt_limit_results *results)
{
	struct fxt_report_options options = {.top = 3, .wrappers = getenv("FXT_WRAPPERS")};
	struct examined e = {limits, results};

	*results = (struct fxt_limit_results){.count = limits->count,
					      .list = fxt_alloc(limits->count, sizeof(*results->list))};
	for (size_t i = 0; i < limits->count; i++)
		options.keeps_durations |= fxt_asked_needs_durations(&limits->list[i].asked);
	fxt_findings_of_trace(path, &options, examine, &e);
}

bool fxt_limits_all_met(const struct fxt_limit_results *results)
{
	for (size_t i = 0; i < results->count; i++)
		if (results->list[i].verdict != FXT_MET)
			return false;
	return results->is_read;
}

void fxt_limit_results_free(struct fxt_limit_results *results)
{
	for (size_t i = 0; i < results->count; i++)
		fxt_figure_free(&results->list[i].figure);
	free(results->list);
	free(results->not_seen);
	*results = (struct fxt_limit_results){0};
}
