/* Reads what a page draws. See timeline.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "timeline.h"

#include <stdlib.h>

#include "tools/common/message.h"
#include "tools/export/visit.h"

/* A call whose begin was recorded and whose end was not yet. */
struct fxt_open_call {
	uint32_t thread;
	struct fxt_slice slice;
};

/* -- Tracks and names ------------------------------------------------------------------------------ */

static struct fxt_track *track_of(struct fxt_timeline *t, enum fxt_track_kind kind, uint64_t a, uint64_t b)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&t->by_track, a << 2 | kind, b, &fresh);

	if (fresh) {
		t->tracks = fxt_grow(t->tracks, &t->track_capacity, t->track_count + 1, sizeof(*t->tracks));
		t->tracks[t->track_count] = (struct fxt_track){.kind = kind};
		s->value[0] = t->track_count++;
	}
	return &t->tracks[s->value[0]];
}

static struct fxt_track *thread_track(struct fxt_timeline *t, uint32_t thread)
{
	struct fxt_track *track = track_of(t, FXT_TRACK_THREAD, thread, 0);

	track->thread = thread;
	track->pid = t->r->threads[thread].pid;
	return track;
}

static uint32_t label_of(struct fxt_timeline *t, uint32_t category, uint32_t name, uint32_t thread)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&t->by_label, (uint64_t)category << 32 | name, thread, &fresh);

	if (fresh) {
		t->labels = fxt_grow(t->labels, &t->label_capacity, t->label_count + 1, sizeof(*t->labels));
		t->labels[t->label_count] = (struct fxt_label){category, name, thread};
		s->value[0] = t->label_count++;
	}
	return (uint32_t)s->value[0];
}

static uint32_t name_of(struct fxt_timeline *t, const struct fxt_record *rec)
{
	return label_of(t, fxt_symbol(t->r, &rec->category), fxt_symbol(t->r, &rec->name), UINT32_MAX);
}

uint32_t fxt_timeline_points(struct fxt_timeline *t, uint64_t pid, const char *label)
{
	struct fxt_track *track = track_of(t, FXT_TRACK_COUNTER, pid, (uint64_t)(uintptr_t)label);

	track->pid = pid;
	track->label = label;
	return (uint32_t)(track - t->tracks);
}

void fxt_track_add_point(struct fxt_track *track, uint64_t at_ns, int64_t value)
{
	track->points = fxt_grow(track->points, &track->point_capacity, track->point_count + 1,
				 sizeof(*track->points));
	track->points[track->point_count++] = (struct fxt_point){.at_ns = at_ns, .i = value};
}

/* -- Slices ---------------------------------------------------------------------------------------- */

static void note_time(struct fxt_timeline *t, uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns < t->first_ns)
		t->first_ns = from_ns;
	if (to_ns > t->last_ns)
		t->last_ns = to_ns;
}

/* Leaves out what is shorter than t->least_ns. */
static void leave_out(struct fxt_timeline *t, struct fxt_slices *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (s->list[i].end_ns - s->list[i].start_ns >= t->least_ns)
			s->list[kept++] = s->list[i];
	}
	s->left_out += s->count - kept;
	t->left_out += s->count - kept;
	t->left_out_short += s->count - kept;
	t->slice_count -= s->count - kept;
	s->count = kept;
}

static void add_slice(struct fxt_timeline *t, struct fxt_slices *s, const struct fxt_slice *slice)
{
	note_time(t, slice->start_ns, slice->end_ns);
	if (slice->end_ns - slice->start_ns < t->least_ns) {
		s->left_out++;
		t->left_out++;
		t->left_out_short++;
		return;
	}
	s->list = fxt_grow(s->list, &s->capacity, s->count + 1, sizeof(*s->list));
	s->list[s->count++] = *slice;
	t->slice_count++;
	while (t->slice_count > t->most_slices) {
		t->least_ns = t->least_ns ? 2 * t->least_ns : 1;
		for (size_t i = 0; i < t->track_count; i++) {
			/* Lifetimes are found by their places until all are read. */
			if (t->tracks[i].kind != FXT_TRACK_LIFETIMES)
				leave_out(t, &t->tracks[i].slices);
			leave_out(t, &t->tracks[i].moments);
		}
	}
}

