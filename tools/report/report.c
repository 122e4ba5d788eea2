/* fxt report: the first pass, which hands the events to the sections as they lie in the file. See report.h;
 * report_passes.c has the other passes, report_print.c decides what is printed in which order, and
 * report_command.c has the options. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "report.h"

#include <stdlib.h>

#include "report_passes.h"

#include "tools/analysis/stack_instants.h"
#include "tools/common/message.h"

static bool is_chosen(struct fxt_report *report, const struct fxt_record *rec)
{
	return fxt_report_wants(report, &rec->category);
}

/* Returns whether the slice only marks where an arrow begins or ends, and is no work. */
static bool is_arrow(const struct fxt_record *rec)
{
	return fxt_text_is(&rec->name, "released") || fxt_text_is(&rec->name, "resumed");
}

/* Returns whether the instant stands for a call of which only the begin is seen, as dlopen and vfork. Those
 * of the agent, lines of the program's log, and what tells of a stack are no calls. */
static bool is_call(const struct fxt_record *rec)
{
	return !fxt_log_has_event(rec) && !fxt_text_is(&rec->category, "agent") &&
	       !fxt_tells_unlocked(rec) && !fxt_tells_blocked(rec);
}

/* Takes a finished call. `later` says that the third pass takes it too, which knows what lies within it. */
static void take_call(struct fxt_report *report, const struct fxt_record *rec, struct fxt_event_facts *facts,
		      bool later)
{
	uint64_t duration_ns = fxt_duration_ns(rec);
	const struct fxt_role *role = facts->role;
	uint32_t stack = FXT_NO_FRAME;

	if (rec->extra < rec->ticks)
		return;
	if (!facts->is_plain) {
		if (!is_arrow(rec))
			fxt_calls_take(&report->agent, fxt_symbol(report->r, &rec->category),
				       fxt_symbol(report->r, &rec->name), duration_ns);
		return;
	}
	if (facts->has_errno)
		fxt_failures_take(&report->failures, report->r, &report->who->stacks, rec);
	if (facts->is_semaphore)
		fxt_held_units(&report->held, rec);
	if (facts->has_stack)
		stack = fxt_call_stack_of(&report->who->stacks, rec);
	if (role && role->family != FXT_FAMILY_HEAP && role->family != FXT_FAMILY_WAIT)
		fxt_timeouts_take(&report->timeouts, report->r, rec, role, stack);
	if (facts->is_lock)
		fxt_lock_orders_take(&report->lock_orders, report->r, rec);
	if (facts->is_join)
		fxt_critical_join(&report->critical, report->r, rec);
	if (!later)
		fxt_duration_take(report, rec, facts, duration_ns);
	fxt_repeats_take(&report->repeats, report->r, rec, role,
			 facts->may_say_no_wait && fxt_says_no_wait(rec), &facts->repeated);
	fxt_thread_waits_turn(&report->thread_waits, report->r, &report->who->stacks, rec);
	if (role && (role->effect == FXT_EFFECT_ALLOC || role->effect == FXT_EFFECT_REALLOC))
		fxt_heap_stacks_see(&report->heap_stacks, report->r, rec);
}

/* Takes the begin of a lifetime; that of a thread says who made it. */
static void take_maker(struct fxt_report *report, const struct fxt_record *rec)
{
	bool fresh;

	if (fxt_text_is(&rec->category, "pthread") && fxt_text_is(&rec->name, "thread") &&
	    fxt_argument(rec, "stack"))
		fxt_map_put(&report->makers, rec->thread, 0, &fresh)->value[0] =
			fxt_call_stack_of(&report->who->stacks, rec);
}

