/* Sums about a trace as a whole. See overview.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "overview.h"

#include <stdlib.h>
#include <string.h>

#include "stack_instants.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

static void count_category(struct fxt_overview *o, uint32_t symbol, uint64_t bytes, uint64_t events)
{
	while (o->category_count <= symbol) {
		o->categories = fxt_grow(o->categories, &o->category_capacity, o->category_count + 1,
					 sizeof(*o->categories));
		o->categories[o->category_count] =
			(struct fxt_category_usage){.category = (uint32_t)o->category_count};
		o->category_count++;
	}
	o->categories[symbol].events += events;
	o->categories[symbol].bytes += bytes;
}

static void count_thread(struct fxt_overview *o, uint32_t thread, uint64_t events)
{
	o->thread_events = fxt_reach(o->thread_events, &o->thread_capacity, &o->thread_count, thread,
				     sizeof(*o->thread_events));
	o->thread_events[thread] += events;
}

bool fxt_begins_thread(const struct fxt_record *rec)
{
	return rec->subtype == FXT_EVENT_ASYNC_BEGIN && fxt_text_is(&rec->name, "thread") &&
	       fxt_text_is(&rec->category, "pthread");
}

static void count_life(struct fxt_overview *o, const struct fxt_record *rec)
{
	bool fresh;

	if (fxt_begins_thread(rec))
		fxt_map_put(&o->lives, rec->thread, 0, &fresh)->value[0]++;
}

/* Counts an event of category agent that another process has written. */
static void count_foreign(struct fxt_overview *o, const struct fxt_reader *r, const struct fxt_record *rec)
{
	const struct fxt_slot *own = fxt_map_find(&o->own, rec->provider->index, 0);
	bool fresh;

	if (own && own->value[0] != r->threads[rec->thread].pid)
		fxt_map_put(&o->foreign, rec->thread, 0, &fresh)->value[0]++;
}

bool fxt_overview_records(const struct fxt_overview *o, size_t thread)
{
	const struct fxt_slot *foreign = fxt_map_find(&o->foreign, thread, 0);

	return thread < o->thread_count && o->thread_events[thread] > (foreign ? foreign->value[0] : 0);
}

uint64_t fxt_overview_lives(const struct fxt_overview *o, uint32_t thread)
{
	const struct fxt_slot *s = fxt_map_find(&o->lives, thread, 0);

	return s ? s->value[0] : 0;
}

static const char *const loss_names[FXT_LOSS_KINDS] = {
	[FXT_LOSS_NO_ROOM] = "dropped", [FXT_LOSS_DEPTH] = "dropped_depth",
	[FXT_LOSS_SIGNALS] = "dropped_signals", [FXT_LOSS_SIZE] = "dropped_size",
	[FXT_LOSS_FILTERED] = "filtered", [FXT_LOSS_OVERWRITTEN] = "overwritten",
	[FXT_LOSS_BLOCKS] = "blocks_not_kept", [FXT_LOSS_STACKS] = "stacks_not_kept",
	[FXT_LOSS_UNNAMED] = "unnamed",
};

static struct fxt_loser *loser_of(struct fxt_overview *o, const struct fxt_reader *r,
				  const struct fxt_record *rec)
{
	o->losers = fxt_reach(o->losers, &o->loser_capacity, &o->loser_count, rec->provider->index,
			      sizeof(*o->losers));
	o->losers[rec->provider->index].pid = r->threads[rec->thread].pid;
	return &o->losers[rec->provider->index];
}

/* Takes a counter of losses. It is a running total, so its largest value counts. */
static void take_counter(struct fxt_overview *o, const struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_slot *s;
	uint64_t value;
	unsigned loss;
	bool fresh;

	for (loss = 0; loss < FXT_LOSS_KINDS; loss++)
		if (fxt_text_is(&rec->name, loss_names[loss]))
			break;
	if (loss == FXT_LOSS_KINDS || !fxt_argument_u64(fxt_argument(rec, "records"), &value))
		return;
	loser_of(o, r, rec);
	s = fxt_map_put(&o->counters, (uint64_t)rec->provider->index * FXT_LOSS_KINDS + loss, rec->extra,
			&fresh);
	if (value > s->value[0])
		s->value[0] = value;
	if (fxt_ns(rec->provider, rec->ticks) > s->value[1])
		s->value[1] = fxt_ns(rec->provider, rec->ticks);
}

