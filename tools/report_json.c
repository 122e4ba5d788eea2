/* fxt report --json: the same sections, all of each list, times in nanoseconds and sizes in bytes. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_JANSSON
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "json.h"
#include "print.h"
#include "report.h"

/* A function's symbol is beside its name in the source; `name` stays what is in the file. */
static void set_demangled(json_t *object, const struct fxt_reader *r, uint32_t category, uint32_t name)
{
	struct fxt_text of = fxt_symbol_text(r, category), text = fxt_symbol_text(r, name);
	char *demangled = fxt_text_is(&of, "function") ? fxt_demangle(&text) : NULL;

	if (demangled)
		fxt_json_set(object, "demangled", fxt_json_string(demangled));
	free(demangled);
}

static json_t *string(const char *utf8)
{
	return utf8 ? json_string_nocheck(utf8) : json_null();
}

static json_t *losers(const struct fxt_overview *o, const struct fxt_reader *r)
{
	json_t *array = json_array();

	for (size_t i = 0; i < o->loser_count; i++) {
		const struct fxt_loser *loser = &o->losers[i];
		struct fxt_text name = fxt_process_name(r, loser->pid);
		json_t *one = json_object();

		fxt_json_set(one, "pid", fxt_json_u64(loser->pid));
		fxt_json_set(one, "program", fxt_json_text(&name));
		fxt_json_set(one, "records", fxt_json_u64(loser->dropped));
		fxt_json_set(one, "first_ns", loser->first_ns ? fxt_json_u64(loser->first_ns) : json_null());
		fxt_json_set(one, "last_ns", fxt_json_u64(loser->last_ns));
		fxt_json_set(one, "reason", string(loser->reason));
		json_array_append_new(array, one);
	}
	return array;
}

static json_t *trace(const struct fxt_report *report)
{
	const struct fxt_overview *o = &report->overview;
	const struct fxt_reader *r = report->r;
	json_t *object = json_object(), *programs = json_array(), *categories = json_array();
	json_t *causes = json_array();
	uint64_t dropped = 0;

	for (size_t i = 0; i < r->provider_count; i++) {
		json_t *one;

		if (!r->providers[i]->announced)
			continue;
		one = json_object();
		fxt_json_set(one, "id", json_integer(r->providers[i]->id));
		fxt_json_set(one, "name", fxt_json_text(&r->providers[i]->name));
		json_array_append_new(programs, one);
	}
	for (size_t i = 0; i < o->category_count; i++) {
		json_t *one = json_object();

		fxt_json_set(one, "category", fxt_json_symbol(r, o->categories[i].category));
		fxt_json_set(one, "events", fxt_json_u64(o->categories[i].events));
		fxt_json_set(one, "bytes", fxt_json_u64(o->categories[i].bytes));
		json_array_append_new(categories, one);
	}
	fxt_json_set(object, "programs", programs);
	fxt_json_set(object, "processes", json_integer((json_int_t)fxt_overview_processes(o, r)));
	fxt_json_set(object, "threads", json_integer((json_int_t)fxt_overview_threads(o)));
	fxt_json_set(object, "bytes", fxt_json_u64(r->size));
	fxt_json_set(object, "events", fxt_json_u64(o->events));
	fxt_json_set(object, "first_ns", fxt_json_u64(o->first_ns));
	fxt_json_set(object, "last_ns", fxt_json_u64(o->last_ns));
	for (unsigned i = 0; i < FXT_DROP_COUNT; i++) {
		uint64_t records = fxt_overview_lost(o, (enum fxt_loss)i);
		json_t *one = json_object();

		dropped += records;
		fxt_json_set(one, "cause", string(fxt_drop_causes[i]));
		fxt_json_set(one, "records", fxt_json_u64(records));
		fxt_json_set(one, "last_ns", fxt_json_u64(fxt_overview_lost_last_ns(o, (enum fxt_loss)i)));
		if (records)
			json_array_append_new(causes, one);
		else
			json_decref(one);
	}
	fxt_json_set(object, "attempted", fxt_json_u64(o->written + dropped + fxt_overview_lost(o, FXT_LOSS_FILTERED) +
					      fxt_overview_lost(o, FXT_LOSS_OVERWRITTEN)));
	fxt_json_set(object, "written", fxt_json_u64(o->written));
	fxt_json_set(object, "dropped", fxt_json_u64(dropped));
	fxt_json_set(object, "dropped_by_cause", causes);
	fxt_json_set(object, "dropped_by_process", losers(o, r));
	fxt_json_set(object, "filtered", fxt_json_u64(fxt_overview_lost(o, FXT_LOSS_FILTERED)));
	fxt_json_set(object, "overwritten", fxt_json_u64(fxt_overview_lost(o, FXT_LOSS_OVERWRITTEN)));
	fxt_json_set(object, "buffer_full", fxt_json_u64(o->buffer_full));
	fxt_json_set(object, "reason", string(o->reason));
	fxt_json_set(object, "categories", categories);
	return object;
}

