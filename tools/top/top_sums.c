/* Sums up what processes do and hold. See top_sums.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "top_sums.h"

#include <stdlib.h>
#include <string.h>

#include "tools/analysis/stack_instants.h"
#include "tools/common/message.h"
#include "tools/descriptors/fd_lifetimes.h"
#include "tools/report/no_wait.h"
#include "tools/printing/report_log.h"

/* A thread's process, by its place in the list, and the program in which the thread was seen last. Both are
 * one more than the number that they stand for, so 0 is none. The place may be out of date. */
struct fxt_top_thread {
	uint32_t process, program;
};

/* An arrow may come before the call that it belongs to, so the last one of each thread is remembered. Threads
 * that share a place take it from each other. */
enum { CAUSES = 1024 };

struct fxt_top_cause {
	struct fxt_flight_cause cause;
	uint32_t thread;
	bool used;
};

void fxt_top_begin(struct fxt_top_sums *s, struct fxt_reader *r)
{
	*s = (struct fxt_top_sums){.r = r, .ends.trace_ns = UINT64_MAX};
	s->causes = fxt_alloc(CAUSES, sizeof(*s->causes));
}

/* -- Processes --------------------------------------------------------------------------------- */

/* Forgets what the program held, which is over. The manager has saved all of it before what comes next, so
 * its strings are needed no more; unless its records tell of another process too, which an agent's do not. */
static void forget_program(struct fxt_top_sums *s, struct fxt_top_process *p)
{
	struct fxt_slot *users = fxt_map_find(&s->programs, p->program, 0);

	if (users && --users->value[0] == 0) {
		fxt_map_remove(&s->programs, users);
		fxt_reader_forget(s->r, s->r->providers[p->program]);
	}
	fxt_map_free(&p->lives);
	fxt_map_free(&p->early);
	fxt_map_free(&p->earlier);
	p->heap = p->descriptors = (struct fxt_top_gauge){0};
	p->heap_before = 0;
	p->threads = 0;
}

/* Returns the place of the process in the list. */
static uint32_t place_of(struct fxt_top_sums *s, uint64_t pid)
{
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&s->by_pid, pid, 0, &fresh);

	if (fresh) {
		slot->value[0] = s->count;
		s->list = fxt_grow(s->list, &s->capacity, s->count + 1, sizeof(*s->list));
		s->list[s->count++] = (struct fxt_top_process){.pid = pid};
	}
	return (uint32_t)slot->value[0];
}

/* Returns the process of the record's thread. Its program is the record's, or a later one. */
static struct fxt_top_process *process_of(struct fxt_top_sums *s, const struct fxt_record *rec)
{
	uint64_t pid = s->r->threads[rec->thread].pid;
	struct fxt_top_process *p;
	struct fxt_top_thread *t;
	bool fresh;

	s->threads = fxt_reach(s->threads, &s->thread_capacity, &s->thread_count, rec->thread,
			       sizeof(*s->threads));
	t = &s->threads[rec->thread];
	if (!t->process || t->process > s->count || s->list[t->process - 1].pid != pid)
		t->process = place_of(s, pid) + 1;
	p = &s->list[t->process - 1];
	if (rec->provider->index > p->program) {
		forget_program(s, p);
		p->program = rec->provider->index;
		fxt_map_put(&s->programs, p->program, 0, &fresh)->value[0]++;
		p->begin_ns = fxt_ns(rec->provider, rec->ticks);
		p->over = 0;
	}
	if (rec->provider->index == p->program && t->program != p->program + 1) {
		t->program = p->program + 1;
		p->threads++;
	}
	return p;
}

/* -- Waits ------------------------------------------------------------------------------------- */

/* Notes who let the thread go on, if the arrow ended within the wait. Of two causes, such as the signal of a
 * condition and then its lock, the first is the reason of the wait. */
static void explain(struct fxt_top_wait *wait, const struct fxt_flight_cause *cause)
{
	if (wait->has_waker || cause->at_ns < wait->start_ns || cause->at_ns > wait->end_ns ||
	    cause->woken_ns <= wait->start_ns)
		return;
	wait->has_waker = true;
	wait->waker = cause->waker;
}

/* Puts a wait among those that are kept, if it is one of the slowest. Returns how many there are then. */
static unsigned keep_slowest(struct fxt_top_wait slowest[FXT_TOP_WAITS], unsigned count,
			     const struct fxt_top_wait *wait)
{
	unsigned i = count;

	if (count == FXT_TOP_WAITS && slowest[count - 1].ns >= wait->ns)
		return count;
	if (count == FXT_TOP_WAITS)
		i--;
	else
		count++;
	for (; i > 0 && slowest[i - 1].ns < wait->ns; i--)
		slowest[i] = slowest[i - 1];
	slowest[i] = *wait;
	return count;
}