static void take_event(struct fxt_report *report, const struct fxt_record *rec)
{
	struct fxt_event_facts *facts = fxt_facts_find(report, rec);
	struct fxt_call_in_progress begun;
	uint64_t key_ns;
	bool later;

	if (!facts->is_plain) {
		fxt_gaps_take(&report->gaps, rec);
		fxt_crashes_take(&report->crashes, report->r, &report->who->stacks, rec);
		fxt_budget_steps_take(&report->budget, report->r, rec);
		fxt_left_out_take(&report->left_out, report->r, rec);
		fxt_fd_lives_take(&report->files.lives, rec);
	}
	if (!facts->is_plain || facts->is_io)
		fxt_unseen_take(&report->unseen, report->r, rec);
	if (!facts->is_plain || facts->is_mapping)
		fxt_standstill_take(&report->standstill, rec);
	later = fxt_end_key(report, rec, facts, &key_ns);
	if (later)
		fxt_order_add(&report->ends, rec, key_ns);
	if (fxt_time_key(report, rec, facts, &key_ns))
		fxt_order_add(&report->order, rec, key_ns);
	if (!facts->is_chosen)
		return;
	switch (rec->subtype) {
	case FXT_EVENT_DURATION_BEGIN: fxt_calls_in_progress_begin(&report->open, report->r, rec); break;
	case FXT_EVENT_DURATION_END:
		if (fxt_calls_in_progress_end(&report->open, rec, &begun))
			fxt_calls_take(&report->calls, begun.category, begun.name,
				       fxt_ns(rec->provider, rec->ticks) - begun.start_ns);
		break;
	case FXT_EVENT_DURATION_COMPLETE:
		fxt_calls_in_progress_complete(&report->open, report->r, rec);
		take_call(report, rec, facts, later);
		break;
	case FXT_EVENT_INSTANT:
		fxt_closes_vfork(&report->closes, rec);
		if (is_call(rec))
			fxt_calls_take(&report->calls, fxt_symbol(report->r, &rec->category),
				       fxt_symbol(report->r, &rec->name), 0);
		else if (fxt_text_is(&rec->name, "failed") && fxt_text_is(&rec->category, "agent"))
			fxt_failures_where(&report->failures, &report->who->stacks, rec);
		if (fxt_tells_blocked(rec))
			fxt_calls_in_progress_blocked(&report->open, rec,
						      fxt_call_stack_of(&report->who->stacks, rec));
		if (fxt_text_is(&rec->name, "contended") && fxt_text_is(&rec->category, "agent"))
			fxt_contention_blocked(&report->contention, report->r, rec);
		break;
	case FXT_EVENT_ASYNC_BEGIN:
		take_maker(report, rec);
		fxt_critical_begin(&report->critical, report->r, rec);
		fxt_contention_thread(&report->contention, report->r, rec);
		fxt_files_begin(&report->files, rec);
		/* fallthrough */
	case FXT_EVENT_ASYNC_END:
		fxt_descriptors_take(&report->descriptors, rec);
		fxt_leaks_take(&report->leaks, report->r, rec);
		fxt_makers_take(&report->made, report->r, &report->who->stacks, rec);
		if (fxt_heap_stacks_want(rec))
			fxt_heap_stacks_see(&report->heap_stacks, report->r, rec);
		break;
	default: break;
	}
}

/* Takes the end of a call that was cut when another thread executed a program. Such a call is over, and
 * counts with the time that it waited until then. */
static void take_cut(struct fxt_report *report, const struct fxt_record *end)
{
	struct fxt_call_in_progress begun;
	struct fxt_event_facts *facts;
	struct fxt_record call;
	struct fxt_slot *s;
	uint64_t key_ns;
	bool fresh, later;

	if (!is_chosen(report, end) || !fxt_calls_in_progress_end(&report->open, end, &begun))
		return;
	fxt_calls_in_progress_as_complete(&begun, report->r, end->ticks, &call);
	fxt_threads_seen(&report->threads, report->r, &call);
	facts = fxt_facts_find(report, &call);
	later = fxt_end_key(report, &call, facts, &key_ns);
	take_call(report, &call, facts, later);
	if (!later)
		return;
	s = fxt_map_put(&report->cut, end->offset, 0, &fresh);
	s->value[0] = begun.offset;
	s->value[1] = begun.provider->index;
	fxt_order_add(&report->ends, end, key_ns);
}

