/* Says who made most of the calls of a row. See most_by.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "most_by.h"

#include <math.h>
#include <stdlib.h>

#include "tools/common/message.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"

struct fxt_short fxt_most_by_share(const struct fxt_stack_sum *sum, uint64_t whole)
{
	double share = 100.0 * (double)sum->total_ns / (double)whole;
	struct fxt_short text;

	share = share < 100 ? share : 100;
	if (sum->samples)
		snprintf(text.text, sizeof(text.text), "~%.0f%% +-%.0f", share,
			 fmin(100.0 * sqrt(sum->variance_ns) / (double)whole, 100));
	else
		snprintf(text.text, sizeof(text.text), "%.0f%%", share);
	return text;
}

void fxt_most_by_print(const struct fxt_stack_sums *s, uint64_t key, struct fxt_who *who,
		       enum fxt_purpose purpose, uint64_t whole, bool is_whole, FILE *out)
{
	enum { COLUMNS_BEFORE = 20 };
	struct fxt_stack_sum most;
	char *line;

	if (!fxt_stack_sums_most(s, key, who, purpose, &most) || most.total_ns < whole / 4)
		return;
	line = fxt_who_line(who, purpose, most.innermost, FXT_COLUMNS - COLUMNS_BEFORE);
	if (line)
		fxt_put_line(out, fxt_format("      %s by %s", fxt_most_by_share(&most, whole).text, line));
	if (line && is_whole)
		fxt_who_print(who, purpose, most.innermost, FXT_TOP_WHOLE, out);
	free(line);
}

void fxt_most_by_json(struct fxt_json *j, const struct fxt_stack_sums *s, uint64_t key, struct fxt_who *who,
		      enum fxt_purpose purpose, bool is_time)
{
	/* Traces come from anywhere, and a number of JSON has an end. */
	const double most_deviation = 9e18;
	struct fxt_stack_sum most;

	if (!fxt_stack_sums_most(s, key, who, purpose, &most))
		return;
	fxt_json_object(j, "most_by");
	fxt_json_u64(j, "count", most.count);
	if (is_time)
		fxt_json_u64(j, "total_ns", most.total_ns);
	fxt_json_u64(j, "samples", most.samples);
	fxt_json_u64(j, is_time ? "deviation_ns" : "deviation",
		     (uint64_t)fmin(sqrt(most.variance_ns), most_deviation));
	fxt_who_json(who, j, "stack", purpose, most.innermost);
	fxt_json_end(j);
}
