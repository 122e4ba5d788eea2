/* Decides what was chosen, in two passes over the trace. See selection.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "selection.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/common/message.h"

/* The calls of a thread that have begun, by offset. */
struct open_calls {
	uint64_t *list;
	size_t count, capacity;
};

struct calls_by_thread {
	struct open_calls *list;
	size_t count, capacity;
};

static bool is_bound(const struct fxt_record *rec)
{
	return rec->type == FXT_RECORD_EVENT && fxt_event_bounds_call(rec->subtype);
}

static bool is_slice(const struct fxt_record *rec)
{
	return rec->type == FXT_RECORD_EVENT && rec->subtype == FXT_EVENT_DURATION_COMPLETE;
}

static bool is_counter_of_losses(const struct fxt_record *rec)
{
	return rec->type == FXT_RECORD_EVENT && rec->subtype == FXT_EVENT_COUNTER &&
	       fxt_text_is(&rec->category, "agent");
}

/* -- The first pass ---------------------------------------------------------------------------------- */

/* Joins the begin and the end of a call. */
static void note_bound(struct fxt_selection *s, struct calls_by_thread *open, const struct fxt_record *rec)
{
	struct open_calls *calls;
	struct fxt_slot *slot;
	bool fresh;

	open->list = fxt_reach(open->list, &open->capacity, &open->count, rec->thread, sizeof(*open->list));
	calls = &open->list[rec->thread];
	if (rec->subtype == FXT_EVENT_DURATION_BEGIN) {
		calls->list = fxt_grow(calls->list, &calls->capacity, calls->count + 1, sizeof(*calls->list));
		calls->list[calls->count++] = rec->offset;
	} else if (calls->count) {
		slot = fxt_map_put(&s->ends, calls->list[--calls->count], 0, &fresh);
		slot->value[0] = fxt_ns(rec->provider, rec->ticks);
		slot->value[1] = rec->offset;
	}
}

static void note_event(struct fxt_selection *s, struct calls_by_thread *open, const struct fxt_record *rec)
{
	uint64_t start = fxt_ns(rec->provider, rec->ticks), end = fxt_span_of(rec).end_ns;
	bool fresh;

	if (start < s->first_ns)
		s->first_ns = start;
	if (end != UINT64_MAX && end > s->last_ns)
		s->last_ns = end;
	if (rec->type != FXT_RECORD_EVENT)
		return;
	s->events++;
	fxt_map_put(&s->categories_met, fxt_symbol(&s->known, &rec->category), 0, &fresh);
	fxt_map_put(&s->calls_met, fxt_symbol(&s->known, &rec->name), 0, &fresh);
	if (is_bound(rec))
		note_bound(s, open, rec);
	fxt_groups_note(s, rec);
	fxt_fits_note_opened(s, rec);
}

static void read_all(struct fxt_selection *s)
{
	struct calls_by_thread open = {0};
	struct fxt_record rec;

	s->first_ns = UINT64_MAX;
	while (fxt_reader_next(&s->known, &rec)) {
		if (!rec.known || rec.damaged)
			continue;
		if (rec.timed)
			note_event(s, &open, &rec);
		else if (s->narrow->by[FXT_BY_STACK].count)
			fxt_call_stacks_take(&s->stacks, &s->known, &rec);
	}
	if (s->first_ns == UINT64_MAX)
		s->first_ns = 0;
	fxt_call_stacks_finish(&s->stacks);
	s->frame_count = (uint32_t)s->stacks.count;
	s->frames = fxt_alloc(s->stacks.count + 1, 1);
	for (size_t i = 0; i < open.count; i++)
		free(open.list[i].list);
	free(open.list);
}

/* -- Between the passes ------------------------------------------------------------------------------ */

/* Returns whether a number that the kernel has given, or the name, fits. */
static bool fits_number_or_name(const struct fxt_selection *s, struct fxt_patterns *p, uint64_t koid,
				const struct fxt_text *name)
{
	char *number = fxt_format("%" PRIu64, fxt_number(&s->known, koid));
	char *text = fxt_format("%.*s", (int)name->bytes, name->text ? name->text : "");
	bool fits = fxt_patterns_fit(p, number);

	fits |= *text && fxt_patterns_fit(p, text);
	free(number);
	free(text);
	return fits;
}

static void choose_threads(struct fxt_selection *s)
{
	struct fxt_patterns *processes = &s->narrow->by[FXT_BY_PROCESS],
			    *threads = &s->narrow->by[FXT_BY_THREAD];
	bool fresh;

	s->threads = fxt_alloc(s->known.thread_count + 1, 1);
	for (size_t i = 0; i < s->known.thread_count; i++) {
		const struct fxt_trace_thread *t = &s->known.threads[i];
		struct fxt_text process = fxt_process_name(&s->known, t->pid),
				thread = fxt_thread_name(&s->known, (uint32_t)i);
		bool fits = fits_number_or_name(s, processes, t->pid, &process);

		fits &= !threads->count || fits_number_or_name(s, threads, t->tid, &thread);
		s->threads[i] = fits;
		/* The thread 0 of the kernel is what runs while none does. */
		if (t->tid)
			fxt_map_put(&s->place_of_tid, t->tid, 0, &fresh)->value[0] = i;
	}
}

static uint64_t since_first(const struct fxt_selection *s, uint64_t ns)
{
	return ns > UINT64_MAX - s->first_ns ? UINT64_MAX : s->first_ns + ns;
}

