/* See report_leaks.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "report_leaks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "message.h"
#include "print.h"
#include "report.h"

static uint64_t number(const struct fxt_record *rec, const char *name)
{
	uint64_t value;

	return fxt_argument_u64(fxt_argument(rec, name), &value) ? value : 0;
}

static uint32_t symbol(struct fxt_reader *r, const struct fxt_record *rec, const char *name)
{
	const struct fxt_argument *a = fxt_argument(rec, name);

	return a && a->type == FXT_ARG_STRING ? fxt_symbol(r, &a->string) : FXT_NO_FUNCTION;
}

static struct fxt_life *begin(struct fxt_leaks *l, struct fxt_reader *r, const struct fxt_record *rec)
{
	const struct fxt_argument *ptr = fxt_argument(rec, "ptr");
	struct fxt_life *life;

	l->lives = fxt_grow(l->lives, &l->life_capacity, l->life_count + 1, sizeof(*l->lives));
	life = &l->lives[l->life_count++];
	*life = (struct fxt_life){
		.provider = rec->provider,
		.pid = r->threads[rec->thread].pid,
		.address = ptr && ptr->type == FXT_ARG_POINTER ? ptr->u : 0,
		.size = number(rec, "size"),
		.function = symbol(r, rec, "function"),
		.object = symbol(r, rec, "object"),
		.is_mapping = fxt_text_is(&rec->name, "mapping"),
	};
	return life;
}

void fxt_leaks_take(struct fxt_leaks *l, struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_slot *s;
	bool fresh;

	if (!fxt_text_is(&rec->category, "malloc") ||
	    (!fxt_text_is(&rec->name, "heap block") && !fxt_text_is(&rec->name, "mapping")))
		return;
	s = fxt_map_put(&l->by_id, rec->extra, 0, &fresh);
	if (rec->subtype == FXT_EVENT_ASYNC_BEGIN && !s->value[0]) {
		begin(l, r, rec)->is_over = s->value[1];
		s->value[0] = l->life_count;
	} else if (rec->subtype == FXT_EVENT_ASYNC_END) {
		s->value[1] = true;
		if (s->value[0])
			l->lives[s->value[0] - 1].is_over = true;
	}
}

/* -- What is left ---------------------------------------------------------------------------------- */

static void add(struct fxt_leaks *l, struct fxt_map *groups, struct fxt_unfreed left)
{
	uint64_t who = (uint64_t)left.provider->index << 33 | (uint64_t)left.is_mapping << 32 | left.function;
	bool fresh;
	struct fxt_slot *s = fxt_map_put(groups, who, left.size, &fresh);

	/* Several processes may be of one provider, in a trace that was not made by the agent. */
	if (fresh || l->list[s->value[0]].pid != left.pid) {
		s->value[0] = l->count;
		l->list = fxt_grow(l->list, &l->capacity, l->count + 1, sizeof(*l->list));
		l->list[l->count++] = left;
	}
	l->list[s->value[0]].count++;
}

static void add_life(struct fxt_leaks *l, struct fxt_map *groups, const struct fxt_life *life, uint64_t size)
{
	add(l, groups, (struct fxt_unfreed){.provider = life->provider, .pid = life->pid, .size = size,
					 .function = life->function, .object = life->object, .is_mapping = life->is_mapping});
}

static int by_bytes(const void *a, const void *b)
{
	const struct fxt_unfreed *x = a, *y = b;
	unsigned __int128 p = (unsigned __int128)x->size * x->count, q = (unsigned __int128)y->size * y->count;

	if (p != q)
		return p > q ? -1 : 1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

void fxt_leaks_finish(struct fxt_leaks *l, const struct fxt_heaps *heaps)
{
	struct fxt_map groups = {0}, known = {0};       /* known: provider and address -> place in lives */
	struct fxt_slot *s;
	bool fresh;

	for (size_t i = 0; i < l->life_count; i++) {
		const struct fxt_life *life = &l->lives[i];

		if (life->is_over)
			continue;
		if (life->is_mapping)
			add_life(l, &groups, life, life->size);
		else
			fxt_map_put(&known, life->provider->index, life->address, &fresh)->value[0] = i;
	}
	for (s = fxt_map_next(&heaps->live, NULL); s; s = fxt_map_next(&heaps->live, s)) {
		const struct fxt_heap *heap = &heaps->list[s->a];
		struct fxt_slot *found = fxt_map_find(&known, heap->provider->index, s->b);

		if (found) {
			add_life(l, &groups, &l->lives[found->value[0]], s->value[0]);
			fxt_map_remove(&known, found);
		} else {
			add(l, &groups, (struct fxt_unfreed){.provider = heap->provider, .pid = heap->pid,
							  .size = s->value[0], .function = FXT_NO_FUNCTION,
							  .object = FXT_NO_FUNCTION});
		}
	}
	/* The calls that made these are not in the trace: they were shorter than the threshold. */
	for (s = fxt_map_next(&known, NULL); s; s = fxt_map_next(&known, s))
		add_life(l, &groups, &l->lives[s->value[0]], l->lives[s->value[0]].size);
	fxt_map_free(&groups);
	fxt_map_free(&known);
	if (l->count)
		qsort(l->list, l->count, sizeof(*l->list), by_bytes);
}

char *fxt_unfreed_function(const struct fxt_unfreed *left, const struct fxt_reader *r)
{
	struct fxt_text text;
	char *demangled;

	if (left->function == FXT_NO_FUNCTION)
		return NULL;
	text = fxt_symbol_text(r, left->function);
	demangled = fxt_demangle(&text);
	return demangled ? demangled : fxt_printable(&text, text.bytes, false);
}

char *fxt_unfreed_object(const struct fxt_unfreed *left, const struct fxt_reader *r)
{
	struct fxt_text text;

	if (left->object == FXT_NO_FUNCTION)
		return NULL;
	text = fxt_symbol_text(r, left->object);
	return fxt_printable(&text, text.bytes, false);
}

void fxt_leaks_print(const struct fxt_leaks *l, const struct fxt_reader *r, size_t top, FILE *out)
{
	if (l->count == 0)
		return;
	fprintf(out, "\n%-34s %10s %12s %9s  %s\n", "NEVER FREED, BY WHO ASKED FOR IT", "bytes", "blocks", "each",
		"of");
	for (size_t i = 0; i < l->count && i < top; i++) {
		const struct fxt_unfreed *left = &l->list[i];
		char *function = fxt_unfreed_function(left, r), *program = fxt_printable(&left->provider->name, 22, true);
		struct fxt_text text = {.text = function, .bytes = function ? strlen(function) : 0};
		char *label = function ? fxt_printable(&text, 32, false) : NULL;

		fputs("  ", out);
		fxt_put_padded(out, label ? label : "(small, not told)", 32);
		fprintf(out, " %10s %12s %9s  %s %" PRIu64 "%s\n", fxt_bytes(left->size * left->count).text,
			fxt_count(left->count).text, fxt_bytes(left->size).text, program, left->pid,
			left->is_mapping ? ", mapped" : "");
		free(label);
		free(program);
		free(function);
	}
	if (l->count > top)
		fprintf(out, "  and %zu more\n", l->count - top);
}

void fxt_leaks_free(struct fxt_leaks *l)
{
	free(l->list);
	free(l->lives);
	fxt_map_free(&l->by_id);
}
