/* fxt report: the passes over the file that hand events to the sections. See report.h; report_print.c decides
 * what is printed in which order, and report_command.c has the options. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "report.h"

#include <stdlib.h>
#include <string.h>

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

/* The key of the third pass (fxt_order_key), which takes flows and the calls that they may end in, in the
 * order of ends. A flow's begin has to come before its end, but need not come at its time. The thread that
 * waited writes most begins, right before the end and with a time before the wait; by its own time each
 * would begin a run of its own. Instrumented functions are left out, because they hold waits but wait for
 * nothing themselves. */
static bool end_of(void *context, const struct fxt_record *rec, uint64_t *key_ns)
{
	struct fxt_report *report = context;

	if (!rec->known || rec->damaged)
		return false;
	if (fxt_tells_room(rec)) {
		*key_ns = fxt_ns(rec->provider, rec->extra);
		return true;
	}
	if (fxt_text_is(&rec->category, "agent")) {
		*key_ns = fxt_ns(rec->provider, rec->ticks);
		if (rec->subtype == FXT_EVENT_FLOW_BEGIN)
			*key_ns = FXT_ORDER_WITH_LAST;
		return rec->subtype == FXT_EVENT_FLOW_BEGIN || rec->subtype == FXT_EVENT_FLOW_END;
	}
	if (fxt_tells_unlocked(rec)) {
		*key_ns = fxt_ns(rec->provider, rec->ticks);
		return is_chosen(report, rec);
	}
	if (fxt_is_cut_by_exec(rec)) {
		*key_ns = fxt_ns(rec->provider, rec->ticks);
		return fxt_map_find(&report->cut, rec->offset, 0);
	}
	if (rec->subtype != FXT_EVENT_DURATION_COMPLETE || rec->extra < rec->ticks ||
	    fxt_ns(rec->provider, rec->extra) - fxt_ns(rec->provider, rec->ticks) < FXT_STANDING_LEAST_NS ||
	    fxt_text_is(&rec->category, "function") || fxt_text_is(&rec->category, "malloc") ||
	    !is_chosen(report, rec))
		return false;
	*key_ns = fxt_ns(rec->provider, rec->extra);
	return true;
}

/* Refuses short calls without decoding them, because most calls are short. It takes the last word for the
 * call's end, which it is not if zeros follow it. */
static bool may_end(void *context, const struct fxt_reader *r, uint64_t offset, const struct fxt_provider *p)
{
	uint64_t start_ns, end_ns;

	(void)context;

	return !fxt_reader_slice_at(r, offset, p, &start_ns, &end_ns) ||
	       end_ns < start_ns || end_ns - start_ns >= FXT_STANDING_LEAST_NS;
}

/* Sets the key of the second pass for an event. The pass takes finished calls of the heap
 * and of files: see fxt_heaps_take() and fxt_files_take(). Whatever categories were asked for, it also takes
 * what says which descriptors a process began with and what became of them. */
static bool key_with(struct fxt_report *report, const struct fxt_record *rec,
		     const struct fxt_event_facts *facts, uint64_t *key_ns)
{
	bool at_start;

	if (fxt_is_never_replayed(facts))
		return false;
	if (fxt_fd_images_want(&report->files.images, rec, key_ns))
		return true;
	if (fxt_gap_ends(rec)) {
		*key_ns = fxt_ns(rec->provider, rec->ticks);
		return true;
	}
	if (fxt_heap_stacks_want(rec)) {
		*key_ns = fxt_ns(rec->provider, rec->ticks);
		return is_chosen(report, rec);
	}
	if (!facts->is_replayed || rec->extra < rec->ticks)
		return false;
	at_start = facts->role->effect == FXT_EFFECT_FREE || facts->role->effect >= FXT_EFFECT_CLOSE;
	*key_ns = fxt_ns(rec->provider, at_start ? rec->ticks : rec->extra);
	return true;
}

static bool key_of(void *context, const struct fxt_record *rec, uint64_t *key_ns)
{
	struct fxt_report *report = context;

	return rec->known && !rec->damaged &&
	       key_with(report, rec, fxt_facts_find(report, rec), key_ns);
}

