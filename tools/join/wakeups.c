/* Finds wakeups. See wakeups.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "wakeups.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "writer/fxt_encode.h"

struct fxt_wakeup_arrow {
	uint64_t at_ns;                 /* when it leaves the waker */
	uint32_t woken, waker;
	uint32_t lasts_ns;              /* how long after that the wait was over; as much as fits */
	uint32_t part;                  /* number of the part that has it */
	uint32_t cpu_and_1;             /* of the waker; 0: not known */
	bool ends_sleep;                /* its thread slept then */
};

/* Places of arrows that have not come yet. */
struct range {
	size_t next, end;
};

struct fxt_wakeup_thread {
	uint64_t out_ns;                /* when it left its processor last; 0: never, or it has ended */
	bool is_blocked;                /* it left because it waits */
	uint32_t cpu_and_1;             /* that it had last; 0: none */
	struct range to, from;          /* arrows that wake it; places in `by_waker` of those that it sends */
};

/* -- Arrows ---------------------------------------------------------------------------------------- */

void fxt_wakeups_arrow(struct fxt_wakeups *w, const struct fxt_reader *r, const struct fxt_record *rec)
{
	uint64_t tid = r->threads[rec->thread].tid, lasts_ns;
	struct fxt_slot *begun;
	bool fresh;

	if ((rec->subtype != FXT_EVENT_FLOW_BEGIN && rec->subtype != FXT_EVENT_FLOW_END) ||
	    !fxt_text_is(&rec->name, "wakes"))
		return;
	if (rec->subtype == FXT_EVENT_FLOW_BEGIN) {
		begun = fxt_map_put(&w->begun, rec->extra, 0, &fresh);
		begun->value[0] = tid;
		begun->value[1] = rec->ticks;
		return;
	}
	begun = fxt_map_find(&w->begun, rec->extra, 0);
	if (!begun)
		return;
	lasts_ns = rec->ticks - begun->value[1];
	if (rec->ticks >= begun->value[1] && begun->value[0] <= UINT32_MAX && tid <= UINT32_MAX) {
		w->arrows = fxt_grow(w->arrows, &w->arrow_capacity, w->arrow_count + 1, sizeof(*w->arrows));
		w->arrows[w->arrow_count++] = (struct fxt_wakeup_arrow){
			.at_ns = begun->value[1],
			.waker = (uint32_t)begun->value[0],
			.woken = (uint32_t)tid,
			.lasts_ns = lasts_ns < UINT32_MAX ? (uint32_t)lasts_ns : UINT32_MAX,
			.part = w->part,
		};
	}
	fxt_map_remove(&w->begun, begun);
}

/* -- Threads --------------------------------------------------------------------------------------- */

static struct fxt_wakeup_thread *thread_of(struct fxt_wakeups *w, uint64_t tid)
{
	bool fresh;
	struct fxt_slot *place = fxt_map_put(&w->by_thread, tid, 0, &fresh);

	if (fresh) {
		w->threads = fxt_reach(w->threads, &w->thread_capacity, &w->thread_count, w->thread_count,
				       sizeof(*w->threads));
		place->value[0] = w->thread_count;
	}
	return &w->threads[place->value[0] - 1];
}

static int by_woken(const void *a, const void *b)
{
	const struct fxt_wakeup_arrow *x = a, *y = b;

	if (x->woken != y->woken)
		return x->woken < y->woken ? -1 : 1;
	return x->at_ns != y->at_ns ? (x->at_ns < y->at_ns ? -1 : 1) : 0;
}

static int by_waker(const void *a, const void *b)
{
	const struct fxt_wakeup_arrow *x = *(const struct fxt_wakeup_arrow *const *)a,
				      *y = *(const struct fxt_wakeup_arrow *const *)b;

	if (x->waker != y->waker)
		return x->waker < y->waker ? -1 : 1;
	return x->at_ns != y->at_ns ? (x->at_ns < y->at_ns ? -1 : 1) : 0;
}

/* Sorts the arrows by the threads at both ends, and tells each thread where its own are. */
static void sort(struct fxt_wakeups *w)
{
	struct fxt_wakeup_arrow *arrows = w->arrows;

	w->by_waker = fxt_grow(w->by_waker, &w->by_waker_capacity, w->arrow_count, sizeof(*w->by_waker));
	for (size_t i = 0; i < w->thread_count; i++)
		w->threads[i].to = w->threads[i].from = (struct range){0, 0};
	if (w->arrow_count)
		qsort(arrows, w->arrow_count, sizeof(*arrows), by_woken);
	for (size_t i = 0; i < w->arrow_count; i++)
		w->by_waker[i] = &arrows[i];
	if (w->arrow_count)
		qsort(w->by_waker, w->arrow_count, sizeof(*w->by_waker), by_waker);
	for (size_t i = 0; i < w->arrow_count; i++) {
		struct range *to = &thread_of(w, arrows[i].woken)->to, *from;

		*to = (struct range){to->end ? to->next : i, i + 1};
		from = &thread_of(w, w->by_waker[i]->waker)->from;
		*from = (struct range){from->end ? from->next : i, i + 1};
	}
	w->is_sorted = true;
}

/* -- Switches -------------------------------------------------------------------------------------- */

