/* See blocked_threads.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "blocked_threads.h"

#include <stdlib.h>

#include "circles.h"
#include "processor_time.h"
#include "tools/common/message.h"

void fxt_blocked_threads_take(struct fxt_blocked_threads *b, struct fxt_reader *r,
			      struct fxt_call_stacks *stacks, const struct fxt_record *rec)
{
	uint64_t at_ns = fxt_ns(rec->provider, rec->ticks);
	const struct fxt_text *state, *in;
	uint64_t awaited;
	uint32_t thread;
	bool fresh;

	if (rec->type == FXT_RECORD_SCHEDULING && rec->subtype != FXT_SCHEDULING_WAKEUP && rec->id)
		fxt_map_put(&b->left, rec->id, 0, &fresh)->value[0] = at_ns;
	if (rec->type != FXT_RECORD_EVENT || rec->subtype != FXT_EVENT_INSTANT ||
	    !fxt_text_is(&rec->category, "kernel") || !fxt_text_is(&rec->name, "blocked"))
		return;
	state = fxt_argument_text(rec, "state");
	in = fxt_argument_text(rec, "in");
	thread = fxt_told_thread(r, rec);
	awaited = fxt_argument_or(rec, "waits_for", 0);
	b->list = fxt_grow(b->list, &b->capacity, b->count + 1, sizeof(*b->list));
	b->list[b->count++] = (struct fxt_blocked_thread){
		.thread = thread,
		.state = state ? fxt_symbol(r, state) : 0,
		.in = in ? fxt_symbol(r, in) : 0,
		.innermost = fxt_call_stack_of(stacks, rec),
		.lock = fxt_argument_or(rec, "lock", 0),
		.awaited = awaited ? fxt_thread_of(r, r->threads[thread].pid, awaited) : FXT_NO_THREAD,
		.at_ns = at_ns,
	};
}

static int by_time(const void *a, const void *b)
{
	const struct fxt_blocked_thread *x = a, *y = b;

	if (x->is_in_circle != y->is_in_circle)
		return x->is_in_circle ? -1 : 1;
	if (x->since_ns != y->since_ns)
		return x->since_ns > y->since_ns ? 1 : -1;
	if (x->innermost != y->innermost)
		return x->innermost > y->innermost ? 1 : -1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

/* Finds the threads that wait for each other. */
static void find_circles(struct fxt_blocked_threads *b)
{
	size_t *awaited = fxt_alloc(b->count ? b->count : 1, sizeof(*awaited));
	bool *is_in_circle = fxt_alloc(b->count ? b->count : 1, sizeof(*is_in_circle)), fresh;
	struct fxt_map places = {0};

	for (size_t i = 0; i < b->count; i++)
		fxt_map_put(&places, b->list[i].thread, 0, &fresh)->value[0] = i;
	for (size_t i = 0; i < b->count; i++) {
		const struct fxt_slot *s = fxt_map_find(&places, b->list[i].awaited, 0);

		awaited[i] = s ? s->value[0] : b->count;
	}
	fxt_find_circles(awaited, b->count, is_in_circle);
	for (size_t i = 0; i < b->count; i++)
		b->list[i].is_in_circle = is_in_circle[i];
	fxt_map_free(&places);
	free(is_in_circle);
	free(awaited);
}

/* Puts threads together that are blocked in one place: for one lock or thread, if it is known. */
static void group(struct fxt_blocked_threads *b, const struct fxt_reader *r)
{
	struct fxt_map groups = {0};

	for (size_t i = 0; i < b->count; i++) {
		struct fxt_blocked_thread *one = &b->list[i];
		uint64_t what = one->lock			? one->lock
				: one->awaited != FXT_NO_THREAD ? UINT64_MAX - one->awaited
								: r->threads[one->thread].pid;
		struct fxt_slot *s;

		if (one->is_in_circle)
			continue;
		s = fxt_map_put(&groups, what, (uint64_t)one->innermost << 32 | one->in, &one->is_first);
		if (one->is_first)
			s->value[0] = i;
		else
			b->list[s->value[0]].more++;
	}
	fxt_map_free(&groups);
}

void fxt_blocked_threads_finish(struct fxt_blocked_threads *b, const struct fxt_reader *r, uint64_t begin_ns)
{
	for (size_t i = 0; i < b->count; i++) {
		struct fxt_blocked_thread *one = &b->list[i];
		const struct fxt_slot *s = fxt_map_find(&b->left, r->threads[one->thread].tid, 0);

		one->is_whole = !s;
		one->since_ns = s ? s->value[0] : begin_ns;
	}
	fxt_map_free(&b->left);
	find_circles(b);
	if (b->count)
		qsort(b->list, b->count, sizeof(*b->list), by_time);
	group(b, r);
}

bool fxt_blocked_threads_is_deadlock(const struct fxt_blocked_threads *b)
{
	return b->count && b->list[0].is_in_circle;
}

void fxt_blocked_threads_free(struct fxt_blocked_threads *b)
{
	free(b->list);
	fxt_map_free(&b->left);
	*b = (struct fxt_blocked_threads){0};
}
