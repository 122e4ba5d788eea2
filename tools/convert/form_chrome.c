/* The trace as Chrome's trace events: one JSON object, whose `traceEvents` has an object a line. Perfetto,
 * chrome://tracing and others read it. docs/forms.md says what becomes of what.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "convert.h"
#include "form_text.h"
#include "form_threads.h"
#include "tools/export/visit.h"

/* What runs on a processor. */
struct running {
	uint64_t tid, since_ns;
	bool is_known;
};

struct chrome {
	struct fxt_export *export;
	struct fxt_form_text text;
	struct fxt_form_threads threads;
	struct running *processors;
	size_t processor_count, processor_capacity;
	bool has_events;
};

/* Puts nanoseconds as microseconds, exactly. */
static void put_us(struct fxt_form_text *t, uint64_t ns)
{
	const char digits[] = {'.', (char)('0' + ns / 100 % 10), (char)('0' + ns / 10 % 10),
			       (char)('0' + ns % 10)};

	fxt_put_u64(t, ns / 1000);
	fxt_put_bytes(t, digits, sizeof(digits));
}

/* Begins an event. The caller puts other members, each with a comma in front. */
static void begin(struct chrome *c, const char *phase, uint64_t pid, uint64_t tid)
{
	struct fxt_form_text *t = &c->text;

	fxt_put_literal(t, c->has_events ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
	c->has_events = true;
	fxt_put_literal(t, phase);
	fxt_put_literal(t, "\",\"pid\":");
	fxt_put_u64(t, pid);
	fxt_put_literal(t, ",\"tid\":");
	fxt_put_u64(t, tid);
}

static void put_times(struct chrome *c, uint64_t from_ns, uint64_t to_ns, bool lasts)
{
	fxt_put_literal(&c->text, ",\"ts\":");
	put_us(&c->text, from_ns);
	if (!lasts)
		return;
	fxt_put_literal(&c->text, ",\"dur\":");
	put_us(&c->text, to_ns - from_ns);
}

static void put_names(struct chrome *c, const struct fxt_text *category, const struct fxt_text *name)
{
	if (category) {
		fxt_put_literal(&c->text, ",\"cat\":");
		fxt_put_json(&c->text, category);
	}
	fxt_put_literal(&c->text, ",\"name\":");
	fxt_put_json(&c->text, name);
}

/* Ends an event with the arguments of a record. */
static void end(struct chrome *c, const struct fxt_record *rec)
{
	if (rec->arg_count) {
		fxt_put_literal(&c->text, ",\"args\":{");
		fxt_put_arguments(&c->text, rec, FXT_JSON_DOUBLES);
		fxt_put_bytes(&c->text, "}", 1);
	}
	fxt_put_bytes(&c->text, "}", 1);
	fxt_form_text_flush(&c->text, c->export->out, false);
}

static void take_event(void *context, const struct fxt_visit *v)
{
	/* An arrow is bound to the call that it is in, and not to the one behind it. */
	static const struct {
		const char *phase, *more;
	} phases[] = {
		[FXT_EVENT_INSTANT] = {"i", ",\"s\":\"t\""},
		[FXT_EVENT_COUNTER] = {"C", ""},
		[FXT_EVENT_DURATION_BEGIN] = {"B", ""},
		[FXT_EVENT_DURATION_END] = {"E", ""},
		[FXT_EVENT_DURATION_COMPLETE] = {"X", ""},
		[FXT_EVENT_ASYNC_BEGIN] = {"b", ""},
		[FXT_EVENT_ASYNC_INSTANT] = {"n", ""},
		[FXT_EVENT_ASYNC_END] = {"e", ""},
		[FXT_EVENT_FLOW_BEGIN] = {"s", ",\"bp\":\"e\""},
		[FXT_EVENT_FLOW_STEP] = {"t", ",\"bp\":\"e\""},
		[FXT_EVENT_FLOW_END] = {"f", ",\"bp\":\"e\""},
	};
	struct chrome *c = context;
	const struct fxt_record *rec = v->rec;
	const struct fxt_trace_thread *thread = &v->reader->threads[rec->thread];

	begin(c, phases[rec->subtype].phase, thread->pid, thread->tid);
	put_times(c, v->at_ns, v->end_ns, rec->subtype == FXT_EVENT_DURATION_COMPLETE);
	put_names(c, &rec->category, &rec->name);
	fxt_put_literal(&c->text, phases[rec->subtype].more);
	if (rec->has_extra && rec->subtype != FXT_EVENT_DURATION_COMPLETE) {
		fxt_put_literal(&c->text, ",\"id\":\"");
		fxt_put_hex(&c->text, rec->extra);
		fxt_put_bytes(&c->text, "\"", 1);
	}
	end(c, rec);
}

static void take_log(void *context, const struct fxt_visit *v)
{
	static const struct fxt_text category = {.text = "log", .bytes = 3};
	struct chrome *c = context;
	const struct fxt_trace_thread *thread = &v->reader->threads[v->rec->thread];

	begin(c, "i", thread->pid, thread->tid);
	put_times(c, v->at_ns, 0, false);
	put_names(c, &category, &v->rec->name);
	fxt_put_literal(&c->text, ",\"s\":\"t\"");
	end(c, v->rec);
}

/* The form has no context switches. What ran on a processor is a slice on a track of the processor. */
static void take_switch(void *context, const struct fxt_visit *v)
{
	struct chrome *c = context;
	struct running *on;
	int64_t place;

	c->processors = fxt_reach(c->processors, &c->processor_capacity, &c->processor_count, v->cpu,
				  sizeof(*c->processors));
	on = &c->processors[v->cpu];
	if (on->is_known && on->tid && on->tid == v->rec->id && v->at_ns >= on->since_ns) {
		struct fxt_text name = fxt_text_of("running"), category = fxt_text_of("processor");

		place = fxt_form_thread(&c->threads, v->reader, on->tid);
		if (place >= 0 && fxt_thread_name(v->reader, (uint32_t)place).bytes)
			name = fxt_thread_name(v->reader, (uint32_t)place);
		begin(c, "X", FXT_KERNEL_PROVIDER_ID, FXT_KERNEL_PROVIDER_ID - 1 - v->cpu);
		put_times(c, on->since_ns, v->at_ns, true);
		put_names(c, &category, &name);
		fxt_put_literal(&c->text, ",\"args\":{\"tid\":");
		fxt_put_u64(&c->text, on->tid);
		fxt_put_literal(&c->text, "}}");
		fxt_form_text_flush(&c->text, c->export->out, false);
	}
	*on = (struct running){v->rec->extra, v->at_ns, true};
}

/* -- Names, which are events too -------------------------------------------------------------------- */

static void put_name(struct chrome *c, const char *what, uint64_t pid, uint64_t tid,
		     const struct fxt_text *name)
{
	begin(c, "M", pid, tid);
	fxt_put_literal(&c->text, ",\"name\":\"");
	fxt_put_literal(&c->text, what);
	fxt_put_literal(&c->text, "\",\"args\":{\"name\":");
	fxt_put_json(&c->text, name);
	fxt_put_literal(&c->text, "}}");
	fxt_form_text_flush(&c->text, c->export->out, false);
}

static void put_all_names(struct chrome *c)
{
	const struct fxt_reader *r = c->export->reader;
	struct fxt_map told = {0};

	for (size_t i = 0; i < r->thread_count; i++) {
		const struct fxt_trace_thread *thread = &r->threads[i];
		struct fxt_text process = fxt_process_name(r, thread->pid);
		struct fxt_text name = fxt_thread_name(r, (uint32_t)i);
		bool fresh;

		fxt_map_put(&told, thread->pid, 0, &fresh);
		if (fresh && process.bytes)
			put_name(c, "process_name", thread->pid, thread->tid, &process);
		if (name.bytes)
			put_name(c, "thread_name", thread->pid, thread->tid, &name);
	}
	for (size_t i = 0; i < c->processor_count; i++) {
		char *label = fxt_format("processor %zu", i);
		struct fxt_text name = fxt_text_of(label);

		if (c->processors[i].is_known)
			put_name(c, "thread_name", FXT_KERNEL_PROVIDER_ID, FXT_KERNEL_PROVIDER_ID - 1 - i,
				 &name);
		free(label);
	}
	fxt_map_free(&told);
}

static void show(void *context, uint64_t at, uint64_t size)
{
	const struct chrome *c = context;

	fxt_export_progress(c->export, at, size);
}

char *fxt_form_chrome(struct fxt_export *export)
{
	struct chrome c = {.export = export};
	struct fxt_visitor visitor = {
		.context = &c,
		.call = take_event,
		.call_begin = take_event,
		.call_end = take_event,
		.moment = take_event,
		.context_switch = take_switch,
		.log = take_log,
		.progress = show,
	};
	bool ok;

	fxt_put_literal(&c.text, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	ok = fxt_visit(export->reader, &visitor);
	put_all_names(&c);
	fxt_put_literal(&c.text, "\n]}\n");
	fxt_form_text_flush(&c.text, export->out, true);
	free(c.text.data);
	free(c.processors);
	fxt_map_free(&c.threads.by_tid);
	return ok ? NULL : fxt_strdup("damaged");
}
