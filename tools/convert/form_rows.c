/* A line for each thing that has a time: as comma-separated values, and as a JSON object (ndjson). Both have
 * the same columns, which docs/forms.md describes. Objects that stacks refer to have lines too.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "convert.h"
#include "form_text.h"
#include "form_threads.h"
#include "tools/export/visit.h"
#include "writer/fxt_encode.h"

struct rows {
	struct fxt_export *export;
	struct fxt_form_text text;
	struct fxt_form_threads threads;
	bool is_csv;
};

/* The columns that a thing may have besides its record's. */
struct row {
	const char *kind;
	const struct fxt_visit *visit;
	int64_t thread;                 /* place, or -1: none */
	uint64_t tid;                   /* of a thread that has no place */
	const struct fxt_text *category, *name;
	bool has_id, is_address;
	uint64_t id;
	const char *first_argument;     /* of the kernel's records, which have it as a member */
	uint64_t first_value;
};

static const char *const event_kinds[] = {
	[FXT_EVENT_INSTANT] = "instant",
	[FXT_EVENT_COUNTER] = "counter",
	[FXT_EVENT_DURATION_BEGIN] = "call-begin",
	[FXT_EVENT_DURATION_END] = "call-end",
	[FXT_EVENT_DURATION_COMPLETE] = "call",
	[FXT_EVENT_ASYNC_BEGIN] = "async-begin",
	[FXT_EVENT_ASYNC_INSTANT] = "async-instant",
	[FXT_EVENT_ASYNC_END] = "async-end",
	[FXT_EVENT_FLOW_BEGIN] = "flow-begin",
	[FXT_EVENT_FLOW_STEP] = "flow-step",
	[FXT_EVENT_FLOW_END] = "flow-end",
};

const char *fxt_form_event_kind(unsigned subtype)
{
	const char *kind = subtype < sizeof(event_kinds) / sizeof(*event_kinds) ? event_kinds[subtype] : NULL;

	return kind ? kind : "event";
}

/* -- Comma-separated values (RFC 4180) ------------------------------------------------------------- */

/* Puts a field in quotes, each quote in it twice. The text is JSON or a name. */
static void quote(struct fxt_form_text *t, const char *text, size_t bytes)
{
	fxt_put_bytes(t, "\"", 1);
	for (const char *end = text + bytes, *at; text < end; text = at) {
		at = memchr(text, '"', (size_t)(end - text));
		at = at ? at + 1 : end;
		fxt_put_bytes(t, text, (size_t)(at - text));
		if (at[-1] == '"')
			fxt_put_bytes(t, "\"", 1);
	}
	fxt_put_bytes(t, "\"", 1);
}

static void put_field(struct fxt_form_text *t, const struct fxt_text *text)
{
	char *clean;
	size_t bytes;

	fxt_put_bytes(t, ",", 1);
	if (!text || !text->bytes)
		return;
	clean = fxt_alloc((size_t)text->bytes + 1, 1);
	bytes = fxt_utf8_clean(clean, text->text, text->bytes, text->bytes);
	/* Many readers end a field at a NUL. */
	for (char *nul = clean; (nul = memchr(nul, '\0', bytes - (size_t)(nul - clean)));)
		*nul = '?';
	quote(t, clean, bytes);
	free(clean);
}

static void put_number(struct fxt_form_text *t, bool is_known, uint64_t number)
{
	fxt_put_bytes(t, ",", 1);
	if (is_known)
		fxt_put_u64(t, number);
}

static void put_csv(struct rows *rows, const struct row *row, const struct fxt_text *process,
		    const struct fxt_text *thread, uint64_t pid, const struct fxt_form_text *arguments)
{
	const struct fxt_visit *v = row->visit;
	struct fxt_form_text *t = &rows->text;

	fxt_put_literal(t, row->kind);
	put_number(t, v->rec->timed, v->at_ns);
	put_number(t, v->rec->timed, v->end_ns);
	put_number(t, row->thread >= 0, pid);
	put_number(t, row->tid, row->tid);
	put_field(t, process);
	put_field(t, thread);
	put_number(t, v->is_kernels, v->cpu);
	put_field(t, row->category);
	put_field(t, row->name);
	fxt_put_bytes(t, ",", 1);
	if (row->has_id && row->is_address)
		fxt_put_hex(t, row->id);
	else if (row->has_id)
		fxt_put_u64(t, row->id);
	fxt_put_bytes(t, ",", 1);
	quote(t, arguments->data, arguments->bytes);
	fxt_put_bytes(t, "\r\n", 2);
}

/* -- ndjson ---------------------------------------------------------------------------------------- */

static void member(struct fxt_form_text *t, const char *name, bool is_known, uint64_t number)
{
	if (!is_known)
		return;
	fxt_put_literal(t, ",\"");
	fxt_put_literal(t, name);
	fxt_put_literal(t, number > FXT_JSON_DOUBLES ? "\":\"" : "\":");
	fxt_put_u64(t, number);
	if (number > FXT_JSON_DOUBLES)
		fxt_put_bytes(t, "\"", 1);
}

static void text_member(struct fxt_form_text *t, const char *name, const struct fxt_text *text)
{
	if (!text || !text->bytes)
		return;
	fxt_put_literal(t, ",\"");
	fxt_put_literal(t, name);
	fxt_put_literal(t, "\":");
	fxt_put_json(t, text);
}

