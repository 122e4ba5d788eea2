/* See lock_scan.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "lock_scan.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/hash.h"
#include "tools/common/message.h"
#include "tools/reading/reader_internal.h"

/* -- Situations -------------------------------------------------------------------------------------- */

static uint32_t place_of(struct fxt_lock_scan *s, uint64_t pid, uint64_t address)
{
	uint64_t number = s->places.count;
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&s->places, pid, address, &fresh);

	if (fresh)
		slot->value[0] = number;
	return (uint32_t)slot->value[0];
}

/* Notes that a thread takes a lock while it holds those on the stack. Most programs take their locks in the
 * same few situations again and again, so the edges are looked at only the first time. */
static void note(struct fxt_lock_scan *s, const struct fxt_lock_stack *stack, uint64_t pid, uint64_t address)
{
	uint64_t held = 0, taken = fxt_hash_pair(pid, address);
	bool fresh;

	for (size_t i = 0; i < stack->count; i++)
		if (stack->list[i].address != address)
			held += fxt_hash_pair(pid, stack->list[i].address);
	if (fxt_map_find(&s->situations, held, taken) || s->situations.used == FXT_LOCK_SITUATIONS_MAX)
		return;
	fxt_map_put(&s->situations, held, taken, &fresh);
	for (size_t i = 0; i < stack->count; i++)
		if (stack->list[i].address != address)
			fxt_lock_graph_add(&s->graph, place_of(s, pid, stack->list[i].address),
					   place_of(s, pid, address));
}

/* Returns whether this situation was noted a short time ago, and remembers it. */
static bool is_recent(struct fxt_lock_scan *s, uint64_t pid, uint64_t held, uint64_t taken)
{
	struct fxt_lock_recent *recent =
		&s->recent[(held >> 4 ^ taken >> 3) % (sizeof(s->recent) / sizeof(s->recent[0]))];

	if (recent->held == held && recent->taken == taken && recent->pid == pid)
		return true;
	*recent = (struct fxt_lock_recent){pid, held, taken};
	return false;
}

/* Takes a call in which the thread gets a lock. */
static void get(struct fxt_lock_scan *s, const struct fxt_reader *r, uint32_t thread,
		struct fxt_lock_stack *stack, const struct fxt_lock_call *call, uint64_t address)
{
	struct fxt_taken *taken = fxt_lock_stack_find(stack, address);
	bool waits = call->act == FXT_LOCK_WAITS;
	uint64_t pid = r->threads[thread].pid;

	/* Waiting for a condition takes a lock that the thread held before. */
	if (stack->count > (waits && taken) && (waits || (call->act == FXT_LOCK_TAKES && !taken)) &&
	    !stack->is_lost && !(stack->count == 1 && is_recent(s, pid, stack->list[0].address, address)))
		note(s, stack, pid, address);
	if (!taken)
		fxt_lock_stack_push(stack, address, call->is_shared);
	else if (!waits)
		taken->times++;
}

/* Takes a call in which the thread gives a lock up. Returns true if it was the last time, and the lock was on
 * the stack before this stretch. */
static bool give_up(struct fxt_lock_stack *stack, uint64_t address)
{
	struct fxt_taken *taken = fxt_lock_stack_find(stack, address);
	bool is_old;

	if (!taken || --taken->times)
		return false;
	is_old = taken->is_old;
	fxt_lock_stack_drop(stack, taken);
	return is_old;
}

/* -- The pass over the file -------------------------------------------------------------------------- */

/* Remembers what the thread holds at the end of the last stretch. */
static void end_stretch(struct fxt_lock_scan *s)
{
	size_t count = s->stack.count;

	s->stack.is_lost = false;
	if (!count)
		return;
	s->left = fxt_grow(s->left, &s->left_capacity, s->left_count + count, sizeof(*s->left));
	memcpy(s->left + s->left_count, s->stack.list, count * sizeof(*s->left));
	s->stretches[s->count - 1].left = s->left_count;
	s->stretches[s->count - 1].left_count = (uint32_t)count;
	s->left_count += count;
	s->stack.count = 0;
}