/* Takes what a program had lost before the session of the trace. */
static void take_before(struct fxt_overview *o, const struct fxt_record *rec)
{
	struct fxt_slot *s;
	uint64_t value;
	bool fresh;

	for (unsigned loss = 0; loss < FXT_LOSS_KINDS; loss++) {
		if (!fxt_argument_u64(fxt_argument(rec, loss_names[loss]), &value))
			continue;
		s = fxt_map_put(&o->before, (uint64_t)rec->provider->index * FXT_LOSS_KINDS + loss, 0,
				&fresh);
		s->value[0] = value;
	}
}

void fxt_overview_settle(struct fxt_overview *o)
{
	fxt_losses_settle(&o->counters, &o->before);
	fxt_map_free(&o->before);
}

/* Takes the reason of a loss from the instants of the agent that tell of one. Its other instants, such
 * as that of a contended lock, have no reason. */
static void take_reason(struct fxt_overview *o, const struct fxt_reader *r, const struct fxt_record *rec)
{
	const struct fxt_text *why = fxt_argument_text(rec, "reason");
	struct fxt_loser *loser;
	char *what, *reason;

	if (!fxt_text_is(&rec->name, "buffer full") && !fxt_text_is(&rec->name, "dropped"))
		return;
	loser = loser_of(o, r, rec);
	if (loser->reason)
		return;
	loser->first_ns = fxt_ns(rec->provider, rec->ticks);
	what = fxt_printable(&rec->name, 60, false);
	if (why) {
		reason = fxt_printable(why, 80, false);
		loser->reason = fxt_format("%s: %s", what, reason);
		free(reason);
		free(what);
	} else {
		loser->reason = what;
	}
	if (!o->reason)
		o->reason = fxt_strdup(loser->reason);
}

/* Takes what a thread has lost until it could write again. */
static void take_span(struct fxt_overview *o, const struct fxt_reader *r, const struct fxt_record *rec)
{
	uint64_t to_ns = fxt_ns(rec->provider, rec->ticks), ns = fxt_argument_or(rec, "ns", 0);
	struct fxt_loss_span span = {r->threads[rec->thread].pid, to_ns > ns ? to_ns - ns : 0, to_ns,
				     fxt_argument_or(rec, "records", 0)};

	if (span.records)
		fxt_loss_spans_add(&o->spans, &span);
}

static bool is_async(const struct fxt_record *rec)
{
	return rec->subtype >= FXT_EVENT_ASYNC_BEGIN && rec->subtype <= FXT_EVENT_ASYNC_END;
}

/* Takes an event of the kernel's part, which is no program's. */
static void take_kernel(struct fxt_overview *o, const struct fxt_record *rec)
{
	uint64_t records, ns, to_ns = fxt_ns(rec->provider, rec->ticks);

	if (rec->subtype != FXT_EVENT_INSTANT || !fxt_text_is(&rec->category, "kernel") ||
	    !fxt_text_is(&rec->name, "lost"))
		return;
	records = fxt_argument_or(rec, "records", 0);
	ns = fxt_argument_or(rec, "ns", 0);
	o->kernel_lost += records;
	if (ns && records)
		fxt_loss_spans_add(&o->spans, &(struct fxt_loss_span){FXT_KERNEL_PROVIDER_ID,
								      to_ns > ns ? to_ns - ns : 0, to_ns,
								      records});
}

