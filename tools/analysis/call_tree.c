/* The call tree of a trace's samples. See call_tree.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "call_tree.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"

/* In by_id, this stands in the place of a provider for nodes that are known by their function's name only. */
#define NAMED UINT64_MAX

/* -- Taking ---------------------------------------------------------------------------------------- */

static uint32_t function_of(struct fxt_call_tree *t, uint32_t name, uint32_t module)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&t->by_name, name, module, &fresh);

	if (fresh) {
		s->value[0] = t->function_count;
		t->functions = fxt_grow(t->functions, &t->function_capacity, t->function_count + 1,
					sizeof(*t->functions));
		t->functions[t->function_count++] =
			(struct fxt_tree_function){.name = name, .module = module};
	}
	return (uint32_t)s->value[0];
}

/* Adds a node. If the id had one already, samples that come later are of the new one. */
static uint32_t add_node(struct fxt_call_tree *t, uint64_t provider, uint64_t id,
			 const struct fxt_tree_node *node)
{
	bool fresh;

	fxt_map_put(&t->by_id, provider, id, &fresh)->value[0] = t->count;
	t->nodes = fxt_grow(t->nodes, &t->capacity, t->count + 1, sizeof(*t->nodes));
	t->nodes[t->count] = *node;
	return (uint32_t)t->count++;
}

static uint32_t symbol_or_unknown(struct fxt_reader *r, const struct fxt_text *name)
{
	struct fxt_text unknown = fxt_text_of("[unknown]");

	return fxt_symbol(r, name->bytes ? name : &unknown);
}

/* Returns whether the path is that of the agent's library. */
static bool is_agent(const struct fxt_text *module)
{
	static const char name[] = "libfxtagent.so";
	size_t at = module->bytes;

	while (at && module->text[at - 1] != '/')
		at--;
	return module->bytes - at >= strlen(name) && memcmp(module->text + at, name, strlen(name)) == 0;
}

/* Returns the function that stands for all of the agent's: which of them recording takes its time in says
 * nothing of the program. */
static uint32_t agent_function(struct fxt_call_tree *t, struct fxt_reader *r)
{
	struct fxt_text name = fxt_text_of(FXT_TREE_AGENT);

	return function_of(t, fxt_symbol(r, &name), 0);
}

void fxt_call_tree_frame(struct fxt_call_tree *t, struct fxt_reader *r, const struct fxt_record *rec)
{
	const struct fxt_argument *parent = fxt_argument(rec, "parent");
	const struct fxt_text *module = fxt_argument_text(rec, "module"),
			      *build_id = fxt_argument_text(rec, "build_id");
	struct fxt_tree_node node = {.parent = FXT_NO_NODE, .offset = fxt_argument_or(rec, "offset", 0)};
	const struct fxt_slot *caller = NULL;
	uint64_t id;
	bool fresh;

	if (t->count == FXT_NO_NODE)
		return;
	if (fxt_argument_u64(parent, &id))
		caller = fxt_map_find(&t->by_id, rec->provider->index, id);
	if (caller)
		node.parent = (uint32_t)caller->value[0];
	if (module && is_agent(module)) {
		node.function = agent_function(t, r);
		node.offset = 0;
	} else {
		node.function = function_of(t, symbol_or_unknown(r, &rec->name),
					    module && module->bytes ? fxt_symbol(r, module) : 0);
		if (build_id && build_id->bytes)
			t->functions[node.function].build_id = fxt_symbol(r, build_id);
	}
	/* What one function of the agent calls in another one is one node. */
	if (module && is_agent(module) && caller && t->nodes[node.parent].function == node.function) {
		fxt_map_put(&t->by_id, rec->provider->index, rec->id, &fresh)->value[0] = node.parent;
		return;
	}
	add_node(t, rec->provider->index, rec->id, &node);
}

static uint32_t node_named(struct fxt_call_tree *t, uint32_t name)
{
	const struct fxt_slot *s = fxt_map_find(&t->by_id, NAMED, name);
	struct fxt_tree_node node = {.parent = FXT_NO_NODE};

	if (s)
		return (uint32_t)s->value[0];
	node.function = function_of(t, name, 0);
	return add_node(t, NAMED, name, &node);
}

void fxt_call_tree_sample(struct fxt_call_tree *t, struct fxt_reader *r, const struct fxt_record *rec,
			  uint32_t thread)
{
	const struct fxt_slot *s = NULL;
	uint64_t id;
	uint32_t node;
	bool fresh;

	if (fxt_argument_u64(fxt_argument(rec, "stack"), &id))
		s = fxt_map_find(&t->by_id, rec->provider->index, id);
	if (!s && t->count == FXT_NO_NODE)
		return;
	node = s ? (uint32_t)s->value[0] : node_named(t, symbol_or_unknown(r, &rec->name));
	t->nodes[node].self++;
	t->samples++;
	fxt_map_put(&t->leaves, thread, node, &fresh)->value[0]++;
}

/* -- Sums ------------------------------------------------------------------------------------------ */

/* Adds each node's samples to its callers. Callees stand behind their callers, so they are complete first. */
static void sum_nodes(struct fxt_call_tree *t)
{
	for (size_t i = t->count; i-- > 0;) {
		struct fxt_tree_node *node = &t->nodes[i];

		node->total += node->self;
		t->functions[node->function].self += node->self;
		if (node->parent != FXT_NO_NODE)
			t->nodes[node->parent].total += node->total;
	}
}

