/* fxt report: the section on contended locks. It says which functions wanted a lock and which had taken
 * it, and which thread waits for which when the trace ends. The agent's arguments of a call that found
 * its lock taken tell this: `at`, `holder`, `held_ns`, `held_at`. See report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

#define UNKNOWN "?"     /* a place */

static uint32_t place_of(struct fxt_reader *r, const struct fxt_record *rec, const char *name)
{
	static const struct fxt_text unknown = {.text = UNKNOWN, .bytes = sizeof(UNKNOWN) - 1};
	const struct fxt_text *place = fxt_argument_text(rec, name);

	return fxt_symbol(r, place && place->bytes ? place : &unknown);
}

/* Sets *lock to the call's first argument, which is the lock whatever the manual page calls it. */
static bool lock_of(const struct fxt_record *rec, uint64_t *lock)
{
	return rec->arg_count && rec->args[0].type == FXT_ARG_POINTER &&
	       fxt_argument_u64(&rec->args[0], lock);
}

/* Returns the place of the entry for the lock of a call that found it taken, and for who wanted it. *fresh: it
 * has to be filled in. */
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
			 const char *kind, uint64_t duration_ns, uint32_t innermost)
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
	if (fxt_argument_u64(fxt_argument(rec, "held_ns"), &held_ns)) {
		one->held_ns += held_ns;
		one->held_count++;
	}
}

/* -- Who held it --------------------------------------------------------------------------------- */

bool fxt_contention_is_unlock(const struct fxt_record *rec)
{
	return rec->subtype == FXT_EVENT_INSTANT && fxt_text_is(&rec->name, "unlocked") &&
	       fxt_argument(rec, "stack");
}

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
				path == FXT_NO_PATH
					? (uint64_t)one.at << 32 | one.held_at
					: UINT64_C(1) << 63 | fxt_path_short(&who->culprits, FXT_FOR_LOCK, path),
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

/* Returns the index of the thread that holds what a thread is blocked on; -1: not known. */
static int64_t holder_of(const struct fxt_contention *c, const struct fxt_reader *r, size_t thread)
{
	const struct fxt_slot *s;

	if (thread >= c->blocked_count || !c->blocked[thread].is_blocked || !c->blocked[thread].holder)
		return -1;
	s = fxt_map_find(&r->thread_by_koids, r->threads[thread].pid, c->blocked[thread].holder);
	return s ? (int64_t)s->value[0] : -1;
}

/* Finds the threads in circles: those that a walk from holder to holder leads back to. A walk ends where
 * it or an older one has been, so all of them together take no more steps than there are threads. */
