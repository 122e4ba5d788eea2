/* Finds where programs died. See crashes.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "crashes.h"

#include <signal.h>
#include <stdlib.h>

#include "tools/analysis/stack_instants.h"
#include "tools/common/message.h"

/* How far from a block a fault may be that is about it: its allocator looks in front of it, and behind it is
 * the end of a page. */
enum { BEFORE_BYTES = 16, BEHIND_BYTES = 4096 };

/* -- Crashes --------------------------------------------------------------------------------------- */

void fxt_crashes_take(struct fxt_crashes *c, const struct fxt_reader *r, struct fxt_call_stacks *stacks,
		      const struct fxt_record *rec)
{
	const struct fxt_text *access;
	struct fxt_crash *x;
	bool fresh;

	if (!fxt_tells_crash(rec))
		return;
	c->list = fxt_grow(c->list, &c->capacity, c->count + 1, sizeof(*c->list));
	x = &c->list[c->count++];
	*x = (struct fxt_crash){
		.provider = rec->provider,
		.pid = r->threads[rec->thread].pid,
		.thread = rec->thread,
		.at_ns = fxt_ns(rec->provider, rec->ticks),
		.signal = (int)fxt_argument_or(rec, "signal", 0),
		.code = (int)fxt_argument_or(rec, "code", 0),
		.ip = fxt_argument_or(rec, "ip", 0),
		.sp = fxt_argument_or(rec, "sp", 0),
		.sender = fxt_argument_or(rec, "pid", 0),
		.innermost = fxt_call_stack_of(stacks, rec),
		.block = {.made_in = FXT_NO_FRAME, .freed_in = FXT_NO_FRAME},
	};
	x->has_address = fxt_argument_u64(fxt_argument(rec, "address"), &x->address);
	access = fxt_argument_text(rec, "access");
	if (access)
		x->access = *access;
	fxt_map_put(&c->by_pid, x->pid, 0, &fresh)->value[0] = c->count;
}

void fxt_crashes_sample(struct fxt_crashes *c, struct fxt_call_stacks *stacks, const struct fxt_record *rec,
			uint64_t pid)
{
	struct fxt_slot *s;
	uint32_t node;
	bool fresh;

	node = fxt_call_stack_of(stacks, rec);
	if (node == FXT_NO_FRAME)
		return;
	s = fxt_map_put(&c->samples, pid, 0, &fresh);
	if (fresh || fxt_ns(rec->provider, rec->ticks) >= s->value[0]) {
		s->value[0] = fxt_ns(rec->provider, rec->ticks);
		s->value[1] = node;
	}
}

const struct fxt_crash *fxt_crash_of(const struct fxt_crashes *c, uint64_t pid, int signal)
{
	const struct fxt_slot *s = fxt_map_find(&c->by_pid, pid, 0);
	const struct fxt_crash *x = s ? &c->list[s->value[0] - 1] : NULL;

	return x && x->signal == signal ? x : NULL;
}

bool fxt_crash_is_overflow(const struct fxt_crash *x)
{
	/* Code that makes room for more asks for a page after the other; other code may not. */
	enum { BELOW_BYTES = 65536 };

	return x->signal == SIGSEGV && x->has_address && x->address < x->sp + BEHIND_BYTES &&
	       x->sp < x->address + BELOW_BYTES;
}

uint32_t fxt_crashes_last_sample(const struct fxt_crashes *c, uint64_t pid, uint64_t *at_ns)
{
	const struct fxt_slot *s = fxt_map_find(&c->samples, pid, 0);

	if (!s)
		return FXT_NO_FRAME;
	*at_ns = s->value[0];
	return (uint32_t)s->value[1];
}

struct fxt_recursion fxt_recursion_of(const struct fxt_call_stacks *stacks, uint32_t innermost)
{
	enum { MOST = 256 };
	struct fxt_recursion found = {.frame = FXT_NO_FRAME};
	uint32_t nodes[MOST];