static void take_log(struct fxt_report *report, struct fxt_record *rec)
{
	/* The format gives log records no category. */
	rec->category = (struct fxt_text){.text = "log", .bytes = 3};
	if (is_chosen(report, rec))
		fxt_log_take(&report->log, rec, report->options.json ? SIZE_MAX : report->options.top);
}

/* Takes a record of the kernel. Switches count with category kernel, because the format gives them
 * no category; how samples were taken is told whatever was asked for. */
static void take_kernel(struct fxt_report *report, const struct fxt_record *rec)
{
	const struct fxt_text kernel = {.text = "kernel", .bytes = 6};

	if (rec->type == FXT_RECORD_EVENT) {
		fxt_threads_told(&report->threads, report->r, rec);
		if (fxt_text_is(&rec->category, "sample"))
			fxt_crashes_sample(&report->crashes, &report->who->stacks, rec,
					   report->r->threads[fxt_told_thread(report->r, rec)].pid);
		if (fxt_text_is(&rec->category, "kernel")) {
			uint32_t thread = fxt_told_thread(report->r, rec);

			fxt_ends_kernel(&report->process_ends, report->r, rec, thread);
			fxt_unseen_kernel(&report->unseen, rec, report->r->threads[thread].pid);
		} else if (fxt_text_is(&rec->category, "sample")) {
			fxt_critical_sample(&report->critical, &report->who->stacks, rec,
					    fxt_told_thread(report->r, rec));
		}
	}
	if (rec->type == FXT_RECORD_EVENT && fxt_text_is(&rec->category, "sample") && is_chosen(report, rec))
		fxt_held_sample(&report->held, fxt_told_thread(report->r, rec),
				fxt_call_stack_of(&report->who->stacks, rec),
				fxt_ns(rec->provider, rec->ticks));
	if (rec->type == FXT_RECORD_SCHEDULING ? fxt_report_wants(report, &kernel)
					       : rec->type != FXT_RECORD_EVENT || is_chosen(report, rec) ||
							 fxt_text_is(&rec->category, "kernel"))
		fxt_processor_time_take(&report->processor, report->r, rec);
	if (rec->type == FXT_RECORD_USERSPACE_OBJECT)
		fxt_call_stacks_take(&report->who->stacks, report->r, rec);
	else if (fxt_report_wants(report, &kernel))
		fxt_blocked_threads_take(&report->blocked, report->r, &report->who->stacks, rec);
	fxt_standstill_kernel(&report->standstill, report->r, &report->who->stacks, rec);
}

static bool wants_track(void *context, const struct fxt_text *category)
{
	return fxt_report_wants(context, category);
}