static void choose_times(struct fxt_selection *s)
{
	const struct fxt_narrow *n = s->narrow;

	s->has_times = n->has_from || n->has_to || n->has_around;
	s->to_ns = UINT64_MAX;
	if (n->has_from)
		s->from_ns = since_first(s, n->from_ns);
	if (n->has_to)
		s->to_ns = since_first(s, n->to_ns);
	if (n->has_around) {
		s->from_ns = since_first(s, n->around_ns > n->span_ns ? n->around_ns - n->span_ns : 0);
		s->to_ns = since_first(s, n->around_ns + n->span_ns);
	}
}

static bool is_in_time(const struct fxt_selection *s, struct fxt_span span)
{
	return span.end_ns >= s->from_ns && span.start_ns <= s->to_ns;
}

/* -- The second pass --------------------------------------------------------------------------------- */

static bool fits(struct fxt_selection *s, struct fxt_reader *r, const struct fxt_record *rec,
		 struct fxt_span span)
{
	/* A name is known to fit even if the event was not at the time. */
	bool ok = !fxt_narrow_is_by_event(s->narrow) || fxt_fits_event(s, r, rec, span);

	return ok && is_in_time(s, span) && fxt_fits_thread(s, rec);
}

static void choose_bound(struct fxt_selection *s, struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_slot *end = fxt_map_find(&s->ends, rec->offset, 0);
	struct fxt_span span = fxt_span_of(rec);
	bool fresh;

	if (rec->subtype != FXT_EVENT_DURATION_BEGIN)
		return;
	if (end)
		span.end_ns = end->value[0] > span.start_ns ? end->value[0] : span.start_ns;
	if (!fits(s, r, rec, span))
		return;
	fxt_map_put(&s->chosen, rec->offset, 0, &fresh);
	if (end)
		fxt_map_put(&s->chosen, end->value[1], 0, &fresh);
	fxt_groups_choose_within(s, rec->thread, span);
}

static void choose(struct fxt_selection *s, struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_span span = fxt_span_of(rec);
	struct fxt_group *group = NULL;

	if (rec->type == FXT_RECORD_EVENT && rec->subtype >= FXT_EVENT_ASYNC_BEGIN)
		group = fxt_group_of(s, rec);
	if (fxt_is_attached(rec) && fxt_narrow_is_by_event(s->narrow))
		return;
	if (is_bound(rec)) {
		choose_bound(s, r, rec);
	} else if (group && rec->subtype >= FXT_EVENT_FLOW_BEGIN) {
		group->is_chosen |= fits(s, r, rec, span);
	} else if (group) {
		group->is_chosen |=
			fits(s, r, rec, (struct fxt_span){group->start_ns, group->end_ns});
	} else if (is_slice(rec) && fxt_narrow_is_by_event(s->narrow) && fits(s, r, rec, span)) {
		fxt_groups_choose_within(s, rec->thread, span);
	}
}

void fxt_selection_make(struct fxt_selection *s, struct fxt_narrow *narrow, const void *data, uint64_t size)
{
	struct fxt_reader r;
	struct fxt_record rec;

	*s = (struct fxt_selection){.narrow = narrow};
	fxt_reader_init(&s->known, data, size);
	if (narrow->by[FXT_BY_OBJECT].count)
		fxt_objects_read(&s->objects, data, size);
	read_all(s);
	fxt_groups_settle(s);
	choose_threads(s);
	choose_times(s);
	s->events = 0;
	fxt_reader_init(&r, data, size);
	while (fxt_reader_next(&r, &rec)) {
		if (rec.known && !rec.damaged && rec.timed)
			choose(s, &r, &rec);
	}
	fxt_reader_free(&r);
	fxt_groups_end(s);
}

/* -- The third pass ---------------------------------------------------------------------------------- */

bool fxt_selects(struct fxt_selection *s, struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_span span = fxt_span_of(rec);
	bool by_event = fxt_narrow_is_by_event(s->narrow), is_chosen;
	const struct fxt_group *group;

	if (is_counter_of_losses(rec))
		return fxt_fits_thread(s, rec);
	if (is_bound(rec))
		is_chosen = fxt_map_find(&s->chosen, rec->offset, 0);
	else if (rec->type == FXT_RECORD_EVENT && rec->subtype >= FXT_EVENT_ASYNC_BEGIN)
		is_chosen = (group = fxt_group_of(s, rec)) && group->is_chosen;
	else if (by_event && fxt_is_attached(rec) && fxt_map_find(&s->chosen, rec->offset, 0))
		is_chosen = true;
	else if (by_event && rec->type != FXT_RECORD_EVENT)
		is_chosen = false;
	else
		is_chosen = fits(s, r, rec, span);
	if (!is_chosen && is_slice(rec))
		is_chosen = fxt_carries_flow(s, rec, span);
	s->events += is_chosen && rec->type == FXT_RECORD_EVENT;
	return is_chosen;
}

/* -- The end ----------------------------------------------------------------------------------------- */

void fxt_selection_free(struct fxt_selection *s)
{
	fxt_reader_free(&s->known);
	fxt_map_free(&s->place_of_tid);
	fxt_call_stacks_free(&s->stacks);
	fxt_objects_free(&s->objects);
	fxt_demangled_free(&s->demangled);
	fxt_map_free(&s->calls_met);
	fxt_map_free(&s->categories_met);
	fxt_map_free(&s->group_of);
	fxt_map_free(&s->ends);
	fxt_map_free(&s->chosen);
	fxt_map_free(&s->opened);
	free(s->threads);
	free(s->frames);
	free(s->calls.by_symbol);
	free(s->categories.by_symbol);
	free(s->groups);
	free(s->attached.list);
	free(s->flows.list);
	free(s->lifetimes);
	*s = (struct fxt_selection){0};
}
