/* What ran on the processors, as the kernel saw it. See processor_time.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "processor_time.h"

#include <stdlib.h>

#include "call_stacks.h"
#include "tools/common/message.h"

/* -- Taking ---------------------------------------------------------------------------------------- */

uint32_t fxt_told_thread(struct fxt_reader *r, const struct fxt_record *rec)
{
	uint64_t pid, tid;

	if (fxt_argument_u64(fxt_argument(rec, "process"), &pid) &&
	    fxt_argument_u64(fxt_argument(rec, "thread"), &tid))
		return fxt_thread_of(r, pid, tid);
	return rec->thread;
}

/* Takes an instant of category kernel. */
static void take_fact(struct fxt_processor_time *p, struct fxt_reader *r, const struct fxt_record *rec)
{
	const struct fxt_text *kernel;
	uint64_t hz;

	if (fxt_text_is(&rec->name, "sampling")) {
		kernel = fxt_argument_text(rec, "kernel");
		hz = fxt_argument_or(rec, "hz", 0);
		p->hz = hz ? hz : p->hz;
		p->kernel_not_sampled |= kernel && fxt_text_is(kernel, "not sampled");
	} else if (fxt_text_is(&rec->name, "lost")) {
		p->lost_records += fxt_argument_or(rec, "records", 0);
		/* A gap says how long it was. The ring's own losses lack some switches. */
		if (fxt_argument(rec, "ns"))
			fxt_switch_times_gap(&p->switches, rec);
	} else if (fxt_text_is(&rec->name, "executed")) {
		fxt_switch_times_runs(&p->switches, r, rec, fxt_told_thread(r, rec));
	} else if (fxt_text_is(&rec->name, "ended")) {
		fxt_switch_times_end(&p->switches, r, rec, fxt_told_thread(r, rec));
	}
}

static void take_event(struct fxt_processor_time *p, struct fxt_reader *r, const struct fxt_record *rec)
{
	uint32_t thread;

	if (rec->subtype != FXT_EVENT_INSTANT)
		return;
	if (fxt_text_is(&rec->category, "kernel")) {
		take_fact(p, r, rec);
	} else if (fxt_text_is(&rec->category, "sample")) {
		thread = fxt_told_thread(r, rec);
		fxt_switch_times_runs(&p->switches, r, rec, thread);
		fxt_call_tree_sample(&p->tree, r, rec, thread);
	}
}

void fxt_processor_time_take(struct fxt_processor_time *p, struct fxt_reader *r, const struct fxt_record *rec)
{
	const struct fxt_text *type;

	switch (rec->type) {
	case FXT_RECORD_EVENT: take_event(p, r, rec); break;
	case FXT_RECORD_SCHEDULING:
		p->is_foreign |= !fxt_provider_is_kernel(rec->provider);
		if (rec->subtype != FXT_SCHEDULING_WAKEUP)
			fxt_switch_times_switch(&p->switches, rec);
		break;
	case FXT_RECORD_USERSPACE_OBJECT:
		type = fxt_argument_text(rec, "type");
		if (type && fxt_text_is(type, FXT_FRAME_RECORD) && fxt_provider_is_kernel(rec->provider))
			fxt_call_tree_frame(&p->tree, r, rec);
		break;
	default: break;
	}
}

/* -- Sums ------------------------------------------------------------------------------------------ */

static bool has_events(const struct fxt_overview *o, size_t thread)
{
	return thread < o->thread_count && o->thread_events[thread];
}

/* Finds the processes of which the agent tells. */
static void find_traced(const struct fxt_overview *o, const struct fxt_reader *r, struct fxt_map *pids)
{
	bool fresh;

	for (size_t i = 0; i < r->thread_count; i++)
		if (has_events(o, i))
			fxt_map_put(pids, r->threads[i].pid, 0, &fresh);
}

static void sum_threads(struct fxt_processor_time *p, const struct fxt_reader *r,
			const struct fxt_overview *o)
{
	struct fxt_map traced = {0};
	uint64_t *samples = fxt_alloc(r->thread_count ? r->thread_count : 1, sizeof(*samples));

	for (const struct fxt_slot *s = fxt_map_next(&p->tree.leaves, NULL); s;
	     s = fxt_map_next(&p->tree.leaves, s))
		samples[s->a] += s->value[0];
	find_traced(o, r, &traced);
	for (size_t i = 0; i < r->thread_count; i++) {
		const struct fxt_switch_sums *times = NULL;

		/* The agent makes tasks of its own for a moment, which are none of the program's threads. */
		if (!p->is_foreign && !samples[i] && !has_events(o, i) &&
		    fxt_map_find(&traced, r->threads[i].pid, 0))
			continue;

		/* Without switches nobody has said that a thread which ran once did not go on. */
		if (p->switches.switches)
			times = fxt_switch_times_of(&p->switches, (uint32_t)i);
		if (!samples[i] && !times)
			continue;
		p->threads = fxt_grow(p->threads, &p->thread_capacity, p->thread_count + 1,
				      sizeof(*p->threads));
		p->threads[p->thread_count++] = (struct fxt_processor_thread){
			.thread = (uint32_t)i,
			.samples = samples[i],
			.times = times ? *times : (struct fxt_switch_sums){0},
		};
	}
	free(samples);
	fxt_map_free(&traced);
}

