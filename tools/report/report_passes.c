/* fxt report: the passes in the order of time and in that in which calls end. See report_passes.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "report_passes.h"

#include <stdlib.h>

#include "report.h"
#include "tools/analysis/stack_instants.h"
#include "tools/common/message.h"

static bool is_chosen(struct fxt_report *report, const struct fxt_record *rec)
{
	return fxt_report_wants(report, &rec->category);
}

/* -- What they take -------------------------------------------------------------------------------- */

/* Returns whether the third pass takes the finished call. Instrumented functions are left out, because they
 * hold waits but wait for nothing themselves. */
static bool is_long(const struct fxt_record *rec, const struct fxt_event_facts *facts)
{
	return rec->extra >= rec->ticks && fxt_duration_ns(rec) >= FXT_STANDING_LEAST_NS &&
	       facts->is_chosen && !facts->is_function && !facts->is_heap;
}

bool fxt_end_key(struct fxt_report *report, const struct fxt_record *rec,
		 const struct fxt_event_facts *facts, uint64_t *key_ns)
{
	if (facts->is_plain) {
		*key_ns = fxt_ns(rec->provider, rec->extra);
		return is_long(rec, facts);
	}
	if (fxt_tells_room(rec)) {
		*key_ns = fxt_ns(rec->provider, rec->extra);
		return true;
	}
	*key_ns = fxt_ns(rec->provider, rec->ticks);
	if (fxt_text_is(&rec->category, "agent")) {
		if (rec->subtype == FXT_EVENT_FLOW_BEGIN)
			*key_ns = FXT_ORDER_WITH_LAST;
		return rec->subtype == FXT_EVENT_FLOW_BEGIN || rec->subtype == FXT_EVENT_FLOW_END;
	}
	if (fxt_tells_unlocked(rec))
		return is_chosen(report, rec);
	return fxt_is_cut_by_exec(rec) && fxt_map_find(&report->cut, rec->offset, 0);
}

