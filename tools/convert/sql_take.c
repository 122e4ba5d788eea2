/* What becomes of each thing of a trace in a database: the functions of the visitor. See sql.h.
 *
 * An event is a row as soon as it is told. A call in progress waits in memory until it ends, so that each
 * call is one row. Of an async and of a flow, whichever half comes first waits: in the file the end may stand
 * before the begin. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_SQLITE

#include <stdlib.h>

#include "sql.h"
#include "tools/analysis/call_stacks.h"
#include "tools/export/visit.h"
#include "writer/fxt_encode.h"

static struct fxt_sql_thread *thread_of(struct fxt_sql *q, uint32_t thread)
{
	q->threads =
		fxt_reach(q->threads, &q->thread_capacity, &q->thread_count, thread, sizeof(*q->threads));
	return &q->threads[thread];
}

static void note_time(struct fxt_sql *q, const struct fxt_visit *v)
{
	struct fxt_sql_thread *t = thread_of(q, v->rec->thread);

	if (!t->events || v->at_ns < t->first_ns)
		t->first_ns = v->at_ns;
	if (!t->events || v->end_ns > t->last_ns)
		t->last_ns = v->end_ns;
	t->events++;
}

/* Returns whether the join has made this end, for something that the program left open. */
static bool is_made(const struct fxt_visit *v)
{
	return fxt_is_made_end(v->rec) && !fxt_is_cut_by_exec(v->rec);
}

/* -- Names ----------------------------------------------------------------------------------------- */

static void insert_name(struct fxt_sql *q, int64_t id, const char *kind, const struct fxt_visit *v)
{
	static const char *const standings[] = {
		[FXT_STANDING_BLOCKED] = "blocked", [FXT_STANDING_WAITING] = "waiting"};
	const struct fxt_role *role = NULL;
	sqlite3_stmt *s = fxt_sql_begin(q, FXT_SQL_NAME);
	char *path = NULL;
	int at = 0;

	if (v->rec->type == FXT_RECORD_EVENT)
		role = fxt_role_of(&q->roles, q->reader, v->rec);
	if (role && role->argument && *role->argument)
		path = fxt_format("$.%s", role->argument);
	fxt_sql_bind_i64(s, &at, id);
	fxt_sql_bind_string(s, &at, kind);
	fxt_sql_bind_text(s, &at, &v->rec->category);
	fxt_sql_bind_text(s, &at, v->rec->type == FXT_RECORD_EVENT ? &v->rec->name : NULL);
	fxt_sql_bind_string(s, &at, standings[fxt_role_standing(role)]);
	fxt_sql_bind_string(s, &at, role ? role->kind : NULL);
	fxt_sql_bind_string(s, &at, path);
	fxt_sql_insert(q, FXT_SQL_NAME);
	free(path);
}

enum { KIND_LOG = 16 };

/* Returns the row of the record's kind, category and name. */
static int64_t name_of(struct fxt_sql *q, const struct fxt_visit *v)
{
	const struct fxt_record *rec = v->rec;
	unsigned kind = rec->type == FXT_RECORD_LOG ? KIND_LOG : rec->subtype;
	uint64_t category = 0, name = 0;
	struct fxt_slot *s;
	bool fresh;

	if (kind == FXT_EVENT_DURATION_BEGIN || kind == FXT_EVENT_DURATION_END)
		kind = FXT_EVENT_DURATION_COMPLETE;
	if (kind != KIND_LOG) {
		category = fxt_symbol(q->reader, &rec->category);
		name = fxt_symbol(q->reader, &rec->name);
	}
	s = fxt_map_put(&q->names, category << 8 | kind, name, &fresh);
	if (fresh) {
		s->value[0] = (uint64_t)++q->name_count;
		insert_name(q, q->name_count, kind == KIND_LOG ? "log" : fxt_form_event_kind(kind), v);
	}
	return (int64_t)s->value[0];
}

/* Returns the row of the stack that the record names, or 0. */
static int64_t stack_of(struct fxt_sql *q, const struct fxt_record *rec)
{
	uint64_t id = fxt_argument_or(rec, "stack", 0);
	const struct fxt_slot *s = id ? fxt_map_find(&q->stacks, rec->provider->index, id) : NULL;

	return s ? (int64_t)s->value[0] : 0;
}

/* -- Rows ------------------------------------------------------------------------------------------ */