static void sum_processes(struct fxt_processor_time *p, const struct fxt_reader *r)
{
	struct fxt_map by_pid = {0};

	for (size_t i = 0; i < p->thread_count; i++) {
		const struct fxt_processor_thread *thread = &p->threads[i];
		uint64_t pid = r->threads[thread->thread].pid;
		struct fxt_processor_process *process;
		bool fresh;
		struct fxt_slot *s = fxt_map_put(&by_pid, pid, 0, &fresh);

		if (fresh) {
			s->value[0] = p->process_count;
			p->processes = fxt_grow(p->processes, &p->process_capacity, p->process_count + 1,
						sizeof(*p->processes));
			p->processes[p->process_count++] = (struct fxt_processor_process){.pid = pid};
		}
		process = &p->processes[s->value[0]];
		process->samples += thread->samples;
		process->times.running_ns += thread->times.running_ns;
		process->times.ready_ns += thread->times.ready_ns;
		process->times.blocked_ns += thread->times.blocked_ns;
		process->times.switches += thread->times.switches;
		process->times.preemptions += thread->times.preemptions;
	}
	fxt_map_free(&by_pid);
}

/* Finds the function in which each thread was most. */
static void find_functions(struct fxt_processor_time *p, const struct fxt_reader *r)
{
	struct fxt_map samples = {0};
	uint32_t *place = fxt_alloc(r->thread_count ? r->thread_count : 1, sizeof(*place));
	bool fresh;

	for (size_t i = 0; i < p->thread_count; i++)
		place[p->threads[i].thread] = (uint32_t)i;
	for (const struct fxt_slot *s = fxt_map_next(&p->tree.leaves, NULL); s;
	     s = fxt_map_next(&p->tree.leaves, s))
		fxt_map_put(&samples, s->a, p->tree.nodes[s->b].function, &fresh)->value[0] += s->value[0];
	for (const struct fxt_slot *s = fxt_map_next(&samples, NULL); s; s = fxt_map_next(&samples, s)) {
		struct fxt_processor_thread *thread = &p->threads[place[s->a]];

		if (s->value[0] > thread->function_samples) {
			thread->function = (uint32_t)s->b;
			thread->function_samples = s->value[0];
		}
	}
	free(place);
	fxt_map_free(&samples);
}

static int compare(uint64_t samples, const struct fxt_switch_sums *times, uint64_t other_samples,
		   const struct fxt_switch_sums *other_times)
{
	if (times->running_ns != other_times->running_ns)
		return times->running_ns > other_times->running_ns ? -1 : 1;
	return samples != other_samples ? (samples > other_samples ? -1 : 1) : 0;
}

static int threads_by_time(const void *a, const void *b)
{
	const struct fxt_processor_thread *x = a, *y = b;
	int order = compare(x->samples, &x->times, y->samples, &y->times);

	return order ? order : x->thread < y->thread ? -1 : 1;
}

static int processes_by_time(const void *a, const void *b)
{
	const struct fxt_processor_process *x = a, *y = b;
	int order = compare(x->samples, &x->times, y->samples, &y->times);

	return order ? order : x->pid < y->pid ? -1 : 1;
}

static bool is_kernel(const struct fxt_reader *r, const struct fxt_tree_function *f)
{
	struct fxt_text module;

	if (!f->module)
		return false;
	module = fxt_symbol_text(r, f->module);
	return fxt_text_is(&module, "[kernel]");
}

void fxt_processor_time_finish(struct fxt_processor_time *p, const struct fxt_reader *r,
			       const struct fxt_ends *ends, const struct fxt_overview *overview,
			       bool by_total)
{
	fxt_call_tree_finish(&p->tree);
	fxt_call_tree_rank(&p->tree, by_total);
	fxt_switch_times_finish(&p->switches, r, ends);
	for (size_t i = 0; i < p->tree.function_count; i++) {
		const struct fxt_tree_function *f = &p->tree.functions[i];

		if (is_kernel(r, f))
			p->kernel_samples += f->self;
	}
	sum_threads(p, r, overview);
	sum_processes(p, r);
	find_functions(p, r);
	if (p->thread_count)
		qsort(p->threads, p->thread_count, sizeof(*p->threads), threads_by_time);
	if (p->process_count)
		qsort(p->processes, p->process_count, sizeof(*p->processes), processes_by_time);
}

uint64_t fxt_samples_ns(const struct fxt_processor_time *p, uint64_t samples)
{
	return p->hz ? (uint64_t)((double)samples * 1e9 / (double)p->hz) : 0;
}

void fxt_processor_time_free(struct fxt_processor_time *p)
{
	fxt_call_tree_free(&p->tree);
	fxt_switch_times_free(&p->switches);
	free(p->threads);
	free(p->processes);
	*p = (struct fxt_processor_time){0};
}