static json_t *calls(const struct fxt_report *report, const struct fxt_calls *calls)
{
	json_t *array = json_array();

	for (size_t i = 0; i < calls->count; i++) {
		const struct fxt_call *c = &calls->list[i];
		json_t *one = json_object();

		fxt_json_set(one, "category", fxt_json_symbol(report->r, c->category));
		fxt_json_set(one, "name", fxt_json_symbol(report->r, c->name));
		set_demangled(one, report->r, c->category, c->name);
		fxt_json_set(one, "count", fxt_json_u64(c->count));
		fxt_json_set(one, "total_ns", fxt_json_u64(c->total_ns));
		fxt_json_set(one, "mean_ns", fxt_json_u64(c->total_ns / c->count));
		fxt_json_set(one, "p50_ns", fxt_json_u64(fxt_call_percentile(c, 50)));
		fxt_json_set(one, "p99_ns", fxt_json_u64(fxt_call_percentile(c, 99)));
		fxt_json_set(one, "max_ns", fxt_json_u64(c->max_ns));
		json_array_append_new(array, one);
	}
	return array;
}

static json_t *waits(const struct fxt_report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; i < report->waits.count; i++) {
		const struct fxt_wait *w = &report->waits.list[i];
		json_t *one = json_object(), *by = json_array();
		char object[24];

		snprintf(object, sizeof(object), "0x%" PRIx64, w->object);
		for (size_t k = 0; k < w->waiter_count; k++) {
			json_t *waiter = fxt_report_json_thread(report->r, w->waiters[k].thread);

			fxt_json_set(waiter, "total_ns", fxt_json_u64(w->waiters[k].total_ns));
			json_array_append_new(by, waiter);
		}
		fxt_json_set(one, "kind", json_string(w->kind));
		fxt_json_set(one, "pid", fxt_json_u64(w->pid));
		fxt_json_set(one, "object", json_string(object));
		fxt_json_set(one, "label", string(w->label));
		fxt_json_set(one, "count", fxt_json_u64(w->count));
		fxt_json_set(one, "total_ns", fxt_json_u64(w->total_ns));
		fxt_json_set(one, "longest_ns", fxt_json_u64(w->max_ns));
		fxt_json_set(one, "by", by);
		json_array_append_new(array, one);
	}
	return array;
}

static json_t *contended(const struct fxt_report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; i < report->contention.count; i++) {
		const struct fxt_contended *c = &report->contention.list[i];
		char *lock = fxt_contention_lock(c->known, c->lock);
		json_t *one = json_object();

		fxt_json_set(one, "kind", json_string(c->kind));
		fxt_json_set(one, "pid", fxt_json_u64(c->pid));
		fxt_json_set(one, "lock", json_string(lock));
		fxt_json_set(one, "wanted_in", fxt_json_symbol(report->r, c->at));
		fxt_json_set(one, "held_in", fxt_json_symbol(report->r, c->held_at));
		fxt_json_set(one, "count", fxt_json_u64(c->count));
		fxt_json_set(one, "total_ns", fxt_json_u64(c->total_ns));
		fxt_json_set(one, "longest_ns", fxt_json_u64(c->max_ns));
		if (c->held_count)
			fxt_json_set(one, "held_mean_ns", fxt_json_u64(c->held_ns / c->held_count));
		json_array_append_new(array, one);
		free(lock);
	}
	return array;
}

