/* See bearers.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "bearers.h"

#include <stdlib.h>

#include "tools/common/message.h"

enum {
	/* A child's program may be known a little earlier than the child. A process that is no child in the
	 * trace, and of whose end nothing is known, has had the number for longer than this when the kernel
	 * gives it again: it has to go through all others before. */
	ADOPT_NS = 1000000000,
	/* If another thread executes a program, the first one ends, and that thread takes its number. */
	EXEC_NS = 1000000000,
};

void fxt_bearers_live(struct fxt_bearers *b, struct fxt_life_sign life)
{
	b->lives = fxt_grow(b->lives, &b->life_capacity, b->life_count + 1, sizeof(*b->lives));
	b->lives[b->life_count++] = life;
}

static int compare(uint64_t number, uint64_t at_ns, uint64_t other, uint64_t other_ns)
{
	if (number != other)
		return number < other ? -1 : 1;
	return at_ns != other_ns ? (at_ns < other_ns ? -1 : 1) : 0;
}

static int by_time(const void *a, const void *b)
{
	const struct fxt_life_sign *x = a, *y = b;
	int order = compare(x->number, x->at_ns, y->number, y->at_ns);

	return order ? order : (int)x->kind - (int)y->kind;
}

/* -- Processes ----------------------------------------------------------------------------------- */

/* The process that has the number in the walk through its lives. */
struct bearing {
	struct fxt_bearer *now; /* NULL: nobody is known to have had it */
	bool was_born; /* it is known as a child */
	bool has_ended, kernel_ended;
	uint64_t kernel_ns; /* when it ended, as the kernel says */
};

static void begin(struct fxt_bearers *b, struct bearing *is, uint64_t number, uint64_t at_ns)
{
	b->list = fxt_grow(b->list, &b->capacity, b->count + 1, sizeof(*b->list));
	*is = (struct bearing){.now = &b->list[b->count]};
	*is->now = (struct fxt_bearer){.number = number, .begin_ns = at_ns, .process = b->count};
	b->count++;
}

static void take_end(struct bearing *is, const struct fxt_life_sign *life)
{
	/* The parent may have been told when the number had gone to another process already. */
	if (life->since_ns && is->now->begin_ns > life->since_ns)
		return;
	is->has_ended = true;
	if (life->kind != FXT_SIGN_KERNEL_END)
		return;
	is->kernel_ended = true;
	is->kernel_ns = life->at_ns;
}

/* Returns whether a process of which nothing was known before has its number from then on. */
static bool is_begin(enum fxt_life_sign_kind kind)
{
	return kind == FXT_SIGN_BORN || kind == FXT_SIGN_PROGRAM || kind == FXT_SIGN_SEEN;
}

static void take(struct fxt_bearers *b, struct bearing *is, const struct fxt_life_sign *life)
{
	bool is_new = !is->now;
	bool fresh;

	switch (life->kind) {
	case FXT_SIGN_BORN:
		is_new =
			is_new || is->was_born || is->has_ended || life->at_ns - is->now->begin_ns > ADOPT_NS;
		break;
	case FXT_SIGN_PROGRAM:
		is_new = is_new || is->has_ended;
		break;
	case FXT_SIGN_SEEN:
		is_new = is_new || is->kernel_ended;
		break;
	default:
		break;
	}
	if (is_new)
		begin(b, is, life->number, is_begin(life->kind) ? life->at_ns : 0);
	switch (life->kind) {
	case FXT_SIGN_END:
	case FXT_SIGN_KERNEL_END:
		take_end(is, life);
		break;
	case FXT_SIGN_EXECUTED:
		if (is->kernel_ended && life->at_ns - is->kernel_ns < EXEC_NS)
			is->has_ended = is->kernel_ended = false;
		break;
	case FXT_SIGN_BORN:
		is->was_born = true;
		break;
	case FXT_SIGN_PROGRAM:
		fxt_map_put(&b->programs, life->program, 0, &fresh)->value[0] = is->now->process;
		break;
	case FXT_SIGN_SEEN:
		break;
	}
}

void fxt_bearers_find(struct fxt_bearers *b)
{
	struct bearing is = {0};

	if (b->life_count)
		qsort(b->lives, b->life_count, sizeof(*b->lives), by_time);
	for (size_t i = 0; i < b->life_count; i++) {
		if (i && b->lives[i].number != b->lives[i - 1].number)
			is = (struct bearing){0};
		take(b, &is, &b->lives[i]);
	}
	b->process_count = b->count;
	free(b->lives);
	b->lives = NULL;
	b->life_count = b->life_capacity = 0;
}

/* -- Threads ------------------------------------------------------------------------------------- */

