/* Finds descriptors that were closed in use. See closed_in_use.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "closed_in_use.h"

#include <stdlib.h>

#include "tools/common/message.h"

/* A shorter call may have been over when the descriptor was closed, and only its end noted late. */
enum { AFTER_NS = 1000000, MOST = 1000 };

void fxt_closes_vfork(struct fxt_closes_in_use *c, const struct fxt_record *rec)
{
	bool fresh;

	if (fxt_text_is(&rec->name, "vfork") && fxt_text_is(&rec->category, "process"))
		fxt_map_put(&c->vforked, rec->thread, 0, &fresh);
}

/* Notes who is in a call on the object for longest. Short calls cannot be closed on for AFTER_NS. */
static void use(struct fxt_closes_in_use *c, const struct fxt_record *rec, uint64_t object)
{
	uint64_t end_ns = fxt_ns(rec->provider, rec->extra);
	struct fxt_slot *s;
	bool fresh;

	if (end_ns - fxt_ns(rec->provider, rec->ticks) < AFTER_NS)
		return;
	s = fxt_map_put(&c->uses, rec->provider->index, object, &fresh);
	if (fresh || end_ns >= s->value[0]) {
		s->value[0] = end_ns;
		s->value[1] = rec->offset;
	}
}

/* Looks whether a call of another thread on the object goes on, as it is closed. */
static void closed(struct fxt_closes_in_use *c, struct fxt_reader *r, struct fxt_call_stacks *stacks,
		   const struct fxt_record *rec, uint64_t object)
{
	const struct fxt_slot *s = fxt_map_find(&c->uses, rec->provider->index, object);
	uint64_t at_ns = fxt_ns(rec->provider, rec->ticks);
	struct fxt_record other;

	if (!s || s->value[0] < at_ns + AFTER_NS || c->count == MOST ||
	    fxt_map_find(&c->vforked, rec->thread, 0) || fxt_argument(rec, "errno"))
		return;
	if (!fxt_reader_event_at(r, s->value[1], rec->provider, &other) || other.thread == rec->thread)
		return;
	c->list = fxt_grow(c->list, &c->capacity, c->count + 1, sizeof(*c->list));
	c->list[c->count++] = (struct fxt_closed_in_use){
		.object = object,
		.is_stream = fxt_argument(rec, "stream") != NULL,
		.name = fxt_symbol(r, &other.name),
		.closer = rec->thread,
		.user = other.thread,
		.closed_in = fxt_call_stack_of(stacks, rec),
		.used_in = fxt_call_stack_of(stacks, &other),
		.after_ns = s->value[0] - at_ns,
	};
}

void fxt_closes_take(struct fxt_closes_in_use *c, struct fxt_reader *r, struct fxt_call_stacks *stacks,
		     const struct fxt_record *rec, const struct fxt_role *role)
{
	uint64_t object;

	if (role->family != FXT_FAMILY_FD || !fxt_argument_u64(fxt_argument(rec, role->argument), &object))
		return;
	if (role->effect == FXT_EFFECT_CLOSE || role->effect == FXT_EFFECT_CLOSE_STREAM)
		closed(c, r, stacks, rec, object);
	else if (role->effect >= FXT_EFFECT_READ)
		use(c, rec, object);
}

void fxt_closes_free(struct fxt_closes_in_use *c)
{
	free(c->list);
	fxt_map_free(&c->uses);
	fxt_map_free(&c->vforked);
	*c = (struct fxt_closes_in_use){0};
}