static void take_wait(struct fxt_top_sums *s, struct fxt_top_process *p, const struct fxt_record *rec)
{
	const struct fxt_top_cause *last = &s->causes[rec->thread % CAUSES];
	struct fxt_top_wait wait = {
		.start_ns = fxt_ns(rec->provider, rec->ticks),
		.end_ns = fxt_ns(rec->provider, rec->extra),
		.ns = fxt_waited_ns(rec),
		.thread = rec->thread,
	};
	uint64_t within_ns = wait.start_ns >= s->from_ns ? wait.ns
			     : wait.end_ns > s->from_ns  ? wait.end_ns - s->from_ns
							 : 0;

	if (wait.end_ns - wait.start_ns < FXT_STANDING_LEAST_NS || !wait.ns)
		return;
	p->blocked_ns += within_ns < wait.ns ? within_ns : wait.ns;
	wait.name = fxt_symbol(s->r, &rec->name);
	if (last->used && last->thread == rec->thread)
		explain(&wait, &last->cause);
	p->wait_count = keep_slowest(p->slowest, p->wait_count, &wait);
}

static void take_arrow(struct fxt_top_sums *s, const struct fxt_record *rec)
{
	struct fxt_top_cause *last = &s->causes[rec->thread % CAUSES];
	const struct fxt_slot *slot;
	struct fxt_top_process *p;

	if (!fxt_flights_take(&s->flights, rec, &last->cause))
		return;
	last->thread = rec->thread;
	last->used = true;
	slot = fxt_map_find(&s->by_pid, s->r->threads[rec->thread].pid, 0);
	p = slot ? &s->list[slot->value[0]] : NULL;
	for (unsigned i = 0; p && i < p->wait_count; i++)
		if (p->slowest[i].thread == rec->thread)
			explain(&p->slowest[i], &last->cause);
}

/* -- What a process holds ---------------------------------------------------------------------- */

/* Takes the counters that tell how much the process has. */
static void take_counter(struct fxt_top_process *p, const struct fxt_record *rec)
{
	bool is_heap = fxt_text_is(&rec->name, "heap bytes");
	struct fxt_top_gauge *gauge = is_heap ? &p->heap : &p->descriptors;
	uint64_t value;

	if ((!is_heap && !fxt_text_is(&rec->name, "descriptors")) ||
	    !fxt_argument_u64(fxt_argument(rec, is_heap ? "bytes" : "count"), &value))
		return;
	/* Records of several threads are not in the order of time. */
	if (fxt_ns(rec->provider, rec->ticks) < gauge->at_ns)
		return;
	/* The heap that the process has when it is first seen does not count as growth. */
	if (is_heap && !gauge->is_known)
		p->heap_before = (int64_t)value;
	*gauge = (struct fxt_top_gauge){true, fxt_ns(rec->provider, rec->ticks), (int64_t)value};
}

/* Counts a descriptor that was opened or closed, unless the counter has counted that already. */
static void add_descriptor(struct fxt_top_process *p, const struct fxt_record *rec, int by)
{
	p->descriptors.is_known = true;
	if (fxt_ns(rec->provider, rec->ticks) > p->descriptors.at_ns)
		p->descriptors.value += by;
}

/* Takes the begin or end of a lifetime. Lifetimes of blocks, which are many, are of no interest here. What
 * connect() makes of a socket is a lifetime within that of the socket. */
static void take_lifetime(struct fxt_top_process *p, const struct fxt_record *rec)
{
	struct fxt_slot *end;
	bool fresh;

	if (rec->subtype == FXT_EVENT_ASYNC_BEGIN) {
		if (!fxt_argument(rec, "fd") || !fxt_argument(rec, "call") ||
		    fxt_fd_life_is_made_by(rec, "connect"))
			return;
		add_descriptor(p, rec, 1);
		end = fxt_map_find(&p->early, rec->extra, 0);
		end = end ? end : fxt_map_find(&p->earlier, rec->extra, 0);
		/* The end came first, and the counter may have counted the descriptor meanwhile. */
		if (end)
			p->descriptors.value -= end->value[0] > p->descriptors.at_ns;
		else
			fxt_map_put(&p->lives, rec->extra, 0, &fresh);
		return;
	}
	end = fxt_map_find(&p->lives, rec->extra, 0);
	if (end) {
		fxt_map_remove(&p->lives, end);
		add_descriptor(p, rec, -1);
	} else if (!fxt_text_is(&rec->name, "heap block") && !fxt_text_is(&rec->name, "mapping")) {
		fxt_map_put(&p->early, rec->extra, 0, &fresh)->value[0] = fxt_ns(rec->provider, rec->ticks);
	}
}

/* Takes what tells what the process holds, unless it is of a program that the process is no more. */
static void take_held(struct fxt_top_process *p, const struct fxt_record *rec)
{
	if (rec->provider->index != p->program)
		return;
	if (rec->subtype == FXT_EVENT_COUNTER)
		take_counter(p, rec);
	else
		take_lifetime(p, rec);
}

