/* fxt report --json: prints the sections on threads and on chains of waits. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "report.h"
#include "tools/printing/json.h"

void fxt_report_json_thread(struct fxt_json *j, const char *key, const struct fxt_reader *r, uint32_t index)
{
	struct fxt_text name = fxt_thread_name(r, index);

	fxt_json_object(j, key);
	fxt_json_string(j, "handle", fxt_handle_of_thread(r, index).text);
	fxt_json_u64(j, "pid", fxt_number(r, r->threads[index].pid));
	fxt_json_u64(j, "tid", fxt_number(r, r->threads[index].tid));
	fxt_json_u64(j, "koid", r->threads[index].tid);
	fxt_json_u64(j, "process_koid", r->threads[index].pid);
	fxt_json_text(j, "name", &name);
}

static void put_not_running(struct fxt_json *j, const struct fxt_report *report,
			    const struct fxt_thread_time *thread)
{
	fxt_json_array(j, "not_running_in");
	for (size_t i = 0; i < thread->call_count; i++) {
		const struct fxt_thread_call *c = &report->threads.calls[thread->calls + i];

		fxt_json_object(j, NULL);
		fxt_json_symbol(j, "call", report->r, c->name);
		fxt_json_u64(j, "ns", c->ns);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

static void put_maker(struct fxt_json *j, const struct fxt_report *report, uint32_t thread)
{
	const struct fxt_slot *maker = fxt_map_find(&report->makers, thread, 0);

	if (maker)
		fxt_who_json(report->who, j, "made_by", FXT_FOR_CALL, (uint32_t)maker->value[0]);
}

void fxt_report_json_threads(struct fxt_json *j, const struct fxt_report *report)
{
	fxt_json_array(j, "threads");
	for (size_t i = 0; i < report->threads.count; i++) {
		const struct fxt_thread_time *thread = &report->threads.list[i];

		fxt_report_json_thread(j, NULL, report->r, thread->thread);
		fxt_json_u64(j, "first_ns", thread->first_ns);
		fxt_json_u64(j, "last_ns", thread->last_ns);
		fxt_json_u64(j, "running_ns", thread->running_ns);
		fxt_json_u64(j, "blocked_ns", thread->blocked_ns);
		fxt_json_u64(j, "waiting_ns", thread->waiting_ns);
		fxt_json_u64(j, "unseen_ns", thread->unseen_ns);
		fxt_json_u64(j, "unknown_ns", thread->unknown_ns);
		put_not_running(j, report, thread);
		fxt_json_symbol(j, "open", report->r, thread->open);
		put_maker(j, report, thread->thread);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

static void put_meanwhile(struct fxt_json *j, const struct fxt_report *report, const struct fxt_meanwhile *m)
{
	fxt_json_object(j, "by_meanwhile");
	fxt_json_u64(j, "from_ns", m->from_ns);
	fxt_json_array(j, "in");
	for (size_t i = 0; i < m->count; i++) {
		fxt_json_object(j, NULL);
		fxt_json_symbol(j, "category", report->r, m->list[i].category);
		fxt_json_symbol(j, "name", report->r, m->list[i].name);
		fxt_json_u64(j, "ns", m->list[i].ns);
		fxt_json_end(j);
	}
	fxt_json_end(j);
	fxt_json_u64(j, "outside_ns", m->untold_ns);
	fxt_json_end(j);
}

static void put_wait(struct fxt_json *j, const struct fxt_report *report, const struct fxt_chain_link *link)
{
	char *what = fxt_chains_object(link, &report->objects, report->r);
	struct fxt_record rec;

	fxt_reader_event_at(report->r, link->offset, link->provider, &rec);
	fxt_report_json_thread(j, NULL, report->r, link->thread);
	fxt_json_symbol(j, "call", report->r, link->name);
	fxt_json_string(j, "object", what);
	fxt_json_arguments(j, "args", &rec);
	fxt_json_u64(j, "from_ns", link->start_ns);
	fxt_json_u64(j, "waited_ns", link->end_ns - link->start_ns);
	fxt_json_u64(j, "let_go_ns", link->woken_ns);
	fxt_report_json_thread(j, "by", report->r, link->waker);
	fxt_json_end(j);
	fxt_json_symbol(j, "by_call", report->r, link->meanwhile.call);
	fxt_json_symbol(j, "by_function", report->r, link->meanwhile.function);
	put_meanwhile(j, report, &link->meanwhile);
	fxt_json_end(j);
	free(what);
}

void fxt_report_json_chains(struct fxt_json *j, const struct fxt_report *report)
{
	fxt_json_array(j, "chains");
	for (size_t i = 0; i < report->chains.count; i++) {
		const struct fxt_chain *chain = &report->chains.list[i];

		fxt_json_object(j, NULL);
		fxt_json_string(j, "handle", fxt_handle_of_thread(report->r, chain->longest->thread).text);
		fxt_json_u64(j, "count", chain->count);
		fxt_json_u64(j, "total_ns", chain->total_ns);
		fxt_json_u64(j, "longest_ns", chain->longest->end_ns - chain->longest->start_ns);
		fxt_json_array(j, "longest");
		for (const struct fxt_chain_link *link = chain->longest; link; link = link->cause)
			put_wait(j, report, link);
		fxt_json_end(j);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}
