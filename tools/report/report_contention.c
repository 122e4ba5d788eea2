/* fxt report: the section on contended locks. It says which functions wanted a lock and which had taken it,
 * and which thread waits for which when the trace ends. The agent's arguments of a call that found its lock
 * taken tell this: `at`, `holder`, `held_ns`, `held_at`. The file report_contention_print.c prints it. See
 * report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "report.h"
#include "tools/analysis/circles.h"
#include "tools/common/message.h"

static uint32_t place_of(struct fxt_reader *r, const struct fxt_record *rec, const char *name)
{
	static const struct fxt_text unknown = {.text = FXT_NO_PLACE, .bytes = sizeof(FXT_NO_PLACE) - 1};
	const struct fxt_text *place = fxt_argument_text(rec, name);

	return fxt_symbol(r, place && place->bytes ? place : &unknown);
}

/* Sets *lock to the call's first argument, which is the lock whatever the manual page calls it. */
static bool lock_of(const struct fxt_record *rec, uint64_t *lock)
{
	return rec->arg_count && rec->args[0].type == FXT_ARG_POINTER &&
	       fxt_argument_u64(&rec->args[0], lock);
}

/* Returns the place of the entry for the lock of a call that found it taken, and for who wanted it. *fresh:
 * it has to be filled in. */
static size_t entry_of(struct fxt_contention *c, struct fxt_reader *r, const struct fxt_record *rec,
		       uint64_t lock, uint32_t innermost, bool *fresh)
{
	uint64_t pid = r->threads[rec->thread].pid;
	const struct fxt_object *known = fxt_object_of(c->objects, r, rec, &rec->args[0]);
	uint32_t at = place_of(r, rec, "at"), held_at = place_of(r, rec, "held_at");
	uint64_t key = fxt_object_key(c->objects, known, fxt_pointer_key(pid, lock));
	struct fxt_slot *s = fxt_map_put(&c->wanted, (uint64_t)at << 32 | held_at, innermost, fresh);

	if (*fresh)
		s->value[0] = c->wanted.used;
	s = fxt_map_put(&c->by_places, key, s->value[0], fresh);
	if (*fresh) {
		s->value[0] = c->count;
		c->list = fxt_grow(c->list, &c->capacity, c->count + 1, sizeof(*c->list));
		c->list[c->count++] = (struct fxt_contended){.pid = pid,
							     .lock = lock,
							     .known = known,
							     .at = at,
							     .held_at = held_at,
							     .key = key,
							     .innermost = innermost,
							     .holder = FXT_NO_FRAME};
	}
	return s->value[0];
}

void fxt_contention_take(struct fxt_contention *c, struct fxt_reader *r, const struct fxt_record *rec,
			 const char *kind, uint64_t duration_ns, uint32_t innermost, uint32_t holder)
{
	struct fxt_contended *one;
	uint64_t lock, held_ns;
	size_t place;
	bool fresh;

	if (!fxt_argument(rec, "at") || !lock_of(rec, &lock))
		return;
	place = entry_of(c, r, rec, lock, innermost, &fresh);
	one = &c->list[place];
	one->kind = kind;
	one->count++;
	one->total_ns += duration_ns;
	one->max_ns = duration_ns > one->max_ns ? duration_ns : one->max_ns;
	if (holder != FXT_NO_FRAME)
		fxt_stack_sums_add(&c->holders, place, holder, duration_ns);
	if (fxt_argument_u64(fxt_argument(rec, "held_ns"), &held_ns)) {
		one->held_ns += held_ns;
		one->held_count++;
	}
}

/* -- Who held it --------------------------------------------------------------------------------- */

static void take_unlock(struct fxt_contention *c, const struct fxt_reader *r, struct fxt_call_stacks *stacks,
			const struct fxt_record *rec)
{
	for (unsigned i = 0; i < rec->arg_count; i++) {
		const struct fxt_argument *a = &rec->args[i];
		struct fxt_slot *s;
		bool fresh;

		if (a->type != FXT_ARG_POINTER || fxt_text_is(&a->name, "stack"))
			continue;
		s = fxt_map_put(&c->unlocked, r->threads[rec->thread].pid, a->u, &fresh);
		s->value[0] = fxt_ns(rec->provider, rec->ticks);
		s->value[1] = fxt_call_stack_of(stacks, rec);
		return;
	}
}

