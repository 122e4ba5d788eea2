/* fxt report: prints the first lines, puts the sections in order, and frees all of them. See report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* -- The first lines ------------------------------------------------------------------------------- */

/* Returns whether the provider is a program, and the first of its name. Names repeat, because a process is a
 * provider for each program that it was. */
static bool is_new_program(const struct fxt_reader *r, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (r->providers[i]->announced &&
		    fxt_text_equal(&r->providers[i]->name, &r->providers[index]->name))
			return false;
	}
	return r->providers[index]->announced && !fxt_provider_is_kernel(r->providers[index]);
}

/* Prints the names of processes, for a trace in which no program has told anything of itself, because only
 * the kernel watched it, or because another tracer wrote it. */
static void print_watched(const struct fxt_reader *r, size_t processes, FILE *out)
{
	enum { SHOWN = 5 };
	size_t named = 0;

	for (const struct fxt_slot *s = fxt_map_next(&r->process_names, NULL); s;
	     s = fxt_map_next(&r->process_names, s)) {
		struct fxt_text text = fxt_process_name(r, s->a);
		char *name;

		if (s->a == FXT_KERNEL_PROVIDER_ID || named++ >= SHOWN)
			continue;
		name = fxt_printable(&text, 16, false);
		fprintf(out, "%s%s", named > 1 ? ", " : "", name);
		if (processes == 1)
			fprintf(out, " %" PRIu64, s->a);
		free(name);
	}
	if (named > SHOWN)
		fprintf(out, " and %zu more", named - SHOWN);
	fputs(named == 0 ? "" : named == 1 ? ": " : "\n", out);
}

/* Prints the names of the programs; a single process is shown with its id. */
static void print_programs(const struct fxt_reader *r, bool is_foreign, size_t processes, FILE *out)
{
	enum { SHOWN = 5, EXAMINED = 1000 };
	size_t different = 0;
	uint32_t id = 0;

	for (size_t i = 0; i < r->provider_count && i < EXAMINED && !is_foreign; i++) {
		char *name;

		if (!is_new_program(r, i) || different++ >= SHOWN)
			continue;
		name = fxt_printable(&r->providers[i]->name, 16, false);
		fprintf(out, "%s%s", different > 1 ? ", " : "", name);
		free(name);
		id = r->providers[i]->id;
	}
	if (different > SHOWN)
		fprintf(out, " and %zu more", different - SHOWN);
	if (processes == 1 && different == 1)
		fprintf(out, " %" PRIu32, id);
	if (different)
		fputs(different == 1 ? ": " : "\n", out);
	else
		print_watched(r, processes, out);
}

static void print_shares(const struct fxt_overview *o, const struct fxt_reader *r, FILE *out)
{
	enum { SHOWN = 5 };

	fprintf(out, "%s of trace: ", fxt_bytes(r->size).text);
	for (size_t i = 0; i < o->category_count && i < SHOWN; i++) {
		struct fxt_text text = fxt_symbol_text(r, o->categories[i].category);
		double percent = 100.0 * (double)o->categories[i].bytes / (double)r->size;
		char *name;

		if (i && percent < 0.5)
			break;
		name = fxt_printable(&text, 24, false);
		fprintf(out, "%s%s %.0f%%", i ? ", " : "", *name ? name : "(no category)", percent);
		free(name);
	}
	fputs(o->category_count ? "\n" : "no events\n", out);
}

/* Prints what tracing cost the program besides the recording itself. */
static void print_agent(const struct fxt_report *report, FILE *out)
{
	for (size_t i = 0; i < report->agent.count; i++) {
		const struct fxt_call *work = &report->agent.list[i];
		char *name = fxt_call_label(report->r, work->category, work->name, 32);

		fprintf(out, "%s%s %s in %s", i ? ", " : "the agent itself: ", name,
			fxt_duration(work->total_ns).text, fxt_count(work->count).text);
		free(name);
	}
	if (report->agent.count)
		fputc('\n', out);
}

/* Prints when the trace began and ended. */
static void print_utc(const struct fxt_report *report, FILE *out)
{
	const struct fxt_wall_clock *w = &report->wall_clock;

	if (!w->is_known) {
		fputs("the trace does not tell the time of day\n", out);
		return;
	}
	fprintf(out, "from %s to %s", fxt_utc(w, report->overview.first_ns).text,
		fxt_utc(w, report->overview.last_ns).text);
	if (w->has_zone)
		fprintf(out, ", local time %s", fxt_utc_zone(w).text);
	fputc('\n', out);
}

void fxt_report_print_head(const struct fxt_report *report, FILE *out)
{
	const struct fxt_overview *o = &report->overview;
	size_t threads = fxt_overview_threads(o, report->r), processes = fxt_overview_processes(o, report->r);
	char *who = fxt_processes_in_words(processes, o->silent);

	print_programs(report->r, fxt_overview_is_foreign(o, report->r), processes, out);
	fprintf(out, "%s, %zu thread%s, %s events in %s\n", who, threads, threads == 1 ? "" : "s",
		fxt_count(o->events).text, fxt_duration(o->events ? o->last_ns - o->first_ns : 0).text);
	free(who);
	if (report->options.utc)
		print_utc(report, out);
	print_shares(o, report->r, out);
	fxt_report_print_losses(report, out);
}