static json_t *blocked(const struct fxt_report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; i < report->contention.blocked_count; i++) {
		const struct fxt_blocked *b = &report->contention.blocked[i];
		char *lock;
		json_t *one;

		if (!b->is_blocked)
			continue;
		lock = fxt_contention_lock(b->known, b->lock);
		one = fxt_report_json_thread(report->r, (uint32_t)i);
		if (!b->is_join) {
			fxt_json_set(one, "lock", json_string(lock));
			fxt_json_set(one, "wanted_in", fxt_json_symbol(report->r, b->at));
		}
		fxt_json_set(one, "since_ns", fxt_json_u64(b->since_ns));
		if (b->is_join) {
			fxt_json_set(one, "thread", fxt_json_u64(b->holder));
		} else if (b->holder) {
			fxt_json_set(one, "holder", fxt_json_u64(b->holder));
			fxt_json_set(one, "held_in", fxt_json_symbol(report->r, b->held_at));
		}
		if (b->held_since_ns)
			fxt_json_set(one, "held_since_ns", fxt_json_u64(b->held_since_ns));
		fxt_json_set(one, "deadlock", json_boolean(b->is_in_circle));
		json_array_append_new(array, one);
		free(lock);
	}
	return array;
}

static json_t *heaps(const struct fxt_report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; i < report->heaps.count; i++) {
		const struct fxt_heap *h = &report->heaps.list[i];
		json_t *one = json_object(), *leaks = json_array();

		for (size_t k = 0; k < h->leak_count; k++) {
			json_t *leak = json_object();

			fxt_json_set(leak, "size", fxt_json_u64(h->leaks[k].size));
			fxt_json_set(leak, "count", fxt_json_u64(h->leaks[k].count));
			json_array_append_new(leaks, leak);
		}
		fxt_json_set(one, "pid", fxt_json_u64(h->pid));
		fxt_json_set(one, "program", fxt_json_text(&h->provider->name));
		fxt_json_set(one, "allocations", fxt_json_u64(h->calls));
		fxt_json_set(one, "failed", fxt_json_u64(h->failed));
		fxt_json_set(one, "allocated_bytes", fxt_json_u64(h->allocated_bytes));
		fxt_json_set(one, "frees", fxt_json_u64(h->frees));
		fxt_json_set(one, "unknown_frees", fxt_json_u64(h->unknown_frees));
		fxt_json_set(one, "peak_bytes", fxt_json_u64(h->peak_bytes));
		fxt_json_set(one, "peak_ns", fxt_json_u64(h->peak_ns));
		fxt_json_set(one, "in_use_bytes", fxt_json_u64(h->in_use_bytes));
		fxt_json_set(one, "in_use_blocks", fxt_json_u64(h->live_blocks));
		fxt_json_set(one, "never_freed", leaks);
		json_array_append_new(array, one);
	}
	return array;
}

static json_t *transfers(struct fxt_transfers *t)
{
	json_t *object = json_object();

	fxt_json_set(object, "calls", fxt_json_u64(t->calls));
	fxt_json_set(object, "bytes", fxt_json_u64(t->bytes));
	fxt_json_set(object, "mean_bytes", fxt_json_u64(fxt_transfers_mean_bytes(t)));
	fxt_json_set(object, "unsaid_calls", fxt_json_u64(t->unsaid));
	fxt_json_set(object, "total_ns", fxt_json_u64(t->total_ns));
	fxt_json_set(object, "p50_ns", fxt_json_u64(fxt_transfers_percentile(t, 50)));
	fxt_json_set(object, "p99_ns", fxt_json_u64(fxt_transfers_percentile(t, 99)));
	fxt_json_set(object, "max_ns", fxt_json_u64(t->max_ns));
	return object;
}

