/* Makes the section of fxt report on blocks and mappings that were left. See report_leaks.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "report_leaks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tools/analysis/demangle.h"
#include "tools/analysis/gaps.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

static uint32_t symbol(struct fxt_reader *r, const struct fxt_record *rec, const char *name)
{
	const struct fxt_text *text = fxt_argument_text(rec, name);

	return text ? fxt_symbol(r, text) : FXT_NO_FUNCTION;
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
		.size = fxt_argument_or(rec, "size", 0),
		.begin_ns = fxt_ns(rec->provider, rec->ticks),
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

	/* In a trace of another writer, several processes may belong to one provider. */
	if (fresh || l->list[s->value[0]].pid != left.pid) {
		s->value[0] = l->count;
		l->list = fxt_grow(l->list, &l->capacity, l->count + 1, sizeof(*l->list));
		l->list[l->count++] = left;
	}
	l->list[s->value[0]].count++;
}

/* Returns whether the function is one of the C++ library. What others ask for by way of that library is
 * theirs (agent/names/allocator_code.h), so this is what the library has asked for by itself. */
static bool is_of_library(const struct fxt_reader *r, uint32_t function)
{
	static const char prefix[] = "libstdc++.so";
	struct fxt_text text;

	if (function == FXT_NO_FUNCTION)
		return false;
	text = fxt_symbol_text(r, function);
	return text.bytes >= sizeof(prefix) - 1 && !memcmp(text.text, prefix, sizeof(prefix) - 1);
}

static void add_life(struct fxt_leaks *l, const struct fxt_reader *r, struct fxt_map *groups,
		     const struct fxt_life *life, uint64_t size)
{
	add(l, groups,
	    (struct fxt_unfreed){.provider = life->provider,
				 .pid = life->pid,
				 .size = size,
				 .function = life->function,
				 .object = life->object,
				 .is_mapping = life->is_mapping,
				 .is_of_library = is_of_library(r, life->function)});
}