/* Makes the record lie in the last stretch. */
static bool reach(struct fxt_lock_scan *s, const struct fxt_record *rec)
{
	struct fxt_lock_stretch *last = s->count ? &s->stretches[s->count - 1] : NULL;

	if (!last || !s->is_open || last->thread != rec->thread || last->provider != rec->provider ||
	    rec->extra < s->last_ticks) {
		end_stretch(s);
		s->is_open = s->count < FXT_LOCK_STRETCHES_MAX;
		if (!s->is_open)
			return false;
		s->stretches = fxt_grow(s->stretches, &s->capacity, s->count + 1, sizeof(*s->stretches));
		last = &s->stretches[s->count++];
		*last = (struct fxt_lock_stretch){.at = rec->offset,
						  .first_ticks = rec->extra,
						  .provider = rec->provider,
						  .thread = rec->thread};
	}
	last->end = rec->offset + rec->words * FXT_WORD_BYTES;
	s->last_ticks = rec->extra;
	return true;
}

void fxt_lock_scan_take(struct fxt_lock_scan *s, struct fxt_reader *r, const struct fxt_record *rec)
{
	const struct fxt_lock_call *call = fxt_lock_call(&s->calls, r, &rec->name);
	uint64_t address;

	if (!fxt_lock_call_moves(call) || !fxt_lock_call_done(&s->calls, r, rec, call, &address) ||
	    !reach(s, rec))
		return;
	if (call->act == FXT_LOCK_GIVES_UP)
		give_up(&s->stack, address);
	else
		get(s, r, rec->thread, &s->stack, call, address);
}

/* -- From one stretch to the next -------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct fxt_lock_stretch *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->provider != y->provider)
		return x->provider->index < y->provider->index ? -1 : 1;
	if (x->first_ticks != y->first_ticks)
		return x->first_ticks < y->first_ticks ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Reads an event of the form that nearly all calls about locks have: a thread, a category and a name by their
 * indices, and a pointer as the only argument. Sets *call to NULL if it is no such call of the thread.
 * Returns false for an event of another form, which has to be decoded. A thread may hold a lock as long as it
 * lives, so this has to be quick. */
static bool read_simple_call(struct fxt_lock_scan *s, struct fxt_reader *r, uint64_t at,
			     const struct fxt_lock_stretch *stretch, const struct fxt_lock_call **call,
			     uint64_t *address)
{
	enum { WORDS = 5, ARGUMENT = 2, VALUE = 3 };
	uint64_t header = fxt_word(r, at), argument = fxt_word(r, at + ARGUMENT * FXT_WORD_BYTES);
	struct fxt_text category, name;
	uint32_t thread;

	*call = NULL;
	if (fxt_get_record_type(header) != FXT_RECORD_EVENT ||
	    fxt_get_event_type(header) != FXT_EVENT_DURATION_COMPLETE)
		return true;
	if (!s->calls.pthread || fxt_get_string_ref_inline(fxt_get_event_category(header)))
		return false;
	category = fxt_registered_string(stretch->provider, (unsigned)fxt_get_event_category(header), at);
	if (category.symbol && *category.symbol != s->calls.pthread)
		return true;
	if (!category.symbol || fxt_get_record_words(header) != WORDS || fxt_get_event_args(header) != 1 ||
	    fxt_get_arg_type(argument) != FXT_ARG_POINTER || fxt_get_arg_words(argument) != 2 ||
	    fxt_get_event_thread(header) == 0 || fxt_get_string_ref_inline(fxt_get_event_name(header)))
		return false;
	if (!fxt_registered_thread(stretch->provider, (unsigned)fxt_get_event_thread(header), at, &thread) ||
	    thread != stretch->thread)
		return true;
	name = fxt_registered_string(stretch->provider, (unsigned)fxt_get_event_name(header), at);
	if (!name.text)
		return true;
	*call = fxt_lock_call(&s->calls, r, &name);
	if ((*call)->act == FXT_LOCK_WAITS || !fxt_lock_call_moves(*call) ||
	    fxt_word(r, at + (WORDS - 1) * FXT_WORD_BYTES) < fxt_word(r, at + FXT_WORD_BYTES))
		*call = NULL;
	*address = fxt_word(r, at + VALUE * FXT_WORD_BYTES);
	return true;
}