/* The tree from callers to callees, which is needed only while functions are summed up. */
struct descent {
	uint32_t *first_callee, *next_callee;   /* by node; FXT_NO_NODE: none */
	uint32_t *depth;                        /* by function: how often it is on the way to the node */
};

static void enter(struct fxt_call_tree *t, struct descent *d, uint32_t node)
{
	struct fxt_tree_function *f = &t->functions[t->nodes[node].function];

	if (d->depth[t->nodes[node].function]++ == 0)
		f->total += t->nodes[node].total;
}

/* Goes through all nodes below an outermost one, callers first, and adds to each function those that it did
 * not call itself, by whatever way. */
static void descend(struct fxt_call_tree *t, struct descent *d, uint32_t outermost)
{
	uint32_t at = outermost;

	enter(t, d, at);
	for (;;) {
		if (d->first_callee[at] != FXT_NO_NODE) {
			at = d->first_callee[at];
			enter(t, d, at);
			continue;
		}
		for (;;) {
			d->depth[t->nodes[at].function]--;
			if (at == outermost)
				return;
			if (d->next_callee[at] != FXT_NO_NODE)
				break;
			at = t->nodes[at].parent;
		}
		at = d->next_callee[at];
		enter(t, d, at);
	}
}

static void sum_functions(struct fxt_call_tree *t)
{
	struct descent d = {
		.first_callee = fxt_alloc(t->count, sizeof(uint32_t)),
		.next_callee = fxt_alloc(t->count, sizeof(uint32_t)),
		.depth = fxt_alloc(t->function_count, sizeof(uint32_t)),
	};

	for (size_t i = 0; i < t->count; i++)
		d.first_callee[i] = d.next_callee[i] = FXT_NO_NODE;
	for (size_t i = t->count; i-- > 0;) {
		uint32_t parent = t->nodes[i].parent;

		if (parent == FXT_NO_NODE)
			continue;
		d.next_callee[i] = d.first_callee[parent];
		d.first_callee[parent] = (uint32_t)i;
	}
	for (size_t i = 0; i < t->count; i++) {
		if (t->nodes[i].parent == FXT_NO_NODE)
			descend(t, &d, (uint32_t)i);
	}
	free(d.first_callee);
	free(d.next_callee);
	free(d.depth);
}

/* -- Addresses --------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct fxt_tree_address *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->offset != y->offset ? (x->offset < y->offset ? -1 : 1) : 0;
}

static int by_samples(const void *a, const void *b)
{
	const struct fxt_tree_address *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return by_place(a, b);
}

static void sum_addresses(struct fxt_call_tree *t)
{
	size_t kept = 0;

	t->addresses = fxt_alloc(t->count, sizeof(*t->addresses));
	for (size_t i = 0; i < t->count; i++) {
		const struct fxt_tree_node *node = &t->nodes[i];

		t->addresses[i] = (struct fxt_tree_address){node->function, node->offset, node->self,
							    node->total};
	}
	qsort(t->addresses, t->count, sizeof(*t->addresses), by_place);
	for (size_t i = 0; i < t->count; i++) {
		if (kept && by_place(&t->addresses[kept - 1], &t->addresses[i]) == 0) {
			t->addresses[kept - 1].self += t->addresses[i].self;
			t->addresses[kept - 1].total += t->addresses[i].total;
		} else {
			t->addresses[kept++] = t->addresses[i];
		}
	}
	t->address_count = kept;
	qsort(t->addresses, kept, sizeof(*t->addresses), by_samples);
	for (size_t i = 0; i < kept; i++) {
		struct fxt_tree_function *f = &t->functions[t->addresses[i].function];

		if (f->address_count++ == 0)
			f->addresses = i;
	}
}

void fxt_call_tree_finish(struct fxt_call_tree *t)
{
	fxt_map_free(&t->by_name);
	if (t->count == 0)
		return;
	sum_nodes(t);
	sum_functions(t);
	sum_addresses(t);
}

/* -- Order ------------------------------------------------------------------------------------------- */

static int by_self_first(const void *a, const void *b, void *context)
{
	const struct fxt_tree_function *functions = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct fxt_tree_function *x = &functions[i], *y = &functions[k];

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return i < k ? -1 : 1;
}

static int by_total_first(const void *a, const void *b, void *context)
{
	const struct fxt_tree_function *functions = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (functions[i].total != functions[k].total)
		return functions[i].total > functions[k].total ? -1 : 1;
	return by_self_first(a, b, context);
}

void fxt_call_tree_rank(struct fxt_call_tree *t, bool by_total)
{
	free(t->ranked);
	t->ranked = NULL;
	t->is_by_total = by_total;
	if (t->function_count == 0)
		return;
	t->ranked = fxt_alloc(t->function_count, sizeof(*t->ranked));
	for (size_t i = 0; i < t->function_count; i++)
		t->ranked[i] = (uint32_t)i;
	qsort_r(t->ranked, t->function_count, sizeof(*t->ranked), by_total ? by_total_first : by_self_first,
		t->functions);
}

void fxt_call_tree_free(struct fxt_call_tree *t)
{
	free(t->nodes);
	free(t->functions);
	free(t->addresses);
	free(t->ranked);
	fxt_map_free(&t->by_id);
	fxt_map_free(&t->by_name);
	fxt_map_free(&t->leaves);
	*t = (struct fxt_call_tree){0};
}
