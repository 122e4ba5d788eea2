/* fxt check --json: prints one object for each file, on a line of its own. See check.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "check.h"
#include "tools/printing/json.h"

/* Puts the faults that count as violations, or those that do not. */
static void put_faults(struct fxt_json *j, const struct fxt_check *c, bool are_violations)
{
	fxt_json_object(j, are_violations ? "violations" : "allowed");
	for (int i = 0; i < FXT_FAULT_COUNT; i++) {
		const struct fxt_violation *v = &c->violations[i];

		if (v->count == 0 || fxt_check_counts(c, (enum fxt_fault)i) != are_violations)
			continue;
		fxt_json_object(j, fxt_fault_text[i]);
		fxt_json_u64(j, "count", v->count);
		fxt_json_u64(j, "first_offset", v->offset);
		fxt_json_string(j, "detail", v->detail);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

void fxt_check_json(const struct fxt_check *c, const char *path,
		    void (*put_more)(const void *context, struct fxt_json *j), const void *context,
		    FILE *out)
{
	struct fxt_json j = {.out = out, .one_line = true};

	fxt_json_object(&j, NULL);
	fxt_json_u64(&j, "schema", FXT_JSON_SCHEMA);
	fxt_json_string(&j, "file", path);
	fxt_json_u64(&j, "bytes", c->r->size);
	fxt_json_u64(&j, "records", c->records);
	fxt_json_u64(&j, "events", c->events);
	fxt_json_bool(&j, "ok", c->violation_count == 0);
	put_faults(&j, c, true);
	if (c->options.format)
		put_faults(&j, c, false);
	fxt_json_object(&j, "noted");
	for (int i = 0; i < FXT_NOTED_COUNT; i++) {
		if (c->noted[i])
			fxt_json_u64(&j, fxt_noted_text[i], c->noted[i]);
	}
	fxt_json_end(&j);
	if (put_more)
		put_more(context, &j);
	fxt_json_end(&j);
}
