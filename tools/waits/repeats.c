/* What programs do again and again to no use. See repeats.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tools/waits/repeats.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"

static uint32_t place_of(struct fxt_repeats *p, struct fxt_reader *r, const struct fxt_record *rec)
{
	uint32_t category = fxt_symbol(r, &rec->category), name = fxt_symbol(r, &rec->name);
	struct fxt_slot *s;
	bool fresh;

	s = fxt_map_put(&p->by_call, category, name, &fresh);
	if (fresh) {
		p->calls = fxt_grow(p->calls, &p->call_capacity, p->call_count + 1, sizeof(*p->calls));
		p->calls[p->call_count++] = (struct fxt_repeated){.category = category, .name = name};
		s->value[0] = p->call_count;
	}
	return (uint32_t)s->value[0];
}

static struct fxt_woken *cond_of(struct fxt_repeats *p, uint64_t pid, uint64_t cond)
{
	struct fxt_slot *s;
	bool fresh;

	s = fxt_map_put(&p->by_cond, pid, cond, &fresh);
	if (!fresh)
		return &p->conds[s->value[0]];
	s->value[0] = p->cond_count;
	p->conds = fxt_grow(p->conds, &p->cond_capacity, p->cond_count + 1, sizeof(*p->conds));
	p->conds[p->cond_count] = (struct fxt_woken){.pid = pid, .cond = cond};
	return &p->conds[p->cond_count++];
}

/* Notes the last of the calls that wake. */
static void take_signal(struct fxt_woken *woken, const struct fxt_record *rec)
{
	uint64_t at_ns = fxt_ns(rec->provider, rec->ticks);

	if (at_ns < woken->signalled_ns)
		return;
	woken->signalled_ns = at_ns;
	woken->signaller = rec->thread;
}

/* Takes a call about a condition, and notes whether it waits for the one that the thread has just been woken
 * from. */
static void take_condition(struct fxt_repeats *p, struct fxt_reader *r, const struct fxt_record *rec)
{
	const struct fxt_text *name;
	uint64_t cond, pid = r->threads[rec->thread].pid, last;
	struct fxt_woken *woken;

	p->last = fxt_reach(p->last, &p->last_capacity, &p->last_count, rec->thread, sizeof(*p->last));
	last = p->last[rec->thread];
	p->last[rec->thread] = 0;
	if (!fxt_text_is(&rec->category, "pthread") || !fxt_argument_u64(fxt_argument(rec, "cond"), &cond))
		return;
	woken = cond_of(p, pid, cond);
	if (fxt_text_is(&rec->name, "pthread_cond_signal")) {
		woken->signals++;
		take_signal(woken, rec);
	} else if (fxt_text_is(&rec->name, "pthread_cond_broadcast")) {
		woken->broadcasts++;
		take_signal(woken, rec);
	} else if (fxt_text_is(&rec->name, "pthread_cond_wait")) {
		woken->waits++;
		woken->vain += last == cond;
		name = woken->name ? NULL : fxt_argument_text(rec, "object");
		if (name)
			woken->name = fxt_symbol(r, name);
		p->last[rec->thread] = cond;
	}
}

void fxt_repeats_take(struct fxt_repeats *p, struct fxt_reader *r, const struct fxt_record *rec,
		      const struct fxt_role *role, bool says_no_wait, uint32_t *place)
{
	uint64_t ns = fxt_duration_ns(rec), ret;
	bool moves = role && (role->effect == FXT_EFFECT_READ || role->effect == FXT_EFFECT_WRITE);
	struct fxt_repeated *one;

	*place = *place ? *place : place_of(p, r, rec);
	one = &p->calls[*place - 1];
	one->count++;
	one->ns += ns;
	take_condition(p, r, rec);
	if ((!says_no_wait && !moves) || !fxt_argument_u64(fxt_argument(rec, "ret"), &ret))
		return;
	if (ret == 0 && fxt_argument(rec, "timeout") && says_no_wait) {
		one->empty++;
		one->empty_ns += ns;
	}
	/* What is sent to a peer may be a request, which is as short as it is. */
	if (moves && ret > 0 && ret <= FXT_TINY_BYTES &&
	    (fxt_argument(rec, "fd") ||
	     (role->effect == FXT_EFFECT_READ && fxt_argument(rec, "sockfd")))) {
		one->tiny++;
		one->tiny_bytes += ret;
		one->tiny_ns += ns;
	}
}

uint64_t fxt_repeats_of(const struct fxt_repeats *p, const struct fxt_reader *r, const char *name,
			uint64_t *ns)
{
	uint64_t count = 0;

	*ns = 0;
	for (size_t i = 0; i < p->call_count; i++) {
		struct fxt_text is = fxt_symbol_text(r, p->calls[i].name);

		if (fxt_text_is(&is, name)) {
			count += p->calls[i].count;
			*ns += p->calls[i].ns;
		}
	}
	return count;
}

const struct fxt_woken *fxt_repeats_cond(const struct fxt_repeats *p, uint64_t pid, uint64_t cond)
{
	const struct fxt_slot *s = fxt_map_find(&p->by_cond, pid, cond);

	return s ? &p->conds[s->value[0]] : NULL;
}

void fxt_repeats_free(struct fxt_repeats *p)
{
	free(p->calls);
	free(p->conds);
	free(p->last);
	fxt_map_free(&p->by_call);
	fxt_map_free(&p->by_cond);
	*p = (struct fxt_repeats){0};
}