/* Returns whether the finished call cannot have waited. */
static bool did_not_wait(const struct fxt_report *report, const struct fxt_record *rec,
			 const struct fxt_event_facts *facts)
{
	if (!facts->role)
		return false;
	if (facts->role->family == FXT_FAMILY_FD)
		return fxt_is_marked_no_wait(&report->no_wait, rec->offset);
	return facts->may_say_no_wait && fxt_says_no_wait(rec);
}

/* Refuses calls of which the second pass takes none, without decoding them. */
static bool may_be_replayed(void *context, const struct fxt_reader *r, uint64_t offset,
			    const struct fxt_provider *p)
{
	const struct fxt_report *report = context;
	uint32_t kind = fxt_reader_kind_at(r, offset, p);

	return kind >= report->facts.count || !fxt_is_never_replayed(&report->facts.by_kind[kind]);
}

/* Takes how long a call took, without those within it. */
static void take_duration(struct fxt_report *report, const struct fxt_record *rec,
			  struct fxt_event_facts *facts, uint64_t duration_ns)
{
	const struct fxt_role *role = facts->role;
	bool waits = role && role->family == FXT_FAMILY_WAIT && !did_not_wait(report, rec, facts);
	uint32_t stack = FXT_NO_FRAME;

	if (!facts->call)
		facts->call = 1 + fxt_calls_place(&report->calls, fxt_symbol(report->r, &rec->category),
						  fxt_symbol(report->r, &rec->name));
	fxt_calls_add(&report->calls, facts->call - 1, duration_ns);
	if (facts->has_stack)
		stack = fxt_call_stack_of(&report->who->stacks, rec);
	if (report->options.keeps_durations)
		fxt_stack_durations_add(&report->stack_durations, fxt_symbol(report->r, &rec->category),
					fxt_symbol(report->r, &rec->name), stack, duration_ns);
	if (stack != FXT_NO_FRAME) {
		if (!did_not_wait(report, rec, facts))
			fxt_thread_waits_take(&report->thread_waits, report->r, rec, role, stack,
					      duration_ns);
		fxt_stack_sums_add(&report->call_stacks,
				   fxt_call_key(fxt_symbol(report->r, &rec->category),
						fxt_symbol(report->r, &rec->name)), stack, duration_ns);
	}
	if (fxt_text_is(&rec->category, "function"))
		report->has_functions = true;
	else if (!role || (role->family != FXT_FAMILY_WAIT && role->effect < FXT_EFFECT_READ))
		report->elsewhere_ns += duration_ns;
	if (!waits)
		return;
	fxt_waits_take(&report->waits, report->r, rec, role, duration_ns);
	if (facts->has_at)
		fxt_contention_take(&report->contention, report->r, rec, role->kind, duration_ns, stack,
				    fxt_stack_in(&report->who->stacks, rec, "held_stack"));
	if (stack != FXT_NO_FRAME)
		fxt_stack_sums_add(&report->wait_stacks, report->r->threads[rec->thread].pid, stack,
				   duration_ns);
}

/* Takes a finished call. `later` says that the third pass takes it too, which knows what lies within it. */
static void take_call(struct fxt_report *report, const struct fxt_record *rec, struct fxt_event_facts *facts,
		      bool later)
{
	uint64_t duration_ns = fxt_ns(rec->provider, rec->extra) - fxt_ns(rec->provider, rec->ticks);
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
	if (role && role->family == FXT_FAMILY_WAIT && strcmp(role->kind, "join") == 0)
		fxt_critical_join(&report->critical, report->r, rec);
	if (!later)
		take_duration(report, rec, facts, duration_ns);
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
	later = end_of(report, rec, &key_ns);
	if (later)
		fxt_order_add(&report->ends, rec, key_ns);
	if (key_with(report, rec, facts, &key_ns))
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
	struct fxt_record call;
	struct fxt_slot *s;
	uint64_t key_ns;
	bool fresh, later;

	if (!is_chosen(report, end) || !fxt_calls_in_progress_end(&report->open, end, &begun))
		return;
	fxt_calls_in_progress_as_complete(&begun, report->r, end->ticks, &call);
	fxt_threads_seen(&report->threads, report->r, &call);
	later = end_of(report, &call, &key_ns);
	take_call(report, &call, fxt_facts_find(report, &call), later);
	if (!later)
		return;
	s = fxt_map_put(&report->cut, end->offset, 0, &fresh);
	s->value[0] = begun.offset;
	s->value[1] = begun.provider->index;
	fxt_order_add(&report->ends, end, key_ns);
}

