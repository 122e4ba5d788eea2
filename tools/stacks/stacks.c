/* Merges stacks, and prints them folded. See stacks.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/demangle.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

const char *const fxt_weight_names[FXT_WEIGHTS] = {"processor", "heap", "peak", "allocated", "waits"};

/* -- Merging --------------------------------------------------------------------------------------- */

/* In `places`, this stands in the place of a caller for processes. */
#define PROCESS UINT64_MAX

/* Returns the place of what `key` stands for below `caller`. It is new if *fresh is set, and has no label
 * then. */
static uint32_t place_of(struct fxt_stacks *s, uint64_t caller, uint64_t key, bool *fresh)
{
	struct fxt_slot *slot = fxt_map_put(&s->places, caller, key, fresh);

	if (*fresh) {
		slot->value[0] = s->count;
		s->list = fxt_grow(s->list, &s->capacity, s->count + 1, sizeof(*s->list));
		s->list[s->count++] = (struct fxt_stack){
			.parent = caller == PROCESS ? FXT_NO_NODE : (uint32_t)caller,
		};
	}
	return (uint32_t)slot->value[0];
}

/* Returns the place of the processes with the name that this one has. */
static uint32_t process_of(struct fxt_stacks *s, struct fxt_reader *r, uint64_t pid)
{
	struct fxt_text name = fxt_process_name(r, pid);
	bool fresh;
	uint32_t place = place_of(s, PROCESS, name.bytes ? fxt_symbol(r, &name) : pid << 32, &fresh);

	if (fresh) {
		s->programs =
			fxt_grow(s->programs, &s->program_capacity, s->program_count + 1, sizeof(char *));
		s->list[place].label = s->programs[s->program_count++] =
			name.bytes ? fxt_printable(&name, SIZE_MAX, false)
				   : fxt_format("process %" PRIu64, fxt_number(r, pid));
	}
	return place;
}

static const char *label_of(struct fxt_stacks *s, const struct fxt_reader *r,
			    const struct fxt_tree_function *f, uint32_t function)
{
	struct fxt_text text = fxt_symbol_text(r, f->name);
	char *name;

	if (s->labels[function])
		return s->labels[function];
	name = fxt_demangle(&text);
	if (name)
		text = fxt_text_of(name);
	s->labels[function] = fxt_printable(&text, SIZE_MAX, false);
	free(name);
	return s->labels[function];
}

/* Returns the place of a node of the tree in the stacks of a process. `callers` has room for all nodes. */
static uint32_t place_of_node(struct fxt_stacks *s, const struct fxt_call_tree *t, const struct fxt_reader *r,
			      uint32_t process, uint32_t node, uint32_t *callers)
{
	uint32_t place = process;
	size_t count = 0;
	bool fresh;

	for (uint32_t at = node; at != FXT_NO_NODE; at = t->nodes[at].parent) {
		const struct fxt_slot *known = fxt_map_find(&s->of_nodes, process, at);

		if (known) {
			place = (uint32_t)known->value[0];
			break;
		}
		callers[count++] = at;
	}
	while (count-- > 0) {
		uint32_t function = t->nodes[callers[count]].function;

		place = place_of(s, place, function, &fresh);
		if (fresh) {
			s->list[place].label = label_of(s, r, &t->functions[function], function);
			s->list[place].is_kernel = strcmp(s->list[place].label, "[kernel]") == 0;
		}
		fxt_map_put(&s->of_nodes, process, callers[count], &fresh)->value[0] = place;
	}
	return place;
}

void fxt_stacks_make(struct fxt_stacks *s, const struct fxt_processor_time *p, struct fxt_reader *r)
{
	const struct fxt_call_tree *t = &p->tree;
	uint32_t *callers = fxt_alloc(t->count, sizeof(*callers));

	*s = (struct fxt_stacks){.samples = t->samples, .label_count = t->function_count};
	s->labels = fxt_alloc(s->label_count, sizeof(char *));
	for (const struct fxt_slot *leaf = fxt_map_next(&t->leaves, NULL); leaf;
	     leaf = fxt_map_next(&t->leaves, leaf)) {
		uint32_t process = process_of(s, r, r->threads[leaf->a].pid);
		uint32_t place = place_of_node(s, t, r, process, (uint32_t)leaf->b, callers);

		s->list[place].self += leaf->value[0];
	}
	fxt_stacks_finish(s);
	free(callers);
}

