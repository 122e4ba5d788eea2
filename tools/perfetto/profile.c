/* The tables of the whole trace: strings, mappings, frames and nodes, each of which is there once. See
 * profile.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "tools/analysis/demangle.h"
#include "tools/common/hash.h"
#include "tools/common/message.h"

/* A longer name would not fit in a packet of its own. */
enum { MOST_TEXT = 4096 };

struct fxt_profile_text {
	UT_hash_handle hh;
	uint32_t number;                /* place in the strings, plus 1 */
};

/* -- Tables --------------------------------------------------------------------------------------- */

static uint32_t string_of(struct fxt_profile *p, const char *text, size_t bytes)
{
	struct fxt_profile_text *found;
	struct fxt_profile_string *string;

	bytes = bytes < MOST_TEXT ? bytes : MOST_TEXT;
	HASH_FIND(hh, p->texts, text, bytes, found);
	if (found)
		return found->number;
	p->strings = fxt_grow(p->strings, &p->string_capacity, p->string_count + 1, sizeof(*p->strings));
	string = &p->strings[p->string_count++];
	*string = (struct fxt_profile_string){.text = fxt_alloc(bytes + 1, 1), .bytes = (uint32_t)bytes};
	memcpy(string->text, text, bytes);
	found = fxt_alloc(1, sizeof(*found));
	found->number = (uint32_t)p->string_count;
	HASH_ADD_KEYPTR(hh, p->texts, string->text, bytes, found);
	return found->number;
}

/* Returns the string of a function's name, as its source has it. The name may be a symbol: what the kernel's
 * witness writes becomes a name only when its part is copied. */
static uint32_t name_of(struct fxt_profile *p, const struct fxt_text *name)
{
	char *full = fxt_demangle(name);
	uint32_t number = full ? string_of(p, full, strlen(full)) : string_of(p, name->text, name->bytes);

	free(full);
	p->strings[number - 1].is_name = true;
	return number;
}

/* Returns the string of a build id as Perfetto has it: its bytes. The trace has hexadecimal digits. */
static uint32_t build_id_of(struct fxt_profile *p, const struct fxt_text *digits)
{
	char bytes[64];
	size_t count = 0;
	uint32_t number;

	for (uint32_t i = 0; i + 1 < digits->bytes && count < sizeof(bytes); i += 2) {
		char pair[] = {digits->text[i], digits->text[i + 1], '\0'};

		bytes[count++] = (char)strtoul(pair, NULL, 16);
	}
	if (!count)
		return 0;
	number = string_of(p, bytes, count);
	p->strings[number - 1].is_build_id = true;
	return number;
}

/* Code in no file has a mapping without a path: older releases of Perfetto drop a stack that has a frame
 * without a mapping. */
static uint32_t mapping_of(struct fxt_profile *p, const struct fxt_text *path,
			   const struct fxt_text *build_digits)
{
	struct fxt_profile_mapping mapping = {0};
	struct fxt_slot *slot;
	bool fresh;

	if (path->bytes) {
		mapping.path = string_of(p, path->text, path->bytes);
		p->strings[mapping.path - 1].is_path = true;
		mapping.build_id = build_id_of(p, build_digits);
	}
	slot = fxt_map_put(&p->by_mapping, mapping.path, mapping.build_id, &fresh);
	if (fresh) {
		p->mappings = fxt_grow(p->mappings, &p->mapping_capacity, p->mapping_count + 1,
				       sizeof(*p->mappings));
		p->mappings[p->mapping_count++] = mapping;
		slot->value[0] = p->mapping_count;
	}
	return (uint32_t)slot->value[0];
}

static uint32_t frame_of(struct fxt_profile *p, const struct fxt_profile_frame *frame)
{
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&p->by_frame, (uint64_t)frame->name << 32 | frame->mapping,
					    frame->offset, &fresh);

	if (fresh) {
		p->frames = fxt_grow(p->frames, &p->frame_capacity, p->frame_count + 1, sizeof(*p->frames));
		p->frames[p->frame_count++] = *frame;
		slot->value[0] = p->frame_count;
	}
	return (uint32_t)slot->value[0];
}

static uint32_t node_of(struct fxt_profile *p, uint32_t caller, uint32_t frame)
{
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&p->by_node, caller, frame, &fresh);

	if (fresh) {
		p->nodes = fxt_grow(p->nodes, &p->node_capacity, p->node_count + 1, sizeof(*p->nodes));
		p->nodes[p->node_count++] = (struct fxt_profile_node){caller, frame, false};
		slot->value[0] = p->node_count;
	}
	return (uint32_t)slot->value[0];
}