/* Prints what is worth a line before the tables. */
static void print_notes(const struct fxt_report *report, bool functions_are_next, bool heap_is_next,
			FILE *out)
{
	fxt_budget_steps_print(&report->budget, report->r, &report->overview, report->options.top, out);
	fxt_unseen_print(&report->unseen, report->r, report->options.top, out);
	print_agent(report, out);
	fxt_threads_print_only(&report->threads, report->r, out);
	fxt_processor_print_head(&report->processor, report->r, functions_are_next, out);
	if (!heap_is_next)
		fxt_heap_askers_print_head(&report->askers, &report->heap_stacks, report->who, out);
}

/* -- The sections ---------------------------------------------------------------------------------- */

struct section {
	uint64_t cost_ns;               /* roughly the time that it tells of; only compared with others */
	void (*print)(const struct fxt_report *report, FILE *out);
};

static void print_why(const struct fxt_report *report, FILE *out)
{
	size_t top = report->options.top;

	fxt_chains_print(&report->chains, &report->objects, report->r, top, out);
	fxt_contention_print(&report->contention, report->r, report->who, top, out);
	fxt_lock_orders_print(&report->lock_orders, report->r, report->overview.first_ns,
			      report->has_processes, top, out);
	fxt_waits_print(&report->waits, report->r, top, out);
}

static void print_files(const struct fxt_report *report, FILE *out)
{
	fxt_files_print(&report->files, report->who, report->options.top, out);
}

static void print_calls(const struct fxt_report *report, FILE *out)
{
	fxt_calls_print(&report->calls, report->r, &report->call_stacks, report->who, report->options.top,
			out);
}

static void print_processor(const struct fxt_report *report, FILE *out)
{
	fxt_processor_print(&report->processor, report->r, report->options.source, report->options.top, out);
}

static void print_heap(const struct fxt_report *report, FILE *out)
{
	fxt_heaps_print(&report->heaps, report->r, &report->overview, &report->left_out, report->options.top,
			out);
	fxt_heap_askers_print(&report->askers, &report->heap_stacks, report->who, report->has_processes,
			      report->options.top, out);
	fxt_leaks_print(&report->leaks, report->r, &report->heap_stacks, report->options.top, out);
}

static void print_descriptors(const struct fxt_report *report, FILE *out)
{
	fxt_descriptors_print(&report->descriptors, report->r, report->who,
			      report->options.top, out);
}

static void print_log(const struct fxt_report *report, FILE *out)
{
	const struct fxt_wall_clock *utc = &report->wall_clock;

	fxt_log_print(&report->log, report->r, report->options.utc && utc->is_known ? utc : NULL,
		      report->overview.last_ns, report->has_processes, out);
}

static void print_open(const struct fxt_report *report, FILE *out)
{
	fxt_calls_in_progress_print(report, out);
}

/* Returns the time in waits that another thread ended. */
static uint64_t blocked_ns(const struct fxt_report *report)
{
	uint64_t chains_ns = 0, locks_ns = 0;

	for (size_t i = 0; i < report->chains.count; i++)
		chains_ns += report->chains.list[i].total_ns;
	for (size_t i = 0; i < report->contention.count; i++)
		locks_ns += report->contention.list[i].total_ns;
	return chains_ns > locks_ns ? chains_ns : locks_ns;
}

static uint64_t files_ns(const struct fxt_report *report)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < report->files.count; i++)
		sum += report->files.list[i].total_ns;
	return sum;
}

/* Returns the time in calls that no other section tells of. Where functions are instrumented, the time
 * that threads ran is added, because the functions tell of it. */
static uint64_t calls_ns(const struct fxt_report *report)
{
	uint64_t sum = report->elsewhere_ns;

	for (size_t i = 0; report->has_functions && i < report->threads.count; i++)
		sum += report->threads.list[i].running_ns;
	return sum;
}

/* Returns whether the program mostly computed, so that its functions are the answer, and stand before its
 * threads. */
static bool is_computing(const struct fxt_report *report)
{
	uint64_t ns = fxt_samples_ns(&report->processor, report->processor.tree.samples);

	return fxt_processor_is_telling(&report->processor) && ns >= blocked_ns(report) &&
	       ns >= files_ns(report) && ns >= report->elsewhere_ns;
}

static int by_cost(const void *a, const void *b)
{
	const struct section *x = a, *y = b;

	return x->cost_ns != y->cost_ns ? (x->cost_ns > y->cost_ns ? -1 : 1) : 0;
}

/* Prints the threads of a watched process that are blocked at the end. */
static void print_at_end(const struct fxt_report *report, FILE *out)
{
	fxt_blocked_threads_print(&report->blocked, report->r, report->who, report->has_processes,
				  report->options.top, out);
}

