/* See gaps.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gaps.h"

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

bool fxt_gaps_follow(const struct fxt_gaps *gaps, const struct fxt_provider *provider, uint64_t ns)
{
	const struct fxt_slot *s = fxt_map_find(&gaps->last_ns, provider->index, 0);

	return s && ns < s->value[0];
}

void fxt_gaps_free(struct fxt_gaps *gaps)
{
	fxt_map_free(&gaps->last_ns);
}