static void put_ndjson(struct rows *rows, const struct row *row, const struct fxt_text *process,
		       const struct fxt_text *thread, uint64_t pid, const struct fxt_form_text *arguments)
{
	const struct fxt_visit *v = row->visit;
	struct fxt_form_text *t = &rows->text;

	fxt_put_literal(t, "{\"kind\":\"");
	fxt_put_literal(t, row->kind);
	fxt_put_bytes(t, "\"", 1);
	member(t, "begin_ns", v->rec->timed, v->at_ns);
	member(t, "end_ns", v->rec->timed, v->end_ns);
	member(t, "pid", row->thread >= 0, pid);
	member(t, "tid", row->tid, row->tid);
	text_member(t, "process", process);
	text_member(t, "thread", thread);
	member(t, "cpu", v->is_kernels, v->cpu);
	text_member(t, "category", row->category);
	text_member(t, "name", row->name);
	if (row->has_id) {
		fxt_put_literal(t, ",\"id\":\"");
		if (row->is_address)
			fxt_put_hex(t, row->id);
		else
			fxt_put_u64(t, row->id);
		fxt_put_bytes(t, "\"", 1);
	}
	fxt_put_literal(t, ",\"args\":");
	fxt_put_bytes(t, arguments->data, arguments->bytes);
	fxt_put_literal(t, "}\n");
}

/* -- What is visited ------------------------------------------------------------------------------- */

static void put_row(struct rows *rows, const struct row *row)
{
	const struct fxt_reader *r = row->visit->reader;
	struct fxt_text process = {0}, thread = {0};
	struct fxt_form_text arguments = {0};
	uint64_t pid = 0;

	if (row->thread >= 0) {
		pid = r->threads[row->thread].pid;
		process = fxt_process_name(r, pid);
		thread = fxt_thread_name(r, (uint32_t)row->thread);
	}
	fxt_put_bytes(&arguments, "{", 1);
	if (row->first_argument) {
		fxt_put_bytes(&arguments, "\"", 1);
		fxt_put_literal(&arguments, row->first_argument);
		fxt_put_bytes(&arguments, "\":", 2);
		fxt_put_u64(&arguments, row->first_value);
		if (row->visit->rec->arg_count)
			fxt_put_bytes(&arguments, ",", 1);
	}
	fxt_put_arguments(&arguments, row->visit->rec, FXT_JSON_DOUBLES);
	fxt_put_bytes(&arguments, "}", 1);
	(rows->is_csv ? put_csv : put_ndjson)(rows, row, &process, &thread, pid, &arguments);
	free(arguments.data);
	fxt_form_text_flush(&rows->text, rows->export->out, false);
}

static void take_event(void *context, const struct fxt_visit *v)
{
	const struct fxt_record *rec = v->rec;
	struct row row = {
		.kind = fxt_form_event_kind(rec->subtype),
		.visit = v,
		.thread = rec->thread,
		.tid = v->reader->threads[rec->thread].tid,
		.category = &rec->category,
		.name = &rec->name,
		.has_id = rec->has_extra && rec->subtype != FXT_EVENT_DURATION_COMPLETE,
		.id = rec->extra,
	};

	put_row(context, &row);
}

static void take_log(void *context, const struct fxt_visit *v)
{
	struct row row = {
		.kind = "log",
		.visit = v,
		.thread = v->rec->thread,
		.tid = v->reader->threads[v->rec->thread].tid,
		.name = &v->rec->name,
	};

	put_row(context, &row);
}

/* A switch is about the thread that runs no longer, and a wakeup about the one that may run. */
static void take_kernels(void *context, const struct fxt_visit *v)
{
	struct rows *rows = context;
	bool is_switch = v->rec->subtype != FXT_SCHEDULING_WAKEUP;
	struct row row = {
		.kind = is_switch ? "switch" : "wakeup",
		.visit = v,
		.thread = fxt_form_thread(&rows->threads, v->reader, v->rec->id),
		.tid = v->rec->id,
		.first_argument = is_switch ? "incoming" : NULL,
		.first_value = v->rec->extra,
	};

	put_row(rows, &row);
}

static void take_object(void *context, const struct fxt_visit *v)
{
	struct row row = {
		.kind = "object",
		.visit = v,
		.thread = v->rec->thread,
		.name = &v->rec->name,
		.has_id = true,
		.is_address = true,
		.id = v->rec->id,
	};

	put_row(context, &row);
}

static void show(void *context, uint64_t at, uint64_t size)
{
	const struct rows *rows = context;

	fxt_export_progress(rows->export, at, size);
}

static char *write_rows(struct fxt_export *export, bool is_csv)
{
	struct rows rows = {.export = export, .is_csv = is_csv};
	struct fxt_visitor visitor = {
		.context = &rows,
		.call = take_event,
		.call_begin = take_event,
		.call_end = take_event,
		.moment = take_event,
		.context_switch = take_kernels,
		.wakeup = take_kernels,
		.log = take_log,
		.object = take_object,
		.progress = show,
	};
	bool ok;

	if (is_csv)
		fxt_put_literal(&rows.text, "kind,begin_ns,end_ns,pid,tid,process,thread,cpu,category,name,"
					    "id,args\r\n");
	ok = fxt_visit(export->reader, &visitor);
	fxt_form_text_flush(&rows.text, export->out, true);
	free(rows.text.data);
	fxt_map_free(&rows.threads.by_tid);
	return ok ? NULL : fxt_strdup("damaged");
}

char *fxt_form_csv(struct fxt_export *export)
{
	return write_rows(export, true);
}

char *fxt_form_ndjson(struct fxt_export *export)
{
	return write_rows(export, false);
}