struct event {
	int64_t id, name, stack;
	uint32_t thread;
	uint64_t begin_ns, end_ns, ref;
	bool has_end, has_ref, is_kernels;
	unsigned cpu;
};

static void insert_event(struct fxt_sql *q, const struct event *e, const char *arguments, size_t bytes)
{
	sqlite3_stmt *s = fxt_sql_begin(q, FXT_SQL_EVENT);
	int at = 0;

	fxt_sql_bind_i64(s, &at, e->id);
	fxt_sql_bind_i64(s, &at, e->name);
	fxt_sql_bind_i64(s, &at, e->thread);
	fxt_sql_bind_u64(s, &at, e->begin_ns);
	if (e->has_end)
		fxt_sql_bind_u64(s, &at, e->end_ns);
	else
		fxt_sql_bind_null(s, &at);
	if (e->has_ref)
		fxt_sql_bind_u64(s, &at, e->ref);
	else
		fxt_sql_bind_null(s, &at);
	if (e->is_kernels)
		fxt_sql_bind_i64(s, &at, e->cpu);
	else
		fxt_sql_bind_null(s, &at);
	if (e->stack)
		fxt_sql_bind_i64(s, &at, e->stack);
	else
		fxt_sql_bind_null(s, &at);
	sqlite3_bind_text(s, ++at, arguments, (int)bytes, SQLITE_STATIC);
	fxt_sql_insert(q, FXT_SQL_EVENT);
	q->event_count++;
}

/* Makes the arguments of the record an object, in q->arguments. */
static void put_arguments(struct fxt_sql *q, const struct fxt_record *rec)
{
	q->arguments.bytes = 0;
	fxt_put_bytes(&q->arguments, "{", 1);
	fxt_put_arguments(&q->arguments, rec, FXT_JSON_SIGNED);
	fxt_put_bytes(&q->arguments, "}", 1);
}

/* Inserts the row of a record, and returns its number. */
static int64_t take_row(struct fxt_sql *q, const struct fxt_visit *v)
{
	const struct fxt_record *rec = v->rec;
	bool is_call = rec->type == FXT_RECORD_EVENT && rec->subtype == FXT_EVENT_DURATION_COMPLETE;
	struct event e = {
		.id = fxt_sql_event(rec->offset),
		.name = name_of(q, v),
		.stack = stack_of(q, rec),
		.thread = rec->thread,
		.begin_ns = v->at_ns,
		.end_ns = v->end_ns,
		.ref = rec->extra,
		.has_end = is_call,
		.has_ref = rec->has_extra && !is_call,
		.is_kernels = v->is_kernels,
		.cpu = v->cpu,
	};

	put_arguments(q, rec);
	insert_event(q, &e, q->arguments.data, q->arguments.bytes);
	note_time(q, v);
	return e.id;
}

static void take_call(void *context, const struct fxt_visit *v)
{
	struct fxt_sql *q = context;
	struct fxt_sql_thread *t = thread_of(q, v->rec->thread);

	/* In the copy of a trace that was being written, a call may be there as in progress as well. */
	if (t->open_count && t->open[t->open_count - 1].begin_ns == v->at_ns &&
	    t->open[t->open_count - 1].name == name_of(q, v))
		free(t->open[--t->open_count].arguments);
	take_row(q, v);
}

static void take_call_begin(void *context, const struct fxt_visit *v)
{
	struct fxt_sql *q = context;
	struct fxt_sql_thread *t = thread_of(q, v->rec->thread);
	struct fxt_form_text arguments = {0};

	note_time(q, v);
	fxt_put_arguments(&arguments, v->rec, FXT_JSON_SIGNED);
	t->open = fxt_grow(t->open, &t->open_capacity, t->open_count + 1, sizeof(*t->open));
	t->open[t->open_count++] = (struct fxt_sql_open){
		.event = fxt_sql_event(v->rec->offset),
		.name = name_of(q, v),
		.begin_ns = v->at_ns,
		.stack = stack_of(q, v->rec),
		.arguments = arguments.data,
		.argument_bytes = arguments.bytes,
	};
}

