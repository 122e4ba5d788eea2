/* fxt report --json: prints the same sections with all of each list, times in nanoseconds and sizes in
 * bytes. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tools/analysis/categories.h"
#include "tools/common/message.h"
#include "tools/analysis/demangle.h"
#include "tools/callers/nameless.h"
#include "tools/printing/json.h"

/* Adds the name that a function has in its source. `name` stays the symbol that is in the file. */
static void put_demangled(struct fxt_json *j, const struct fxt_reader *r, uint32_t category, uint32_t name)
{
	struct fxt_text of = fxt_symbol_text(r, category), text = fxt_symbol_text(r, name);
	char *demangled = fxt_text_is(&of, "function") ? fxt_demangle(&text) : NULL;

	if (demangled)
		fxt_json_string(j, "demangled", demangled);
	free(demangled);
}

/* -- The trace as a whole -------------------------------------------------------------------------- */

static void put_program(struct fxt_json *j, uint64_t id, const struct fxt_text *name)
{
	fxt_json_object(j, NULL);
	fxt_json_u64(j, "id", id);
	fxt_json_text(j, "name", name);
	fxt_json_end(j);
}

static void put_processes(struct fxt_json *j, const struct fxt_reader *r)
{
	for (const struct fxt_slot *s = fxt_map_next(&r->process_names, NULL); s;
	     s = fxt_map_next(&r->process_names, s)) {
		struct fxt_text name = fxt_process_name(r, s->a);

		put_program(j, s->a, &name);
	}
}

static void put_programs(struct fxt_json *j, const struct fxt_reader *r, bool is_foreign)
{
	fxt_json_array(j, "programs");
	if (is_foreign)
		put_processes(j, r);
	for (size_t i = 0; i < r->provider_count && !is_foreign; i++) {
		if (!r->providers[i]->announced || fxt_provider_is_kernel(r->providers[i]))
			continue;
		put_program(j, r->providers[i]->id, &r->providers[i]->name);
	}
	fxt_json_end(j);
}

