/* Keeps the call stacks of a trace until its end: a node is the place of its caller, the file it is in, and
 * the address there. See ctf.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "ctf.h"
#include "tools/analysis/call_stacks.h"

/* A stack has at most so many frames: nodes of a damaged trace may lead in a circle. */
enum { MOST_DEPTH = 256 };

static char *copy_of(const struct fxt_text *t)
{
	return t ? fxt_format("%.*s", (int)t->bytes, t->text) : NULL;
}

static uint32_t node_place(struct fxt_ctf *c, const struct fxt_provider *p, uint64_t id)
{
	bool fresh;
	struct fxt_slot *s;

	if (!id)
		return 0;
	s = fxt_map_put(&c->node_places, p->index, id, &fresh);
	if (fresh) {
		c->nodes = fxt_grow(c->nodes, &c->node_capacity, c->node_count + 1, sizeof(*c->nodes));
		c->nodes[c->node_count++] = (struct fxt_ctf_node){.first_ns = UINT64_MAX};
		s->value[0] = c->node_count;
	}
	return (uint32_t)s->value[0];
}

static uint32_t module_place(struct fxt_ctf *c, struct fxt_provider *p, uint64_t id)
{
	bool fresh;
	struct fxt_slot *s;

	if (!id)
		return 0;
	s = fxt_map_put(&c->module_places, p->index, id, &fresh);
	if (fresh) {
		c->modules =
			fxt_grow(c->modules, &c->module_capacity, c->module_count + 1, sizeof(*c->modules));
		c->modules[c->module_count++] =
			(struct fxt_ctf_module){.provider = p, .first_ns = UINT64_MAX};
		s->value[0] = c->module_count;
	}
	return (uint32_t)s->value[0];
}

static void take_module(struct fxt_ctf *c, const struct fxt_visit *v)
{
	uint32_t place = module_place(c, v->rec->provider, v->rec->id);
	struct fxt_ctf_module *module;

	if (!place || c->modules[place - 1].path)
		return;
	module = &c->modules[place - 1];
	module->pid = c->reader->threads[v->rec->thread].pid;
	module->base = fxt_argument_or(v->rec, "base", 0);
	module->path = copy_of(&v->rec->name);
	module->build_id = copy_of(fxt_argument_text(v->rec, "build_id"));
}

static void take_frame(struct fxt_ctf *c, const struct fxt_visit *v)
{
	uint32_t place = node_place(c, v->rec->provider, v->rec->id);
	uint32_t parent = node_place(c, v->rec->provider, fxt_argument_or(v->rec, "parent", 0));
	uint32_t module = module_place(c, v->rec->provider, fxt_argument_or(v->rec, "mapping", 0));
	uint64_t offset = fxt_argument_or(v->rec, "offset", 0);

	/* The record with the function's name says less of the rest. */
	if (!place || (c->nodes[place - 1].module && !module))
		return;
	c->nodes[place - 1] = (struct fxt_ctf_node){parent, module, offset, c->nodes[place - 1].first_ns};
	if (module && offset > c->modules[module - 1].last)
		c->modules[module - 1].last = offset;
}

void fxt_ctf_nodes_take(struct fxt_ctf *c, const struct fxt_visit *v)
{
	const struct fxt_text *type = fxt_argument_text(v->rec, "type");

	if (type && fxt_text_is(type, FXT_FRAME_RECORD))
		take_frame(c, v);
	else if (type && fxt_text_is(type, FXT_MODULE_RECORD))
		take_module(c, v);
}

uint32_t fxt_ctf_node_of(struct fxt_ctf *c, const struct fxt_visit *v)
{
	uint32_t place = node_place(c, v->rec->provider, fxt_argument_or(v->rec, "stack", 0));

	if (place && v->at_ns < c->nodes[place - 1].first_ns)
		c->nodes[place - 1].first_ns = v->at_ns;
	return place;
}

void fxt_ctf_nodes_finish(struct fxt_ctf *c)
{
	for (size_t i = 0; i < c->node_count; i++) {
		uint64_t first_ns = c->nodes[i].first_ns;

		/* Callers were there whenever what they called was. */
		for (uint32_t at = (uint32_t)i + 1; at; at = c->nodes[at - 1].parent) {
			struct fxt_ctf_node *n = &c->nodes[at - 1];

			if (n->first_ns < first_ns)
				break;
			/* Nodes of a damaged trace may lead in a circle. */
			if (n->first_ns == first_ns && at != i + 1)
				break;
			n->first_ns = first_ns;
			if (n->module && first_ns < c->modules[n->module - 1].first_ns)
				c->modules[n->module - 1].first_ns = first_ns;
		}
	}
}

/* A node has the address of the last byte of its call, and a return address is the next one. */
uint64_t fxt_ctf_node_address(const struct fxt_ctf *c, uint32_t node)
{
	const struct fxt_ctf_node *n = &c->nodes[node - 1];

	if (!n->offset)
		return 0;
	return (n->module ? c->modules[n->module - 1].base : 0) + n->offset + 1;
}

void fxt_ctf_put_stack(const struct fxt_ctf *c, struct fxt_ctf_bytes *out, uint32_t node)
{
	uint32_t depth = 0;

	for (uint32_t at = node; at && depth < MOST_DEPTH; at = c->nodes[at - 1].parent)
		depth++;
	fxt_ctf_put_u32(out, depth);
	for (; depth; depth--, node = c->nodes[node - 1].parent)
		fxt_ctf_put_u64(out, fxt_ctf_node_address(c, node));
}

void fxt_ctf_nodes_free(struct fxt_ctf *c)
{
	for (size_t i = 0; i < c->module_count; i++) {
		free(c->modules[i].path);
		free(c->modules[i].build_id);
	}
	free(c->modules);
	free(c->nodes);
	fxt_map_free(&c->node_places);
	fxt_map_free(&c->module_places);
}