/* Inserts the row of a call that was in progress. `rec` is its end, or NULL: it has none. */
static void insert_open(struct fxt_sql *q, uint32_t thread, struct fxt_sql_open *o,
			const struct fxt_visit *end)
{
	struct event e = {
		.id = o->event,
		.name = o->name,
		.stack = o->stack,
		.thread = thread,
		.begin_ns = o->begin_ns,
		.end_ns = end ? end->at_ns : 0,
		.has_end = end,
	};
	struct fxt_form_text *t = &q->arguments;

	t->bytes = 0;
	fxt_put_bytes(t, "{", 1);
	fxt_put_bytes(t, o->arguments, o->argument_bytes);
	if (end && end->rec->arg_count && o->argument_bytes)
		fxt_put_bytes(t, ",", 1);
	if (end)
		fxt_put_arguments(t, end->rec, FXT_JSON_SIGNED);
	fxt_put_bytes(t, "}", 1);
	if (end && !e.stack)
		e.stack = stack_of(q, end->rec);
	insert_event(q, &e, t->data, t->bytes);
	free(o->arguments);
}

static void take_call_end(void *context, const struct fxt_visit *v)
{
	struct fxt_sql *q = context;
	struct fxt_sql_thread *t = thread_of(q, v->rec->thread);

	if (is_made(v))
		return;
	note_time(q, v);
	/* An end alone, whose begin was lost, tells of nothing. */
	if (t->open_count)
		insert_open(q, v->rec->thread, &t->open[--t->open_count], v);
}

/* -- Halves ---------------------------------------------------------------------------------------- */

static void insert_lifetime(struct fxt_sql *q, int64_t begin, int64_t end)
{
	sqlite3_stmt *s = fxt_sql_begin(q, FXT_SQL_LIFETIME);
	int at = 0;

	fxt_sql_bind_i64(s, &at, begin);
	if (end)
		fxt_sql_bind_i64(s, &at, end);
	else
		fxt_sql_bind_null(s, &at);
	fxt_sql_insert(q, FXT_SQL_LIFETIME);
}

/* value[0] is the event of the half that is known, twice, plus 1 if that is the end. */
static void take_lifetime(struct fxt_sql *q, const struct fxt_visit *v, int64_t event)
{
	bool is_end = v->rec->subtype == FXT_EVENT_ASYNC_END, fresh;
	struct fxt_slot *s = fxt_map_put(&q->lifetimes, v->rec->extra, 0, &fresh);
	uint64_t known = s->value[0];

	if (fresh || (known & 1) == is_end) {
		if (!fresh && !is_end)
			insert_lifetime(q, (int64_t)(known >> 1), 0);
		s->value[0] = (uint64_t)event << 1 | is_end;
		return;
	}
	fxt_map_remove(&q->lifetimes, s);
	if (is_end)
		insert_lifetime(q, (int64_t)(known >> 1), event);
	else
		insert_lifetime(q, event, (int64_t)(known >> 1));
}

/* As above. */
static void take_arrow(struct fxt_sql *q, const struct fxt_visit *v, int64_t event)
{
	bool is_end = v->rec->subtype == FXT_EVENT_FLOW_END, fresh;
	struct fxt_slot *slot = fxt_map_put(&q->arrows, v->rec->extra, 0, &fresh);
	int64_t known = (int64_t)(slot->value[0] >> 1);
	sqlite3_stmt *s;
	int at = 0;

	if (fresh || (slot->value[0] & 1) == is_end) {
		slot->value[0] = (uint64_t)event << 1 | is_end;
		return;
	}
	fxt_map_remove(&q->arrows, slot);
	s = fxt_sql_begin(q, FXT_SQL_ARROW);
	fxt_sql_bind_i64(s, &at, is_end ? known : event);
	fxt_sql_bind_i64(s, &at, is_end ? event : known);
	fxt_sql_insert(q, FXT_SQL_ARROW);
}

static void take_moment(void *context, const struct fxt_visit *v)
{
	struct fxt_sql *q = context;
	int64_t event;

	if (is_made(v))
		return;
	event = take_row(q, v);
	switch (v->rec->subtype) {
	case FXT_EVENT_ASYNC_BEGIN:
	case FXT_EVENT_ASYNC_END: take_lifetime(q, v, event); break;
	case FXT_EVENT_FLOW_BEGIN:
	case FXT_EVENT_FLOW_END: take_arrow(q, v, event); break;
	default: break;
	}
}

/* -- Others ---------------------------------------------------------------------------------------- */

