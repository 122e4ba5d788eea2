/* fxt check --json: an object a line for every file. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_JANSSON
#include "check.h"
#include "json.h"

void fxt_check_json(const struct fxt_check *c, const char *path, FILE *out)
{
	json_t *object = json_object(), *violations = json_object(), *noted = json_object();

	for (int i = 0; i < FXT_FAULT_COUNT; i++) {
		const struct fxt_violation *v = &c->violations[i];
		json_t *entry;

		if (v->count == 0)
			continue;
		entry = json_object();
		json_object_set_new(entry, "count", fxt_json_u64(v->count));
		json_object_set_new(entry, "first_offset", fxt_json_u64(v->offset));
		json_object_set_new(entry, "detail", fxt_json_string(v->detail));
		json_object_set_new(violations, fxt_fault_text[i], entry);
	}
	for (int i = 0; i < FXT_NOTED_COUNT; i++) {
		if (c->noted[i])
			json_object_set_new(noted, fxt_noted_text[i], fxt_json_u64(c->noted[i]));
	}
	json_object_set_new(object, "file", fxt_json_string(path));
	json_object_set_new(object, "bytes", fxt_json_u64(c->r->size));
	json_object_set_new(object, "records", fxt_json_u64(c->records));
	json_object_set_new(object, "events", fxt_json_u64(c->events));
	json_object_set_new(object, "ok", json_boolean(c->violation_count == 0));
	json_object_set_new(object, "violations", violations);
	json_object_set_new(object, "noted", noted);
	fxt_json_print(object, out, true);
}
#else
typedef int fxt_built_without_json;
#endif