static struct fxt_slice slice_of(struct fxt_timeline *t, const struct fxt_visit *v)
{
	return (struct fxt_slice){
		.start_ns = v->at_ns,
		.end_ns = v->end_ns > v->at_ns ? v->end_ns : v->at_ns,
		.offset = v->rec->offset,
		.name = name_of(t, v->rec),
		.provider = v->rec->provider->index,
		.has_arguments = v->rec->arg_count != 0,
	};
}

/* Notes until when a provider has records. */
static void note_provider(struct fxt_timeline *t, const struct fxt_visit *v)
{
	uint32_t index = v->rec->provider->index;

	t->provider_last_ns = fxt_reach(t->provider_last_ns, &t->provider_capacity, &t->provider_count, index,
					sizeof(*t->provider_last_ns));
	if (v->end_ns > t->provider_last_ns[index])
		t->provider_last_ns[index] = v->end_ns;
}

/* Removes the last open call of the thread that has this name, and began then if at_ns is not NULL. Returns
 * false if there is none. */
static bool take_open(struct fxt_timeline *t, uint32_t thread, uint32_t name, const uint64_t *at_ns,
		      struct fxt_slice *slice)
{
	for (size_t i = t->open_count; i-- > 0;) {
		struct fxt_open_call *o = &t->open[i];

		if (o->thread != thread || o->slice.name != name || (at_ns && o->slice.start_ns != *at_ns))
			continue;
		*slice = o->slice;
		t->open_count--;
		memmove(o, o + 1, (t->open_count - i) * sizeof(*o));
		return true;
	}
	return false;
}

static void take_call(void *context, const struct fxt_visit *v)
{
	struct fxt_timeline *t = context;
	struct fxt_slice slice = slice_of(t, v), begun;

	if (v->is_kernels)
		return;
	note_provider(t, v);
	/* In the copy of a live file a call may be there as in progress as well. */
	if (t->open_count)
		take_open(t, v->rec->thread, slice.name, &v->at_ns, &begun);
	add_slice(t, &thread_track(t, v->rec->thread)->slices, &slice);
}

static void take_begin(void *context, const struct fxt_visit *v)
{
	struct fxt_timeline *t = context;

	if (v->is_kernels)
		return;
	note_provider(t, v);
	note_time(t, v->at_ns, v->at_ns);
	t->open = fxt_grow(t->open, &t->open_capacity, t->open_count + 1, sizeof(*t->open));
	t->open[t->open_count++] = (struct fxt_open_call){v->rec->thread, slice_of(t, v)};
}

static void take_end(void *context, const struct fxt_visit *v)
{
	struct fxt_timeline *t = context;
	struct fxt_slice slice;

	if (v->is_kernels || !take_open(t, v->rec->thread, name_of(t, v->rec), NULL, &slice))
		return;
	note_provider(t, v);
	slice.end_ns = v->at_ns > slice.start_ns ? v->at_ns : slice.start_ns;
	slice.is_open = fxt_is_made_end(v->rec);
	add_slice(t, &thread_track(t, v->rec->thread)->slices, &slice);
}

/* Ends the calls that no end was recorded of. */
static void end_open_calls(struct fxt_timeline *t)
{
	for (size_t i = 0; i < t->open_count; i++) {
		struct fxt_slice *s = &t->open[i].slice;
		uint64_t last_ns = t->provider_last_ns[s->provider];

		s->end_ns = last_ns > s->start_ns ? last_ns : s->start_ns;
		s->is_open = true;
		add_slice(t, &thread_track(t, t->open[i].thread)->slices, s);
	}
	t->open_count = 0;
}

/* -- Moments --------------------------------------------------------------------------------------- */

static void take_counter(struct fxt_timeline *t, const struct fxt_visit *v)
{
	const struct fxt_record *rec = v->rec;
	uint64_t pid = t->r->threads[rec->thread].pid;

	for (unsigned i = 0; i < rec->arg_count; i++) {
		const struct fxt_argument *a = &rec->args[i];
		uint32_t name = name_of(t, rec), series = fxt_symbol(t->r, &a->name);
		struct fxt_track *track;
		uint64_t value = 0;
		bool fresh;
		struct fxt_slot *number;

		if (a->type != FXT_ARG_DOUBLE && !fxt_argument_u64(a, &value))
			continue;
		/* Three numbers are one key: a counter of a process gets a number first. */
		number = fxt_map_put(&t->by_flow, (uint64_t)name << 32 | series, ~rec->extra, &fresh);
		if (fresh)
			number->value[0] = t->by_flow.count;
		track = track_of(t, FXT_TRACK_COUNTER, pid, number->value[0]);
		track->pid = pid;
		track->name = name;
		track->series = series;
		track->is_real = a->type == FXT_ARG_DOUBLE;
		fxt_track_add_point(track, v->at_ns, (int64_t)value);
		if (track->is_real)
			track->points[track->point_count - 1].f = a->f;
	}
}

