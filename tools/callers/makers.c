/* Who made what, how often, and what became of it. See makers.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "makers.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/descriptors/fd_lifetimes.h"
#include "tools/printing/print.h"

/* So many ends may stand before their begins at once. Threads write chunks of a few thousand events, so there
 * are no more; of others the begin counts as alive. */
enum { EARLY_MOST = 65536 };

static bool counts_bytes(const struct fxt_record *rec)
{
	return fxt_text_is(&rec->category, "malloc");
}

static uint64_t bytes_of(const struct fxt_record *rec)
{
	uint64_t bytes = fxt_argument_or(rec, "stands_for", fxt_argument_or(rec, "size", 0));

	/* More than a program can have is not true, and sums of it would not fit. */
	return bytes < UINT64_C(1) << 48 ? bytes : 0;
}

/* Returns the symbol of its path, address or template, or 0. Each accepted connection has its peer's port. */
static uint32_t label_of(struct fxt_reader *r, const struct fxt_record *rec)
{
	for (unsigned i = 0; i < rec->arg_count; i++) {
		const struct fxt_argument *a = &rec->args[i];

		if (a->type == FXT_ARG_STRING && !fxt_text_is(&a->name, "call") && a->string.bytes)
			return fxt_fd_life_is_accepted(rec) ? 0 : fxt_symbol(r, &a->string);
	}
	return 0;
}

static struct fxt_maker *maker_of(struct fxt_makers *m, struct fxt_reader *r, const struct fxt_record *rec,
				  uint32_t innermost)
{
	const struct fxt_text *call = fxt_argument_text(rec, "call");
	uint32_t name = fxt_symbol(r, &rec->name);
	struct fxt_maker *maker;
	struct fxt_slot *s;
	bool fresh;

	s = fxt_map_put(&m->by_stack, (uint64_t)rec->provider->index << 32 | name, innermost, &fresh);
	if (!fresh)
		return &m->list[s->value[0]];
	s->value[0] = m->count;
	m->list = fxt_grow(m->list, &m->capacity, m->count + 1, sizeof(*m->list));
	maker = &m->list[m->count++];
	*maker = (struct fxt_maker){.pid = r->threads[rec->thread].pid,
				    .category = fxt_symbol(r, &rec->category),
				    .name = name,
				    .call = call ? fxt_symbol(r, call) : 0,
				    .label = label_of(r, rec),
				    .first_label = label_of(r, rec),
				    .innermost = innermost,
				    .path = FXT_NO_PATH,
				    .first_ns = UINT64_MAX};
	return maker;
}

static size_t free_place(struct fxt_makers *m)
{
	size_t place = m->first_free - 1;

	if (m->first_free) {
		m->first_free = m->alive[place].next_free;
		return place;
	}
	m->alive = fxt_grow(m->alive, &m->alive_capacity, m->alive_count + 1, sizeof(*m->alive));
	return m->alive_count++;
}

/* Returns what the end of a lifetime tells: the bytes that went through a descriptor; of a child its status,
 * and in the upper half its signal. */
static uint64_t told_at_end(const struct fxt_record *rec)
{
	if (fxt_text_is(&rec->category, "process"))
		return fxt_argument_or(rec, "signal", 0) << 32 |
		       (uint32_t)fxt_argument_or(rec, "status", 0);
	return fxt_argument_or(rec, "read_bytes", 0) + fxt_argument_or(rec, "written_bytes", 0);
}

static void end(struct fxt_maker *maker, const struct fxt_record *rec, const struct fxt_alive *life,
		uint64_t end_ns, uint64_t told)
{
	maker->ended++;
	maker->lives_ns += fxt_ns_between(life->begin_ns, end_ns);
	fxt_trend_add(&maker->alive, end_ns, -(int64_t)life->bytes);
	if (!fxt_text_is(&rec->category, "process")) {
		maker->moved_bytes += told;
	} else if (told && !maker->failed++) {
		maker->first_status = (int)(uint32_t)told;
		maker->first_signal = (int)(told >> 32);
	}
}

static void take_begin(struct fxt_makers *m, struct fxt_reader *r, struct fxt_call_stacks *stacks,
		       const struct fxt_record *rec)
{
	uint64_t at_ns = fxt_ns(rec->provider, rec->ticks), bytes = counts_bytes(rec) ? bytes_of(rec) : 1;
	struct fxt_maker *maker = maker_of(m, r, rec, fxt_call_stack_of(stacks, rec));
	struct fxt_slot *s = fxt_map_find(&m->early, rec->extra, 0);
	struct fxt_alive life;
	size_t place;
	bool fresh;

	maker->count++;
	maker->bytes += counts_bytes(rec) ? bytes : 0;
	maker->first_ns = at_ns < maker->first_ns ? at_ns : maker->first_ns;
	maker->last_ns = at_ns > maker->last_ns ? at_ns : maker->last_ns;
	if (maker->label && label_of(r, rec) != maker->label) {
		maker->label = 0;
		maker->has_labels = true;
	}
	fxt_trend_add(&maker->alive, at_ns, (int64_t)bytes);
	life = (struct fxt_alive){
		.maker = (uint32_t)(maker - m->list),
		.begin_ns = at_ns,
		.bytes = bytes,
		.koid = fxt_text_is(&rec->category, "process") ? fxt_argument_or(rec, "pid", 0) : 0};
	if (s) {
		end(maker, rec, &life, s->value[0], s->value[1]);
		fxt_map_remove(&m->early, s);
		return;
	}
	s = fxt_map_put(&m->open, rec->extra, 0, &fresh);
	if (!fresh)
		return;
	place = free_place(m);
	s->value[0] = place;
	m->alive[place] = life;
}

