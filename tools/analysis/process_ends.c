/* Finds out when and how processes ended. See process_ends.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tools/analysis/process_ends.h"

/* Takes an end of the process. Both the process and the parent that reaped it may tell of it; the
 * process does so first, and the earlier time is nearer to the end. */
static bool take(struct fxt_ends *e, const struct fxt_record *rec, uint64_t pid)
{
	const struct fxt_argument *signal = fxt_argument(rec, "signal");
	uint64_t at_ns = fxt_ns(rec->provider, rec->ticks), number = 0;
	struct fxt_slot *s;
	bool fresh;

	if (!signal && !fxt_argument(rec, "status"))
		return false;
	fxt_argument_u64(signal, &number);
	s = fxt_map_put(&e->by_pid, pid, 0, &fresh);
	if (fresh || at_ns < s->value[0])
		s->value[0] = at_ns;
	if (number)
		s->value[1] = number;
	return true;
}

bool fxt_ends_take(struct fxt_ends *e, const struct fxt_reader *r, const struct fxt_record *rec)
{
	uint64_t pid;

	if (rec->subtype == FXT_EVENT_INSTANT)
		return fxt_text_is(&rec->name, "exit") && fxt_text_is(&rec->category, "process") &&
		       take(e, rec, r->threads[rec->thread].pid);
	if (rec->subtype == FXT_EVENT_ASYNC_END && fxt_text_is(&rec->name, "child") &&
	    fxt_text_is(&rec->category, "process") && fxt_argument_u64(fxt_argument(rec, "pid"), &pid))
		take(e, rec, pid);
	return false;
}

uint64_t fxt_ends_ns(const struct fxt_ends *e, uint64_t pid)
{
	const struct fxt_slot *s = fxt_map_find(&e->by_pid, pid, 0);

	return s && s->value[0] < e->trace_ns ? s->value[0] : e->trace_ns;
}

bool fxt_ends_known(const struct fxt_ends *e, uint64_t pid, int *signal)
{
	const struct fxt_slot *s = fxt_map_find(&e->by_pid, pid, 0);

	*signal = s ? (int)s->value[1] : 0;
	return s;
}

void fxt_ends_free(struct fxt_ends *e)
{
	fxt_map_free(&e->by_pid);
}
