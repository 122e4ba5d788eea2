/* fxt report --json: prints the sections on threads, on chains of waits and on processor time. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>

#include "report.h"
#include "tools/analysis/demangle.h"
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

/* -- Processor time --------------------------------------------------------------------------------- */

/* Looking up a line takes a while, so only functions that many people will look at have one. */
enum { WITH_PLACE = 200 };

static void put_samples(struct fxt_json *j, const struct fxt_processor_time *p, const char *samples_key,
			const char *ns_key, uint64_t samples)
{
	fxt_json_u64(j, samples_key, samples);
	if (p->hz)
		fxt_json_u64(j, ns_key, fxt_samples_ns(p, samples));
	else
		fxt_json_null(j, ns_key);
}

static void put_place(struct fxt_json *j, const struct fxt_source_place *place)
{
	fxt_json_object(j, "place");
	fxt_json_string(j, "file", place->file);
	fxt_json_i64(j, "line", place->line);
	fxt_json_string(j, "inlined", *place->function ? place->function : NULL);
	fxt_json_end(j);
}

static void put_functions(struct fxt_json *j, const struct fxt_processor_time *p, const struct fxt_reader *r,
			  struct fxt_frame_names *source)
{
	size_t shown = 0;

	fxt_json_array(j, "functions");
	for (size_t i = 0; i < p->tree.function_count; i++) {
		const struct fxt_tree_function *f = &p->tree.functions[p->tree.ranked[i]];
		struct fxt_text name = fxt_symbol_text(r, f->name);
		struct fxt_source_place place;
		char *demangled;

		if (!f->total)
			continue;
		demangled = fxt_demangle(&name);
		fxt_json_object(j, NULL);
		fxt_json_string(j, "handle", fxt_sampled_function_handle(r, f).text);
		fxt_json_symbol(j, "name", r, f->name);
		if (demangled)
			fxt_json_string(j, "demangled", demangled);
		fxt_json_symbol(j, "module", r, f->module);
		put_samples(j, p, "self_samples", "self_ns", f->self);
		put_samples(j, p, "total_samples", "total_ns", f->total);
		if (shown++ < WITH_PLACE && fxt_sampled_place(&p->tree, r, f, source, &place))
			put_place(j, &place);
		else
			fxt_json_null(j, "place");
		fxt_json_end(j);
		free(demangled);
	}
	fxt_json_end(j);
}

static void put_times(struct fxt_json *j, const struct fxt_switch_sums *times)
{
	fxt_json_u64(j, "running_ns", times->running_ns);
	fxt_json_u64(j, "ready_ns", times->ready_ns);
	fxt_json_u64(j, "blocked_ns", times->blocked_ns);
	fxt_json_u64(j, "switches", times->switches);
	fxt_json_u64(j, "preemptions", times->preemptions);
}

static void put_processes(struct fxt_json *j, const struct fxt_processor_time *p, const struct fxt_reader *r)
{
	fxt_json_array(j, "processes");
	for (size_t i = 0; i < p->process_count; i++) {
		struct fxt_text name = fxt_process_name(r, p->processes[i].pid);

		fxt_json_object(j, NULL);
		fxt_json_string(j, "handle", fxt_handle_of_process(r, p->processes[i].pid).text);
		fxt_json_u64(j, "pid", fxt_number(r, p->processes[i].pid));
		fxt_json_text(j, "program", &name);
		put_samples(j, p, "samples", "sampled_ns", p->processes[i].samples);
		put_times(j, &p->processes[i].times);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

static void put_threads(struct fxt_json *j, const struct fxt_processor_time *p, const struct fxt_reader *r)
{
	fxt_json_array(j, "threads");
	for (size_t i = 0; i < p->thread_count; i++) {
		const struct fxt_processor_thread *thread = &p->threads[i];

		fxt_report_json_thread(j, NULL, r, thread->thread);
		put_samples(j, p, "samples", "sampled_ns", thread->samples);
		put_times(j, &thread->times);
		fxt_json_symbol(j, "function", r,
				thread->samples ? p->tree.functions[thread->function].name : 0);
		fxt_json_u64(j, "function_samples", thread->function_samples);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

void fxt_processor_json(const struct fxt_processor_time *p, struct fxt_json *j, const struct fxt_reader *r,
			struct fxt_frame_names *source)
{
	if (!p->thread_count && !p->hz && !p->lost_records) {
		fxt_json_null(j, "processor");
		return;
	}
	fxt_json_object(j, "processor");
	fxt_json_u64(j, "hz", p->hz);
	fxt_json_bool(j, "kernel_sampled", !p->kernel_not_sampled);
	put_samples(j, p, "samples", "sampled_ns", p->tree.samples);
	put_samples(j, p, "kernel_samples", "kernel_ns", p->kernel_samples);
	fxt_json_u64(j, "lost_records", p->lost_records);
	put_functions(j, p, r, source);
	put_processes(j, p, r);
	put_threads(j, p, r);
	fxt_json_end(j);
}