/* Returns the call about locks that is the thread's, or NULL. Sets *address to the address of the lock. */
static const struct fxt_lock_call *read_call(struct fxt_lock_scan *s, struct fxt_reader *r, uint64_t at,
					     const struct fxt_lock_stretch *stretch, uint64_t *address)
{
	const struct fxt_lock_call *call;
	struct fxt_record rec;

	if (read_simple_call(s, r, at, stretch, &call, address))
		return call;
	if (!fxt_reader_event_at(r, at, stretch->provider, &rec) || rec.damaged ||
	    rec.thread != stretch->thread)
		return NULL;
	call = fxt_lock_call(&s->calls, r, &rec.name);
	if (!fxt_lock_call_moves(call) || !fxt_lock_call_done(&s->calls, r, &rec, call, address))
		return NULL;
	return call;
}

/* Goes through a stretch at whose begin the thread holds what is on the stack, until it has given all of that
 * up. Returns false if it does not do so in this stretch; then the stack has what it holds at the end. */
static bool follow(struct fxt_lock_scan *s, struct fxt_reader *r, const struct fxt_lock_stretch *stretch,
		   struct fxt_lock_stack *stack)
{
	struct fxt_provider *p = stretch->provider;
	size_t old = stack->count;
	uint64_t address;

	for (size_t i = 0; i < old; i++)
		stack->list[i].is_old = true;
	for (uint64_t at = stretch->at; at < stretch->end && old;
	     at += fxt_record_size_words(fxt_word(r, at)) * FXT_WORD_BYTES) {
		const struct fxt_lock_call *call;

		p = fxt_reader_provider_at(r, at, p);
		call = p == stretch->provider ? read_call(s, r, at, stretch, &address) : NULL;
		if (!call)
			continue;
		if (call->act == FXT_LOCK_GIVES_UP)
			old -= give_up(stack, address);
		else
			get(s, r, stretch->thread, stack, call, address);
	}
	return old == 0;
}

void fxt_lock_scan_finish(struct fxt_lock_scan *s, struct fxt_reader *r)
{
	const struct fxt_lock_stretch *before = NULL;
	struct fxt_lock_stack stack = {0};

	end_stretch(s);
	if (!s->left_count)
		return;
	qsort(s->stretches, s->count, sizeof(*s->stretches), by_time);
	for (const struct fxt_lock_stretch *one = s->stretches; one < s->stretches + s->count; one++) {
		if (before && (before->thread != one->thread || before->provider != one->provider))
			stack.count = 0;
		before = one;
		if (stack.count && !follow(s, r, one, &stack))
			continue;
		stack.count = 0;
		stack.is_lost = false;
		for (size_t i = 0; i < one->left_count; i++) {
			const struct fxt_taken *left = &s->left[one->left + i];

			fxt_lock_stack_push(&stack, left->address, left->is_shared)->times = left->times;
		}
	}
	free(stack.list);
}

/* -- The circles ------------------------------------------------------------------------------------- */

void fxt_lock_scan_circles(const struct fxt_lock_scan *s, struct fxt_map *places)
{
	bool *stays, fresh;

	if (!s->graph.count)
		return;
	stays = fxt_lock_graph_circles(&s->graph, s->places.count);
	for (const struct fxt_slot *slot = fxt_map_next(&s->places, NULL); slot;
	     slot = fxt_map_next(&s->places, slot)) {
		uint64_t number = places->count;

		if (stays[slot->value[0]])
			fxt_map_put(places, slot->a, slot->b, &fresh)->value[0] = number;
	}
	free(stays);
}

void fxt_lock_scan_free(struct fxt_lock_scan *s)
{
	fxt_lock_calls_free(&s->calls);
	free(s->stretches);
	free(s->stack.list);
	free(s->left);
	fxt_map_free(&s->places);
	fxt_map_free(&s->situations);
	fxt_lock_graph_free(&s->graph);
}