uint32_t fxt_profile_lone_node(struct fxt_profile *p, const struct fxt_text *name)
{
	struct fxt_text none = {.text = ""}, unknown = fxt_text_of("[unknown]");
	struct fxt_profile_frame frame = {.mapping = mapping_of(p, &none, &none)};
	uint32_t node;

	name = name->bytes ? name : &unknown;
	frame.name = name_of(p, name);
	node = node_of(p, 0, frame_of(p, &frame));
	p->nodes[node - 1].is_innermost = true;
	return node;
}

struct fxt_profile_heap *fxt_profile_heap_of(struct fxt_profile_heap **heaps, size_t *count, size_t *capacity,
					     struct fxt_map *by_heap, uint64_t process, uint32_t node)
{
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(by_heap, process, node, &fresh);

	if (fresh) {
		*heaps = fxt_grow(*heaps, capacity, *count + 1, sizeof(**heaps));
		(*heaps)[*count] = (struct fxt_profile_heap){.process = process, .node = node};
		slot->value[0] = ++*count;
	}
	return &(*heaps)[slot->value[0] - 1];
}

/* -- The end of a part ---------------------------------------------------------------------------- */

/* What a part's nodes are in the whole trace. */
struct resolving {
	struct fxt_profile *p;
	const struct fxt_call_stacks *stacks;
	const struct fxt_reader *r;
	uint32_t *nodes;                /* by place in `stacks`: the node; 0: not known yet */
	struct fxt_map mappings;        /* symbols of path and build id -> mapping */
	uint32_t *chain;                /* places that are on the way */
	size_t chain_capacity;
};

/* Returns the text of a symbol, or none if that is 0. */
static struct fxt_text text_of(const struct resolving *v, uint32_t symbol)
{
	return symbol ? fxt_symbol_text(v->r, symbol) : (struct fxt_text){.text = ""};
}

static uint32_t resolve_mapping(struct resolving *v, const struct fxt_call_frame *from)
{
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&v->mappings, from->module, from->build_id, &fresh);

	if (fresh) {
		struct fxt_text path = text_of(v, from->module), build_id = text_of(v, from->build_id);

		slot->value[0] = mapping_of(v->p, &path, &build_id);
	}
	return (uint32_t)slot->value[0];
}

/* Returns the frame of a node of the part. Code without a name is named by its file and its address. */
static uint32_t resolve_frame(struct resolving *v, const struct fxt_call_frame *from)
{
	struct fxt_text name = text_of(v, from->name), path = text_of(v, from->module);
	struct fxt_profile_frame frame = {.mapping = resolve_mapping(v, from), .offset = from->offset};
	uint32_t base = path.bytes;
	char *made = NULL;

	if (!name.bytes && path.bytes) {
		while (base && path.text[base - 1] != '/')
			base--;
		made = fxt_format("%.*s+0x%" PRIx64, (int)(path.bytes - base), path.text + base,
				  from->offset);
		name = fxt_text_of(made);
	} else if (!name.bytes) {
		name = fxt_text_of(from->offset ? "[code in no file]" : "[unknown]");
	}
	frame.name = name_of(v->p, &name);
	free(made);
	return frame_of(v->p, &frame);
}

/* Returns the node in the whole trace of a place in the part's stacks. Chains may be of any length, so it
 * goes up to a caller that is known, and down again. */
static uint32_t resolve(struct resolving *v, uint32_t place)
{
	size_t count = 0;
	uint32_t node = 0;

	for (; place != FXT_NO_FRAME && !v->nodes[place]; place = v->stacks->frames[place].parent) {
		v->chain = fxt_grow(v->chain, &v->chain_capacity, count + 1, sizeof(*v->chain));
		v->chain[count++] = place;
	}
	if (place != FXT_NO_FRAME)
		node = v->nodes[place];
	while (count > 0) {
		place = v->chain[--count];
		node = node_of(v->p, node, resolve_frame(v, &v->stacks->frames[place]));
		v->nodes[place] = node;
	}
	v->p->nodes[node - 1].is_innermost = true;
	return node;
}

void fxt_profile_begin_part(const struct fxt_profile *p, struct fxt_profile_part *part,
			    struct fxt_call_stacks *stacks)
{
	part->stacks = stacks;
	part->first_sample = p->sample_count;
	part->first_change = p->change_count;
}