/* An arrow's part, or one's that waits for the next. Ids are of a category and name. */
static void take_flow(struct fxt_timeline *t, const struct fxt_visit *v)
{
	uint32_t name = name_of(t, v->rec);
	uint32_t track = (uint32_t)(thread_track(t, v->rec->thread) - t->tracks);
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&t->by_async, v->rec->extra, (uint64_t)name << 1 | 1, &fresh);

	if (v->rec->subtype != FXT_EVENT_FLOW_BEGIN && !fresh) {
		t->arrows = fxt_grow(t->arrows, &t->arrow_capacity, t->arrow_count + 1, sizeof(*t->arrows));
		t->arrows[t->arrow_count++] = (struct fxt_arrow){s->value[0], v->at_ns,
								 (uint32_t)s->value[1], track, name};
	} else if (v->rec->subtype != FXT_EVENT_FLOW_BEGIN) {
		t->arrows_without_end++;
	}
	if (v->rec->subtype == FXT_EVENT_FLOW_END) {
		fxt_map_remove(&t->by_async, s);
		return;
	}
	s->value[0] = v->at_ns;
	s->value[1] = track;
}

static void take_lifetime(struct fxt_timeline *t, const struct fxt_visit *v)
{
	uint64_t pid = t->r->threads[v->rec->thread].pid;
	struct fxt_slice slice = slice_of(t, v);
	struct fxt_track *track = track_of(t, FXT_TRACK_LIFETIMES, pid, slice.name);
	struct fxt_slot *s;
	bool fresh;

	track->pid = pid;
	track->name = slice.name;
	s = fxt_map_put(&t->by_async, v->rec->extra, (uint64_t)slice.name << 1 | pid << 34, &fresh);
	if (v->rec->subtype == FXT_EVENT_ASYNC_BEGIN) {
		/* It is a slice at once, whose end is put in when it comes. */
		slice.end_ns = UINT64_MAX;
		slice.is_open = true;
		s->value[0] = track->slices.count;
		track->slices.list = fxt_grow(track->slices.list, &track->slices.capacity,
					      track->slices.count + 1, sizeof(slice));
		track->slices.list[track->slices.count++] = slice;
		note_time(t, slice.start_ns, slice.start_ns);
	} else if (v->rec->subtype == FXT_EVENT_ASYNC_END && !fresh) {
		struct fxt_slice *begun = &track->slices.list[s->value[0]];

		begun->end_ns = v->at_ns > begun->start_ns ? v->at_ns : begun->start_ns;
		begun->is_open = fxt_is_made_end(v->rec);
		fxt_map_remove(&t->by_async, s);
	} else if (fresh) {
		fxt_map_remove(&t->by_async, s);
	}
}

static void take_moment(void *context, const struct fxt_visit *v)
{
	struct fxt_timeline *t = context;
	struct fxt_slice slice;

	if (v->is_kernels)
		return;
	note_provider(t, v);
	note_time(t, v->at_ns, v->at_ns);
	switch (v->rec->subtype) {
	case FXT_EVENT_INSTANT:
		slice = slice_of(t, v);
		add_slice(t, &thread_track(t, v->rec->thread)->moments, &slice);
		break;
	case FXT_EVENT_COUNTER: take_counter(t, v); break;
	case FXT_EVENT_FLOW_BEGIN:
	case FXT_EVENT_FLOW_STEP:
	case FXT_EVENT_FLOW_END: take_flow(t, v); break;
	default: take_lifetime(t, v);
	}
}

