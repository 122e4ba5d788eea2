/* See kept_time.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "kept_time.h"

#include <stdlib.h>

#include "tools/common/message.h"

enum { SPANS = 16, CAUSES = 2 };

struct span {
	uint64_t from_ns, to_ns;
};

/* Times that do not overlap. There are few that are recent, and nobody asks for earlier ones. */
struct spans {
	struct span list[SPANS];
	unsigned count;
};

struct fxt_kept_thread {
	/* When it was kept, itself or by others; and by others within the time of `last`. NULL: never, as
	 * nearly all threads. */
	struct spans *kept, *last_kept;
	struct fxt_kept_wait last;
	struct fxt_flight_cause causes[CAUSES]; /* that came before the wait that they belong to */
	unsigned cause_count;
};

static struct fxt_kept_thread *thread_of(struct fxt_kept_times *k, uint32_t thread)
{
	k->threads = fxt_reach(k->threads, &k->capacity, &k->count, thread, sizeof(*k->threads));
	return &k->threads[thread];
}

/* Adds a time, as one with those that it overlaps. */
static void add(struct spans **of, struct span new)
{
	struct spans *s;
	unsigned kept = 0, oldest = 0;

	if (new.from_ns >= new.to_ns)
		return;
	if (!*of)
		*of = fxt_alloc(1, sizeof(**of));
	s = *of;
	for (unsigned i = 0; i < s->count; i++) {
		const struct span *one = &s->list[i];

		if (one->to_ns < new.from_ns || new.to_ns < one->from_ns) {
			s->list[kept++] = *one;
			continue;
		}
		new.from_ns = one->from_ns < new.from_ns ? one->from_ns : new.from_ns;
		new.to_ns = one->to_ns > new.to_ns ? one->to_ns : new.to_ns;
	}
	s->count = kept;
	if (s->count < SPANS) {
		s->list[s->count++] = new;
		return;
	}
	for (unsigned i = 1; i < SPANS; i++)
		oldest = s->list[i].to_ns < s->list[oldest].to_ns ? i : oldest;
	s->list[oldest] = new;
}

static uint64_t sum_within(const struct spans *s, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t sum_ns = 0;

	for (unsigned i = 0; s && i < s->count; i++) {
		uint64_t from = s->list[i].from_ns > from_ns ? s->list[i].from_ns : from_ns;
		uint64_t to = s->list[i].to_ns < to_ns ? s->list[i].to_ns : to_ns;

		sum_ns += to > from ? to - from : 0;
	}
	return sum_ns;
}

/* The last wait of `thread` was one for `waker`, up to a time: what kept that one has kept this one. */
static void inherit(struct fxt_kept_times *k, uint32_t thread, uint32_t waker, uint64_t until_ns)
{
	struct fxt_kept_thread *to;
	const struct spans *from;
	uint64_t start_ns;

	/* This may move the threads in memory. */
	from = thread_of(k, waker)->kept;
	to = thread_of(k, thread);
	if (!from)
		return;
	start_ns = to->last.start_ns;
	until_ns = until_ns < to->last.end_ns ? until_ns : to->last.end_ns;
	for (unsigned i = 0; i < from->count; i++) {
		struct span one = from->list[i];

		one.from_ns = one.from_ns > start_ns ? one.from_ns : start_ns;
		one.to_ns = one.to_ns < until_ns ? one.to_ns : until_ns;
		add(&to->kept, one);
		add(&to->last_kept, one);
	}
	to->last.kept_ns = sum_within(to->last_kept, start_ns, until_ns);
}

void fxt_kept_room(struct fxt_kept_times *k, const struct fxt_record *rec)
{
	add(&thread_of(k, rec->thread)->kept,
	    (struct span){fxt_ns(rec->provider, rec->ticks), fxt_ns(rec->provider, rec->extra)});
}

struct fxt_kept_wait fxt_kept_next(struct fxt_kept_times *k, uint32_t thread)
{
	struct fxt_kept_thread *t = thread_of(k, thread);
	struct fxt_kept_wait last = t->last;

	if (last.kept_ns > last.alone_ns)
		last.kept_ns = last.alone_ns;
	t->last = (struct fxt_kept_wait){0};
	return last;
}

static bool holds(const struct fxt_kept_wait *wait, uint64_t at_ns)
{
	return wait->provider && wait->start_ns <= at_ns && at_ns <= wait->end_ns;
}

void fxt_kept_wait(struct fxt_kept_times *k, const struct fxt_reader *r, const struct fxt_record *rec,
		   uint64_t alone_ns)
{
	struct fxt_kept_thread *t = thread_of(k, rec->thread);
	uint64_t pid = r->threads[rec->thread].pid, holder;
	struct fxt_flight_cause causes[CAUSES];
	unsigned count = t->cause_count;
	const struct fxt_slot *s;

	for (unsigned i = 0; i < count; i++)
		causes[i] = t->causes[i];
	t->cause_count = 0;
	if (t->last_kept)
		t->last_kept->count = 0;
	t->last = (struct fxt_kept_wait){.offset = rec->offset,
					 .provider = rec->provider,
					 .start_ns = fxt_ns(rec->provider, rec->ticks),
					 .end_ns = fxt_ns(rec->provider, rec->extra),
					 .alone_ns = alone_ns};
	for (unsigned i = 0; i < count; i++)
		fxt_kept_cause(k, rec->thread, &causes[i]);
	/* Others may have had the lock in between. The agent says who had it first. */
	if (!fxt_argument_u64(fxt_argument(rec, "holder"), &holder))
		return;
	s = fxt_map_find(&r->thread_by_koids, pid, fxt_thread_in(r, pid, holder));
	if (s && s->value[0] != rec->thread)
		inherit(k, rec->thread, (uint32_t)s->value[0], UINT64_MAX);
}

void fxt_kept_cause(struct fxt_kept_times *k, uint32_t thread, const struct fxt_flight_cause *cause)
{
	struct fxt_kept_thread *t = thread_of(k, thread);

	if (holds(&t->last, cause->at_ns))
		inherit(k, thread, cause->waker, cause->woken_ns);
	else if (t->cause_count < CAUSES)
		t->causes[t->cause_count++] = *cause;
}

uint64_t fxt_kept_ns(const struct fxt_kept_times *k, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	return thread < k->count ? sum_within(k->threads[thread].kept, from_ns, to_ns) : 0;
}

void fxt_kept_free(struct fxt_kept_times *k)
{
	for (size_t i = 0; i < k->count; i++) {
		free(k->threads[i].kept);
		free(k->threads[i].last_kept);
	}
	free(k->threads);
	*k = (struct fxt_kept_times){0};
}