static int by_bytes(const void *a, const void *b)
{
	const struct fxt_unfreed *x = a, *y = b;
	unsigned __int128 p = (unsigned __int128)x->size * x->count,
			  q = (unsigned __int128)y->size * y->count;

	if (p != q)
		return p > q ? -1 : 1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

void fxt_leaks_finish(struct fxt_leaks *l, const struct fxt_reader *r, const struct fxt_gaps *gaps,
		      struct fxt_heaps *heaps)
{
	struct fxt_map groups = {0}, known = {0};       /* known: provider and address -> place in `lives` */
	struct fxt_slot *s;
	bool fresh;

	for (size_t i = 0; i < l->life_count; i++) {
		const struct fxt_life *life = &l->lives[i];

		/* The heaps have forgotten the blocks of before a gap, and nobody knows of the mappings. */
		if (life->is_over || fxt_gaps_follow(gaps, life->provider, life->begin_ns))
			continue;
		if (life->is_mapping)
			add_life(l, r, &groups, life, life->size);
		else
			fxt_map_put(&known, life->provider->index, life->address, &fresh)->value[0] = i;
	}
	for (s = fxt_map_next(&heaps->live, NULL); s; s = fxt_map_next(&heaps->live, s)) {
		struct fxt_process_heap *heap = &heaps->list[s->a];
		struct fxt_slot *found = fxt_map_find(&known, heap->provider->index, s->b);

		if (!fxt_heap_knows(heap, s))
			continue;
		if (found) {
			add_life(l, r, &groups, &l->lives[found->value[0]], s->value[0]);
			if (is_of_library(r, l->lives[found->value[0]].function)) {
				heap->library_blocks++;
				heap->library_bytes += s->value[0];
				s->value[1] = FXT_HEAPS_OF_LIBRARY;
			}
			fxt_map_remove(&known, found);
		} else {
			add(l, &groups, (struct fxt_unfreed){.provider = heap->provider, .pid = heap->pid,
							  .size = s->value[0], .function = FXT_NO_FUNCTION,
							  .object = FXT_NO_FUNCTION});
		}
	}
	/* The calls that made these are not in the trace: they were shorter than the threshold. */
	for (s = fxt_map_next(&known, NULL); s; s = fxt_map_next(&known, s))
		add_life(l, r, &groups, &l->lives[s->value[0]], l->lives[s->value[0]].size);
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

/* A line of the section: all blocks or mappings that one function left, of whatever size; or all whose
 * function is not known, of all processes. */
struct group {
	struct fxt_unfreed one;         /* one of them, with the count of all */
	uint64_t bytes;
	bool is_of_several;             /* they are of several processes */
};

static int by_caller(const void *a, const void *b)
{
	const struct fxt_unfreed *x = &((const struct group *)a)->one, *y = &((const struct group *)b)->one;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->is_mapping != y->is_mapping)
		return x->is_mapping ? 1 : -1;
	if (x->function == FXT_NO_FUNCTION)
		return 0;
	if (x->provider != y->provider)
		return x->provider->index < y->provider->index ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int groups_by_bytes(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : by_caller(a, b);
}

/* Makes the lines of the section, which has none about what the C++ library keeps for itself. */
static struct group *put_together(const struct fxt_leaks *l, const struct fxt_heap_stacks *by_stack,
				  bool whole, size_t *count)
{
	struct group *list = fxt_alloc(l->count, sizeof(*list));
	size_t all = 0;

	*count = 0;
	for (size_t i = 0; i < l->count; i++)
		if (!l->list[i].is_of_library &&
		    (whole || !fxt_heap_stacks_of(by_stack, l->list[i].provider, l->list[i].pid)))
			list[all++] = (struct group){.one = l->list[i],
						     .bytes = l->list[i].size * l->list[i].count};
	qsort(list, all, sizeof(*list), by_caller);
	for (size_t i = 0; i < all; i++) {
		struct group *last = *count ? &list[*count - 1] : NULL;

		if (!last || by_caller(last, &list[i]) != 0) {
			list[(*count)++] = list[i];
			continue;
		}
		last->one.count += list[i].one.count;
		last->bytes += list[i].bytes;
		last->is_of_several = last->is_of_several || last->one.provider != list[i].one.provider ||
				      last->one.pid != list[i].one.pid;
	}
	qsort(list, *count, sizeof(*list), groups_by_bytes);
	return list;
}

enum { LABEL = 28 };
#define FIGURES " %10s %12s %9s  "

static void print_group(const struct group *group, const struct fxt_reader *r, FILE *out)
{
	const struct fxt_unfreed *one = &group->one;
	char *function = fxt_unfreed_function(one, r),
	     *program = fxt_printable(&one->provider->name, 22, true);
	struct fxt_text text = fxt_text_of(function ? function : "");
	char *label = function ? fxt_printable(&text, LABEL, false) : fxt_strdup("(caller not recorded)");

	fxt_put_label(out, function ? fxt_handle_of_function(&text).text : "", label, LABEL);
	fprintf(out, FIGURES, fxt_bytes(group->bytes).text, fxt_count(one->count).text,
		fxt_bytes(group->bytes / one->count).text);
	if (group->is_of_several)
		fputs("several processes", out);
	else
		fprintf(out, "%s %" PRIu64, program, fxt_number(r, one->pid));
	fputs(one->is_mapping ? ", mapped\n" : "\n", out);
	free(label);
	free(program);
	free(function);
}

void fxt_leaks_print(const struct fxt_leaks *l, const struct fxt_reader *r,
		     const struct fxt_heap_stacks *by_stack, size_t top, FILE *out)
{
	enum { WORTH_A_SECTION = 1 << 16, WORTH_A_HINT = 10 /* a tenth of all bytes */ };
	uint64_t bytes = 0, unknown_bytes = 0;
	size_t count;
	struct group *list;

	if (l->count == 0)
		return;
	list = put_together(l, by_stack, top == FXT_TOP_WHOLE, &count);
	for (size_t i = 0; i < count; i++) {
		bytes += list[i].bytes;
		if (list[i].one.function == FXT_NO_FUNCTION && !list[i].one.is_mapping)
			unknown_bytes = list[i].bytes;
	}
	/* If little was left and no function is known, the lines about the heap have said enough
	 * (report_heap.c). */
	if (count && (unknown_bytes < bytes || bytes >= WORTH_A_SECTION || top == FXT_TOP_WHOLE)) {
		fxt_put_title(out, "NEVER FREED, BY WHO ASKED FOR IT", LABEL);
		fprintf(out, FIGURES "of\n", "bytes", "blocks", "mean");
		for (size_t i = 0; i < count && i < top; i++)
			print_group(&list[i], r, out);
		fxt_put_more(out, count, top);
		if (unknown_bytes > bytes / WORTH_A_HINT)
			fputs("  with FXT_HEAP_TRACK_BYTES=1 the trace has the callers for smaller blocks "
			      "as well\n",
			      out);
	}
	free(list);
}

void fxt_leaks_free(struct fxt_leaks *l)
{
	free(l->list);
	free(l->lives);
	fxt_map_free(&l->by_id);
}