/* A thread leaves its processor. */
static void leave(struct fxt_wakeup_thread *thread, const struct fxt_record *rec)
{
	thread->out_ns = rec->state == FXT_THREAD_DEAD ? 0 : rec->ticks;
	thread->is_blocked = rec->state == FXT_THREAD_BLOCKED;
}

/* A thread gets a processor. A sleep ends once, so the first arrow that leaves while it slept has ended that.
 * A thread that was not seen before is one that sleeps until it begins. */
static void end_sleep(struct fxt_wakeups *w, struct fxt_wakeup_thread *thread, uint64_t in_ns)
{
	struct fxt_wakeup_arrow *arrow;

	while (thread->to.next < thread->to.end && w->arrows[thread->to.next].at_ns <= thread->out_ns)
		thread->to.next++;
	if (thread->to.next == thread->to.end || (thread->out_ns && !thread->is_blocked))
		return;
	arrow = &w->arrows[thread->to.next];
	arrow->ends_sleep = arrow->at_ns < in_ns && in_ns - arrow->at_ns <= arrow->lasts_ns;
}

/* The arrows that a thread has sent before that time left on the processor that it had. */
static void was_on(struct fxt_wakeups *w, struct fxt_wakeup_thread *thread, uint64_t until_ns)
{
	for (; thread->from.next < thread->from.end; thread->from.next++) {
		struct fxt_wakeup_arrow *arrow = w->by_waker[thread->from.next];

		if (arrow->at_ns >= until_ns)
			break;
		if (!arrow->cpu_and_1)
			arrow->cpu_and_1 = thread->cpu_and_1;
	}
}

/* Takes a switch. Those of a thread come in the order of time, and those of several threads do not. */
void fxt_wakeups_switch(struct fxt_wakeups *w, const struct fxt_record *rec, uint32_t provider)
{
	struct fxt_wakeup_thread *thread;

	if (rec->subtype == FXT_SCHEDULING_WAKEUP)
		w->has_own = true;
	if (rec->subtype != FXT_SCHEDULING_SWITCH || !provider)
		return;
	if (!w->is_sorted)
		sort(w);
	w->provider = provider;
	if (rec->id && rec->id <= UINT32_MAX)
		leave(thread_of(w, rec->id), rec);
	if (rec->extra && rec->extra <= UINT32_MAX) {
		thread = thread_of(w, rec->extra);
		end_sleep(w, thread, rec->ticks);
		was_on(w, thread, rec->ticks);
		thread->cpu_and_1 = rec->cpu + 1;
		/* Until it leaves that, no arrow ends a sleep of it. */
		thread->out_ns = rec->ticks;
		thread->is_blocked = false;
	}
}

/* -- Parts ----------------------------------------------------------------------------------------- */

void fxt_wakeups_begin_part(struct fxt_wakeups *w)
{
	w->has_own = w->is_sorted = false;
	w->part++;
}

/* Makes wakeups of the arrows that have ended a sleep in this part. */
static void make(struct fxt_wakeups *w)
{
	for (size_t i = 0; i < w->thread_count; i++)
		was_on(w, &w->threads[i], UINT64_MAX);
	for (size_t i = 0; i < w->arrow_count; i++) {
		struct fxt_wakeup_arrow *arrow = &w->arrows[i];

		if (!arrow->ends_sleep || !arrow->cpu_and_1)
			continue;
		w->list = fxt_grow(w->list, &w->capacity, w->count + 1, sizeof(*w->list));
		w->list[w->count++] = (struct fxt_wakeup){arrow->at_ns, arrow->waker, arrow->woken,
							  arrow->cpu_and_1 - 1, w->provider};
	}
}

void fxt_wakeups_end_part(struct fxt_wakeups *w)
{
	size_t kept = 0;

	fxt_map_free(&w->begun);
	if (w->is_sorted && !w->has_own)
		make(w);
	for (size_t i = 0; i < w->arrow_count; i++)
		if (!(w->has_own && w->arrows[i].part == w->part) && !w->arrows[i].ends_sleep)
			w->arrows[kept++] = w->arrows[i];
	w->arrow_count = kept;
}

bool fxt_wakeups_put(const struct fxt_wakeups *w, fxt_frame_records_write *write, void *context)
{
	enum { ROOM = 16 };
	uint64_t words[ROOM];

	for (size_t i = 0; i < w->count; i++) {
		const struct fxt_wakeup *one = &w->list[i];
		struct fxt_arg waker = {FXT_ARG_KOID, FXT_INLINE("waker", 5), .u64 = one->waker};
		size_t count = 0;

		if (i == 0 || one->provider != one[-1].provider)
			count = fxt_encode_provider_section(words, ROOM, one->provider);
		count += fxt_encode_thread_wakeup(words + count, ROOM - count, one->at_ns, (uint16_t)one->cpu,
						  one->woken, (struct fxt_args){1, &waker});
		if (!write(context, words, count))
			return false;
	}
	return true;
}

void fxt_wakeups_free(struct fxt_wakeups *w)
{
	free(w->arrows);
	free(w->by_waker);
	free(w->threads);
	free(w->list);
	fxt_map_free(&w->by_thread);
	fxt_map_free(&w->begun);
	*w = (struct fxt_wakeups){0};
}
