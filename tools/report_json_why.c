/* fxt report --json: what threads did with their lives, and chains of waits. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_JANSSON
#include <stdlib.h>

#include "json.h"
#include "report.h"

json_t *fxt_report_json_thread(const struct fxt_reader *r, uint32_t index)
{
	json_t *object = json_object();

	fxt_json_set(object, "pid", fxt_json_u64(r->threads[index].pid));
	fxt_json_set(object, "tid", fxt_json_u64(r->threads[index].tid));
	fxt_json_set(object, "name", fxt_json_text(&r->threads[index].name));
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

			fxt_json_set(call, "call", fxt_json_symbol(report->r, c->name));
			fxt_json_set(call, "ns", fxt_json_u64(c->ns));
			json_array_append_new(in, call);
		}
		fxt_json_set(one, "first_ns", fxt_json_u64(thread->first_ns));
		fxt_json_set(one, "last_ns", fxt_json_u64(thread->last_ns));
		fxt_json_set(one, "running_ns", fxt_json_u64(thread->running_ns));
		fxt_json_set(one, "blocked_ns", fxt_json_u64(thread->blocked_ns));
		fxt_json_set(one, "waiting_ns", fxt_json_u64(thread->waiting_ns));
		fxt_json_set(one, "not_running_in", in);
		fxt_json_set(one, "open", fxt_json_symbol(report->r, thread->open));
		json_array_append_new(array, one);
	}
	return array;
}

static json_t *meanwhile(const struct fxt_report *report, const struct fxt_meanwhile *m)
{
	json_t *object = json_object(), *in = json_array();

	for (size_t i = 0; i < m->count; i++) {
		json_t *one = json_object();

		fxt_json_set(one, "category", fxt_json_symbol(report->r, m->list[i].category));
		fxt_json_set(one, "name", fxt_json_symbol(report->r, m->list[i].name));
		fxt_json_set(one, "ns", fxt_json_u64(m->list[i].ns));
		json_array_append_new(in, one);
	}
	fxt_json_set(object, "from_ns", fxt_json_u64(m->from_ns));
	fxt_json_set(object, "in", in);
	fxt_json_set(object, "outside_ns", fxt_json_u64(m->untold_ns));
	return object;
}

static json_t *wait(const struct fxt_report *report, const struct fxt_chain_link *link)
{
	json_t *object = fxt_report_json_thread(report->r, link->thread);
	char *what = fxt_chains_object(link, &report->objects, report->r);
	struct fxt_record rec;

	fxt_reader_event_at(report->r, link->offset, link->provider, &rec);
	fxt_json_set(object, "call", fxt_json_symbol(report->r, link->name));
	fxt_json_set(object, "object", what ? fxt_json_string(what) : json_null());
	fxt_json_set(object, "args", fxt_json_arguments(&rec));
	fxt_json_set(object, "from_ns", fxt_json_u64(link->start_ns));
	fxt_json_set(object, "waited_ns", fxt_json_u64(link->end_ns - link->start_ns));
	fxt_json_set(object, "let_go_ns", fxt_json_u64(link->woken_ns));
	fxt_json_set(object, "by", fxt_report_json_thread(report->r, link->waker));
	fxt_json_set(object, "by_call", fxt_json_symbol(report->r, link->meanwhile.call));
	fxt_json_set(object, "by_function", fxt_json_symbol(report->r, link->meanwhile.function));
	fxt_json_set(object, "by_meanwhile", meanwhile(report, &link->meanwhile));
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
		fxt_json_set(one, "count", fxt_json_u64(chain->count));
		fxt_json_set(one, "total_ns", fxt_json_u64(chain->total_ns));
		fxt_json_set(one, "longest_ns", fxt_json_u64(chain->longest->end_ns - chain->longest->start_ns));
		fxt_json_set(one, "longest", waits);
		json_array_append_new(array, one);
	}
	return array;
}
#else
typedef int fxt_built_without_json;
#endif
