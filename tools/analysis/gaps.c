/* See gaps.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gaps.h"

#include <stdlib.h>

#include "overview.h"
#include "tools/common/message.h"

/* Returns whether the event is this instant of the agent's. */
static bool is(const struct fxt_record *rec, const char *name)
{
	return rec->subtype == FXT_EVENT_INSTANT && fxt_text_is(&rec->category, "agent") &&
	       fxt_text_is(&rec->name, name);
}

bool fxt_gap_begins(const struct fxt_record *rec)
{
	return is(rec, "recording stopped");
}

bool fxt_gap_ends(const struct fxt_record *rec)
{
	return is(rec, "recording started");
}

void fxt_gaps_take(struct fxt_gaps *gaps, const struct fxt_record *rec)
{
	uint64_t ns;
	struct fxt_slot *s;
	bool fresh;

	if (!fxt_gap_ends(rec))
		return;
	ns = fxt_ns(rec->provider, rec->ticks);
	s = fxt_map_put(&gaps->last_ns, rec->provider->index, 0, &fresh);
	if (ns > s->value[0])
		s->value[0] = ns;
}

static int by_time(const void *a, const void *b)
{
	const struct fxt_last_loss *x = a, *y = b;

	return x->at_ns != y->at_ns ? (x->at_ns < y->at_ns ? -1 : 1) : 0;
}

void fxt_gaps_losses(struct fxt_gaps *gaps, struct fxt_reader *r, const struct fxt_overview *o)
{
	for (size_t i = 0; i < r->provider_count; i++) {
		uint64_t ns = fxt_overview_lost_until(o, r->providers[i]), pid;
		struct fxt_slot *s;
		bool fresh;

		if (!ns)
			continue;
		s = fxt_map_put(&gaps->last_ns, r->providers[i]->index, 0, &fresh);
		if (ns > s->value[0])
			s->value[0] = ns;
		pid = o->losers[r->providers[i]->index].pid;
		gaps->losses = fxt_grow(gaps->losses, &gaps->loss_capacity, gaps->loss_count + 1,
					sizeof(*gaps->losses));
		gaps->losses[gaps->loss_count++] =
			(struct fxt_last_loss){r->providers[i], fxt_thread_of(r, pid, pid), ns};
	}
	if (gaps->loss_count)
		qsort(gaps->losses, gaps->loss_count, sizeof(*gaps->losses), by_time);
}

bool fxt_gaps_next_loss(struct fxt_gaps *gaps, uint64_t ns, struct fxt_record *rec)
{
	const struct fxt_last_loss *loss;

	if (gaps->next_loss == gaps->loss_count || gaps->losses[gaps->next_loss].at_ns >= ns)
		return false;
	loss = &gaps->losses[gaps->next_loss++];
	*rec = (struct fxt_record){.type = FXT_RECORD_EVENT,
				   .subtype = FXT_EVENT_INSTANT,
				   .known = true,
				   .provider = loss->provider,
				   .thread = loss->thread,
				   .ticks = (uint64_t)((unsigned __int128)loss->at_ns *
						       loss->provider->ticks_per_second / 1000000000)};
	return true;
}

bool fxt_gaps_follow(const struct fxt_gaps *gaps, const struct fxt_provider *provider, uint64_t ns)
{
	const struct fxt_slot *s = fxt_map_find(&gaps->last_ns, provider->index, 0);

	return s && ns < s->value[0];
}

void fxt_gaps_free(struct fxt_gaps *gaps)
{
	fxt_map_free(&gaps->last_ns);
	free(gaps->losses);
}