static void take_log(void *context, const struct fxt_visit *v)
{
	struct fxt_timeline *t = context;
	const struct fxt_text category = {.text = "log", .bytes = 3};
	struct fxt_slice slice = {
		.start_ns = v->at_ns,
		.end_ns = v->at_ns,
		.offset = v->rec->offset,
		.name = label_of(t, fxt_symbol(t->r, &category), fxt_symbol(t->r, &v->rec->name), UINT32_MAX),
		.provider = v->rec->provider->index,
	};

	note_provider(t, v);
	add_slice(t, &thread_track(t, v->rec->thread)->moments, &slice);
}

/* -- Processors ------------------------------------------------------------------------------------ */

/* Returns a name for what runs on a processor: the thread's, once all names are known. */
static uint32_t runner(struct fxt_timeline *t, uint64_t tid)
{
	const struct fxt_text category = {.text = "processor", .bytes = 9};
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&t->by_tid, tid, 1, &fresh);

	if (fresh)
		s->value[0] = label_of(t, fxt_symbol(t->r, &category), 0, (uint32_t)t->by_tid.count);
	return (uint32_t)s->value[0];
}

static void take_switch(void *context, const struct fxt_visit *v)
{
	struct fxt_timeline *t = context;
	struct fxt_track *track = track_of(t, FXT_TRACK_PROCESSOR, v->cpu, v->rec->provider->index);
	struct fxt_slot *s;
	bool fresh;

	track->cpu = v->cpu;
	note_time(t, v->at_ns, v->at_ns);
	s = fxt_map_put(&t->by_tid, v->cpu, (uint64_t)v->rec->provider->index << 1 << 1 | 2, &fresh);
	/* Who leaves has to be who came; if a switch is missing, nothing is known of the time between. */
	if (!fresh && s->value[0] == v->rec->id && v->rec->id) {
		struct fxt_slice slice = {
			.start_ns = s->value[1],
			.end_ns = v->at_ns > s->value[1] ? v->at_ns : s->value[1],
			.name = runner(t, v->rec->id),
			.provider = v->rec->provider->index,
		};

		add_slice(t, &track->slices, &slice);
		s = fxt_map_find(&t->by_tid, v->cpu, (uint64_t)v->rec->provider->index << 1 << 1 | 2);
	}
	s->value[0] = v->rec->extra;
	s->value[1] = v->at_ns;
}

/* Gives what ran on processors its thread, now that all are known. */
static void name_runners(struct fxt_timeline *t)
{
	struct fxt_map by_number = {0};
	bool fresh;

	for (size_t i = 0; i < t->r->thread_count; i++) {
		if (!t->r->threads[i].is_track)
			fxt_map_put(&by_number, t->r->threads[i].tid, 0, &fresh)->value[0] = i + 1;
	}
	for (struct fxt_slot *s = NULL; (s = fxt_map_next(&t->by_tid, s));) {
		struct fxt_slot *found;

		if (s->b != 1)
			continue;
		found = fxt_map_find(&by_number, s->a, 0);
		t->labels[s->value[0]].thread = found ? (uint32_t)found->value[0] - 1 : UINT32_MAX;
	}
	fxt_map_free(&by_number);
}

/* -- All of it ------------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct fxt_arrow *x = a, *y = b;

	return x->from_ns != y->from_ns ? (x->from_ns < y->from_ns ? -1 : 1)
	       : x->to_ns != y->to_ns	? (x->to_ns < y->to_ns ? -1 : 1)
					: (x->to > y->to) - (x->to < y->to);
}

static int by_time(const void *a, const void *b)
{
	const struct fxt_point *x = a, *y = b;

	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

/* Ends the lifetimes that are open, counts them as slices, and puts points in order. */
static void finish_track(struct fxt_timeline *t, struct fxt_track *track)
{
	if (track->kind == FXT_TRACK_LIFETIMES) {
		t->slice_count += track->slices.count;
		for (size_t i = 0; i < track->slices.count; i++) {
			struct fxt_slice *s = &track->slices.list[i];
			uint64_t last_ns = t->provider_last_ns[s->provider];

			if (s->end_ns == UINT64_MAX)
				s->end_ns = last_ns > s->start_ns ? last_ns : s->start_ns;
		}
		leave_out(t, &track->slices);
	}
	if (track->point_count)
		qsort(track->points, track->point_count, sizeof(*track->points), by_time);
}

