/* fxt dump --json: prints an object on a line for every record. Times are in nanoseconds. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "dump.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"

static void put_thread(struct fxt_json *j, const struct fxt_reader *r, uint32_t thread)
{
	struct fxt_text name = fxt_thread_name(r, thread);

	fxt_json_u64(j, "pid", r->threads[thread].pid);
	fxt_json_u64(j, "tid", r->threads[thread].tid);
	if (name.bytes)
		fxt_json_text(j, "thread", &name);
}

static void put_arguments(struct fxt_json *j, const struct fxt_record *rec)
{
	bool any = false;

	if (!rec->arg_count)
		return;
	fxt_json_arguments(j, "args", rec);
	for (unsigned i = 0; i < rec->arg_count; i++) {
		bool is_last = true;

		for (unsigned k = i + 1; k < rec->arg_count; k++)
			is_last = is_last && !fxt_text_equal(&rec->args[k].name, &rec->args[i].name);
		if (is_last)
			continue;
		if (!any)
			fxt_json_array(j, "repeated_args");
		any = true;
		fxt_json_object(j, NULL);
		fxt_json_text(j, "name", &rec->args[i].name);
		fxt_json_argument(j, "value", &rec->args[i]);
		fxt_json_end(j);
	}
	if (any)
		fxt_json_end(j);
}

/* Puts a number of 64 bits as text, because many readers have doubles for all numbers, and would take 256
 * such ids for one. */
static void put_id(struct fxt_json *j, const char *format, uint64_t id)
{
	char text[24];

	snprintf(text, sizeof(text), format, id);
	fxt_json_string(j, "id", text);
}

/* Puts the names of the objects to which the pointers among the arguments lead. */
static void put_objects(struct fxt_json *j, const struct fxt_reader *r, const struct fxt_record *rec,
			const struct fxt_objects *objects)
{
	bool any = false;
	unsigned last;

	for (unsigned i = 0; i < rec->arg_count; i++) {
		const struct fxt_object *of = fxt_json_is_first(rec, i, &last)
						      ? fxt_object_of(objects, r, rec, &rec->args[last])
						      : NULL;
		char *argument;

		if (!of)
			continue;
		if (!any)
			fxt_json_object(j, "objects");
		any = true;
		argument = fxt_printable(&rec->args[i].name, SIZE_MAX, false);
		fxt_json_text(j, argument, &of->name);
		free(argument);
	}
	if (any)
		fxt_json_end(j);
}

static void put_event(struct fxt_json *j, const struct fxt_reader *r, const struct fxt_record *rec,
		      const struct fxt_objects *objects, const char *demangled)
{
	put_thread(j, r, rec->thread);
	fxt_json_text(j, "category", &rec->category);
	fxt_json_text(j, "name", &rec->name);
	if (demangled)
		fxt_json_string(j, "demangled", demangled);
	put_arguments(j, rec);
	put_objects(j, r, rec, objects);
	if (rec->subtype == FXT_EVENT_DURATION_COMPLETE)
		fxt_json_i64(j, "duration",
			     (int64_t)(fxt_ns(rec->provider, rec->extra) -
				       fxt_ns(rec->provider, rec->ticks)));
	else if (rec->has_extra)
		put_id(j, "%" PRIu64, rec->extra);
}

static void put_scheduling(struct fxt_json *j, const struct fxt_reader *r, const struct fxt_record *rec)
{
	bool indexed = rec->subtype == FXT_SCHEDULING_LEGACY_SWITCH;

	fxt_json_u64(j, "cpu", rec->cpu);
	if (rec->subtype == FXT_SCHEDULING_WAKEUP) {
		fxt_json_u64(j, "woken", rec->id);
	} else {
		fxt_json_u64(j, "state", rec->state);
		fxt_json_u64(j, "outgoing", indexed ? r->threads[rec->thread].tid : rec->id);
		fxt_json_u64(j, "incoming", indexed ? r->threads[rec->incoming].tid : rec->extra);
	}
	if (indexed) {
		fxt_json_u64(j, "outgoing_pid", r->threads[rec->thread].pid);
		fxt_json_u64(j, "incoming_pid", r->threads[rec->incoming].pid);
		fxt_json_u64(j, "outgoing_priority", fxt_get_legacy_switch_outgoing_priority(rec->header));
		fxt_json_u64(j, "incoming_priority", fxt_get_legacy_switch_incoming_priority(rec->header));
	}
	put_arguments(j, rec);
}

