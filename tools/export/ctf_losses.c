/* Finds when the events of a stream were lost, and how many. See ctf.h.
 *
 * The agent's threads tell the windows in which they had no room (`lost`), as soon as they have some again.
 * Counters have the sums, so what they have in addition was lost at the end, or at a time that nobody knows.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "ctf.h"

/* The kernel's part lacks records, switches perhaps among them: since when, if that is told. */
static void take_kernels(struct fxt_ctf *c, const struct fxt_visit *v)
{
	uint64_t ns;

	if (!fxt_argument_u64(fxt_argument(v->rec, "ns"), &ns) || ns > v->at_ns) {
		c->lacks_switches = true;
		return;
	}
	fxt_ctf_begin_item(c, 0, 0);
	fxt_ctf_item(c)->late = FXT_CTF_SWITCHES_LOST;
	fxt_ctf_end_item(c, FXT_CTF_OWN_STREAM, v->at_ns - ns, FXT_CTF_ENDS_WITHIN, 0);
}

void fxt_ctf_losses_take(struct fxt_ctf *c, const struct fxt_visit *v)
{
	bool is_own = v->rec->type == FXT_RECORD_METADATA || fxt_text_is(&v->rec->category, "agent") ||
		      (v->is_kernels && fxt_text_is(&v->rec->category, "kernel"));

	if (is_own)
		fxt_overview_take(&c->losses, c->reader, v->rec);
	if (is_own && v->is_kernels && fxt_text_is(&v->rec->name, "lost"))
		take_kernels(c, v);
}

static int by_time(const void *a, const void *b)
{
	const struct fxt_ctf_loss *x = a, *y = b;

	return x->from_ns != y->from_ns ? (x->from_ns < y->from_ns ? -1 : 1) : 0;
}

/* Returns the stream of a process's events; the kernel's own losses are told in that of its first processor.
 */
static uint32_t stream_of(struct fxt_ctf *c, uint64_t pid)
{
	const struct fxt_slot *s;

	if (pid == FXT_KERNEL_PROVIDER_ID)
		return FXT_CTF_KERNEL;
	s = fxt_map_find(&c->streams, pid, 0);
	return s ? (uint32_t)s->value[0] : FXT_CTF_OWN_STREAM;
}

static void add_window(struct fxt_ctf_losses *losses, const struct fxt_loss_span *span)
{
	losses->windows =
		fxt_grow(losses->windows, &losses->capacity, losses->count + 1, sizeof(*losses->windows));
	losses->windows[losses->count++] = (struct fxt_ctf_loss){span->from_ns, span->to_ns, span->records};
}

/* Joins windows that overlap: those of several processes may. */
static void join(struct fxt_ctf_losses *losses)
{
	size_t kept = 0;

	if (!losses->count)
		return;
	qsort(losses->windows, losses->count, sizeof(*losses->windows), by_time);
	for (size_t i = 1; i < losses->count; i++) {
		struct fxt_ctf_loss *last = &losses->windows[kept], *next = &losses->windows[i];

		if (next->from_ns > last->to_ns) {
			losses->windows[++kept] = *next;
			continue;
		}
		last->events += next->events;
		last->to_ns = next->to_ns > last->to_ns ? next->to_ns : last->to_ns;
	}
	losses->count = kept + 1;
}

/* Returns what the counters of the stream's processes say. */
static uint64_t counted(struct fxt_ctf *c, uint32_t stream, bool overwritten)
{
	uint64_t sum = 0;

	for (const struct fxt_slot *s = fxt_map_next(&c->losses.counters, NULL); s;
	     s = fxt_map_next(&c->losses.counters, s)) {
		uint64_t provider = s->a / FXT_LOSS_KINDS, kind = s->a % FXT_LOSS_KINDS;

		if ((overwritten ? kind == FXT_LOSS_OVERWRITTEN : kind < FXT_DROP_COUNT) &&
		    stream_of(c, c->losses.losers[provider].pid) == stream)
			sum += s->value[0];
	}
	return sum;
}

void fxt_ctf_losses_find(struct fxt_ctf *c, uint32_t stream, struct fxt_ctf_losses *losses)
{
	uint64_t all, told = 0;

	*losses = (struct fxt_ctf_losses){0};
	for (size_t i = 0; i < c->losses.spans.count; i++) {
		if (stream_of(c, c->losses.spans.list[i].pid) == stream)
			add_window(losses, &c->losses.spans.list[i]);
	}
	join(losses);
	for (size_t i = 0; i < losses->count; i++)
		told += losses->windows[i].events;
	all = stream == FXT_CTF_KERNEL ? c->losses.kernel_lost : counted(c, stream, false);
	losses->rest = all > told ? all - told : 0;
	losses->overwritten = counted(c, stream, true);
}
