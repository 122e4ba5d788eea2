/* The call stacks that the agent has recorded. See call_stacks.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "call_stacks.h"

#include <stdlib.h>

#include "tools/common/message.h"

static uint32_t place_of(struct fxt_call_stacks *s, uint32_t provider, uint64_t id)
{
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&s->by_id, provider, id, &fresh);

	if (fresh) {
		slot->value[0] = s->count;
		s->frames = fxt_grow(s->frames, &s->capacity, s->count + 1, sizeof(*s->frames));
		s->frames[s->count++] =
			(struct fxt_call_frame){.parent = FXT_NO_FRAME, .provider = provider, .id = id};
	}
	return (uint32_t)slot->value[0];
}

static void take_frame(struct fxt_call_stacks *s, struct fxt_reader *r, const struct fxt_record *rec)
{
	uint32_t place = place_of(s, rec->provider->index, rec->id);
	const struct fxt_text *module = fxt_argument_text(rec, "module");
	struct fxt_slot *link;
	bool fresh;

	if (rec->name.bytes)
		s->frames[place].name = fxt_symbol(r, &rec->name);
	if (module && module->bytes)
		s->frames[place].module = fxt_symbol(r, module);
	s->frames[place].offset = fxt_argument_or(rec, "offset", s->frames[place].offset);
	link = fxt_map_put(&s->links, place, 0, &fresh);
	link->value[0] = fxt_argument_or(rec, "parent", link->value[0]);
	link->value[1] = fxt_argument_or(rec, "module", link->value[1]);
}

void fxt_call_stacks_take(struct fxt_call_stacks *s, struct fxt_reader *r, const struct fxt_record *rec)
{
	const struct fxt_text *type = fxt_argument_text(rec, "type");
	const struct fxt_text *id = fxt_argument_text(rec, "build_id");
	struct fxt_slot *slot;
	bool fresh;

	if (rec->type != FXT_RECORD_USERSPACE_OBJECT || !type)
		return;
	if (fxt_text_is(type, "frame"))
		take_frame(s, r, rec);
	if (!fxt_text_is(type, "module"))
		return;
	slot = fxt_map_put(&s->modules, rec->provider->index, rec->id, &fresh);
	slot->value[0] = rec->name.bytes ? fxt_symbol(r, &rec->name) : 0;
	slot->value[1] = id && id->bytes ? fxt_symbol(r, id) : 0;
}

void fxt_call_stacks_finish(struct fxt_call_stacks *s)
{
	size_t count = s->count;

	for (const struct fxt_slot *l = fxt_map_next(&s->links, NULL); l; l = fxt_map_next(&s->links, l)) {
		struct fxt_call_frame *frame = &s->frames[l->a];
		const struct fxt_slot *caller = fxt_map_find(&s->by_id, frame->provider, l->value[0]),
				      *module = fxt_map_find(&s->modules, frame->provider, l->value[1]);

		if (l->value[0] && caller)
			frame->parent = (uint32_t)caller->value[0];
		if (l->value[1] && module) {
			frame->module = (uint32_t)module->value[0];
			frame->build_id = (uint32_t)module->value[1];
		}
	}
	/* A chain that is longer than there are nodes is a circle. */
	for (size_t i = 0; i < count; i++) {
		size_t steps = 0;
		uint32_t at = (uint32_t)i;

		for (; at != FXT_NO_FRAME && steps <= count; at = s->frames[at].parent)
			steps++;
		if (steps > count)
			s->frames[i].parent = FXT_NO_FRAME;
	}
	fxt_map_free(&s->links);
	fxt_map_free(&s->modules);
}

uint32_t fxt_call_stack_of(struct fxt_call_stacks *s, const struct fxt_record *rec)
{
	uint64_t id;

	if (!fxt_argument_u64(fxt_argument(rec, "stack"), &id) || !id)
		return FXT_NO_FRAME;
	return place_of(s, rec->provider->index, id);
}

void fxt_call_stacks_free(struct fxt_call_stacks *s)
{
	fxt_map_free(&s->by_id);
	fxt_map_free(&s->modules);
	fxt_map_free(&s->links);
	free(s->frames);
	*s = (struct fxt_call_stacks){0};
}
