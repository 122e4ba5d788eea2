/* Replays each thread as a viewer does, in the order of time and, at the same time, of the file.
 * check_windows.c calls it for one stretch of time after the other. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tools/common/message.h"

/* Perfetto nests slices no deeper. */
enum { MAX_DEPTH = 512 };

/* The slices of a thread that are open at some moment, with the innermost last. */
struct stack {
	struct fxt_open *list;
	size_t depth, capacity;
	uint64_t last_start;
	bool started;
};

static int by_time(const void *a, const void *b)
{
	const struct fxt_moment *x = a, *y = b;

	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	return x->offset_words < y->offset_words ? -1 : x->offset_words > y->offset_words;
}

static void sort(struct fxt_track *t)
{
	for (size_t i = 1; i < t->count; i++) {
		if (by_time(&t->list[i - 1], &t->list[i]) > 0) {
			qsort(t->list, t->count, sizeof(*t->list), by_time);
			return;
		}
	}
}

static struct fxt_open *top(const struct stack *s)
{
	return s->depth ? &s->list[s->depth - 1] : NULL;
}

static void push(struct stack *s, uint64_t start, uint64_t end, bool ends, uint32_t name)
{
	s->list = fxt_grow(s->list, &s->capacity, s->depth + 1, sizeof(*s->list));
	s->list[s->depth++] = (struct fxt_open){.start = start, .end = end, .name = name, .ends = ends};
}

static void bad(struct fxt_check *c, enum fxt_fault fault, const struct fxt_moment *m)
{
	struct fxt_text name = fxt_symbol_text(c->r, m->name);

	fxt_check_bad(c, fault, m->offset_words * FXT_WORD_BYTES, "%.*s", (int)name.bytes, name.text);
}

/* Returns whether, with --copy, the call was still open when one page was copied and complete when the
 * next one was. */
static bool is_again(const struct fxt_check *c, const struct stack *s, const struct fxt_moment *m)
{
	const struct fxt_open *t = top(s);

	return c->options.copy && s->started && s->last_start == m->ticks && t && t->start == m->ticks &&
	       t->name == m->name;
}

static void end_slice(struct fxt_check *c, struct stack *s, const struct fxt_moment *m)
{
	if (top(s) && top(s)->ends)
		bad(c, FXT_FAULT_OVERLAP, m);
	while (top(s) && top(s)->ends)
		s->depth--;
	if (!top(s)) {
		bad(c, FXT_FAULT_END_WITHOUT_BEGIN, m);
		return;
	}
	if (fxt_symbol_text(c->r, m->name).bytes && top(s)->name != m->name)
		bad(c, FXT_FAULT_END_NAMES_ANOTHER, m);
	s->depth--;
}

static void complete_slice(struct fxt_check *c, struct stack *s, const struct fxt_moment *m)
{
	if (top(s) && top(s)->ends && m->end > top(s)->end) {
		bad(c, FXT_FAULT_OVERLAP, m);
		return;
	}
	push(s, m->ticks, m->end, true, m->name);
	if (s->depth > MAX_DEPTH)
		bad(c, FXT_FAULT_TOO_DEEP, m);
}

static void start_slice(struct fxt_check *c, struct stack *s, const struct fxt_moment *m)
{
	if (is_again(c, s, m)) {
		c->noted[FXT_NOTED_OPEN_AND_COMPLETE]++;
		if (m->kind != FXT_EVENT_DURATION_COMPLETE || top(s)->ends)
			return;
		s->depth--;     /* the complete event counts */
	} else {
		if (s->started && s->last_start == m->ticks)
			bad(c, FXT_FAULT_SAME_TICK, m);
		s->started = true;
		s->last_start = m->ticks;
	}
	if (m->kind == FXT_EVENT_DURATION_BEGIN)
		push(s, m->ticks, 0, false, m->name);
	else
		complete_slice(c, s, m);
}

static int by_offset(const void *key, const void *element)
{
	const struct fxt_moment *m = key;
	const struct fxt_link *l = element;
	uint64_t offset = m->offset_words * FXT_WORD_BYTES;

	return offset < l->offset ? -1 : offset > l->offset;
}

static void flow(struct fxt_check *c, struct stack *s, const struct fxt_moment *m)
{
	struct fxt_link *l = bsearch(m, c->flows.list, c->flows.count, sizeof(*l), by_offset);
	const struct fxt_open *t = top(s);

	if (!t)
		bad(c, FXT_FAULT_FLOW_OUTSIDE, m);
	else if (t->ends && m->ticks > t->end)
		bad(c, FXT_FAULT_FLOW_ENDED_SLICE, m);
	l->bound = t ? t->start : m->ticks;
}

static void replay(struct fxt_check *c, struct stack *s, const struct fxt_moment *m)
{
	if (m->kind >= FXT_EVENT_FLOW_BEGIN) {
		/* Nothing is popped here, because a viewer binds a flow to the newest slice, ended or not. */
		flow(c, s, m);
		return;
	}
	while (top(s) && top(s)->ends && top(s)->end <= m->ticks)
		s->depth--;
	switch (m->kind) {
	case FXT_EVENT_INSTANT:
		push(s, m->ticks, m->ticks, true, m->name);
		break;
	case FXT_EVENT_DURATION_END:
		end_slice(c, s, m);
		break;
	default:
		start_slice(c, s, m);
	}
}

/* Sets the stack to the slices that were open at the end of the previous stretch. */
static void resume(struct stack *s, const struct fxt_track *t)
{
	s->list = fxt_grow(s->list, &s->capacity, t->depth + 1, sizeof(*s->list));
	if (t->depth)
		memcpy(s->list, t->open, t->depth * sizeof(*s->list));
	s->depth = t->depth;
	s->last_start = t->last_start;
	s->started = t->started;
}

/* Keeps the open slices for the next stretch, in no more memory than they take, because there may be a
 * million threads. */
static void suspend(const struct stack *s, struct fxt_track *t)
{
	if (s->depth != t->depth) {
		free(t->open);
		t->open = s->depth ? fxt_alloc(s->depth, sizeof(*t->open)) : NULL;
	}
	if (s->depth)
		memcpy(t->open, s->list, s->depth * sizeof(*t->open));
	t->depth = s->depth;
	t->last_start = s->last_start;
	t->started = s->started;
}

void fxt_check_slices(struct fxt_check *c)
{
	struct stack s = {0};

	for (size_t i = 0; i < c->track_count; i++) {
		struct fxt_track *t = &c->tracks[i];

		if (t->count == 0)
			continue;
		sort(t);
		resume(&s, t);
		for (size_t k = 0; k < t->count; k++)
			replay(c, &s, &t->list[k]);
		suspend(&s, t);
	}
	free(s.list);
}

void fxt_check_open_slices(struct fxt_check *c)
{
	for (size_t i = 0; i < c->track_count; i++) {
		for (size_t k = 0; k < c->tracks[i].depth; k++)
			c->noted[FXT_NOTED_OPEN_SLICES] += !c->tracks[i].open[k].ends;
	}
}