static json_t *leaks(const struct fxt_report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; i < report->leaks.count; i++) {
		const struct fxt_unfreed *left = &report->leaks.list[i];
		char *function = fxt_unfreed_function(left, report->r), *object = fxt_unfreed_object(left, report->r);
		json_t *one = json_object();

		fxt_json_set(one, "pid", fxt_json_u64(left->pid));
		fxt_json_set(one, "program", fxt_json_text(&left->provider->name));
		fxt_json_set(one, "kind", json_string(left->is_mapping ? "mapping" : "block"));
		fxt_json_set(one, "function", string(function));
		fxt_json_set(one, "object", string(object));
		fxt_json_set(one, "size", fxt_json_u64(left->size));
		fxt_json_set(one, "count", fxt_json_u64(left->count));
		fxt_json_set(one, "bytes", fxt_json_u64(left->size * left->count));
		json_array_append_new(array, one);
		free(object);
		free(function);
	}
	return array;
}

static json_t *files(const struct fxt_report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; i < report->files.count; i++) {
		const struct fxt_file *f = &report->files.list[i];
		json_t *one = json_object();

		fxt_json_set(one, "file", string(f->label));
		fxt_json_set(one, "calls", fxt_json_u64(f->calls));
		fxt_json_set(one, "read_bytes", fxt_json_u64(f->in_bytes));
		fxt_json_set(one, "written_bytes", fxt_json_u64(f->out_bytes));
		fxt_json_set(one, "unsaid_calls", fxt_json_u64(f->unsaid));
		fxt_json_set(one, "total_ns", fxt_json_u64(f->total_ns));
		for (int how = 0; how < FXT_FILE_USES; how++) {
			if (f->uses[how])
				fxt_json_set(one, fxt_file_use_names[how], transfers(f->uses[how]));
		}
		json_array_append_new(array, one);
	}
	return array;
}

static json_t *open_calls(const struct fxt_report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; i < report->open.count; i++) {
		for (size_t k = 0; k < report->open.threads[i].count; k++) {
			const struct fxt_open_call *c = &report->open.threads[i].list[k];
			json_t *one = fxt_report_json_thread(report->r, c->thread);
			struct fxt_record rec;

			fxt_reader_event_at(report->r, c->offset, c->provider, &rec);
			fxt_json_set(one, "category", fxt_json_symbol(report->r, c->category));
			fxt_json_set(one, "call", fxt_json_symbol(report->r, c->name));
			set_demangled(one, report->r, c->category, c->name);
			fxt_json_set(one, "since_ns", fxt_json_u64(c->start_ns));
			fxt_json_set(one, "args", fxt_json_arguments(&rec));
			json_array_append_new(array, one);
		}
	}
	return array;
}

static json_t *log_lines(const struct fxt_report *report)
{
	json_t *object = json_object(), *last = json_array();

	for (size_t i = 0; i < report->log.count; i++) {
		const struct fxt_log_line *line = &report->log.list[i];
		json_t *one = fxt_report_json_thread(report->r, line->thread);

		fxt_json_set(one, "time_ns", fxt_json_u64(line->at_ns));
		fxt_json_set(one, "message", fxt_json_text(&line->message));
		json_array_append_new(last, one);
	}
	fxt_json_set(object, "lines", fxt_json_u64(report->log.total));
	fxt_json_set(object, "last", last);
	return object;
}

void fxt_report_json(const struct fxt_report *report, FILE *out)
{
	json_t *object = json_object();

	fxt_json_set(object, "trace", trace(report));
	fxt_json_set(object, "agent", calls(report, &report->agent));
	fxt_json_set(object, "threads", fxt_report_json_threads(report));
	fxt_json_set(object, "chains", fxt_report_json_chains(report));
	fxt_json_set(object, "calls", calls(report, &report->calls));
	fxt_json_set(object, "waiting", waits(report));
	fxt_json_set(object, "contended", contended(report));
	fxt_json_set(object, "blocked", blocked(report));
	fxt_json_set(object, "heap", heaps(report));
	fxt_json_set(object, "leaks", leaks(report));
	fxt_json_set(object, "files", files(report));
	fxt_json_set(object, "descriptors_open", fxt_descriptors_json(&report->descriptors, report->r));
	fxt_json_set(object, "log", log_lines(report));
	fxt_json_set(object, "open", open_calls(report));
	fxt_json_print(object, out, false);
}
#else
typedef int fxt_built_without_json;
#endif
