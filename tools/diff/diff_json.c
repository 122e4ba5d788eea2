/* Prints what differs between two sides as JSON. See diff.h and docs/diff.md. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>
#include <stdlib.h>

#include "diff.h"
#include "tools/common/message.h"
#include "tools/printing/json.h"

static const char *const verdicts[] = {
	[FXT_DIFF_SAME] = "same", [FXT_DIFF_PERHAPS] = "perhaps", [FXT_DIFF_CHANGED] = "changed"};

/* Puts a whole number as such: only what was divided is none. */
static void put_number(struct fxt_json *j, const char *key, double value)
{
	const double exact = 9007199254740992;

	if (value == floor(value) && fabs(value) < exact)
		fxt_json_i64(j, key, (int64_t)value);
	else
		fxt_json_real(j, key, value);
}

static void put_values(struct fxt_json *j, const char *key, const double *values, size_t count)
{
	fxt_json_array(j, key);
	for (size_t i = 0; i < count; i++)
		put_number(j, NULL, values[i]);
	fxt_json_end(j);
}

static void put_figure(struct fxt_json *j, const struct fxt_diff *d, const struct fxt_diff_figure *x,
		       enum fxt_diff_quantity q)
{
	fxt_json_object(j, NULL);
	fxt_json_string(j, "quantity", fxt_diff_quantity_names[q]);
	fxt_json_string(j, "verdict", verdicts[x->verdict]);
	put_number(j, "a", x->a);
	put_number(j, "b", x->b);
	put_values(j, "a_runs", x->values, d->a_count);
	put_values(j, "b_runs", x->values + d->a_count, d->run_count - d->a_count);
	fxt_json_real(j, "share", x->share);
	fxt_json_bool(j, "each_run", x->is_each);
	if (x->is_tested)
		fxt_json_real(j, "p", x->p);
	else
		fxt_json_null(j, "p");
	fxt_json_end(j);
}

static void put_thing(struct fxt_json *j, const struct fxt_diff *d, const struct fxt_diff_thing *t)
{
	fxt_json_object(j, NULL);
	fxt_json_string(j, "kind", fxt_diff_kind_names[t->kind]);
	fxt_json_string(j, "name", t->name);
	fxt_json_string(j, "handle", *t->handle.text ? t->handle.text : NULL);
	fxt_json_string(j, "verdict", verdicts[t->verdict]);
	fxt_json_string(j, "most", t->verdict ? fxt_diff_quantity_names[t->main] : NULL);
	fxt_json_string(j, "by", t->by == FXT_DIFF_NONE ? NULL : d->things[t->by].name);
	fxt_json_array(j, "figures");
	for (unsigned q = 0; q < FXT_DIFF_QUANTITIES; q++)
		if (t->figures[q].values)
			put_figure(j, d, &t->figures[q], (enum fxt_diff_quantity)q);
	fxt_json_end(j);
	fxt_json_end(j);
}

static void put_side(struct fxt_json *j, const char *key, const struct fxt_diff *d, size_t from, size_t to)
{
	fxt_json_array(j, key);
	for (size_t i = from; i < to; i++) {
		fxt_json_object(j, NULL);
		fxt_json_string(j, "file", d->runs[i].path);
		fxt_json_u64(j, "missing_records", d->runs[i].lost);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

void fxt_diff_json(const struct fxt_diff *d, FILE *out)
{
	struct fxt_json j = {.out = out};

	fxt_json_object(&j, NULL);
	fxt_json_u64(&j, "schema", FXT_JSON_SCHEMA);
	put_side(&j, "a", d, 0, d->a_count);
	put_side(&j, "b", d, d->a_count, d->run_count);
	fxt_json_string(&j, "per", d->per);
	fxt_json_u64(&j, "compared", d->compared);
	fxt_json_bool(&j, "few_runs", fxt_diff_has_few_runs(d));
	fxt_json_array(&j, "run");
	put_thing(&j, d, fxt_diff_whole(d));
	fxt_json_end(&j);
	fxt_json_array(&j, "differences");
	for (size_t i = 0; i < d->order_count; i++)
		put_thing(&j, d, &d->things[d->order[i]]);
	fxt_json_end(&j);
	fxt_json_end(&j);
}
