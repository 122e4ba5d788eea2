/* Goes through a trace in the order of time, one stretch after the other, with only that stretch's events in
 * memory. check.c calls it.
 *
 *     file     | block | block | block | block | ...        each knows its first and last time
 *     time     |---------- stretch ----------|              read: the blocks that it touches
 *
 * A stretch has at most a quarter of a million events. If it turns out to have more while it is read, it is
 * made shorter, and the events of its end are given up, as often as needed. So nothing has to be known of how
 * events are spread. Most blocks are touched by one or two stretches, because a block has some
 * milliseconds of one thread.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "check.h"
#include "tools/common/message.h"
#include "tools/reading/mapped_trace.h"
#include "tools/reading/reader_internal.h"

/* Each event takes 24 bytes, and an async or flow event 56. */
enum { MOST_EVENTS = 1 << 18 };

/* A stretch of time, from `from` to `to`, both inclusive, in ticks. */
struct window {
	uint64_t from, to;
	uint64_t kept, most;                    /* events that are kept, and that may be */
};

/* Returns whether an event with this header is examined in the order of time. Asyncs and flows are
 * `is_link`, events about a thread's slices `is_moment`. */
static bool is_ordered(uint64_t header, bool *is_link, bool *is_moment)
{
	uint64_t type = fxt_get_event_type(header);

	*is_link = type >= FXT_EVENT_ASYNC_BEGIN && type <= FXT_EVENT_FLOW_END;
	*is_moment =
		type != FXT_EVENT_COUNTER && !(type >= FXT_EVENT_ASYNC_BEGIN && type <= FXT_EVENT_ASYNC_END);
	return fxt_get_record_type(header) == FXT_RECORD_EVENT && type <= FXT_EVENT_FLOW_END &&
	       (*is_link || *is_moment);
}

/* Providers may have clocks of different rates, and asyncs and flows lead from one to the other. So times are
 * compared in the ticks of one of them, the first that has an event. */
static uint64_t common_ticks(struct fxt_check *c, const struct fxt_provider *p, uint64_t ticks)
{
	unsigned __int128 common;

	if (!c->ticks_per_second)
		c->ticks_per_second = p->ticks_per_second;
	if (p->ticks_per_second == c->ticks_per_second || !p->ticks_per_second)
		return ticks;
	common = (unsigned __int128)ticks * c->ticks_per_second / p->ticks_per_second;
	return common < UINT64_MAX ? (uint64_t)common : UINT64_MAX;
}

/* -- The first walk -------------------------------------------------------------------------------- */

void fxt_check_begin_block(struct fxt_check *c)
{
	c->blocks = fxt_grow(c->blocks, &c->block_capacity, c->block_count + 1, sizeof(*c->blocks));
	if (c->block_count)
		fxt_trace_drop(c->r->data + c->blocks[c->block_count - 1].at, c->r->data + c->r->at);
	c->blocks[c->block_count++] =
		(struct fxt_check_block){.at = c->r->at, .first_ticks = UINT64_MAX,
					 .provider = c->r->provider};
}

void fxt_check_note(struct fxt_check *c, const struct fxt_record *rec)
{
	struct fxt_check_block *b = &c->blocks[c->block_count - 1];
	bool is_link, is_moment;
	uint64_t ticks;

	if (!is_ordered(rec->header, &is_link, &is_moment) ||
	    (fxt_event_has_extra((enum fxt_event_type)rec->subtype) && !rec->has_extra))
		return;
	if (is_moment)
		c->tracks[rec->thread].any = true;
	ticks = common_ticks(c, rec->provider, rec->ticks);
	b->first_ticks = ticks < b->first_ticks ? ticks : b->first_ticks;
	b->last_ticks = ticks > b->last_ticks ? ticks : b->last_ticks;
	c->ordered++;
}

/* -- What is kept of a stretch --------------------------------------------------------------------- */

static void keep_moment(struct fxt_check *c, const struct fxt_record *rec)
{
	struct fxt_track *t = &c->tracks[rec->thread];
	uint32_t name = fxt_symbol(c->r, &rec->name);

	if (name >= FXT_MOMENT_NAMES) {
		fxt_error(NULL, "more than %d different names of events: too many to check",
			  FXT_MOMENT_NAMES);
		exit(1);
	}
	t->list = fxt_grow(t->list, &t->capacity, t->count + 1, sizeof(*t->list));
	t->list[t->count++] = (struct fxt_moment){
		.ticks = common_ticks(c, rec->provider, rec->ticks),
		.end = common_ticks(c, rec->provider, fxt_commit_ticks(rec)),
		.kind = rec->subtype & 0xf, .name = name,
		.offset_words = rec->offset / FXT_WORD_BYTES & FXT_FIELD_MASK(0, 35),
	};
}

static void keep_link(struct fxt_check *c, struct fxt_links *links, const struct fxt_record *rec)
{
	uint64_t ticks = common_ticks(c, rec->provider, rec->ticks);

	links->list = fxt_grow(links->list, &links->capacity, links->count + 1, sizeof(*links->list));
	links->list[links->count++] = (struct fxt_link){
		.ticks = ticks, .id = rec->extra, .offset = rec->offset, .bound = ticks,
		.thread = rec->thread, .kind = rec->subtype,
		.category = fxt_symbol(c->r, &rec->category), .name = fxt_symbol(c->r, &rec->name),
	};
}