void fxt_stacks_finish(struct fxt_stacks *s)
{
	for (size_t i = s->count; i-- > 0;) {
		s->list[i].total += s->list[i].self;
		if (s->list[i].parent != FXT_NO_NODE)
			s->list[s->list[i].parent].total += s->list[i].total;
	}
	fxt_map_free(&s->places);
	fxt_map_free(&s->of_nodes);
}

/* -- Stacks that the agent has recorded ------------------------------------------------------------- */

void fxt_stacks_begin(struct fxt_stacks *s, enum fxt_stacks_unit unit)
{
	*s = (struct fxt_stacks){.unit = unit};
}

/* Returns the name of a function of which the trace has this symbol as its name. Other code is named by its
 * file. */
static const char *label_of_frame(struct fxt_stacks *s, const struct fxt_reader *r,
				  const struct fxt_call_frame *f)
{
	uint32_t symbol = f->name ? f->name : f->module;
	struct fxt_text text = symbol ? fxt_symbol_text(r, symbol) : fxt_text_of("[code in no file]");
	char *name;

	s->labels = fxt_reach(s->labels, &s->label_capacity, &s->label_count, symbol, sizeof(char *));
	if (s->labels[symbol])
		return s->labels[symbol];
	name = f->name ? fxt_demangle(&text) : NULL;
	if (name)
		text = fxt_text_of(name);
	s->labels[symbol] = fxt_printable(&text, SIZE_MAX, false);
	free(name);
	return s->labels[symbol];
}

void fxt_stacks_add(struct fxt_stacks *s, const struct fxt_call_stacks *stacks, struct fxt_reader *r,
		    uint64_t pid, uint32_t innermost, uint64_t weight)
{
	static const uint64_t most = UINT64_C(1) << 40;         /* sums of these stay within 64 bits */
	uint32_t process = process_of(s, r, pid), place = process, *callers = NULL;
	size_t count = 0, capacity = 0;
	bool fresh;

	for (uint32_t at = innermost; at < stacks->count; at = stacks->frames[at].parent) {
		const struct fxt_slot *known = fxt_map_find(&s->of_nodes, process, at);

		if (known) {
			place = (uint32_t)known->value[0];
			break;
		}
		callers = fxt_grow(callers, &capacity, count + 1, sizeof(*callers));
		callers[count++] = at;
	}
	while (count-- > 0) {
		const struct fxt_call_frame *f = &stacks->frames[callers[count]];

		place = place_of(s, place, f->name ? f->name : UINT64_C(1) << 32 | f->module, &fresh);
		if (fresh)
			s->list[place].label = label_of_frame(s, r, f);
		fxt_map_put(&s->of_nodes, process, callers[count], &fresh)->value[0] = place;
	}
	free(callers);
	weight = weight < most ? weight : most;
	s->list[place].self += weight;
	s->samples += weight;
}

void fxt_stacks_free(struct fxt_stacks *s)
{
	for (size_t i = 0; i < s->label_count; i++)
		free(s->labels[i]);
	for (size_t i = 0; i < s->program_count; i++)
		free(s->programs[i]);
	free(s->labels);
	free(s->programs);
	free(s->list);
	*s = (struct fxt_stacks){0};
}

/* -- Folded ---------------------------------------------------------------------------------------- */

/* A semicolon in a name would end it. */
static void put_label(const char *label, FILE *out)
{
	for (; *label; label++)
		fputc(*label == ';' ? ':' : *label, out);
}

void fxt_stacks_print_folded(const struct fxt_stacks *s, FILE *out)
{
	enum { DEEPEST = 1000 };        /* deeper stacks are shown without the middle */
	uint32_t callers[DEEPEST];

	for (size_t i = 0; i < s->count; i++) {
		size_t count = 0;
		uint32_t at = (uint32_t)i, process;

		if (!s->list[i].self)
			continue;
		for (; s->list[at].parent != FXT_NO_NODE && count < DEEPEST; at = s->list[at].parent)
			callers[count++] = at;
		for (process = at; s->list[process].parent != FXT_NO_NODE; process = s->list[process].parent)
			;
		put_label(s->list[process].label, out);
		if (process != at)
			fputs(";[...]", out);
		while (count-- > 0) {
			fputc(';', out);
			put_label(s->list[callers[count]].label, out);
		}
		fprintf(out, " %" PRIu64 "\n", s->list[i].self);
	}
}