static void take_log(void *context, const struct fxt_visit *v)
{
	struct fxt_sql *q = context;
	struct event e = {.id = fxt_sql_event(v->rec->offset),
			  .name = name_of(q, v),
			  .thread = v->rec->thread,
			  .begin_ns = v->at_ns};

	note_time(q, v);
	q->arguments.bytes = 0;
	fxt_put_literal(&q->arguments, "{\"message\":");
	fxt_put_json(&q->arguments, &v->rec->name);
	fxt_put_bytes(&q->arguments, "}", 1);
	insert_event(q, &e, q->arguments.data, q->arguments.bytes);
}

static void take_switch(void *context, const struct fxt_visit *v)
{
	sqlite3_stmt *s = fxt_sql_begin(context, FXT_SQL_SWITCH);
	int at = 0;

	fxt_sql_bind_u64(s, &at, v->at_ns);
	fxt_sql_bind_i64(s, &at, v->cpu);
	fxt_sql_bind_i64(s, &at, v->rec->state);
	fxt_sql_bind_u64(s, &at, v->rec->id);
	fxt_sql_bind_u64(s, &at, v->rec->extra);
	fxt_sql_insert(context, FXT_SQL_SWITCH);
}

static void take_wakeup(void *context, const struct fxt_visit *v)
{
	sqlite3_stmt *s = fxt_sql_begin(context, FXT_SQL_WAKEUP);
	uint64_t waker;
	int at = 0;

	fxt_sql_bind_u64(s, &at, v->at_ns);
	fxt_sql_bind_i64(s, &at, v->cpu);
	fxt_sql_bind_u64(s, &at, v->rec->id);
	if (fxt_argument_u64(fxt_argument(v->rec, "waker"), &waker))
		fxt_sql_bind_u64(s, &at, waker);
	else
		fxt_sql_bind_null(s, &at);
	fxt_sql_insert(context, FXT_SQL_WAKEUP);
}

/* Nodes of stacks and the files of code are in the table of stacks. */
static void take_object(void *context, const struct fxt_visit *v)
{
	struct fxt_sql *q = context;
	const struct fxt_text *type = fxt_argument_text(v->rec, "type");
	sqlite3_stmt *s;
	int at = 0;

	if (type && (fxt_text_is(type, FXT_FRAME_RECORD) || fxt_text_is(type, FXT_MODULE_RECORD)))
		return;
	s = fxt_sql_begin(q, FXT_SQL_OBJECT);
	fxt_sql_bind_u64(s, &at, q->reader->threads[v->rec->thread].pid);
	fxt_sql_bind_hex(s, &at, v->rec->id);
	fxt_sql_bind_text(s, &at, &v->rec->name);
	fxt_sql_bind_text(s, &at, type);
	put_arguments(q, v->rec);
	sqlite3_bind_text(s, ++at, q->arguments.data, (int)q->arguments.bytes, SQLITE_STATIC);
	fxt_sql_insert(q, FXT_SQL_OBJECT);
}

void fxt_sql_visitor(struct fxt_sql *q, struct fxt_visitor *visitor)
{
	*visitor = (struct fxt_visitor){
		.context = q,
		.call = take_call,
		.call_begin = take_call_begin,
		.call_end = take_call_end,
		.moment = take_moment,
		.context_switch = take_switch,
		.wakeup = take_wakeup,
		.log = take_log,
		.object = take_object,
	};
}

void fxt_sql_finish_takes(struct fxt_sql *q)
{
	for (const struct fxt_slot *s = NULL; (s = fxt_map_next(&q->lifetimes, s));) {
		if (!(s->value[0] & 1))
			insert_lifetime(q, (int64_t)(s->value[0] >> 1), 0);
	}
	for (size_t i = 0; i < q->thread_count; i++) {
		struct fxt_sql_thread *t = &q->threads[i];

		while (t->open_count)
			insert_open(q, (uint32_t)i, &t->open[--t->open_count], NULL);
	}
}

void fxt_sql_free_takes(struct fxt_sql *q)
{
	for (size_t i = 0; i < q->thread_count; i++) {
		while (q->threads[i].open_count)
			free(q->threads[i].open[--q->threads[i].open_count].arguments);
		free(q->threads[i].open);
	}
	free(q->threads);
	free(q->arguments.data);
	fxt_map_free(&q->names);
	fxt_map_free(&q->stacks);
	fxt_map_free(&q->lifetimes);
	fxt_map_free(&q->arrows);
	fxt_roles_free(&q->roles);
}

#endif