/* Puts the sections in order. For a program that does not go on, figures are of no use. So the threads
 * that are stuck come first, then the calls that were open when the trace ended and the last lines that
 * the program wrote; but not if these calls are merely those of threads that nobody waited for when the
 * process ended. Then comes what is plainly wrong, because it piles up. For a slow program it matters
 * first whether its threads ran or waited. Then come the sections on waiting, on files, on other calls and on
 * processor time, the one with the longest time first. If that is processor time, it comes before the
 * threads, because the functions that a program computes in say more than that its threads ran. */
void fxt_report_print_tables(const struct fxt_report *report, FILE *out)
{
	bool is_stuck = fxt_contention_is_deadlock(&report->contention) ||
			fxt_blocked_threads_is_deadlock(&report->blocked) ||
			fxt_calls_in_progress_is_stuck(&report->open, report->r);
	bool leaks_memory = fxt_heaps_is_leaking(&report->heaps) ||
			    fxt_heap_askers_leak(&report->askers, &report->heap_stacks);
	bool leaks_descriptors = fxt_descriptors_is_leaking(&report->descriptors);
	bool computes = is_computing(report);
	struct section sections[] = {
		{blocked_ns(report), print_why},
		{files_ns(report), print_files},
		{calls_ns(report), print_calls},
		{fxt_samples_ns(&report->processor, report->processor.tree.samples), print_processor},
	};

	print_notes(report, computes && !is_stuck && !leaks_memory && !leaks_descriptors,
		    leaks_memory && !is_stuck, out);
	fxt_contention_print_blocked(report, out);
	if (is_stuck) {
		print_at_end(report, out);
		print_open(report, out);
		print_log(report, out);
	}
	if (leaks_memory)
		print_heap(report, out);
	if (leaks_descriptors)
		print_descriptors(report, out);
	if (computes)
		print_processor(report, out);
	if (!is_stuck)
		print_at_end(report, out);
	fxt_threads_print(&report->threads, report->r, report->has_processes, report->options.top, out);
	fxt_processor_print_threads(&report->processor, report->r, report->has_processes, report->options.top,
				    out);
	fxt_critical_print(&report->critical, report->r, report->who, report->options.top, out);
	qsort(sections, sizeof(sections) / sizeof(sections[0]), sizeof(sections[0]), by_cost);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (!computes || sections[i].print != print_processor)
			sections[i].print(report, out);
	fxt_tracks_print(&report->tracks, report->r, report->has_processes, report->options.top, out);
	if (!leaks_memory)
		print_heap(report, out);
	if (!leaks_descriptors)
		print_descriptors(report, out);
	fxt_failures_print(&report->failures, report->who, report->overview.first_ns, report->options.top,
			   out);
	if (!is_stuck) {
		print_log(report, out);
		print_open(report, out);
	}
}

/* -- The end ---------------------------------------------------------------------------------------- */

void fxt_report_free(struct fxt_report *report)
{
	fxt_roles_free(&report->roles);
	free(report->facts.by_kind);
	fxt_overview_free(&report->overview);
	fxt_witnessed_free(&report->witnessed);
	fxt_calls_free(&report->calls);
	fxt_calls_free(&report->agent);
	fxt_waits_free(&report->waits);
	fxt_contention_free(&report->contention);
	fxt_lock_orders_free(&report->lock_orders);
	fxt_budget_steps_free(&report->budget);
	fxt_unseen_free(&report->unseen);
	fxt_left_out_free(&report->left_out);
	fxt_gaps_free(&report->gaps);
	fxt_heaps_free(&report->heaps);
	fxt_leaks_free(&report->leaks);
	fxt_heap_stacks_free(&report->heap_stacks);
	fxt_heap_askers_free(&report->askers);
	fxt_map_free(&report->makers);
	fxt_makers_free(&report->made);
	fxt_repeats_free(&report->repeats);
	fxt_thread_waits_free(&report->thread_waits);
	fxt_closes_free(&report->closes);
	fxt_failures_free(&report->failures);
	fxt_stack_sums_free(&report->call_stacks);
	fxt_stack_durations_free(&report->stack_durations);
	fxt_stack_sums_free(&report->wait_stacks);
	fxt_who_free(report->who);
	free(report->who);
	fxt_files_free(&report->files);
	fxt_log_free(&report->log);
	fxt_calls_in_progress_free(&report->open);
	fxt_descriptors_free(&report->descriptors);
	fxt_threads_free(&report->threads);
	fxt_chains_free(&report->chains);
	fxt_critical_free(&report->critical);
	fxt_flights_free(&report->flights);
	fxt_kept_free(&report->kept);
	fxt_blocked_threads_free(&report->blocked);
	fxt_held_free(&report->held);
	fxt_timeouts_free(&report->timeouts);
	fxt_standstill_free(&report->standstill);
	fxt_moved_free(&report->moved);
	fxt_order_free(&report->order);
	fxt_order_free(&report->ends);
	fxt_extents_free(&report->extents);
	fxt_no_wait_free(&report->no_wait);
	fxt_map_free(&report->cut);
	fxt_ends_free(&report->process_ends);
	fxt_crashes_free(&report->crashes);
	fxt_objects_free(&report->objects);
	fxt_processor_time_free(&report->processor);
	fxt_tracks_free(&report->tracks);
	free(report->chosen);
}