/* The same as an order asks for it (fxt_order_key). */
static bool end_of(void *context, const struct fxt_record *rec, uint64_t *key_ns)
{
	struct fxt_report *report = context;

	return rec->known && !rec->damaged && fxt_end_key(report, rec, fxt_facts_find(report, rec), key_ns);
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

bool fxt_time_key(struct fxt_report *report, const struct fxt_record *rec,
		  const struct fxt_event_facts *facts, uint64_t *key_ns)
{
	bool at_start;

	if (fxt_is_never_replayed(facts))
		return false;
	if (!fxt_is_replayed_by_role(facts)) {
		if (fxt_fd_images_want(&report->files.images, rec, key_ns))
			return true;
		*key_ns = fxt_ns(rec->provider, rec->ticks);
		if (fxt_gap_ends(rec))
			return true;
		if (fxt_heap_stacks_want(rec))
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
	       fxt_time_key(report, rec, fxt_facts_find(report, rec), key_ns);
}

/* Refuses calls of which the second pass takes none, without decoding them. */
static bool may_be_replayed(void *context, const struct fxt_reader *r, uint64_t offset,
			    const struct fxt_provider *p)
{
	const struct fxt_report *report = context;
	uint32_t kind = fxt_reader_kind_at(r, offset, p);

	return kind >= report->facts.count || !fxt_is_never_replayed(&report->facts.by_kind[kind]);
}

void fxt_passes_prepare(struct fxt_report *report)
{
	report->order.glance = may_be_replayed;
	report->ends.glance = may_end;
}

/* -- The second ------------------------------------------------------------------------------------ */

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

/* Takes a call about descriptors. The mode of what the call has opened is known only after it was taken. */
static void take_descriptors(struct fxt_report *report, const struct fxt_record *rec,
			     const struct fxt_role *role)
{
	if (!is_chosen(report, rec)) {
		fxt_file_table_take(&report->files, report->r, rec, role);
		return;
	}
	fxt_files_take(&report->files, report->r, rec, role,
		       fxt_facts_find(report, rec)->has_stack
			       ? fxt_call_stack_of(&report->who->stacks, rec)
			       : FXT_NO_FRAME);
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

/* Takes what the second pass takes for another reason than the role of a call. Returns false if it is none of
 * that. */
static bool take_unlike_calls(struct fxt_report *report, const struct fxt_record *rec)
{
	uint64_t key_ns;

	if (fxt_fd_images_want(&report->files.images, rec, &key_ns)) {
		fxt_fd_images_take(&report->files.images, report->r, rec);
	} else if (fxt_heap_stacks_want(rec)) {
		fxt_heap_stacks_life(&report->heap_stacks, report->r, &report->who->stacks, rec);
		fxt_crashes_life(&report->crashes, report->r, &report->who->stacks, rec);
	} else if (fxt_gap_ends(rec)) {
		fxt_heaps_forget(&report->heaps, report->r, rec);
		fxt_file_table_forget(&report->files, report->r, rec);
	} else {
		return false;
	}
	return true;
}

void fxt_replay(struct fxt_report *report)
{
	struct fxt_record rec, begin;

	fxt_fd_lives_sort(&report->files.lives);
	fxt_order_begin(&report->order, report->r, key_of, report);
	while (fxt_order_next(&report->order, &rec)) {
		const struct fxt_event_facts *facts = fxt_facts_find(report, &rec);
		const struct fxt_role *role = facts->role;
		uint64_t key_ns;

		fxt_time_key(report, &rec, facts, &key_ns);
		forget_until(report, key_ns);
		while (fxt_fd_lives_next(&report->files.lives, report->r, key_ns, &begin))
			fxt_file_table_begin(&report->files, report->r, &begin);
		if (!fxt_is_replayed_by_role(facts) && take_unlike_calls(report, &rec))
			continue;
		if (role->family == FXT_FAMILY_HEAP) {
			fxt_heaps_take(&report->heaps, report->r, &rec, role);
		} else {
			take_descriptors(report, &rec, role);
			take_critical(report, &rec, facts);
		}
	}
	forget_until(report, UINT64_MAX);
	fxt_order_free(&report->order);
}

/* -- The third ------------------------------------------------------------------------------------- */

void fxt_duration_take(struct fxt_report *report, const struct fxt_record *rec,
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
		fxt_stack_sums_add_event(&report->call_stacks,
					 fxt_call_key(fxt_symbol(report->r, &rec->category),
						      fxt_symbol(report->r, &rec->name)), stack, duration_ns,
					 rec);
	}
	if (facts->is_function)
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
	fxt_duration_take(report, &rec, facts, wait.alone_ns - wait.kept_ns);
}

void fxt_replay_ends(struct fxt_report *report)
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
			fxt_duration_take(report, &rec, fxt_facts_find(report, &rec), alone_ns);
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

/* -- What the critical path is made of ---------------------------------------------------------------- */

/* The deviation of so many samples is a third of them. Of traces in which no kernel sampled all are known. */
enum { LEAST_SAMPLES = 8 };

void fxt_report_critical(struct fxt_report *report)
{
	const struct fxt_thread_times *times = &report->threads;
	struct fxt_critical_life *lives = fxt_alloc(times->count ? times->count : 1, sizeof(*lives));
	struct fxt_critical *c = &report->critical;
	size_t count = 0;

	for (size_t i = 0; i < times->count; i++) {
		const struct fxt_thread_time *t = &times->list[i];

		if (t->has_events || t->is_told)
			lives[count++] = (struct fxt_critical_life){
				t->thread, t->first_ns, t->last_ns, t->open != 0};
	}
	c->least_samples = report->processor.hz ? LEAST_SAMPLES : 0;
	/* Of a part of the categories no path can be told, and other tracers have other arrows. */
	if (!report->options.categories && !report->processor.is_foreign &&
	    !fxt_overview_is_foreign(&report->overview, report->r))
		fxt_critical_finish(c, report->r, report->who, lives, count, report->overview.first_ns);
	for (size_t i = 0; i < c->count; i++)
		if (c->things[i].kind == FXT_CRITICAL_FILE)
			c->things[i].label = fxt_strdup(report->files.list[c->things[i].key].label);
	for (unsigned loss = 0; loss < FXT_LOSS_COUNT; loss++)
		c->lacks_events |= fxt_overview_lost(&report->overview, loss) > 0;
	free(lives);
}