static void put_causes(struct fxt_json *j, const struct fxt_overview *o)
{
	fxt_json_array(j, "dropped_by_cause");
	for (unsigned i = 0; i < FXT_DROP_COUNT; i++) {
		uint64_t records = fxt_overview_lost(o, (enum fxt_loss_kind)i);

		if (!records)
			continue;
		fxt_json_object(j, NULL);
		fxt_json_string(j, "cause", fxt_drop_causes[i]);
		fxt_json_u64(j, "records", records);
		fxt_json_u64(j, "last_ns", fxt_overview_lost_last_ns(o, (enum fxt_loss_kind)i));
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

/* Puts the windows that the process's threads tell of. What is lost to the end is in none. */
static void put_windows(struct fxt_json *j, const char *key, const struct fxt_overview *o, uint64_t pid)
{
	size_t count;
	const struct fxt_loss_span *list = fxt_loss_spans_of(&o->spans, pid, &count);

	fxt_json_array(j, key);
	for (size_t i = 0; i < count; i++) {
		fxt_json_object(j, NULL);
		fxt_json_u64(j, "first_ns", list[i].from_ns);
		fxt_json_u64(j, "last_ns", list[i].to_ns);
		fxt_json_u64(j, "records", list[i].records);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

static void put_losers(struct fxt_json *j, const struct fxt_overview *o, const struct fxt_reader *r)
{
	fxt_json_array(j, "dropped_by_process");
	for (size_t i = 0; i < o->loser_count; i++) {
		const struct fxt_loser *loser = &o->losers[i];
		struct fxt_text name = fxt_process_name(r, loser->pid);

		fxt_json_object(j, NULL);
		fxt_json_u64(j, "pid", fxt_number(r, loser->pid));
		fxt_json_text(j, "program", &name);
		fxt_json_u64(j, "records", loser->dropped);
		if (loser->first_ns)
			fxt_json_u64(j, "first_ns", loser->first_ns);
		else
			fxt_json_null(j, "first_ns");
		fxt_json_u64(j, "last_ns", loser->last_ns);
		fxt_json_string(j, "reason", loser->reason);
		put_windows(j, "windows", o, loser->pid);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

/* Puts what the agent's tables had no place for, in all and by process. */
static void put_not_kept(struct fxt_json *j, const struct fxt_overview *o, const struct fxt_reader *r)
{
	fxt_json_u64(j, "blocks_not_kept", fxt_overview_lost(o, FXT_LOSS_BLOCKS));
	fxt_json_u64(j, "stacks_not_kept", fxt_overview_lost(o, FXT_LOSS_STACKS));
	fxt_json_array(j, "not_kept_by_process");
	for (size_t i = 0; i < r->provider_count; i++) {
		uint64_t blocks = fxt_overview_lost_of(o, r->providers[i], FXT_LOSS_BLOCKS);
		uint64_t stacks = fxt_overview_lost_of(o, r->providers[i], FXT_LOSS_STACKS);

		if (!blocks && !stacks)
			continue;
		fxt_json_object(j, NULL);
		fxt_json_u64(j, "pid", r->providers[i]->id);
		fxt_json_text(j, "program", &r->providers[i]->name);
		fxt_json_u64(j, "blocks", blocks);
		fxt_json_u64(j, "stacks", stacks);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

/* Puts what of the file could not be read, which is null if all could. */
static void put_unread(struct fxt_json *j, const struct fxt_reader *r)
{
	if (!r->damaged_records && !r->tail_bytes) {
		fxt_json_null(j, "unread");
		return;
	}
	fxt_json_object(j, "unread");
	fxt_json_u64(j, "damaged_records", r->damaged_records);
	if (r->damaged_records) {
		fxt_json_u64(j, "first_damaged_offset", r->first_fault_offset);
		fxt_json_string(j, "first_damage", fxt_fault_text[r->first_fault]);
		fxt_json_string(j, "first_damage_detail", r->first_fault_detail);
	}
	fxt_json_u64(j, "cut_bytes", r->tail_bytes);
	if (r->tail_bytes)
		fxt_json_u64(j, "cut_at", r->at);
	fxt_json_end(j);
}

/* Puts what has no name. */
static void put_nameless(struct fxt_json *j, const struct fxt_report *report)
{
	struct fxt_nameless nameless = {0};

	fxt_nameless_find(&nameless, &report->who->stacks, report->r);
	fxt_json_u64(j, "unnamed", fxt_overview_lost(&report->overview, FXT_LOSS_UNNAMED));
	fxt_json_u64(j, "unnamed_in_stacks", nameless.functions);
	fxt_json_array(j, "cut_files");
	for (size_t i = 0; i < nameless.cut_count; i++) {
		fxt_json_object(j, NULL);
		fxt_json_text(j, "path", &nameless.cut[i].path);
		fxt_json_u64(j, "functions", nameless.cut[i].functions);
		fxt_json_end(j);
	}
	fxt_json_end(j);
	fxt_nameless_free(&nameless);
}

static void put_account(struct fxt_json *j, const struct fxt_report *report)
{
	const struct fxt_overview *o = &report->overview;
	uint64_t lost[FXT_LOSS_COUNT], dropped;

	for (unsigned i = 0; i < FXT_LOSS_COUNT; i++)
		lost[i] = fxt_overview_lost(o, (enum fxt_loss_kind)i);
	dropped = fxt_lost_dropped(lost);
	fxt_json_u64(j, "attempted",
		     o->written + dropped + lost[FXT_LOSS_FILTERED] + lost[FXT_LOSS_OVERWRITTEN]);
	fxt_json_u64(j, "written", o->written);
	fxt_json_u64(j, "dropped", dropped);
	put_causes(j, o);
	put_losers(j, o, report->r);
	fxt_json_u64(j, "filtered", lost[FXT_LOSS_FILTERED]);
	fxt_json_u64(j, "overwritten", lost[FXT_LOSS_OVERWRITTEN]);
	fxt_json_u64(j, "buffer_full", o->buffer_full);
	fxt_json_u64(j, "kernel_lost", o->kernel_lost);
	put_windows(j, "kernel_windows", o, FXT_KERNEL_PROVIDER_ID);
	put_not_kept(j, o, report->r);
	put_nameless(j, report);
	fxt_json_string(j, "reason", o->reason);
}

static void put_trace(struct fxt_json *j, const struct fxt_report *report)
{
	const struct fxt_overview *o = &report->overview;

	fxt_json_object(j, "trace");
	put_programs(j, report->r, fxt_overview_is_foreign(&report->overview, report->r));
	fxt_json_u64(j, "processes", fxt_overview_processes(o, report->r));
	fxt_json_u64(j, "recorded_nothing", o->silent);
	fxt_json_u64(j, "threads", fxt_overview_threads(o, report->r));
	fxt_json_u64(j, "bytes", report->r->size);
	fxt_json_u64(j, "events", o->events);
	fxt_json_u64(j, "first_ns", o->first_ns);
	fxt_json_u64(j, "last_ns", o->last_ns);
	fxt_wall_clock_json(&report->wall_clock, j, o->first_ns, o->last_ns);
	put_account(j, report);
	put_unread(j, report->r);
	fxt_json_array(j, "categories");
	for (size_t i = 0; i < o->category_count; i++)
		fxt_category_json(j, report->r, &o->categories[i]);
	fxt_json_end(j);
	fxt_json_end(j);
}

/* -- Calls and waits ------------------------------------------------------------------------------- */

static void put_calls(struct fxt_json *j, const char *key, const struct fxt_report *report,
		      const struct fxt_calls *calls)
{
	const struct fxt_reader *r = report->r;

	fxt_json_array(j, key);
	for (size_t i = 0; i < calls->count; i++) {
		const struct fxt_call *c = &calls->list[i];

		fxt_json_object(j, NULL);
		fxt_json_string(j, "handle", fxt_call_handle(r, c).text);
		fxt_json_symbol(j, "category", r, c->category);
		fxt_json_symbol(j, "name", r, c->name);
		put_demangled(j, r, c->category, c->name);
		fxt_json_u64(j, "count", c->count);
		fxt_json_u64(j, "total_ns", c->total_ns);
		fxt_json_u64(j, "mean_ns", c->total_ns / c->count);
		fxt_json_u64(j, "p50_ns", fxt_call_percentile(c, 50));
		fxt_json_u64(j, "p99_ns", fxt_call_percentile(c, 99));
		fxt_json_u64(j, "max_ns", c->max_ns);
		fxt_most_by_json(j, &report->call_stacks, fxt_call_key(c->category, c->name), report->who,
				 fxt_call_purpose(r, c->category), true);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

static void put_waiters(struct fxt_json *j, const struct fxt_reader *r, const struct fxt_wait *w)
{
	fxt_json_array(j, "by");
	for (size_t i = 0; i < w->waiter_count; i++) {
		fxt_report_json_thread(j, NULL, r, w->waiters[i].thread);
		fxt_json_u64(j, "total_ns", w->waiters[i].total_ns);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

static void put_waits(struct fxt_json *j, const struct fxt_report *report)
{
	fxt_json_array(j, "waiting");
	for (size_t i = 0; i < report->waits.count; i++) {
		const struct fxt_wait *w = &report->waits.list[i];
		char object[24];

		snprintf(object, sizeof(object), "0x%" PRIx64, w->object);
		fxt_json_object(j, NULL);
		fxt_json_string(j, "handle", fxt_wait_handle(report->r, w).text);
		fxt_json_string(j, "kind", w->kind);
		fxt_json_u64(j, "pid", fxt_number(report->r, w->pid));
		fxt_json_string(j, "object", object);
		fxt_json_string(j, "label", w->label);
		fxt_json_u64(j, "count", w->count);
		fxt_json_u64(j, "total_ns", w->total_ns);
		fxt_json_u64(j, "longest_ns", w->max_ns);
		put_waiters(j, report->r, w);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

static void put_contended(struct fxt_json *j, const struct fxt_report *report)
{
	fxt_json_array(j, "contended");
	for (size_t i = 0; i < report->contention.count; i++) {
		const struct fxt_contended *c = &report->contention.list[i];
		char *lock = fxt_contention_lock(c->known, c->lock);

		fxt_json_object(j, NULL);
		fxt_json_string(j, "handle", fxt_handle_of_lock(report->r, c->pid, c->lock).text);
		fxt_json_string(j, "kind", c->kind);
		fxt_json_u64(j, "pid", fxt_number(report->r, c->pid));
		fxt_json_string(j, "lock", lock);
		fxt_json_symbol(j, "wanted_in", report->r, c->at);
		fxt_json_symbol(j, "held_in", report->r, c->held_at);
		fxt_json_u64(j, "count", c->count);
		fxt_json_u64(j, "total_ns", c->total_ns);
		fxt_json_u64(j, "longest_ns", c->max_ns);
		if (c->held_count)
			fxt_json_u64(j, "held_mean_ns", c->held_ns / c->held_count);
		fxt_who_json(report->who, j, "stack", FXT_FOR_LOCK, c->innermost);
		fxt_who_json(report->who, j, "holder_stack", FXT_FOR_LOCK, c->holder);
		fxt_json_end(j);
		free(lock);
	}
	fxt_json_end(j);
}

static void put_blocked_thread(struct fxt_json *j, const struct fxt_report *report, uint32_t thread,
			       const struct fxt_blocked *b)
{
	const struct fxt_reader *r = report->r;
	char *lock = fxt_contention_lock(b->known, b->lock);

	fxt_report_json_thread(j, NULL, r, thread);
	if (!b->is_join) {
		fxt_json_string(j, "lock", lock);
		fxt_json_symbol(j, "wanted_in", r, b->at);
	}
	fxt_json_u64(j, "since_ns", b->since_ns);
	if (b->is_join) {
		fxt_json_u64(j, "thread", b->holder);
	} else if (b->holder) {
		fxt_json_u64(j, "holder", b->holder);
		fxt_json_symbol(j, "held_in", r, b->held_at);
	}
	if (b->held_since_ns)
		fxt_json_u64(j, "held_since_ns", b->held_since_ns);
	fxt_json_bool(j, "deadlock", b->is_in_circle);
	fxt_who_json(report->who, j, "stack", FXT_FOR_LOCK,
		     fxt_calls_in_progress_stack(&report->open, thread));
	fxt_json_end(j);
	free(lock);
}

static void put_blocked(struct fxt_json *j, const struct fxt_report *report)
{
	fxt_json_array(j, "blocked");
	for (size_t i = 0; i < report->contention.blocked_count; i++) {
		if (report->contention.blocked[i].is_blocked)
			put_blocked_thread(j, report, (uint32_t)i, &report->contention.blocked[i]);
	}
	fxt_json_end(j);
}

static void put_open_calls(struct fxt_json *j, const struct fxt_report *report)
{
	fxt_json_array(j, "open");
	for (size_t i = 0; i < report->open.count; i++) {
		for (size_t k = 0; k < report->open.threads[i].count; k++) {
			const struct fxt_call_in_progress *c = &report->open.threads[i].list[k];
			struct fxt_record rec;

			fxt_reader_event_at(report->r, c->offset, c->provider, &rec);
			fxt_report_json_thread(j, NULL, report->r, c->thread);
			fxt_json_symbol(j, "category", report->r, c->category);
			fxt_json_symbol(j, "call", report->r, c->name);
			put_demangled(j, report->r, c->category, c->name);
			fxt_json_u64(j, "since_ns", c->start_ns);
			fxt_json_arguments(j, "args", &rec);
			if (k + 1 == report->open.threads[i].count)
				fxt_who_json(report->who, j, "stack", FXT_FOR_LOCK,
					     fxt_calls_in_progress_stack(&report->open, (uint32_t)i));
			fxt_json_end(j);
		}
	}
	fxt_json_end(j);
}

/* -- The heap -------------------------------------------------------------------------------------- */

static void put_never_freed(struct fxt_json *j, const struct fxt_process_heap *h)
{
	fxt_json_array(j, "never_freed");
	for (size_t i = 0; i < h->leak_count; i++) {
		fxt_json_object(j, NULL);
		fxt_json_u64(j, "size", h->leaks[i].size);
		fxt_json_u64(j, "count", h->leaks[i].count);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

static void put_heaps(struct fxt_json *j, const struct fxt_report *report)
{
	fxt_json_array(j, "heap");
	for (size_t i = 0; i < report->heaps.count; i++) {
		const struct fxt_process_heap *h = &report->heaps.list[i];

		fxt_json_object(j, NULL);
		fxt_json_string(j, "handle", fxt_handle_of_process(report->r, h->pid).text);
		fxt_json_u64(j, "pid", fxt_number(report->r, h->pid));
		fxt_json_text(j, "program", &h->provider->name);
		fxt_json_u64(j, "allocations", h->calls);
		fxt_json_u64(j, "failed", h->failed);
		fxt_json_u64(j, "allocated_bytes", h->allocated_bytes);
		fxt_json_u64(j, "frees", h->frees);
		fxt_json_u64(j, "unknown_frees", h->unknown_frees);
		fxt_json_u64(j, "forgotten_blocks", h->forgotten_blocks);
		fxt_json_u64(j, "peak_bytes", h->peak_bytes);
		fxt_json_u64(j, "peak_ns", h->peak_ns);
		fxt_json_u64(j, "in_use_bytes", h->in_use_bytes);
		fxt_json_u64(j, "in_use_blocks", h->live_blocks);
		put_never_freed(j, h);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

static void put_leaks(struct fxt_json *j, const struct fxt_report *report)
{
	fxt_json_array(j, "leaks");
	for (size_t i = 0; i < report->leaks.count; i++) {
		const struct fxt_unfreed *left = &report->leaks.list[i];
		char *function = fxt_unfreed_function(left, report->r),
		     *object = fxt_unfreed_object(left, report->r);
		struct fxt_text name = fxt_text_of(function ? function : "");
		struct fxt_handle handle = fxt_handle_of_function(&name);

		fxt_json_object(j, NULL);
		fxt_json_string(j, "handle", *handle.text ? handle.text : NULL);
		fxt_json_u64(j, "pid", fxt_number(report->r, left->pid));
		fxt_json_text(j, "program", &left->provider->name);
		fxt_json_string(j, "kind", left->is_mapping ? "mapping" : "block");
		fxt_json_string(j, "function", function);
		fxt_json_string(j, "object", object);
		fxt_json_u64(j, "size", left->size);
		fxt_json_u64(j, "count", left->count);
		fxt_json_u64(j, "bytes", left->size * left->count);
		fxt_json_end(j);
		free(object);
		free(function);
	}
	fxt_json_end(j);
}

/* -- Files and what was said ----------------------------------------------------------------------- */

static void put_transfers(struct fxt_json *j, const char *key, struct fxt_transfers *t)
{
	fxt_json_object(j, key);
	fxt_json_u64(j, "calls", t->calls);
	fxt_json_u64(j, "bytes", t->bytes);
	fxt_json_u64(j, "mean_bytes", fxt_transfers_mean_bytes(t));
	fxt_json_u64(j, "unsaid_calls", t->unsaid);
	fxt_json_u64(j, "total_ns", t->total_ns);
	fxt_json_u64(j, "p50_ns", fxt_transfers_percentile(t, 50));
	fxt_json_u64(j, "p99_ns", fxt_transfers_percentile(t, 99));
	fxt_json_u64(j, "max_ns", t->max_ns);
	fxt_json_end(j);
}

static void put_files(struct fxt_json *j, const struct fxt_report *report)
{
	fxt_json_array(j, "files");
	for (size_t i = 0; i < report->files.count; i++) {
		const struct fxt_file *f = &report->files.list[i];

		fxt_json_object(j, NULL);
		fxt_json_string(j, "handle", fxt_handle_of_name(FXT_HANDLE_FILE, f->label).text);
		fxt_json_string(j, "file", f->label);
		fxt_json_u64(j, "calls", f->calls);
		fxt_json_u64(j, "read_bytes", f->in_bytes);
		fxt_json_u64(j, "written_bytes", f->out_bytes);
		fxt_json_u64(j, "unsaid_calls", f->unsaid);
		fxt_json_u64(j, "total_ns", f->total_ns);
		for (int how = 0; how < FXT_FILE_USES; how++) {
			if (f->uses[how])
				put_transfers(j, fxt_file_use_names[how], f->uses[how]);
		}
		fxt_most_by_json(j, &report->files.by_stack, f->id, report->who, FXT_FOR_CALL, true);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

static void put_log(struct fxt_json *j, const struct fxt_report *report)
{
	fxt_json_object(j, "log");
	fxt_json_u64(j, "lines", report->log.total);
	fxt_json_array(j, "last");
	for (size_t i = 0; i < report->log.count; i++) {
		const struct fxt_log_line *line = &report->log.list[i];

		fxt_report_json_thread(j, NULL, report->r, line->thread);
		fxt_json_u64(j, "time_ns", line->at_ns);
		fxt_json_text(j, "message", &line->message);
		fxt_json_end(j);
	}
	fxt_json_end(j);
	fxt_json_end(j);
}

/* What comes first. */
struct first {
	void (*put)(const void *context, const struct fxt_report *report, struct fxt_json *j);
	const void *context;
};

/* Writes the report with so many elements of each array; 0: all. */
static void put_report(const struct fxt_report *report, const struct first *first, unsigned most, FILE *out)
{
	struct fxt_json j = {.out = out, .most = most};

	fxt_json_object(&j, NULL);
	fxt_json_u64(&j, "schema", FXT_JSON_SCHEMA);
	put_trace(&j, report);
	first->put(first->context, report, &j);
	put_calls(&j, "agent", report, &report->agent);
	fxt_report_json_threads(&j, report);
	fxt_processor_json(&report->processor, &j, report->r, report->options.source);
	fxt_report_json_chains(&j, report);
	fxt_critical_json(&report->critical, &j, report->r, report->who);
	put_calls(&j, "calls", report, &report->calls);
	put_waits(&j, report);
	put_contended(&j, report);
	put_blocked(&j, report);
	fxt_blocked_threads_json(&report->blocked, &j, report->r, report->who);
	fxt_lock_orders_json(&report->lock_orders, &j, report->r);
	put_heaps(&j, report);
	put_leaks(&j, report);
	fxt_heap_askers_json(&report->heap_stacks, report->who, &j);
	put_files(&j, report);
	fxt_descriptors_json(&report->descriptors, &j, report->r, report->who);
	fxt_failures_json(&report->failures, report->who, &j);
	fxt_budget_steps_json(&report->budget, report->r, &j);
	fxt_unseen_json(&report->unseen, report->r, &j);
	fxt_left_out_json(&report->left_out, report->r, &j);
	fxt_tracks_json(&report->tracks, report->r, &j);
	put_log(&j, report);
	put_open_calls(&j, report);
	if (most)
		fxt_json_cuts(&j);
	fxt_json_end(&j);
}

void fxt_report_json(const struct fxt_report *report,
		     void (*put_first)(const void *context, const struct fxt_report *report,
				       struct fxt_json *j),
		     const void *context, FILE *out)
{
	const struct first first = {put_first, context};
	/* What is longer fills the whole memory of those that are asked to read it. */
	enum { MOST_BYTES = 20000 };
	unsigned most = 200;
	char *text;
	size_t bytes;

	if (report->options.top >= FXT_TOP_ALL) {
		put_report(report, &first, 0, out);
		return;
	}
	for (;; most = most * 2 / 3) {
		FILE *whole = fxt_text_stream(&text, &bytes);

		put_report(report, &first, most, whole);
		fclose(whole);
		if (bytes <= MOST_BYTES || most == 1)
			break;
		free(text);
	}
	fwrite(text, 1, bytes, out);
	free(text);
}
