/* fxt report --json: processor time. See report_processor.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>

#include "report.h"
#include "tools/analysis/demangle.h"
#include "tools/printing/json.h"

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