static void keep(struct fxt_check *c, const struct fxt_record *rec, bool is_link, bool is_moment)
{
	if (fxt_event_has_extra((enum fxt_event_type)rec->subtype) && !rec->has_extra)
		return;
	if (is_link)
		keep_link(c, is_moment ? &c->flows : &c->asyncs, rec);
	if (is_moment)
		keep_moment(c, rec);
}

static void give_up_links(struct fxt_links *links, uint64_t after)
{
	size_t kept = 0;

	for (size_t i = 0; i < links->count; i++) {
		if (links->list[i].ticks <= after)
			links->list[kept++] = links->list[i];
	}
	links->count = kept;
}

/* Gives up the events after that time. Returns how many are left. */
static uint64_t give_up(struct fxt_check *c, uint64_t after)
{
	uint64_t sum;

	give_up_links(&c->asyncs, after);
	give_up_links(&c->flows, after);
	sum = c->asyncs.count;
	for (size_t i = 0; i < c->track_count; i++) {
		struct fxt_track *t = &c->tracks[i];
		size_t kept = 0;

		for (size_t k = 0; k < t->count; k++) {
			if (t->list[k].ticks <= after)
				t->list[kept++] = t->list[k];
		}
		t->count = kept;
		sum += kept;
	}
	return sum;
}

/* Makes room by making the stretch shorter. Returns false if all kept events have the same time. */
static bool make_shorter(struct fxt_check *c, struct window *w)
{
	while (w->kept > w->most / 2 && w->to > w->from) {
		w->to = w->from + (w->to - w->from) / 2;
		w->kept = give_up(c, w->to);
	}
	return w->kept < w->most;
}

static void forget(struct fxt_check *c)
{
	c->asyncs.count = c->flows.count = 0;
	for (size_t i = 0; i < c->track_count; i++) {
		struct fxt_track *t = &c->tracks[i];

		free(t->list);
		t->list = NULL;
		t->count = t->capacity = 0;
	}
}

/* -- Stretches ------------------------------------------------------------------------------------- */

static void read_block(struct fxt_check *c, struct window *w, size_t block)
{
	struct fxt_reader *r = c->r;
	struct fxt_provider *p = c->blocks[block].provider;
	uint64_t end = block + 1 < c->block_count ? c->blocks[block + 1].at : r->at;
	struct fxt_record rec;
	bool is_link, is_moment;

	for (uint64_t at = c->blocks[block].at, header; at < end;
	     at += fxt_record_size_words(header) * FXT_WORD_BYTES) {
		uint64_t ticks = fxt_word(r, at + FXT_WORD_BYTES);

		header = fxt_word(r, at);
		p = fxt_reader_provider_at(r, at, p);
		if (!is_ordered(header, &is_link, &is_moment))
			continue;
		ticks = common_ticks(c, p, ticks);
		if (ticks < w->from || ticks > w->to)
			continue;
		if (w->kept >= w->most && !make_shorter(c, w)) {
			c->noted[FXT_NOTED_NOT_COMPARED]++;
			continue;
		}
		if (ticks > w->to || !fxt_reader_event_at(r, at, p, &rec))
			continue;
		keep(c, &rec, is_link, is_moment);
		w->kept++;
	}
}

static void read_window(struct fxt_check *c, struct window *w)
{
	w->kept = 0;
	for (size_t i = 0; i < c->block_count; i++) {
		const struct fxt_check_block *b = &c->blocks[i];

		if (b->first_ticks > w->to || b->last_ticks < w->from)
			continue;
		read_block(c, w, i);
		fxt_trace_drop(c->r->data + b->at,
			       c->r->data + (i + 1 < c->block_count ? b[1].at : c->r->at));
	}
}

void fxt_check_in_order(struct fxt_check *c)
{
	uint64_t first = UINT64_MAX, last = 0, width;
	struct window w = {.most = c->options.most_events ? c->options.most_events : MOST_EVENTS};

	for (size_t i = 0; i < c->block_count; i++) {
		first = c->blocks[i].first_ticks < first ? c->blocks[i].first_ticks : first;
		last = c->blocks[i].last_ticks > last ? c->blocks[i].last_ticks : last;
	}
	width = c->ordered <= w.most ? UINT64_MAX : (last - first) / (c->ordered / w.most + 1);
	for (w.from = first; w.from <= last && c->ordered; w.from = w.to + 1) {
		w.to = last - w.from > width ? w.from + width : last;
		read_window(c, &w);
		fxt_check_slices(c);
		fxt_check_asyncs(c);
		fxt_check_flows(c);
		forget(c);
		if (w.to == UINT64_MAX)
			break;
		/* The next stretch is twice as long if there were few events, so that times in which
		 * nothing happened are passed quickly. */
		width = w.to - w.from;
		if (w.kept < w.most / 2)
			width = width > UINT64_MAX / 2 ? UINT64_MAX : width * 2 + 1;
	}
	fxt_check_open_slices(c);
	fxt_check_open_links(c);
}