static void take_event(struct fxt_overview *o, struct fxt_reader *r, const struct fxt_record *rec)
{
	uint64_t bytes = rec->words * FXT_WORD_BYTES;
	uint64_t from = fxt_ns(rec->provider, rec->ticks);
	uint64_t to = fxt_ns(rec->provider, fxt_commit_ticks(rec));

	if (o->events == 0) {
		o->first_ns = from;
		o->last_ns = to;
	}
	o->first_ns = from < o->first_ns ? from : o->first_ns;
	o->last_ns = to > o->last_ns ? to : o->last_ns;
	o->events++;
	o->event_bytes += bytes;
	count_category(o, fxt_symbol(r, &rec->category), bytes, 1);
	count_thread(o, rec->thread, 1);
	count_life(o, rec);
	/* What the kernel saw is nothing that a program tried to write. */
	if (fxt_provider_is_kernel(rec->provider)) {
		take_kernel(o, rec);
		return;
	}
	if (!fxt_text_is(&rec->category, "agent")) {
		/* Calls in progress do not count, nor do lifetimes, which stand beside the calls that begin
		 * and end them, nor what tells of the stack of a call. */
		o->written += !fxt_event_bounds_call(rec->subtype) && !is_async(rec) &&
			      !fxt_tells_blocked(rec) && !fxt_tells_unlocked(rec);
		return;
	}
	count_foreign(o, r, rec);
	if (fxt_tells_room(rec)) {
		o->room_waits++;
		o->room_ns += to - from;
	}
	if (rec->subtype == FXT_EVENT_COUNTER)
		take_counter(o, r, rec);
	else if (rec->subtype == FXT_EVENT_INSTANT && fxt_text_is(&rec->name, "lost"))
		take_span(o, r, rec);
	else if (rec->subtype == FXT_EVENT_INSTANT && fxt_text_is(&rec->name, "lost before"))
		take_before(o, rec);
	else if (rec->subtype == FXT_EVENT_INSTANT)
		take_reason(o, r, rec);
}

void fxt_overview_take(struct fxt_overview *o, struct fxt_reader *r, const struct fxt_record *rec)
{
	bool fresh;
	struct fxt_slot *own;

	o->records++;
	if (!rec->known || rec->damaged)
		return;
	/* A program names its own process first. */
	if (rec->type == FXT_RECORD_KERNEL_OBJECT && rec->subtype == FXT_OBJECT_PROCESS) {
		own = fxt_map_put(&o->own, rec->provider->index, 0, &fresh);
		own->value[0] = fresh ? rec->id : own->value[0];
	}
	if (rec->type == FXT_RECORD_EVENT)
		take_event(o, r, rec);
	else if (rec->type == FXT_RECORD_METADATA && rec->subtype == FXT_METADATA_PROVIDER_EVENT &&
		 rec->extra == FXT_PROVIDER_EVENT_BUFFER_FULL)
		o->buffer_full++;
}

void fxt_overview_count(struct fxt_overview *o, uint32_t category, uint32_t thread, uint64_t bytes,
			uint64_t events)
{
	o->records += events;
	o->events += events;
	o->event_bytes += bytes * events;
	count_category(o, category, bytes * events, events);
	count_thread(o, thread, events);
}

bool fxt_overview_is_foreign(const struct fxt_overview *o, const struct fxt_reader *r)
{
	struct fxt_map ids = {0};
	bool is_foreign = false, fresh;

	for (size_t i = 0; i < r->provider_count; i++)
		if (r->providers[i]->announced)
			fxt_map_put(&ids, r->providers[i]->id, 0, &fresh);
	for (const struct fxt_slot *s = fxt_map_next(&o->own, NULL); s; s = fxt_map_next(&o->own, s)) {
		const struct fxt_provider *p = r->providers[s->a];

		is_foreign |= p->announced && !fxt_provider_is_kernel(p) &&
			      !fxt_map_find(&ids, (uint32_t)s->value[0], 0) &&
			      !fxt_map_find(&ids, fxt_number(r, s->value[0]), 0);
	}
	fxt_map_free(&ids);
	return is_foreign;
}

void fxt_overview_mention(struct fxt_overview *o, uint32_t thread)
{
	o->thread_events = fxt_reach(o->thread_events, &o->thread_capacity, &o->thread_count, thread,
				     sizeof(*o->thread_events));
	if (!o->thread_events[thread])
		o->thread_events[thread] = 1;
}