void fxt_contention_order(struct fxt_contention *c, struct fxt_reader *r, struct fxt_call_stacks *stacks,
			  const struct fxt_record *rec)
{
	const struct fxt_slot *s;
	uint64_t lock, start_ns;
	size_t place;
	bool fresh;

	if (rec->subtype == FXT_EVENT_INSTANT) {
		take_unlock(c, r, stacks, rec);
		return;
	}
	if (c->unlocked.used == 0 || !fxt_argument(rec, "at") || !lock_of(rec, &lock))
		return;
	start_ns = fxt_ns(rec->provider, rec->ticks);
	s = fxt_map_find(&c->unlocked, r->threads[rec->thread].pid, lock);
	if (!s || s->value[0] < start_ns)
		return;
	place = entry_of(c, r, rec, lock, fxt_call_stack_of(stacks, rec), &fresh);
	fxt_stack_sums_add(&c->holders, place, (uint32_t)s->value[1],
			   fxt_ns(rec->provider, rec->extra) - start_ns);
}

static int by_total(const void *a, const void *b)
{
	const struct fxt_contended *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return x->lock != y->lock ? (x->lock < y->lock ? -1 : 1) : x->at < y->at ? -1 : 1;
}

static int by_number(const void *a, const void *b)
{
	const struct fxt_contended *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return by_total(a, b);
}

static void join(struct fxt_contended *to, const struct fxt_contended *one)
{
	struct fxt_contended sum = one->total_ns > to->total_ns ? *one : *to;
	const struct fxt_contended *holder = one->holder_ns > to->holder_ns ? one : to;

	sum.count = to->count + one->count;
	sum.total_ns = to->total_ns + one->total_ns;
	sum.max_ns = to->max_ns > one->max_ns ? to->max_ns : one->max_ns;
	sum.held_ns = to->held_ns + one->held_ns;
	sum.held_count = to->held_count + one->held_count;
	sum.holder = holder->holder;
	sum.holder_ns = holder->holder_ns;
	*to = sum;
}

/* Makes one of all entries for one lock that a line would show the same waiter of, and sorts the list. */
static void merge(struct fxt_contention *c, struct fxt_who *who, enum fxt_sort sort)
{
	struct fxt_map lines = {0};
	size_t kept = 0;
	bool fresh;

	fxt_stack_sums_finish(&c->holders);
	for (size_t i = 0; i < c->count; i++) {
		struct fxt_contended one = c->list[i];
		uint32_t path = fxt_path_of(&who->culprits, FXT_FOR_LOCK, one.innermost);
		struct fxt_stack_sum most;
		struct fxt_slot *s;

		/* An entry that only fxt_contention_order() has seen has no waits. */
		if (!one.count)
			continue;
		if (fxt_stack_sums_most(&c->holders, i, who, FXT_FOR_LOCK, &most)) {
			one.holder = most.innermost;
			one.holder_ns = most.total_ns;
		}
		s = fxt_map_put(&lines, one.key,
				path == FXT_NO_PATH ? (uint64_t)one.at << 32 | one.held_at
						    : UINT64_C(1) << 63 | fxt_path_short(&who->culprits,
											 FXT_FOR_LOCK, path),
				&fresh);
		if (fresh) {
			s->value[0] = kept;
			c->list[kept++] = one;
		} else {
			join(&c->list[s->value[0]], &one);
		}
	}
	c->count = kept;
	fxt_map_free(&lines);
	if (c->count)
		qsort(c->list, c->count, sizeof(*c->list), sort == FXT_SORT_COUNT ? by_number : by_total);
}

/* -- Who is blocked ------------------------------------------------------------------------------- */

static struct fxt_blocked *blocked_of(struct fxt_contention *c, uint32_t thread)
{
	c->blocked =
		fxt_reach(c->blocked, &c->blocked_capacity, &c->blocked_count, thread, sizeof(*c->blocked));
	return &c->blocked[thread];
}

void fxt_contention_thread(struct fxt_contention *c, struct fxt_reader *r, const struct fxt_record *rec)
{
	uint64_t handle;
	bool fresh;

	/* Several threads may have had one handle; the last of them has it when the trace ends. */
	if (fxt_text_is(&rec->category, "pthread") && fxt_text_is(&rec->name, "thread") &&
	    fxt_argument_u64(fxt_argument(rec, "thread"), &handle))
		fxt_map_put(&c->by_handle, r->threads[rec->thread].pid, handle, &fresh)->value[0] =
			rec->thread;
}