/* -- Records ----------------------------------------------------------------------------------- */

static void take_call(struct fxt_top_sums *s, struct fxt_top_process *p, const struct fxt_record *rec)
{
	const struct fxt_role *role;

	if (rec->extra < rec->ticks || fxt_text_is(&rec->category, "function"))
		return;
	p->calls++;
	s->calls++;
	role = fxt_role_of(&s->roles, s->r, rec);
	if (fxt_role_standing(role) != FXT_STANDING_NONE && !fxt_says_no_wait(rec))
		take_wait(s, p, rec);
}

void fxt_top_take(struct fxt_top_sums *s, const struct fxt_record *rec)
{
	struct fxt_top_process *p;

	if (!rec->known || rec->damaged || rec->type != FXT_RECORD_EVENT || fxt_is_made_end(rec))
		return;
	if (fxt_text_is(&rec->category, "agent")) {
		if (rec->subtype == FXT_EVENT_FLOW_BEGIN || rec->subtype == FXT_EVENT_FLOW_END)
			take_arrow(s, rec);
		return;
	}
	if (fxt_ends_take(&s->ends, s->r, rec))
		return;
	p = process_of(s, rec);
	switch (rec->subtype) {
	case FXT_EVENT_DURATION_COMPLETE: take_call(s, p, rec); break;
	case FXT_EVENT_INSTANT:
		/* Some calls are seen only as they begin, such as vfork(), and have an instant. */
		if (!fxt_log_has_event(rec) && !fxt_tells_blocked(rec) && !fxt_tells_unlocked(rec)) {
			p->calls++;
			s->calls++;
		}
		break;
	case FXT_EVENT_COUNTER:
	case FXT_EVENT_ASYNC_BEGIN:
	case FXT_EVENT_ASYNC_END: take_held(p, rec); break;
	default: break;
	}
}

/* -- Intervals --------------------------------------------------------------------------------- */

static int by_calls(const void *a, const void *b)
{
	const struct fxt_top_process *x = a, *y = b;

	if (x->calls != y->calls)
		return x->calls > y->calls ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void number_places(struct fxt_top_sums *s)
{
	bool fresh;

	for (size_t i = 0; i < s->count; i++)
		fxt_map_put(&s->by_pid, s->list[i].pid, 0, &fresh)->value[0] = i;
}

void fxt_top_sort(struct fxt_top_sums *s, fxt_top_is_gone *is_gone)
{
	int signal;

	for (size_t i = 0; i < s->count; i++) {
		struct fxt_top_process *p = &s->list[i];
		/* An earlier end was that of another process with this number. */
		bool has_ended = fxt_ends_known(&s->ends, p->pid, &signal) &&
				 fxt_ends_ns(&s->ends, p->pid) >= p->begin_ns;

		p->over += has_ended || p->over ||
			   (!p->calls && is_gone(p->pid, s->r->providers[p->program]));
	}
	if (s->count)
		qsort(s->list, s->count, sizeof(*s->list), by_calls);
	number_places(s);
}

unsigned fxt_top_slowest(const struct fxt_top_sums *s, struct fxt_top_wait slowest[FXT_TOP_WAITS])
{
	unsigned count = 0;

	for (size_t i = 0; i < s->count; i++)
		for (unsigned k = 0; k < s->list[i].wait_count; k++)
			count = keep_slowest(slowest, count, &s->list[i].slowest[k]);
	return count;
}

/* Frees what is known of a process. */
static void forget(struct fxt_top_sums *s, struct fxt_top_process *p)
{
	forget_program(s, p);
	fxt_map_remove(&s->by_pid, fxt_map_find(&s->by_pid, p->pid, 0));
}

void fxt_top_next(struct fxt_top_sums *s, uint64_t from_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		struct fxt_top_process *p = &s->list[i];

		/* The manager may save the rest of a process a moment after it has ended. */
		if (p->over > 1 && !p->calls) {
			forget(s, p);
			continue;
		}
		p->calls = p->blocked_ns = p->wait_count = 0;
		p->heap_before = p->heap.value;
		fxt_map_free(&p->earlier);
		p->earlier = p->early;
		p->early = (struct fxt_map){0};
		s->list[kept++] = *p;
	}
	s->count = kept;
	number_places(s);
	fxt_ends_free(&s->ends);
	s->ends.trace_ns = UINT64_MAX;
	s->calls = 0;
	s->from_ns = from_ns;
}

void fxt_top_free(struct fxt_top_sums *s)
{
	for (size_t i = 0; i < s->count; i++)
		forget_program(s, &s->list[i]);
	free(s->list);
	free(s->threads);
	free(s->causes);
	fxt_map_free(&s->by_pid);
	fxt_map_free(&s->programs);
	fxt_ends_free(&s->ends);
	fxt_flights_free(&s->flights);
	fxt_roles_free(&s->roles);
}