void fxt_timeline_read(struct fxt_timeline *t, struct fxt_reader *r, size_t most)
{
	const struct fxt_visitor visitor = {
		.context = t,
		.call = take_call,
		.call_begin = take_begin,
		.call_end = take_end,
		.moment = take_moment,
		.context_switch = take_switch,
		.log = take_log,
	};

	*t = (struct fxt_timeline){.r = r, .first_ns = UINT64_MAX, .most_slices = most};
	t->is_whole = fxt_visit(r, &visitor);
	if (t->provider_count < r->provider_count)
		t->provider_last_ns = fxt_reach(t->provider_last_ns, &t->provider_capacity,
						&t->provider_count, r->provider_count,
						sizeof(*t->provider_last_ns));
	end_open_calls(t);
	for (size_t i = 0; i < t->track_count; i++)
		finish_track(t, &t->tracks[i]);
	name_runners(t);
	if (t->arrow_count)
		qsort(t->arrows, t->arrow_count, sizeof(*t->arrows), by_begin);
	if (t->first_ns > t->last_ns)
		t->first_ns = t->last_ns;
}

/* -- Rows ------------------------------------------------------------------------------------------ */

/* The outer one first. A record is written when its call ends, so of two that cover each other the later one
 * in the file is the outer. */
static int by_start(const void *a, const void *b)
{
	const struct fxt_slice *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return (x->offset < y->offset) - (x->offset > y->offset);
}

static int by_row(const void *a, const void *b)
{
	const struct fxt_slice *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Puts slices in rows: a call lies below the one that it is in, and lifetimes in the first row that has room.
 * What overlaps in more rows than `most` is left out. */
static void put_in_rows(struct fxt_timeline *t, struct fxt_slices *s, bool first_fit, size_t most)
{
	uint64_t *ends = NULL;
	size_t capacity = 0, rows = 0, depth = 0, kept = 0;

	if (s->count)
		qsort(s->list, s->count, sizeof(*s->list), by_start);
	for (size_t i = 0; i < s->count; i++) {
		struct fxt_slice slice = s->list[i];

		if (first_fit)
			for (depth = 0; depth < rows && ends[depth] > slice.start_ns; depth++)
				;
		else
			while (depth > 0 && ends[depth - 1] <= slice.start_ns)
				depth--;
		if (depth == most) {
			s->left_out++;
			t->left_out++;
			continue;
		}
		ends = fxt_reach(ends, &capacity, &rows, depth, sizeof(*ends));
		/* One that takes no time has its place as well, and the next one at that time lies below. */
		ends[depth] = slice.end_ns > slice.start_ns ? slice.end_ns : slice.start_ns + 1;
		slice.row = (uint32_t)depth;
		s->list[kept++] = slice;
		depth++;
	}
	t->slice_count -= s->count - kept;
	s->count = kept;
	s->row_count = rows;
	if (s->count)
		qsort(s->list, s->count, sizeof(*s->list), by_row);
	free(ends);
}

/* The calls within one another, and the lifetimes at one time, that have rows. */
enum { MOST_DEPTH = 512, MOST_LIFETIMES = 24 };

void fxt_timeline_nest(struct fxt_timeline *t)
{
	for (size_t i = 0; i < t->track_count; i++) {
		struct fxt_track *track = &t->tracks[i];
		bool are_lifetimes = track->kind == FXT_TRACK_LIFETIMES;

		put_in_rows(t, &track->slices, are_lifetimes, are_lifetimes ? MOST_LIFETIMES : MOST_DEPTH);
		if (track->moments.count)
			qsort(track->moments.list, track->moments.count, sizeof(struct fxt_slice), by_start);
		track->moments.row_count = track->moments.count != 0;
	}
}

void fxt_timeline_free(struct fxt_timeline *t)
{
	for (size_t i = 0; i < t->track_count; i++) {
		free(t->tracks[i].slices.list);
		free(t->tracks[i].moments.list);
		free(t->tracks[i].points);
	}
	free(t->tracks);
	free(t->arrows);
	free(t->labels);
	free(t->open);
	free(t->provider_last_ns);
	fxt_map_free(&t->by_track);
	fxt_map_free(&t->by_label);
	fxt_map_free(&t->by_flow);
	fxt_map_free(&t->by_async);
	fxt_map_free(&t->by_tid);
}