/* Notes that a thread waits for another thread's end, which the call names by its handle. */
static void find_joining(struct fxt_contention *c, struct fxt_reader *r,
			 const struct fxt_call_in_progress *call)
{
	const struct fxt_slot *s;
	struct fxt_record rec;
	struct fxt_text name = fxt_symbol_text(r, call->name);
	uint64_t handle;

	if (!fxt_text_is(&name, "pthread_join") && !fxt_text_is(&name, "pthread_timedjoin_np") &&
	    !fxt_text_is(&name, "pthread_clockjoin_np") && !fxt_text_is(&name, "thrd_join"))
		return;
	fxt_reader_event_at(r, call->offset, call->provider, &rec);
	if (!rec.arg_count || !fxt_argument_u64(&rec.args[0], &handle))
		return;
	s = fxt_map_find(&c->by_handle, r->threads[call->thread].pid, handle);
	if (s)
		*blocked_of(c, call->thread) = (struct fxt_blocked){
			.since_ns = call->start_ns,
			.holder = r->threads[s->value[0]].tid,
			.is_known = true,
			.is_join = true,
		};
}

void fxt_contention_blocked(struct fxt_contention *c, struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_blocked *b;
	uint64_t lock, holder = 0, held_ns = 0;

	if (!lock_of(rec, &lock))
		return;
	b = blocked_of(c, rec->thread);
	fxt_argument_u64(fxt_argument(rec, "holder"), &holder);
	*b = (struct fxt_blocked){
		.since_ns = fxt_ns(rec->provider, rec->ticks),
		.lock = lock,
		.known = fxt_object_of(c->objects, r, rec, &rec->args[0]),
		.holder = holder,
		.at = place_of(r, rec, "at"),
		.held_at = place_of(r, rec, "held_at"),
		.is_known = true,
	};
	if (fxt_argument_u64(fxt_argument(rec, "held_ns"), &held_ns))
		b->held_since_ns = b->since_ns - held_ns;
}

int64_t fxt_contention_holder(const struct fxt_contention *c, const struct fxt_reader *r, size_t thread)
{
	const struct fxt_slot *s;

	if (thread >= c->blocked_count || !c->blocked[thread].is_blocked || !c->blocked[thread].holder)
		return -1;
	s = fxt_map_find(&r->thread_by_koids, r->threads[thread].pid,
			 fxt_thread_in(r, r->threads[thread].pid, c->blocked[thread].holder));
	return s ? (int64_t)s->value[0] : -1;
}

int64_t fxt_contention_holder_anywhere(const struct fxt_contention *c, const struct fxt_reader *r,
				       size_t thread)
{
	const struct fxt_blocked *b = thread < c->blocked_count ? &c->blocked[thread] : NULL;

	for (uint32_t i = 0; b && b->is_blocked && b->holder && i < r->thread_count; i++)
		if (r->threads[i].tid == b->holder)
			return i;
	return -1;
}

/* Finds the threads in circles: those that a walk from holder to holder leads back to. */
static void find_circles(struct fxt_contention *c, const struct fxt_reader *r)
{
	size_t count = c->blocked_count, *holders = fxt_alloc(count ? count : 1, sizeof(*holders));
	bool *is_in_circle = fxt_alloc(count ? count : 1, sizeof(*is_in_circle));

	for (size_t i = 0; i < count; i++)
		holders[i] = (size_t)fxt_contention_holder(c, r, i);
	fxt_find_circles(holders, count, is_in_circle);
	for (size_t i = 0; i < count; i++)
		c->blocked[i].is_in_circle = is_in_circle[i];
	free(is_in_circle);
	free(holders);
}

void fxt_contention_finish(struct fxt_contention *c, struct fxt_reader *r, struct fxt_who *who,
			   const struct fxt_calls_in_progress *open, enum fxt_sort sort)
{
	merge(c, who, sort);
	for (size_t i = 0; i < open->count; i++)
		if (open->threads[i].count)
			find_joining(c, r, &open->threads[i].list[open->threads[i].count - 1]);
	for (size_t i = 0; i < c->blocked_count && i < open->count; i++) {
		const struct fxt_call_stack *s = &open->threads[i];
		struct fxt_blocked *b = &c->blocked[i];

		/* It is blocked if it said so within the call that it is still in. */
		b->is_blocked = b->is_known && s->count && s->list[s->count - 1].start_ns <= b->since_ns;
	}
	find_circles(c, r);
}

bool fxt_contention_is_deadlock(const struct fxt_contention *c)
{
	for (size_t i = 0; i < c->blocked_count; i++) {
		if (c->blocked[i].is_in_circle)
			return true;
	}
	return false;
}

void fxt_contention_free(struct fxt_contention *c)
{
	free(c->list);
	free(c->blocked);
	fxt_map_free(&c->by_places);
	fxt_map_free(&c->wanted);
	fxt_map_free(&c->unlocked);
	fxt_stack_sums_free(&c->holders);
	fxt_map_free(&c->by_handle);
}
