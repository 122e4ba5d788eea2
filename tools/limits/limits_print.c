/* Prints what became of limits, as text and as JSON. See limit.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>

#include "limit.h"
#include "tools/common/message.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"

/* Returns a value in the unit of the limit: "23.4 MB". The caller frees it. */
static char *in_unit(const struct fxt_limit *limit, uint64_t value)
{
	/* The last digit is the smallest of the unit, so that what differs never looks the same. */
	unsigned digits = 0;
	uint64_t rest = value % limit->scale, of = limit->scale;
	char *fraction, *text;

	if (value == FXT_ANY)
		return fxt_strdup("any");
	/* KiB and their like are no powers of ten, and six digits are enough for them. */
	while (of > 1 && of % 10 == 0) {
		of /= 10;
		digits++;
	}
	if (of != 1) {
		digits = 6;
		rest = (uint64_t)((unsigned __int128)rest * 1000000 / limit->scale);
	}
	fraction = fxt_format("%0*" PRIu64, (int)digits, rest);
	while (digits && fraction[digits - 1] == '0')
		fraction[--digits] = '\0';
	text = fxt_format("%s%s%s%s%s", fxt_count(value / limit->scale).text, digits ? "." : "",
			  digits ? fraction : "", *limit->unit ? " " : "", limit->unit);
	free(fraction);
	return text;
}

char *fxt_limit_found(const struct fxt_limit_result *one)
{
	const struct fxt_figure *x = &one->figure;
	char *value, *low, *high, *text;

	if (!x->is_known)
		return fxt_strdup(x->doubt ? x->doubt : "the trace cannot be read");
	value = in_unit(one->limit, x->value);
	low = in_unit(one->limit, x->low);
	high = in_unit(one->limit, x->high);
	if (x->low == x->high)
		text = fxt_format("%s%s%s%s", value, x->remark ? " (" : "", x->remark ? x->remark : "",
				  x->remark ? ")" : "");
	else if (x->high == FXT_ANY)
		text = fxt_format("%s, but it may be %s or more: %s", value, low, x->doubt);
	else
		text = fxt_format("%s, but it may be from %s to %s: %s", value, low, high, x->doubt);
	free(value);
	free(low);
	free(high);
	return text;
}

void fxt_limits_print(const struct fxt_limit_results *results, FILE *out)
{
	for (size_t i = 0; i < results->count; i++) {
		const struct fxt_limit_result *one = &results->list[i];
		char *found = fxt_limit_found(one);
		struct fxt_text text = fxt_text_of(one->limit->text);
		char *limit = fxt_printable(&text, SIZE_MAX, false);

		fprintf(out, "  %-7s  %s: %s\n", fxt_verdict_names[one->verdict], limit, found);
		free(limit);
		free(found);
	}
	if (results->not_seen)
		fputs(results->not_seen, out);
}

static void put_value(struct fxt_json *j, const char *key, bool is_known, uint64_t value)
{
	if (is_known && value != FXT_ANY)
		fxt_json_u64(j, key, value);
	else
		fxt_json_null(j, key);
}

void fxt_limits_json(const struct fxt_limit_results *results, struct fxt_json *j)
{
	static const char *const units[] = {
		[FXT_UNIT_NUMBER] = NULL, [FXT_UNIT_NS] = "ns", [FXT_UNIT_BYTES] = "bytes"};

	fxt_json_array(j, "limits");
	for (size_t i = 0; i < results->count; i++) {
		const struct fxt_limit_result *one = &results->list[i];
		const struct fxt_figure *x = &one->figure;

		fxt_json_object(j, NULL);
		fxt_json_string(j, "limit", one->limit->text);
		fxt_json_string(j, "verdict", fxt_verdict_names[one->verdict]);
		put_value(j, "value", x->is_known, x->value);
		put_value(j, "low", x->is_known, x->low);
		put_value(j, "high", x->is_known, x->high);
		fxt_json_string(j, "unit", units[fxt_asked_unit(&one->limit->asked)]);
		fxt_json_string(j, "doubt", x->doubt);
		fxt_json_string(j, "remark", x->remark);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}