void fxt_report_make(struct fxt_report *report, struct fxt_reader *r,
		     const struct fxt_report_options *options)
{
	struct fxt_record rec;

	*report = (struct fxt_report){.options = *options, .r = r};
	fxt_passes_prepare(report);
	report->who = fxt_alloc(1, sizeof(*report->who));
	report->chains.kept = &report->kept;
	report->chains.extents = &report->extents;
	report->chains.listener = report->threads.listener = options->listener;
	report->heaps.by_stack = &report->heap_stacks;
	report->heaps.crashes = &report->crashes;
	report->heaps.stacks = &report->who->stacks;
	fxt_objects_read(&report->objects, r->data, r->size);
	report->files.objects = report->waits.objects = report->contention.objects = &report->objects;
	while (fxt_reader_next(r, &rec)) {
		fxt_overview_take(&report->overview, r, &rec);
		fxt_witnessed_take(&report->witnessed, &rec);
		fxt_wall_clock_take(&report->wall_clock, r, &rec);
		if (!rec.known || rec.damaged)
			continue;
		if (rec.type == FXT_RECORD_EVENT)
			fxt_extents_take(&report->extents, &rec);
		/* Other tracers have providers of their own for what the kernel told. */
		if (fxt_provider_is_kernel(rec.provider) || rec.type == FXT_RECORD_SCHEDULING) {
			take_kernel(report, &rec);
			continue;
		}
		/* Ends that the join made are passed over, so that the begins of what a program left
		 * open, and of calls in progress when their process ended, stay without an end. */
		if (rec.type == FXT_RECORD_EVENT && !fxt_is_made_end(&rec)) {
			fxt_calls_in_progress_seen(&report->open, r, &rec);
			fxt_threads_seen(&report->threads, r, &rec);
			if (!fxt_ends_take(&report->process_ends, r, &rec))
				take_event(report, &rec);
		}
		else if (rec.type == FXT_RECORD_EVENT && fxt_is_cut_by_exec(&rec))
			take_cut(report, &rec);
		else if (rec.type == FXT_RECORD_THREAD)
			fxt_lock_orders_chunk(&report->lock_orders);
		else if (rec.type == FXT_RECORD_LOG)
			take_log(report, &rec);
		else if (rec.type == FXT_RECORD_USERSPACE_OBJECT)
			fxt_call_stacks_take(&report->who->stacks, r, &rec);
	}
	fxt_overview_settle(&report->overview);
	/* Each of ours has a clock object. What has none is of another tracer. */
	if (!report->wall_clock.is_of_agent || fxt_overview_is_foreign(&report->overview, r))
		fxt_tracks_read(&report->tracks, r, wants_track, report);
	fxt_who_finish(report->who, r, options->wrappers, options->source);
	fxt_makers_finish(&report->made, r, report->who);
	fxt_ends_finish(&report->process_ends, r, report->overview.last_ns);
	fxt_processor_time_finish(&report->processor, r, &report->process_ends, &report->overview,
				  options->sort == FXT_SORT_TOTAL);
	fxt_overview_witnessed(&report->overview, r, &report->witnessed);
	fxt_blocked_threads_finish(&report->blocked, r, report->overview.first_ns);
	report->has_processes = fxt_overview_processes(&report->overview, r) > 1;
	fxt_heap_stacks_lack(&report->heap_stacks, &report->overview);
	fxt_gaps_losses(&report->gaps, r, &report->overview);
	fxt_replay(report);
	fxt_held_ready(&report->held, (unsigned)report->processor.hz);
	fxt_replay_ends(report);
	fxt_held_finish(&report->held, report->who);
	fxt_timeouts_finish(&report->timeouts);
	fxt_lock_orders_finish(&report->lock_orders, r, &report->objects, &report->who->stacks,
			       &report->overview);
	fxt_overview_rank(&report->overview);
	fxt_overview_losers(&report->overview);
	fxt_calls_sort(&report->calls, options->sort);
	fxt_calls_sort(&report->agent, options->sort);
	fxt_stack_sums_finish(&report->call_stacks);
	fxt_thread_waits_finish(&report->thread_waits);
	fxt_failures_sort(&report->failures);
	fxt_left_out_sort(&report->left_out);
	fxt_waits_sort(&report->waits);
	fxt_calls_in_progress_finish(&report->open, r);
	fxt_contention_finish(&report->contention, r, report->who, &report->open, options->sort);
	fxt_chains_finish(&report->chains, r, &report->threads);
	fxt_threads_finish(&report->threads, r, &report->roles, &report->files, &report->open,
			   &report->process_ends, &report->overview.spans, &report->processor.switches);
	fxt_report_critical(report);
	if (report->processor.is_foreign)
		fxt_threads_switched(&report->threads, &report->processor.switches);
	fxt_leaks_finish(&report->leaks, report->r, &report->gaps, &report->heaps);
	fxt_heaps_sort(&report->heaps);
	fxt_heap_stacks_finish(&report->heap_stacks);
	fxt_heap_askers_make(&report->askers, &report->heap_stacks, report->who, true, options->sort);
	fxt_files_sort(&report->files);
	fxt_descriptors_finish(&report->descriptors, r, report->who, &report->gaps, &report->open,
			       &report->process_ends);
	fxt_log_sort(&report->log);
}