/* Adds the sums of a process and a node. Returns their place. */
static size_t add_heap(struct fxt_profile *p, const struct fxt_profile_heap *from, uint64_t process,
		     uint32_t node)
{
	struct fxt_profile_heap *to =
		fxt_profile_heap_of(&p->heaps, &p->heap_count, &p->heap_capacity, &p->by_heap, process, node);

	to->allocated += from->allocated;
	to->freed += from->freed;
	to->blocks += from->blocks;
	to->freed_blocks += from->freed_blocks;
	return (size_t)(to - p->heaps);
}

/* Changes from `first` on have sums that lie at these places now. */
static void move_changes(struct fxt_profile *p, size_t first, const uint32_t *places)
{
	for (size_t i = first; i < p->change_count; i++)
		p->changes[i].heap = places[p->changes[i].heap];
}

void fxt_profile_end_part(struct fxt_profile *p, struct fxt_profile_part *part, struct fxt_reader *r)
{
	struct resolving v = {.p = p, .stacks = part->stacks, .r = r};
	uint32_t *places;

	if (!p->is_on)
		return;
	places = fxt_alloc(part->heap_count + 1, sizeof(*places));
	v.nodes = fxt_alloc(part->stacks->count + 1, sizeof(*v.nodes));
	for (size_t i = part->first_sample; i < p->sample_count; i++) {
		if (!p->samples[i].is_node)
			p->samples[i].node = resolve(&v, p->samples[i].node);
		p->samples[i].is_node = true;
	}
	for (size_t i = 0; i < part->heap_count; i++)
		places[i] = (uint32_t)add_heap(p, &part->heaps[i], part->heaps[i].process,
					       resolve(&v, part->heaps[i].node));
	move_changes(p, part->first_change, places);
	free(places);
	p->providers += r->provider_count;
	fxt_map_free(&v.mappings);
	free(v.nodes);
	free(v.chain);
	fxt_profile_free_part(part);
}

/* -- The end of all parts -------------------------------------------------------------------------- */

void fxt_profile_settle(struct fxt_profile *p, fxt_profile_who *who, const void *context)
{
	struct fxt_profile_heap *heaps = p->heaps;
	size_t count = p->heap_count;
	struct fxt_map times = p->heap_times;
	uint32_t *places = fxt_alloc(count + 1, sizeof(*places));

	for (size_t i = 0; who && i < p->sample_count; i++) {
		struct fxt_profile_sample *one = &p->samples[i];
		uint64_t pid = one->pid;

		one->pid = (uint32_t)who(context, pid, 0, one->at_ns);
		one->tid = (uint32_t)who(context, pid, one->tid, one->at_ns);
	}
	p->heaps = NULL;
	p->heap_count = p->heap_capacity = 0;
	p->heap_times = (struct fxt_map){0};
	fxt_map_free(&p->by_heap);
	for (size_t i = 0; i < count; i++) {
		const struct fxt_slot *from = fxt_map_find(&times, heaps[i].process, 0);
		uint64_t process = (uint32_t)heaps[i].process;

		if (who)
			process = who(context, process, 0, from->value[0]);
		places[i] = (uint32_t)add_heap(p, &heaps[i], process, heaps[i].node);
		fxt_profile_heap_time(p, process, from->value[0]);
		fxt_profile_heap_time(p, process, from->value[1]);
	}
	move_changes(p, 0, places);
	free(places);
	fxt_map_free(&times);
	free(heaps);
}

/* -- Memory --------------------------------------------------------------------------------------- */

void fxt_profile_free_part(struct fxt_profile_part *part)
{
	fxt_map_free(&part->by_heap);
	fxt_map_free(&part->lives);
	fxt_map_free(&part->early);
	free(part->heaps);
	*part = (struct fxt_profile_part){0};
}

void fxt_profile_free(struct fxt_profile *p)
{
	struct fxt_profile_text *one = p->texts, *next;

	HASH_CLEAR(hh, p->texts);
	for (; one; one = next) {
		next = one->hh.next;
		free(one);
	}
	for (size_t i = 0; i < p->string_count; i++)
		free(p->strings[i].text);
	free(p->strings);
	free(p->mappings);
	free(p->frames);
	free(p->nodes);
	free(p->samples);
	free(p->heaps);
	free(p->changes);
	fxt_map_free(&p->by_mapping);
	fxt_map_free(&p->by_frame);
	fxt_map_free(&p->by_node);
	fxt_map_free(&p->by_heap);
	fxt_map_free(&p->heap_times);
	*p = (struct fxt_profile){0};
}