void fxt_overview_free(struct fxt_overview *o)
{
	free(o->categories);
	free(o->thread_events);
	free(o->reason);
	for (size_t i = 0; i < o->loser_count; i++)
		free(o->losers[i].reason);
	free(o->losers);
	fxt_loss_spans_free(&o->spans);
	fxt_map_free(&o->counters);
	fxt_map_free(&o->before);
	fxt_map_free(&o->lives);
	fxt_map_free(&o->own);
	fxt_map_free(&o->foreign);
	*o = (struct fxt_overview){0};
}

uint64_t fxt_overview_lost(const struct fxt_overview *o, enum fxt_loss_kind loss)
{
	uint64_t sum = 0;

	for (struct fxt_slot *s = fxt_map_next(&o->counters, NULL); s; s = fxt_map_next(&o->counters, s)) {
		if (s->a % FXT_LOSS_KINDS == loss)
			sum += s->value[0];
	}
	return sum;
}

uint64_t fxt_overview_lost_of(const struct fxt_overview *o, const struct fxt_provider *provider,
			      enum fxt_loss_kind loss)
{
	const struct fxt_slot *s =
		fxt_map_find(&o->counters, (uint64_t)provider->index * FXT_LOSS_KINDS + loss, 0);

	return s ? s->value[0] : 0;
}

bool fxt_overview_any_call_lost(const struct fxt_overview *o, uint64_t functions_left_out)
{
	for (unsigned i = 0; i < FXT_LOSS_COUNT; i++) {
		if (i != FXT_LOSS_DEPTH && fxt_overview_lost(o, (enum fxt_loss_kind)i) >
						   (i == FXT_LOSS_FILTERED ? functions_left_out : 0))
			return true;
	}
	return false;
}

uint64_t fxt_overview_lost_last_ns(const struct fxt_overview *o, enum fxt_loss_kind loss)
{
	uint64_t last = 0;

	for (struct fxt_slot *s = fxt_map_next(&o->counters, NULL); s; s = fxt_map_next(&o->counters, s)) {
		if (s->a % FXT_LOSS_KINDS == loss && s->value[1] > last)
			last = s->value[1];
	}
	return last;
}

uint64_t fxt_overview_lost_until(const struct fxt_overview *o, const struct fxt_provider *provider)
{
	uint64_t until_ns = 0;

	for (struct fxt_slot *s = fxt_map_next(&o->counters, NULL); s; s = fxt_map_next(&o->counters, s)) {
		uint64_t loss = s->a % FXT_LOSS_KINDS;

		if (s->a / FXT_LOSS_KINDS == provider->index && s->value[0] && s->value[1] > until_ns &&
		    loss < FXT_DROP_COUNT && loss != FXT_LOSS_DEPTH)
			until_ns = s->value[1];
	}
	return until_ns;
}

void fxt_overview_gaps(const struct fxt_overview *o, struct fxt_map *from_ns)
{
	/* Of the threads that lose their first records at the same moment, one tells when that was. */
	enum { MOMENT_NS = 1000000 };

	for (struct fxt_slot *s = fxt_map_next(&o->counters, NULL); s; s = fxt_map_next(&o->counters, s)) {
		const struct fxt_loser *loser = &o->losers[s->a / FXT_LOSS_KINDS];
		uint64_t loss = s->a % FXT_LOSS_KINDS, ns = 0;
		struct fxt_slot *gap;
		bool fresh;

		/* Functions that nest too deep are no calls. */
		if (!s->value[0] || loss == FXT_LOSS_DEPTH || loss >= FXT_LOSS_COUNT)
			continue;
		if (loss < FXT_DROP_COUNT && loser->first_ns > MOMENT_NS)
			ns = loser->first_ns - MOMENT_NS;
		gap = fxt_map_put(from_ns, loser->pid, 0, &fresh);
		if (fresh || ns < gap->value[0])
			gap->value[0] = ns;
	}
}