/* Makes a complete event of an end whose begin take_cut() has found. */
static void put_begin_back(const struct fxt_report *report, struct fxt_record *end)
{
	const struct fxt_slot *s = fxt_map_find(&report->cut, end->offset, 0);
	const struct fxt_call_in_progress begun = {.offset = s->value[0],
					    .provider = report->r->providers[s->value[1]]};
	struct fxt_record call;

	fxt_calls_in_progress_as_complete(&begun, report->r, end->ticks, &call);
	*end = call;
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

/* Takes a call about descriptors. The mode of what the call has opened is known only after it was taken. */
static void take_descriptors(struct fxt_report *report, const struct fxt_record *rec,
			     const struct fxt_role *role)
{
	if (!is_chosen(report, rec)) {
		fxt_file_table_take(&report->files, report->r, rec, role);
		return;
	}
	fxt_files_take(&report->files, report->r, rec, role);
	fxt_moved_take(&report->moved, report->r, rec, role);
	if (fxt_held_locks_file(rec)) {
		size_t file = fxt_file_of(&report->files, report->r, rec, "fd");

		fxt_held_file(&report->held, rec, file, report->files.list[file].label);
	}
	fxt_closes_take(&report->closes, report->r, &report->who->stacks, rec, role);
	if (role->family == FXT_FAMILY_FD)
		fxt_no_wait_take(&report->no_wait, report->r, rec, role, &report->files);
}

/* Takes a call about descriptors, or one that waits for something outside, for the critical path. */
static void take_critical(struct fxt_report *report, const struct fxt_record *rec,
			  const struct fxt_event_facts *facts)
{
	const struct fxt_role *role = facts->role;
	uint64_t file = FXT_CRITICAL_NO_FILE;

	if (!fxt_critical_wants(rec) || !is_chosen(report, rec))
		return;
	if (role->effect >= FXT_EFFECT_READ && fxt_argument(rec, role->argument))
		file = fxt_file_of(&report->files, report->r, rec, role->argument);
	fxt_critical_call(&report->critical, report->r, &report->objects, &report->who->stacks, rec, role,
			  did_not_wait(report, rec, facts) ? 0 : fxt_waited_ns(rec), file);
}

/* Forgets what programs had before their last loss, if that was before this time. */
static void forget_until(struct fxt_report *report, uint64_t ns)
{
	struct fxt_record loss;

	while (fxt_gaps_next_loss(&report->gaps, ns, &loss)) {
		fxt_heaps_forget(&report->heaps, report->r, &loss);
		fxt_file_table_forget(&report->files, report->r, &loss);
	}
}

static void replay(struct fxt_report *report)
{
	struct fxt_record rec, begin;

	fxt_fd_lives_sort(&report->files.lives);
	fxt_order_begin(&report->order, report->r, key_of, report);
	while (fxt_order_next(&report->order, &rec)) {
		const struct fxt_event_facts *facts = fxt_facts_find(report, &rec);
		const struct fxt_role *role = facts->role;
		uint64_t key_ns;

		key_with(report, &rec, facts, &key_ns);
		forget_until(report, key_ns);
		while (fxt_fd_lives_next(&report->files.lives, report->r, key_ns, &begin))
			fxt_file_table_begin(&report->files, report->r, &begin);
		if (fxt_fd_images_want(&report->files.images, &rec, &key_ns)) {
			fxt_fd_images_take(&report->files.images, report->r, &rec);
		} else if (fxt_heap_stacks_want(&rec)) {
			fxt_heap_stacks_life(&report->heap_stacks, report->r, &report->who->stacks, &rec);
			fxt_crashes_life(&report->crashes, report->r, &report->who->stacks, &rec);
		} else if (fxt_gap_ends(&rec)) {
			fxt_heaps_forget(&report->heaps, report->r, &rec);
			fxt_file_table_forget(&report->files, report->r, &rec);
		} else if (role->family == FXT_FAMILY_HEAP) {
			fxt_heaps_take(&report->heaps, report->r, &rec, role);
		} else {
			take_descriptors(report, &rec, role);
			take_critical(report, &rec, facts);
		}
	}
	forget_until(report, UINT64_MAX);
	fxt_order_free(&report->order);
}

/* Charges a wait of which all is known now. What the recording was the reason of is none of the lock's. */
static void charge(struct fxt_report *report, struct fxt_kept_wait wait)
{
	struct fxt_event_facts *facts;
	struct fxt_record rec;

	if (!wait.provider)
		return;
	fxt_reader_event_at(report->r, wait.offset, wait.provider, &rec);
	facts = fxt_facts_find(report, &rec);
	if (wait.kept_ns)
		fxt_threads_kept(&report->threads, report->r, &rec, facts->role, wait.kept_ns);
	take_duration(report, &rec, facts, wait.alone_ns - wait.kept_ns);
}

static void replay_ends(struct fxt_report *report)
{
	struct fxt_flight_cause cause;
	struct fxt_record rec;

	fxt_order_begin(&report->ends, report->r, end_of, report);
	while (fxt_order_next(&report->ends, &rec)) {
		struct fxt_event_facts *facts;
		const struct fxt_role *role;
		bool no_wait, is_cut = rec.subtype == FXT_EVENT_DURATION_END;
		uint64_t alone_ns;

		if (is_cut)
			put_begin_back(report, &rec);
		if (rec.subtype == FXT_EVENT_INSTANT) {
			fxt_contention_order(&report->contention, report->r, &report->who->stacks, &rec);
			continue;
		}
		if (rec.subtype != FXT_EVENT_DURATION_COMPLETE) {
			if (fxt_flights_take(&report->flights, &rec, &cause)) {
				fxt_kept_cause(&report->kept, rec.thread, &cause);
				fxt_chains_cause(&report->chains, report->r, rec.thread, &cause);
				fxt_held_cause(&report->held, rec.thread, &cause);
				fxt_critical_cause(&report->critical, rec.thread, &cause);
			}
			continue;
		}
		if (fxt_tells_room(&rec)) {
			fxt_critical_call(&report->critical, report->r, &report->objects,
					  &report->who->stacks, &rec, NULL, fxt_waited_ns(&rec),
					  FXT_CRITICAL_NO_FILE);
			fxt_threads_room(&report->threads, &rec);
			fxt_kept_room(&report->kept, &rec);
			continue;
		}
		facts = fxt_facts_find(report, &rec);
		role = facts->role;
		no_wait = did_not_wait(report, &rec, facts);
		alone_ns = fxt_threads_take(&report->threads, report->r, &rec, role, no_wait);
		if (role && role->family == FXT_FAMILY_WAIT)
			fxt_critical_call(&report->critical, report->r, &report->objects,
					  &report->who->stacks, &rec, role,
					  no_wait ? 0 : fxt_waited_ns(&rec), FXT_CRITICAL_NO_FILE);
		charge(report, fxt_kept_next(&report->kept, rec.thread));
		if (role && role->family == FXT_FAMILY_WAIT && !no_wait && !is_cut)
			fxt_kept_wait(&report->kept, report->r, &rec, alone_ns);
		else
			take_duration(report, &rec, fxt_facts_find(report, &rec), alone_ns);
		if (role && role->family == FXT_FAMILY_WAIT && !no_wait)
			fxt_contention_order(&report->contention, report->r, &report->who->stacks, &rec);
		fxt_chains_call(&report->chains, report->r, &rec, role, no_wait ? 0 : alone_ns);
		fxt_held_call(&report->held, report->r, &report->objects, &rec, role, no_wait,
			      fxt_call_stack_of(&report->who->stacks, &rec));
	}
	for (uint32_t i = 0; i < report->kept.count; i++)
		charge(report, fxt_kept_next(&report->kept, i));
	fxt_order_free(&report->ends);
}

static bool wants_track(void *context, const struct fxt_text *category)
{
	return fxt_report_wants(context, category);
}

void fxt_report_make(struct fxt_report *report, struct fxt_reader *r,
		     const struct fxt_report_options *options)
{
	struct fxt_record rec;

	*report = (struct fxt_report){.options = *options, .r = r, .order.glance = may_be_replayed,
				       .ends.glance = may_end};
	report->who = fxt_alloc(1, sizeof(*report->who));
	report->chains.kept = &report->kept;
	report->chains.extents = &report->extents;
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
	replay(report);
	fxt_held_ready(&report->held, (unsigned)report->processor.hz);
	replay_ends(report);
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
