/* fxt dump --json: an object a line for every record. Times are nanoseconds. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_JANSSON
#include <stdlib.h>

#include "dump.h"
#include "json.h"
#include "print.h"

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static void set_thread(json_t *object, const struct fxt_reader *r, uint32_t thread)
{
	const struct fxt_thread *t = &r->threads[thread];

	set(object, "pid", fxt_json_u64(t->pid));
	set(object, "tid", fxt_json_u64(t->tid));
	if (t->name.bytes)
		set(object, "thread", fxt_json_text(&t->name));
}

/* What the pointers among the arguments stand for. */
static void set_objects(json_t *object, const struct fxt_reader *r, const struct fxt_record *rec, const struct fxt_objects *objects)
{
	json_t *names = NULL;

	for (unsigned i = 0; i < rec->arg_count; i++) {
		const struct fxt_object *of = fxt_object_of(objects, r, rec, &rec->args[i]);
		char *argument;

		if (!of)
			continue;
		if (!names)
			names = json_object();
		argument = fxt_printable(&rec->args[i].name, SIZE_MAX, false);
		json_object_set_new_nocheck(names, argument, fxt_json_text(&of->name));
		free(argument);
	}
	if (names)
		set(object, "objects", names);
}

static void set_event(json_t *object, const struct fxt_reader *r, const struct fxt_record *rec,
		      const struct fxt_objects *objects, const char *demangled)
{
	set_thread(object, r, rec->thread);
	set(object, "category", fxt_json_text(&rec->category));
	set(object, "name", fxt_json_text(&rec->name));
	if (demangled)
		set(object, "demangled", fxt_json_string(demangled));
	if (rec->arg_count)
		set(object, "args", fxt_json_arguments(rec));
	set_objects(object, r, rec, objects);
	if (rec->subtype == FXT_EVENT_DURATION_COMPLETE && rec->extra >= rec->ticks)
		set(object, "duration", fxt_json_u64(fxt_ns(rec->provider, rec->extra) -
						     fxt_ns(rec->provider, rec->ticks)));
	else if (rec->has_extra)
		set(object, "id", fxt_json_u64(rec->extra));
}

static void set_scheduling(json_t *object, const struct fxt_reader *r, const struct fxt_record *rec)
{
	bool indexed = rec->subtype == FXT_SCHEDULING_LEGACY_SWITCH;

	set(object, "cpu", json_integer(rec->cpu));
	if (rec->subtype == FXT_SCHEDULING_WAKEUP) {
		set(object, "woken", fxt_json_u64(rec->id));
	} else {
		set(object, "state", json_integer(rec->state));
		set(object, "outgoing", fxt_json_u64(indexed ? r->threads[rec->thread].tid : rec->id));
		set(object, "incoming", fxt_json_u64(indexed ? r->threads[rec->incoming].tid : rec->extra));
	}
	if (rec->arg_count)
		set(object, "args", fxt_json_arguments(rec));
}

static void set_content(json_t *object, const struct fxt_reader *r, const struct fxt_record *rec,
			const struct fxt_objects *objects, const char *demangled)
{
	switch (rec->type) {
	case FXT_RECORD_EVENT: set_event(object, r, rec, objects, demangled); return;
	case FXT_RECORD_SCHEDULING: set_scheduling(object, r, rec); return;
	case FXT_RECORD_LOG:
		set_thread(object, r, rec->thread);
		set(object, "message", fxt_json_text(&rec->name));
		return;
	case FXT_RECORD_THREAD: set_thread(object, r, rec->thread); break;
	case FXT_RECORD_USERSPACE_OBJECT:
		set(object, "pid", fxt_json_u64(r->threads[rec->thread].pid));
		break;
	case FXT_RECORD_BLOB:
	case FXT_RECORD_LARGE: set(object, "bytes", fxt_json_u64(rec->blob_bytes)); break;
	case FXT_RECORD_METADATA:
		if (rec->subtype == FXT_METADATA_TRACE_INFO)
			return;
		break;
	case FXT_RECORD_INITIALIZATION:
	case FXT_RECORD_STRING:
	case FXT_RECORD_KERNEL_OBJECT: break;
	}
	if (rec->type != FXT_RECORD_BLOB && rec->type != FXT_RECORD_LARGE)
		set(object, "id", fxt_json_u64(rec->id));
	if (rec->name.bytes)
		set(object, "name", fxt_json_text(&rec->name));
	if (rec->arg_count)
		set(object, "args", fxt_json_arguments(rec));
}

void fxt_dump_json(const struct fxt_reader *r, const struct fxt_record *rec, const struct fxt_objects *objects,
		   const char *demangled, const char *fault, FILE *out)
{
	json_t *object = json_object();

	set(object, "offset", fxt_json_u64(rec->offset));
	set(object, "type", json_string(fxt_record_word(rec)));
	if (rec->timed && rec->known)
		set(object, "time", fxt_json_u64(fxt_ns(rec->provider, rec->ticks)));
	if (rec->known)
		set_content(object, r, rec, objects, demangled);
	else
		set(object, "bytes", fxt_json_u64(rec->words * FXT_WORD_BYTES));
	if (rec->damaged)
		set(object, "damaged", json_string(fault ? fault : ""));
	fxt_json_print(object, out, true);
}
#else
typedef int fxt_built_without_json;
#endif