	for (uint32_t n = innermost; n != FXT_NO_FRAME && found.frames < MOST; n = stacks->frames[n].parent)
		if (stacks->frames[n].name && stacks->frames[n].module)
			nodes[found.frames++] = n;
	for (size_t i = 0; i < found.frames; i++) {
		const struct fxt_call_frame *one = &stacks->frames[nodes[i]];
		uint32_t caller = FXT_NO_FRAME;
		size_t times = 1;

		for (size_t k = i + 1; k < found.frames; k++) {
			if (stacks->frames[nodes[k]].name != one->name ||
			    stacks->frames[nodes[k]].module != one->module)
				continue;
			times++;
			caller = caller == FXT_NO_FRAME ? nodes[k] : caller;
		}
		if (caller != FXT_NO_FRAME && times > found.times) {
			found.times = times;
			found.frame = caller;
		}
	}
	return found;
}

/* -- What was at the address ------------------------------------------------------------------------ */

static bool has(const struct fxt_crash_block *b, uint64_t address)
{
	return b->is_known && address + BEFORE_BYTES >= b->at && address + BEFORE_BYTES - b->at <
									b->bytes + BEFORE_BYTES;
}

/* Returns the next crash, from `place` on, of the event's process that was after it; or NULL. */
static struct fxt_crash *next_after(struct fxt_crashes *c, const struct fxt_reader *r,
				    const struct fxt_record *rec, size_t *place)
{
	uint64_t ns = fxt_ns(rec->provider, rec->ticks);

	while (*place < c->count) {
		struct fxt_crash *x = &c->list[(*place)++];

		if (x->has_address && x->provider == rec->provider && ns <= x->at_ns &&
		    x->pid == r->threads[rec->thread].pid)
			return x;
	}
	return NULL;
}

/* Notes a block if it is the nearest one that is known of the address. */
static void got(struct fxt_crash *x, const struct fxt_crash_block *b)
{
	struct fxt_crash_block *known = &x->block;

	if (known->is_known && known->at == b->at && !known->freed_ns) {
		/* Its lifetime has the size that it has room for, and its call that which was asked for. */
		known->id = b->id;
		known->made_in = b->made_in;
	} else if (has(b, x->address) ||
		   (x->address >= b->at && x->address - b->at < b->bytes + BEHIND_BYTES &&
		    !has(known, x->address) && (!known->is_known || b->at >= known->at))) {
		*known = *b;
	}
}

void fxt_crashes_got(struct fxt_crashes *c, const struct fxt_reader *r, const struct fxt_record *rec,
		     uint64_t at, uint64_t bytes)
{
	const struct fxt_crash_block b = {.is_known = true, .at = at, .bytes = bytes,
					  .made_in = FXT_NO_FRAME, .freed_in = FXT_NO_FRAME};
	struct fxt_crash *x;
	size_t place = 0;

	while ((x = next_after(c, r, rec, &place)))
		got(x, &b);
}

void fxt_crashes_gave(struct fxt_crashes *c, const struct fxt_reader *r, const struct fxt_record *rec,
		      uint64_t at)
{
	struct fxt_crash *x;
	size_t place = 0;

	while ((x = next_after(c, r, rec, &place)))
		if (x->block.is_known && x->block.at == at && !x->block.freed_ns)
			x->block.freed_ns = fxt_ns(rec->provider, rec->ticks);
}

void fxt_crashes_life(struct fxt_crashes *c, const struct fxt_reader *r, struct fxt_call_stacks *stacks,
		      const struct fxt_record *rec)
{
	struct fxt_crash_block b = {.is_known = true, .is_mapping = fxt_text_is(&rec->name, "mapping"),
				    .id = rec->extra, .bytes = fxt_argument_or(rec, "size", 0),
				    .freed_in = FXT_NO_FRAME};
	struct fxt_crash *x;
	size_t place = 0;

	if (!c->count)
		return;
	b.made_in = fxt_call_stack_of(stacks, rec);
	while ((x = next_after(c, r, rec, &place))) {
		if (rec->subtype == FXT_EVENT_ASYNC_BEGIN &&
		    fxt_argument_u64(fxt_argument(rec, "ptr"), &b.at)) {
			got(x, &b);
		} else if (rec->subtype == FXT_EVENT_ASYNC_END && x->block.id == b.id && b.id) {
			if (!x->block.freed_ns)
				x->block.freed_ns = fxt_ns(rec->provider, rec->ticks);
			x->block.freed_in = b.made_in;
		}
	}
}

void fxt_crashes_free(struct fxt_crashes *c)
{
	free(c->list);
	fxt_map_free(&c->by_pid);
	fxt_map_free(&c->samples);
	*c = (struct fxt_crashes){0};
}