static void take_end(struct fxt_makers *m, const struct fxt_record *rec)
{
	struct fxt_slot *s = fxt_map_find(&m->open, rec->extra, 0);
	uint64_t at_ns = fxt_ns(rec->provider, rec->ticks);
	struct fxt_alive *alive;
	bool fresh;

	if (!s) {
		if (m->early.used == EARLY_MOST)
			return;
		s = fxt_map_put(&m->early, rec->extra, 0, &fresh);
		s->value[0] = at_ns;
		s->value[1] = told_at_end(rec);
		return;
	}
	alive = &m->alive[s->value[0]];
	end(&m->list[alive->maker], rec, alive, at_ns, told_at_end(rec));
	alive->maker = FXT_NO_MAKER;
	alive->next_free = m->first_free;
	m->first_free = s->value[0] + 1;
	fxt_map_remove(&m->open, s);
}

void fxt_makers_take(struct fxt_makers *m, struct fxt_reader *r, struct fxt_call_stacks *stacks,
		     const struct fxt_record *rec)
{
	if (rec->subtype == FXT_EVENT_ASYNC_END)
		take_end(m, rec);
	else if (rec->subtype == FXT_EVENT_ASYNC_BEGIN && fxt_argument(rec, "stack"))
		take_begin(m, r, stacks, rec);
}

/* -- The end of the pass ------------------------------------------------------------------------- */

/* Adds what another maker has made, and frees that one. */
static void merge(struct fxt_maker *to, struct fxt_maker *from)
{
	if (from->most > to->most) {
		to->most = from->most;
		to->innermost = from->innermost;
	}
	to->count += from->count;
	to->ended += from->ended;
	to->bytes += from->bytes;
	to->lives_ns += from->lives_ns;
	to->moved_bytes += from->moved_bytes;
	to->first_ns = from->first_ns < to->first_ns ? from->first_ns : to->first_ns;
	to->last_ns = from->last_ns > to->last_ns ? from->last_ns : to->last_ns;
	to->has_labels = to->has_labels || from->has_labels || to->label != from->label;
	to->label = to->has_labels ? 0 : to->label;
	if (!to->failed) {
		to->first_status = from->first_status;
		to->first_signal = from->first_signal;
	}
	to->failed += from->failed;
	fxt_trend_merge(&to->alive, &from->alive);
	fxt_trend_free(&from->alive);
}

/* Stacks are alike if they have the same culprit and callers. */
static void find_path(struct fxt_maker *maker, const struct fxt_reader *r, struct fxt_who *who)
{
	enum fxt_purpose purpose = fxt_maker_purpose(maker, r);

	maker->path = fxt_path_of(&who->culprits, purpose, maker->innermost);
	if (maker->path != FXT_NO_PATH)
		maker->path = fxt_path_short(&who->culprits, purpose, maker->path);
}

void fxt_makers_finish(struct fxt_makers *m, struct fxt_reader *r, struct fxt_who *who)
{
	uint32_t *new_places = fxt_alloc(m->count + 1, sizeof(*new_places));
	struct fxt_map by_path = {0};
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++) {
		struct fxt_maker maker = m->list[i];
		struct fxt_slot *s;
		bool fresh = true;

		maker.most = maker.bytes ? maker.bytes : maker.count;
		find_path(&maker, r, who);
		if (maker.path != FXT_NO_PATH) {
			s = fxt_map_put(&by_path, maker.pid, (uint64_t)maker.name << 32 | maker.path, &fresh);
			if (fresh)
				s->value[0] = kept;
			else
				merge(&m->list[s->value[0]], &maker);
			new_places[i] = (uint32_t)s->value[0];
		} else {
			new_places[i] = (uint32_t)kept;
		}
		if (fresh)
			m->list[kept++] = maker;
	}
	m->count = kept;
	for (size_t i = 0; i < m->alive_count; i++)
		if (m->alive[i].maker != FXT_NO_MAKER)
			m->alive[i].maker = new_places[m->alive[i].maker];
	free(new_places);
	fxt_map_free(&by_path);
}

enum fxt_purpose fxt_maker_purpose(const struct fxt_maker *m, const struct fxt_reader *r)
{
	return fxt_maker_is(m, r, "malloc", NULL) ? FXT_FOR_HEAP : FXT_FOR_CALL;
}

bool fxt_maker_is(const struct fxt_maker *m, const struct fxt_reader *r, const char *category,
		  const char *name)
{
	struct fxt_text of = fxt_symbol_text(r, m->category), is = fxt_symbol_text(r, m->name);

	return fxt_text_is(&of, category) && (!name || fxt_text_is(&is, name));
}

void fxt_makers_free(struct fxt_makers *m)
{
	for (size_t i = 0; i < m->count; i++)
		fxt_trend_free(&m->list[i].alive);
	free(m->list);
	free(m->alive);
	fxt_map_free(&m->by_stack);
	fxt_map_free(&m->open);
	fxt_map_free(&m->early);
	*m = (struct fxt_makers){0};
}
