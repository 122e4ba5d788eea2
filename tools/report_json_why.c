/* fxt report --json: what threads did with their lives, and chains of waits. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_JANSSON
#include <stdlib.h>

#include "json.h"
#include "report.h"

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *symbol(const struct fxt_reader *r, uint32_t number)
{
	struct fxt_text text;

	if (!number)
		return json_null();
	text = fxt_symbol_text(r, number);
	return fxt_json_text(&text);
}

json_t *fxt_report_json_thread(const struct fxt_reader *r, uint32_t index)
{
	json_t *object = json_object();

	set(object, "pid", fxt_json_u64(r->threads[index].pid));
	set(object, "tid", fxt_json_u64(r->threads[index].tid));
	set(object, "name", fxt_json_text(&r->threads[index].name));
	return object;
}

json_t *fxt_report_json_threads(const struct fxt_report *report)
{
	const struct fxt_thread_times *t = &report->threads;
	json_t *array = json_array();

	for (size_t i = 0; i < t->count; i++) {
		const struct fxt_thread_time *thread = &t->list[i];
		json_t *one = fxt_report_json_thread(report->r, thread->thread), *in = json_array();

		for (size_t k = 0; k < thread->call_count; k++) {
			const struct fxt_thread_call *c = &t->calls[thread->calls + k];
			json_t *call = json_object();

			set(call, "call", symbol(report->r, c->name));
			set(call, "ns", fxt_json_u64(c->ns));
			json_array_append_new(in, call);
		}
		set(one, "first_ns", fxt_json_u64(thread->first_ns));
		set(one, "last_ns", fxt_json_u64(thread->last_ns));
		set(one, "running_ns", fxt_json_u64(thread->running_ns));
		set(one, "blocked_ns", fxt_json_u64(thread->blocked_ns));
		set(one, "waiting_ns", fxt_json_u64(thread->waiting_ns));
		set(one, "not_running_in", in);
		set(one, "open", symbol(report->r, thread->open));
		json_array_append_new(array, one);
	}
	return array;
}

static json_t *meanwhile(const struct fxt_report *report, const struct fxt_meanwhile *m)
{
	json_t *object = json_object(), *in = json_array();

	for (size_t i = 0; i < m->count; i++) {
		json_t *one = json_object();

		set(one, "category", symbol(report->r, m->list[i].category));
		set(one, "name", symbol(report->r, m->list[i].name));
		set(one, "ns", fxt_json_u64(m->list[i].ns));
		json_array_append_new(in, one);
	}
	set(object, "from_ns", fxt_json_u64(m->from_ns));
	set(object, "in", in);
	set(object, "outside_ns", fxt_json_u64(m->untold_ns));
	return object;
}

static json_t *wait(const struct fxt_report *report, const struct fxt_chain_link *link)
{
	json_t *object = fxt_report_json_thread(report->r, link->thread);
	char *what = fxt_chains_object(link, &report->objects, report->r);
	struct fxt_record rec;

	fxt_reader_event_at(report->r, link->offset, link->provider, &rec);
	set(object, "call", symbol(report->r, link->name));
	set(object, "object", what ? fxt_json_string(what) : json_null());
	set(object, "args", fxt_json_arguments(&rec));
	set(object, "from_ns", fxt_json_u64(link->start_ns));
	set(object, "waited_ns", fxt_json_u64(link->end_ns - link->start_ns));
	set(object, "let_go_ns", fxt_json_u64(link->woken_ns));
	set(object, "by", fxt_report_json_thread(report->r, link->waker));
	set(object, "by_call", symbol(report->r, link->meanwhile.call));
	set(object, "by_function", symbol(report->r, link->meanwhile.function));
	set(object, "by_meanwhile", meanwhile(report, &link->meanwhile));
	free(what);
	return object;
}

json_t *fxt_report_json_chains(const struct fxt_report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; i < report->chains.count; i++) {
		const struct fxt_chain *chain = &report->chains.list[i];
		const struct fxt_chain_link *link = chain->longest;
		json_t *one = json_object(), *waits = json_array();

		do {
			json_array_append_new(waits, wait(report, link));
			link = link->cause;
		} while (link);
		set(one, "count", fxt_json_u64(chain->count));
		set(one, "total_ns", fxt_json_u64(chain->total_ns));
		set(one, "longest_ns", fxt_json_u64(chain->longest->total_ns));
		set(one, "longest", waits);
		json_array_append_new(array, one);
	}
	return array;
}
#else
typedef int fxt_built_without_json;
#endif