void fxt_bearers_thread(struct fxt_bearers *b, size_t process, uint64_t number, uint64_t at_ns)
{
	struct fxt_slot *s;
	bool fresh;

	if (process >= b->process_count || b->list[process].number == number)
		return;
	s = fxt_map_put(&b->threads, process, number, &fresh);
	if (!fresh) {
		if (at_ns < b->list[s->value[0]].begin_ns)
			b->list[s->value[0]].begin_ns = at_ns;
		return;
	}
	s->value[0] = b->count;
	b->list = fxt_grow(b->list, &b->capacity, b->count + 1, sizeof(*b->list));
	b->list[b->count++] = (struct fxt_bearer){.number = number, .begin_ns = at_ns, .process = process};
}

/* -- Koids --------------------------------------------------------------------------------------- */

/* What by_number() compares: qsort() has no context. */
static const struct fxt_bearer *compared;

static int by_number(const void *a, const void *b)
{
	const struct fxt_bearer *x = &compared[*(const size_t *)a], *y = &compared[*(const size_t *)b];
	int order = compare(x->number, x->begin_ns, y->number, y->begin_ns);

	return order ? order : (x > y) - (x < y);
}

bool fxt_bearers_give(struct fxt_bearers *b)
{
	uint64_t again = 0;
	bool differs = false;

	b->order = fxt_alloc(b->count + 1, sizeof(*b->order));
	for (size_t i = 0; i < b->count; i++)
		b->order[i] = i;
	compared = b->list;
	qsort(b->order, b->count, sizeof(*b->order), by_number);
	for (size_t i = 0; i < b->count; i++) {
		struct fxt_bearer *one = &b->list[b->order[i]];

		again = i && b->list[b->order[i - 1]].number == one->number ? again + 1 : 0;
		/* What is beyond that is told as one. Numbers that a process in another namespace has made
		 * for itself are none of the kernel's. */
		if (again > FXT_AGAIN_MOST)
			again = FXT_AGAIN_MOST;
		one->koid =
			one->number <= FXT_NUMBER_MOST ? one->number + again * FXT_AGAIN_STEP : one->number;
		differs = differs || one->koid != one->number;
	}
	return differs;
}

/* -- Who was it ---------------------------------------------------------------------------------- */

/* Returns the place in the order behind the last one with the number that began by then. */
static size_t behind(const struct fxt_bearers *b, uint64_t number, uint64_t at_ns)
{
	size_t low = 0, high = b->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct fxt_bearer *one = &b->list[b->order[middle]];

		if (compare(one->number, one->begin_ns, number, at_ns) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the place of who had the number at that time: of a process, if `is_process`. If nobody had it yet,
 * it is the first one. */
static size_t who_had(const struct fxt_bearers *b, uint64_t number, uint64_t at_ns, bool is_process)
{
	size_t low = behind(b, number, at_ns), i;

	for (i = low; i > 0 && b->list[b->order[i - 1]].number == number; i--)
		if (!is_process || b->order[i - 1] < b->process_count)
			return b->order[i - 1];
	for (i = low; i < b->count && b->list[b->order[i]].number == number; i++)
		if (!is_process || b->order[i] < b->process_count)
			return b->order[i];
	return FXT_NO_BEARER;
}

/* Processes are found before the order is there, by their own. */
size_t fxt_bearers_process(const struct fxt_bearers *b, uint64_t number, uint64_t at_ns)
{
	size_t low = 0, high = b->process_count;

	if (b->order)
		return who_had(b, number, at_ns, true);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(b->list[middle].number, b->list[middle].begin_ns, number, at_ns) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && b->list[low - 1].number == number)
		return low - 1;
	return low < b->process_count && b->list[low].number == number ? low : FXT_NO_BEARER;
}

size_t fxt_bearers_of_program(const struct fxt_bearers *b, size_t program)
{
	const struct fxt_slot *s = fxt_map_find(&b->programs, program, 0);

	return s ? (size_t)s->value[0] : FXT_NO_BEARER;
}

size_t fxt_bearers_thread_of(const struct fxt_bearers *b, size_t process, uint64_t number, uint64_t at_ns)
{
	const struct fxt_slot *s;

	if (process != FXT_NO_BEARER) {
		if (b->list[process].number == number)
			return process;
		s = fxt_map_find(&b->threads, process, number);
		if (s)
			return (size_t)s->value[0];
	}
	return who_had(b, number, at_ns, false);
}

size_t fxt_bearers_last_thread(const struct fxt_bearers *b, uint64_t pid, uint64_t number)
{
	for (size_t i = behind(b, number, UINT64_MAX); i > 0; i--) {
		const struct fxt_bearer *one = &b->list[b->order[i - 1]];

		if (one->number != number)
			break;
		if (b->list[one->process].number == pid)
			return b->order[i - 1];
	}
	return FXT_NO_BEARER;
}

void fxt_bearers_free(struct fxt_bearers *b)
{
	free(b->lives);
	free(b->list);
	free(b->order);
	fxt_map_free(&b->threads);
	fxt_map_free(&b->programs);
	*b = (struct fxt_bearers){0};
}