static void put_content(struct fxt_json *j, const struct fxt_reader *r, const struct fxt_record *rec,
			const struct fxt_objects *objects, const char *demangled)
{
	switch (rec->type) {
	case FXT_RECORD_EVENT: put_event(j, r, rec, objects, demangled); return;
	case FXT_RECORD_SCHEDULING: put_scheduling(j, r, rec); return;
	case FXT_RECORD_LOG:
		put_thread(j, r, rec->thread);
		fxt_json_text(j, "message", &rec->name);
		return;
	case FXT_RECORD_THREAD: put_thread(j, r, rec->thread); break;
	case FXT_RECORD_USERSPACE_OBJECT: fxt_json_u64(j, "pid", r->threads[rec->thread].pid); break;
	case FXT_RECORD_BLOB:
		fxt_json_u64(j, "blob_type", rec->subtype);
		fxt_json_u64(j, "bytes", rec->blob_bytes);
		break;
	case FXT_RECORD_LARGE:
		if (rec->timed)
			put_thread(j, r, rec->thread);
		fxt_json_text(j, "category", &rec->category);
		fxt_json_u64(j, "bytes", rec->blob_bytes);
		break;
	case FXT_RECORD_METADATA:
		if (rec->subtype == FXT_METADATA_TRACE_INFO) {
			if (rec->header != FXT_MAGIC_RECORD)
				fxt_json_u64(j, "info", fxt_get_trace_info_type(rec->header));
			return;
		}
		break;
	case FXT_RECORD_KERNEL_OBJECT:
	case FXT_RECORD_INITIALIZATION:
	case FXT_RECORD_STRING: break;
	}
	if (rec->type == FXT_RECORD_USERSPACE_OBJECT)
		put_id(j, "0x%" PRIx64, rec->id);
	else if (rec->type != FXT_RECORD_BLOB && rec->type != FXT_RECORD_LARGE)
		fxt_json_u64(j, "id", rec->id);
	if (rec->name.bytes)
		fxt_json_text(j, "name", &rec->name);
	put_arguments(j, rec);
	if (rec->type == FXT_RECORD_KERNEL_OBJECT)
		fxt_json_u64(j, "object_type", rec->subtype);
	else if (rec->type == FXT_RECORD_METADATA && rec->subtype == FXT_METADATA_PROVIDER_EVENT)
		fxt_json_u64(j, "event", rec->extra);
}

void fxt_dump_json(const struct fxt_reader *r, const struct fxt_record *rec,
		   const struct fxt_objects *objects, const char *demangled, const char *fault,
		   const struct fxt_wall_clock *utc, FILE *out)
{
	struct fxt_json j = {.out = out, .one_line = true};

	fxt_json_object(&j, NULL);
	fxt_json_u64(&j, "offset", rec->offset);
	fxt_json_string(&j, "type", fxt_record_word(rec));
	if (rec->timed && rec->known)
		fxt_json_u64(&j, "time", fxt_ns(rec->provider, rec->ticks));
	if (rec->timed && rec->known && utc->is_known)
		fxt_json_string(&j, "utc", fxt_utc(utc, fxt_ns(rec->provider, rec->ticks)).text);
	if (rec->known)
		put_content(&j, r, rec, objects, demangled);
	else
		fxt_json_u64(&j, "bytes", rec->words * FXT_WORD_BYTES);
	if (rec->damaged)
		fxt_json_string(&j, "damaged", fault ? fault : "");
	fxt_json_end(&j);
}