static void find_circles(struct fxt_contention *c, const struct fxt_reader *r)
{
	/* by thread: the number of the walk that was there first, from 1 up */
	size_t *walks = fxt_alloc(c->blocked_count, sizeof(*walks));

	for (size_t i = 0; i < c->blocked_count; i++) {
		int64_t at = (int64_t)i;

		while (at >= 0 && (size_t)at < c->blocked_count && !walks[at]) {
			walks[at] = i + 1;
			at = holder_of(c, r, (size_t)at);
		}
		while (at >= 0 && (size_t)at < c->blocked_count && walks[at] == i + 1 &&
		       !c->blocked[at].is_in_circle) {
			c->blocked[at].is_in_circle = true;
			at = holder_of(c, r, (size_t)at);
		}
	}
	free(walks);
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

/* -- Printing ---------------------------------------------------------------------------------- */

char *fxt_contention_lock(const struct fxt_object *known, uint64_t lock)
{
	return known ? fxt_strdup(known->label) : fxt_format("0x%" PRIx64, lock);
}

static char *place(const struct fxt_reader *r, uint32_t symbol)
{
	struct fxt_text text = fxt_symbol_text(r, symbol);

	return fxt_function_label(&text, 40);
}

enum { LABEL = 32 };
#define FIGURES " %10s %12s %9s\n"

/* Prints who wanted the lock and who held it. Stacks say more than the names of the innermost functions. */
static void print_places(const struct fxt_contended *one, const struct fxt_reader *r, struct fxt_who *who,
			 FILE *out)
{
	enum { ROOM = FXT_COLUMNS - 16 };
	char *at = place(r, one->at), *held_at = place(r, one->held_at), *held, *held_for;
	char *waiter = fxt_who_line(who, FXT_FOR_LOCK, one->innermost, ROOM),
	     *holder = fxt_who_line(who, FXT_FOR_LOCK, one->holder, ROOM - 20);

	if (holder)
		held = fxt_format("held by %s", holder);
	else
		held = strcmp(held_at, UNKNOWN) != 0 ? fxt_format("held in %s", held_at) : fxt_strdup("");
	held_for = *held && one->held_count
			   ? fxt_format(" for %s", fxt_duration(one->held_ns / one->held_count).text)
			   : fxt_strdup("");
	if (waiter || holder) {
		fxt_put_line(out, waiter ? fxt_format("      wanted by %s", waiter)
					 : fxt_format("      wanted in %s", at));
		if (*held)
			fxt_put_line(out, fxt_format("      %s%s%s", held, holder && *held_for ? "," : "",
						     held_for));
	} else {
		fxt_put_line(out, fxt_format("      wanted in %s%s%s%s", at, *held ? ", " : "", held,
					     held_for));
	}
	free(waiter);
	free(holder);
	free(held_for);
	free(held);
	free(held_at);
	free(at);
}

static void print_contended(const struct fxt_contended *one, const struct fxt_reader *r, struct fxt_who *who,
			    FILE *out)
{
	char *lock = fxt_contention_lock(one->known, one->lock), *what = fxt_wait_name(one->kind, lock);

	fxt_put_label(out, what, LABEL);
	fprintf(out, FIGURES, fxt_duration(one->total_ns).text, fxt_count(one->count).text,
		fxt_duration(one->max_ns).text);
	print_places(one, r, who, out);
	free(what);
	free(lock);
}

static void print_joining(const struct fxt_contention *c, size_t thread, const struct fxt_reader *r,
			  uint64_t end_ns, bool with_process, FILE *out)
{
	const struct fxt_blocked *b = &c->blocked[thread];
	char *who = fxt_thread_label(r, (uint32_t)thread, with_process);
	int64_t holder = holder_of(c, r, thread);
	char *whom =
		holder >= 0 ? fxt_thread_label(r, (uint32_t)holder, with_process) : fxt_strdup("a thread");

	fxt_put_line(out,
		     fxt_format("  %s has waited %s for %s to end", who,
				fxt_duration(fxt_ns_between(b->since_ns, end_ns)).text, whom));
	free(whom);
	free(who);
}

static void print_blocked(const struct fxt_contention *c, size_t thread, const struct fxt_reader *r,
			  uint64_t end_ns, bool with_process, bool with_stack, FILE *out)
{
	const struct fxt_blocked *b = &c->blocked[thread];
	char *who = fxt_thread_label(r, (uint32_t)thread, with_process), *at = place(r, b->at),
	     *held_at = place(r, b->held_at);
	char *lock = fxt_contention_lock(b->known, b->lock);
	int64_t holder = holder_of(c, r, thread);

	fxt_put_line(out, fxt_format("  %s has waited %s%s%s for %s%s", who,
				     fxt_duration(fxt_ns_between(b->since_ns, end_ns)).text,
				     with_stack ? "" : " in ", with_stack ? "" : at, lock,
				     holder >= 0 ? "," : ""));
	if (holder >= 0) {
		char *by = fxt_thread_label(r, (uint32_t)holder, with_process);
		char *since = b->held_since_ns && end_ns > b->held_since_ns
				      ? fxt_format(" %s before the end",
						   fxt_duration(end_ns - b->held_since_ns).text)
				      : fxt_strdup("");

		fxt_put_line(out, fxt_format("      which %s took in %s%s", by, held_at, since));
		free(since);
		free(by);
	}
	free(lock);
	free(held_at);
	free(at);
	free(who);
}

/* Prints a thread, and its stack. */
static void print_one(const struct fxt_report *report, uint32_t thread, FILE *out)
{
	enum { SHOWN = 6 };             /* as many functions leave other threads room on the first screen */
	const struct fxt_contention *c = &report->contention;
	uint64_t end_ns = fxt_ends_ns(&report->process_ends, report->r->threads[thread].pid);
	uint32_t innermost = fxt_calls_in_progress_stack(&report->open, thread);
	bool with_stack = fxt_path_of(&report->who->culprits, FXT_FOR_LOCK, innermost) != FXT_NO_PATH;
	size_t top = report->options.top;

	if (c->blocked[thread].is_join)
		print_joining(c, thread, report->r, end_ns, report->has_processes, out);
	else
		print_blocked(c, thread, report->r, end_ns, report->has_processes, with_stack, out);
	fxt_who_print(report->who, FXT_FOR_LOCK, innermost, top == FXT_TOP_ALL ? top : SHOWN, out);
}

static void print_blocked_ones(const struct fxt_report *report, bool circle, const char *title, FILE *out)
{
	const struct fxt_contention *c = &report->contention;
	size_t shown = 0;

	for (size_t i = 0; i < c->blocked_count; i++) {
		if (!c->blocked[i].is_blocked || c->blocked[i].is_in_circle != circle ||
		    shown++ >= report->options.top)
			continue;
		if (shown == 1)
			fprintf(out, "\n%s\n", title);
		print_one(report, (uint32_t)i, out);
	}
	fxt_put_more(out, shown, report->options.top);
}

bool fxt_contention_is_deadlock(const struct fxt_contention *c)
{
	for (size_t i = 0; i < c->blocked_count; i++) {
		if (c->blocked[i].is_in_circle)
			return true;
	}
	return false;
}

void fxt_contention_print_blocked(const struct fxt_report *report, FILE *out)
{
	print_blocked_ones(report, true, "DEADLOCK", out);
	print_blocked_ones(report, false, "BLOCKED AT THE END", out);
}

void fxt_contention_print(const struct fxt_contention *c, const struct fxt_reader *r, struct fxt_who *who,
			  size_t top, FILE *out)
{
	enum { WORTH_A_LINE = 20 };
	size_t shown = 0, most = (top + 1) / 2;

	if (c->count == 0)
		return;
	fxt_put_title(out, "CONTENDED LOCKS", LABEL);
	fprintf(out, FIGURES, "waited", "count", "longest");
	/* Each lock takes two lines. One that took next to nothing beside the first is left out. */
	for (; shown < c->count && shown < most &&
	     (top == FXT_TOP_ALL || c->list[shown].total_ns >= c->list[0].total_ns / WORTH_A_LINE); shown++)
		print_contended(&c->list[shown], r, who, out);
	fxt_put_more(out, c->count, shown);
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
