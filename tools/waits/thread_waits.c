/* Where each thread waited, and what threads that poll did between two polls. See thread_waits.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "thread_waits.h"

#include <stdlib.h>

#include "tools/common/message.h"
#include "tools/printing/print.h"

void fxt_thread_waits_take(struct fxt_thread_waits *w, struct fxt_reader *r, const struct fxt_record *rec,
			   const struct fxt_role *role, uint32_t innermost, uint64_t ns)
{
	struct fxt_thread_wait *wait;
	struct fxt_slot *s;
	bool fresh;

	if (innermost == FXT_NO_FRAME || fxt_role_standing(role) == FXT_STANDING_NONE)
		return;
	s = fxt_map_put(&w->by_stack, rec->thread, innermost, &fresh);
	if (fresh) {
		s->value[0] = w->count;
		w->list = fxt_grow(w->list, &w->capacity, w->count + 1, sizeof(*w->list));
		w->list[w->count++] = (struct fxt_thread_wait){
			.thread = rec->thread,
			.innermost = innermost,
			.name = fxt_symbol(r, &rec->name),
			.role = role,
		};
	}
	wait = &w->list[s->value[0]];
	wait->count++;
	wait->ns += ns;
}

/* -- Turns ----------------------------------------------------------------------------------------- */

/* Calls that wait for any of several descriptors. */
static bool is_poll(const struct fxt_record *rec)
{
	static const char *const names[] = {"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll",
					    "ppoll",	  "select",	 "pselect"};

	if (!fxt_text_is(&rec->category, "net"))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (fxt_text_is(&rec->name, names[i]))
			return true;
	return false;
}

/* Notes that a descriptor is watched from now on. */
static void watch(struct fxt_thread_waits *w, const struct fxt_reader *r, const struct fxt_record *rec)
{
	enum { ADD = 1 }; /* EPOLL_CTL_ADD */
	bool fresh;

	if (fxt_text_is(&rec->name, "epoll_ctl") && fxt_argument_or(rec, "op", 0) == ADD)
		fxt_map_put(&w->watched, r->threads[rec->thread].pid, fxt_argument_or(rec, "epfd", 0), &fresh)
			->value[0]++;
}

/* Returns how many descriptors the poll is about. */
static uint64_t watched_by(const struct fxt_thread_waits *w, const struct fxt_reader *r,
			   const struct fxt_record *rec)
{
	const struct fxt_slot *s;
	uint64_t epfd;

	if (!fxt_argument_u64(fxt_argument(rec, "epfd"), &epfd))
		return fxt_argument_or(rec, "nfds", 0);
	s = fxt_map_find(&w->watched, r->threads[rec->thread].pid, epfd);
	return s ? s->value[0] : 0;
}

/* Ends the turn at the poll that begins at `start_ns`. */
static void end_turn(struct fxt_thread_waits *w, struct fxt_turns *t, const struct fxt_record *rec,
		     uint64_t start_ns, uint64_t end_ns)
{
	enum { AT_ONCE_NS = 100000 }; /* a poll that found something ready takes less, if it is let run */
	uint64_t ns = fxt_ns_between(t->begin_ns, start_ns);

	if (!t->begin_ns || ns < FXT_LONG_TURN_NS)
		return;
	t->long_count++;
	t->long_ns += ns;
	t->ready += end_ns - start_ns < AT_ONCE_NS && (int64_t)fxt_argument_or(rec, "ret", 0) > 0;
	if (t->wait_ns <= ns / 2)
		return;
	t->waiting_count++;
	t->waiting_ns += t->wait_ns;
	fxt_stack_sums_add(&w->in_turns, rec->thread, t->wait_stack, t->wait_ns);
}

void fxt_thread_waits_turn(struct fxt_thread_waits *w, struct fxt_reader *r, struct fxt_call_stacks *stacks,
			   const struct fxt_record *rec)
{
	uint64_t start_ns = fxt_ns(rec->provider, rec->ticks), end_ns = fxt_ns(rec->provider, rec->extra);
	bool polls = is_poll(rec);
	struct fxt_turns *t;

	watch(w, r, rec);
	if (!polls && (rec->thread >= w->turn_count || !w->turns[rec->thread].begin_ns))
		return;
	w->turns = fxt_reach(w->turns, &w->turn_capacity, &w->turn_count, rec->thread, sizeof(*w->turns));
	t = &w->turns[rec->thread];
	/* A thread's chunks need not come in the order of time. */
	if (end_ns < t->last_ns)
		t->begin_ns = 0;
	t->last_ns = end_ns;
	if (!polls) {
		if (end_ns - start_ns > t->wait_ns && fxt_waited_ns(rec) > t->wait_ns) {
			t->wait_ns = fxt_waited_ns(rec);
			t->wait_stack = fxt_call_stack_of(stacks, rec);
		}
		return;
	}
	end_turn(w, t, rec, start_ns, end_ns);
	t->polls++;
	if (watched_by(w, r, rec) > t->watched)
		t->watched = watched_by(w, r, rec);
	t->begin_ns = end_ns;
	t->wait_ns = 0;
}

void fxt_thread_waits_finish(struct fxt_thread_waits *w)
{
	fxt_stack_sums_finish(&w->in_turns);
	fxt_map_free(&w->by_stack);
	fxt_map_free(&w->watched);
}

void fxt_thread_waits_free(struct fxt_thread_waits *w)
{
	free(w->list);
	free(w->turns);
	fxt_stack_sums_free(&w->in_turns);
	*w = (struct fxt_thread_waits){0};
}