size_t fxt_overview_losers(struct fxt_overview *o)
{
	for (struct fxt_slot *s = fxt_map_next(&o->counters, NULL); s; s = fxt_map_next(&o->counters, s)) {
		struct fxt_loser *loser = &o->losers[s->a / FXT_LOSS_KINDS];
		uint64_t loss = s->a % FXT_LOSS_KINDS;

		if (loss >= FXT_DROP_COUNT)
			continue;
		loser->lost[loss] += s->value[0];
		loser->dropped += s->value[0];
		if (s->value[0] && s->value[1] > loser->last_ns)
			loser->last_ns = s->value[1];
	}
	fxt_loss_spans_sort(&o->spans);
	o->loser_count = fxt_losers_join(o->losers, o->loser_count);
	return o->loser_count;
}

const char *const fxt_drop_causes[FXT_DROP_COUNT] = {
	[FXT_LOSS_NO_ROOM] = "no room",
	[FXT_LOSS_DEPTH] = "functions nest too deep",
	[FXT_LOSS_SIGNALS] = "signal handlers too deep, cut off or short of stack",
	[FXT_LOSS_SIZE] = "too large",
};

uint64_t fxt_lost_dropped(const uint64_t lost[FXT_LOSS_COUNT])
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < FXT_DROP_COUNT; i++)
		sum += lost[i];
	return sum;
}

static int by_bytes(const void *a, const void *b)
{
	const struct fxt_category_usage *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->category < y->category ? -1 : 1;
}

void fxt_overview_rank(struct fxt_overview *o)
{
	if (o->category_count == 0)
		return;
	qsort(o->categories, o->category_count, sizeof(*o->categories), by_bytes);
	while (o->category_count && o->categories[o->category_count - 1].events == 0)
		o->category_count--;
}

void fxt_overview_witnessed(struct fxt_overview *o, struct fxt_reader *r, const struct fxt_witnessed *w)
{
	struct fxt_map recorders = {0};
	bool fresh;

	for (size_t i = 0; i < o->thread_count; i++)
		if (fxt_overview_records(o, i) && r->threads[i].pid != FXT_KERNEL_PROVIDER_ID)
			fxt_map_put(&recorders, r->threads[i].pid, 0, &fresh);
	for (const struct fxt_slot *s = fxt_map_next(&w->threads, NULL); s; s = fxt_map_next(&w->threads, s))
		if (fxt_witnessed_counts(w, s, fxt_map_find(&recorders, s->a, 0)))
			fxt_overview_mention(o, fxt_thread_of(r, s->a, s->b));
	o->silent = fxt_overview_processes(o, r) - recorders.used;
	fxt_map_free(&recorders);
}

size_t fxt_overview_threads(const struct fxt_overview *o, const struct fxt_reader *r)
{
	size_t n = 0;

	for (size_t i = 0; i < o->thread_count; i++) {
		uint64_t lives = fxt_overview_lives(o, (uint32_t)i);

		if (o->thread_events[i] && r->threads[i].pid != FXT_KERNEL_PROVIDER_ID &&
		    !r->threads[i].is_track)
			n += lives ? lives : 1;
	}
	return n;
}

size_t fxt_overview_processes(const struct fxt_overview *o, const struct fxt_reader *r)
{
	struct fxt_map pids = {0};
	size_t n = 0;

	for (size_t i = 0; i < o->thread_count; i++) {
		bool fresh = false;

		if (o->thread_events[i] && r->threads[i].pid != FXT_KERNEL_PROVIDER_ID)
			fxt_map_put(&pids, r->threads[i].pid, 0, &fresh);
		n += fresh;
	}
	/* Processes that were named and have no events count too. */
	for (const struct fxt_slot *s = fxt_map_next(&r->process_names, NULL); s;
	     s = fxt_map_next(&r->process_names, s)) {
		bool fresh = false;

		if (s->a != FXT_KERNEL_PROVIDER_ID)
			fxt_map_put(&pids, s->a, 0, &fresh);
		n += fresh;
	}
	fxt_map_free(&pids);
	return n;
}
