/* Reads the call stacks that a trace has nodes of. See call_stacks.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "call_stacks.h"

#include <stdlib.h>

#include "tools/common/message.h"

/* -- Taking ---------------------------------------------------------------------------------------- */

/* Returns the slot of the node in by_id. A node that is seen for the first time gets its place. */
static struct fxt_slot *slot_of(struct fxt_call_stacks *s, uint32_t provider, uint64_t id)
{
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&s->by_id, provider, id, &fresh);

	if (fresh) {
		slot->value[0] = s->count;
		s->frames = fxt_grow(s->frames, &s->capacity, s->count + 1, sizeof(*s->frames));
		s->frames[s->count++] =
			(struct fxt_call_frame){.parent = FXT_NO_FRAME, .provider = provider, .id = id};
	}
	return slot;
}

static uint32_t symbol_of(struct fxt_reader *r, const struct fxt_text *text)
{
	return text && text->bytes ? fxt_symbol(r, text) : 0;
}

static void take_module(struct fxt_call_stacks *s, struct fxt_reader *r, const struct fxt_record *rec)
{
	uint32_t path = symbol_of(r, &rec->name),
		 build_id = symbol_of(r, fxt_argument_text(rec, "build_id"));
	struct fxt_slot *slot;
	bool fresh;

	slot = fxt_map_put(&s->modules, rec->provider->index, rec->id, &fresh);
	slot->value[0] = path;
	slot->value[1] = build_id;
}

static void take_frame(struct fxt_call_stacks *s, struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_slot *slot = slot_of(s, rec->provider->index, rec->id), *link;
	struct fxt_call_frame *frame = &s->frames[slot->value[0]];
	bool fresh;

	/* A record without a name, which a ring has told once more, says less than the one with a name. */
	if (frame->name && !rec->name.bytes)
		return;
	frame->is_recorded = true;
	frame->name = symbol_of(r, &rec->name);
	frame->module = symbol_of(r, fxt_argument_text(rec, "module"));
	frame->build_id = symbol_of(r, fxt_argument_text(rec, "build_id"));
	frame->offset = fxt_argument_or(rec, "offset", 0);
	link = fxt_map_put(&s->links, slot->value[0], 0, &fresh);
	link->value[0] = fxt_argument_or(rec, "parent", 0);
	link->value[1] = fxt_argument_or(rec, "mapping", 0);
}

void fxt_call_stacks_take(struct fxt_call_stacks *s, struct fxt_reader *r, const struct fxt_record *rec)
{
	const struct fxt_text *type;

	if (s->is_finished || rec->type != FXT_RECORD_USERSPACE_OBJECT || !rec->known || rec->damaged)
		return;
	type = fxt_argument_text(rec, "type");
	if (type && fxt_text_is(type, FXT_FRAME_RECORD))
		take_frame(s, r, rec);
	else if (type && fxt_text_is(type, FXT_MODULE_RECORD))
		take_module(s, r, rec);
}

uint32_t fxt_call_stack_of(struct fxt_call_stacks *s, const struct fxt_record *rec)
{
	const struct fxt_slot *slot;
	uint64_t id;

	if (!fxt_argument_u64(fxt_argument(rec, "stack"), &id) || !id)
		return FXT_NO_FRAME;
	if (!s->is_finished)
		return (uint32_t)slot_of(s, rec->provider->index, id)->value[0];
	slot = fxt_map_find(&s->by_id, rec->provider->index, id);
	return slot && s->frames[slot->value[0]].is_recorded ? (uint32_t)slot->value[0] : FXT_NO_FRAME;
}

/* -- Linking --------------------------------------------------------------------------------------- */

/* Sets the symbols of the node's module. Returns false if the module is not known. */
static bool set_module(const struct fxt_call_stacks *s, struct fxt_call_frame *frame, uint64_t id)
{
	const struct fxt_slot *module;

	if (!id || frame->module)
		return true;
	module = fxt_map_find(&s->modules, frame->provider, id);
	if (!module)
		return false;
	frame->module = (uint32_t)module->value[0];
	frame->build_id = (uint32_t)module->value[1];
	return true;
}

bool fxt_call_stacks_find_module(struct fxt_call_stacks *s, uint32_t place)
{
	const struct fxt_slot *link = fxt_map_find(&s->links, place, 0);

	return link && set_module(s, &s->frames[place], link->value[1]);
}

/* Returns the place of the caller with this id, or FXT_NO_FRAME if there is no record of it. */
static uint32_t place_of_caller(const struct fxt_call_stacks *s, uint32_t provider, uint64_t id)
{
	const struct fxt_slot *slot = id ? fxt_map_find(&s->by_id, provider, id) : NULL;

	return slot && s->frames[slot->value[0]].is_recorded ? (uint32_t)slot->value[0] : FXT_NO_FRAME;
}

/* Cuts each circle in front of the node that led into it again. Every node is gone past once, and has the
 * number of the walk that did. */
static void cut_circles(struct fxt_call_stacks *s)
{
	uint32_t *walks = fxt_alloc(s->count, sizeof(*walks));

	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t last = FXT_NO_FRAME;

		for (uint32_t at = i; at != FXT_NO_FRAME; last = at, at = s->frames[at].parent) {
			if (walks[at]) {
				if (walks[at] == i + 1)
					s->frames[last].parent = FXT_NO_FRAME;
				break;
			}
			walks[at] = i + 1;
		}
	}
	free(walks);
}

void fxt_call_stacks_finish(struct fxt_call_stacks *s)
{
	if (s->is_finished)
		return;
	s->is_finished = true;
	for (const struct fxt_slot *link = fxt_map_next(&s->links, NULL); link;
	     link = fxt_map_next(&s->links, link)) {
		struct fxt_call_frame *frame = &s->frames[link->a];

		frame->parent = place_of_caller(s, frame->provider, link->value[0]);
		set_module(s, frame, link->value[1]);
	}
	fxt_map_free(&s->links);
	fxt_map_free(&s->modules);
	if (s->count)
		cut_circles(s);
}

void fxt_call_stacks_free(struct fxt_call_stacks *s)
{
	free(s->frames);
	fxt_map_free(&s->by_id);
	fxt_map_free(&s->modules);
	fxt_map_free(&s->links);
	*s = (struct fxt_call_stacks){0};
}
