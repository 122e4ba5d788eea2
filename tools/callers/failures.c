/* Tells which calls failed. See failures.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "failures.h"
#include "most_by.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/demangle.h"
#include "tools/common/message.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"

/* A call has failed in a few places as a rule. If there are hundreds, the rest is not told apart. */
enum { PLACES = 256 };

static void add_stack(struct fxt_failures *f, struct fxt_failure *one, uint32_t stack)
{
	if (stack == FXT_NO_FRAME || one->stack_count == PLACES)
		return;
	for (size_t i = 0; i < one->stack_count; i++)
		if (one->stacks[i] == stack)
			return;
	one->stacks = fxt_grow(one->stacks, &one->stack_capacity, one->stack_count + 1, sizeof(*one->stacks));
	one->stacks[one->stack_count++] = stack;
	f->has_stacks = true;
}

void fxt_failures_take(struct fxt_failures *f, struct fxt_reader *r, struct fxt_call_stacks *stacks,
		       const struct fxt_record *rec)
{
	uint64_t error, at_ns;
	struct fxt_failure *one;
	struct fxt_slot *s;
	uint32_t name, stack;
	bool fresh;

	if (!fxt_argument_u64(fxt_argument(rec, "errno"), &error) || error == 0 || error > INT32_MAX)
		return;
	at_ns = fxt_ns(rec->provider, rec->ticks);
	name = fxt_symbol(r, &rec->name);
	s = fxt_map_put(&f->by_call, (uint64_t)fxt_symbol(r, &rec->category) << 32 | name, error, &fresh);
	if (fresh) {
		s->value[0] = f->count;
		f->list = fxt_grow(f->list, &f->capacity, f->count + 1, sizeof(*f->list));
		f->list[f->count] = (struct fxt_failure){.category = fxt_symbol(r, &rec->category),
							   .name = name,
							   .error = (int)error,
							   .id = f->count,
							   .first_ns = at_ns};
		f->count++;
	}
	one = &f->list[s->value[0]];
	one->count++;
	one->first_ns = at_ns < one->first_ns ? at_ns : one->first_ns;
	fxt_map_put(&f->last, rec->thread, 0, &fresh)->value[0] = s->value[0];
	stack = fxt_call_stack_of(stacks, rec);
	add_stack(f, one, stack);
	if (stack != FXT_NO_FRAME)
		fxt_stack_sums_add_event(&f->by_stack, s->value[0], stack, 1, rec);
}

void fxt_failures_where(struct fxt_failures *f, struct fxt_call_stacks *stacks, const struct fxt_record *rec)
{
	const struct fxt_slot *last = fxt_map_find(&f->last, rec->thread, 0);

	if (last && fxt_argument_or(rec, "errno", 0) == (uint64_t)f->list[last->value[0]].error)
		add_stack(f, &f->list[last->value[0]], fxt_call_stack_of(stacks, rec));
}

static int by_count(const void *a, const void *b)
{
	const struct fxt_failure *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return x->name < y->name ? -1 : 1;
}

void fxt_failures_sort(struct fxt_failures *f)
{
	fxt_map_free(&f->by_call);
	fxt_map_free(&f->last);
	fxt_stack_sums_finish(&f->by_stack);
	if (f->count)
		qsort(f->list, f->count, sizeof(*f->list), by_count);
}

enum { LABEL = 28 };
#define FIGURES " %10s %10s  "

/* Prints who failed there, each path once, a line each, at most `most`: first those of whom it is known how
 * often, by samples, with their share. */
static void print_places(const struct fxt_failures *f, const struct fxt_failure *one, struct fxt_who *who,
			 size_t most, FILE *out)
{
	enum { INDENT = 6, INDENT_SHARE = 20 };
	struct fxt_map seen = {0};
	struct fxt_stack_sum *sums;
	size_t shown = 0, count = fxt_stack_sums_by_path(&f->by_stack, one->id, who, FXT_FOR_CALL, &sums);
	bool fresh;

	for (size_t i = 0; i < count + one->stack_count; i++) {
		const struct fxt_stack_sum *sum = i < count && sums[i].samples ? &sums[i] : NULL;
		uint32_t stack = i < count ? sums[i].innermost : one->stacks[i - count];
		uint32_t path = fxt_path_of(&who->culprits, FXT_FOR_CALL, stack);
		char *line;

		if (path == FXT_NO_PATH || (i < count && !sum))
			continue;
		fxt_map_put(&seen, fxt_path_short(&who->culprits, FXT_FOR_CALL, path), 0, &fresh);
		if (!fresh || shown++ >= most)
			continue;
		line = fxt_who_line(who, FXT_FOR_CALL, stack, fxt_width() - (sum ? INDENT_SHARE : INDENT));
		fxt_put_line(out, sum ? fxt_format("      %s by %s", fxt_most_by_share(sum, one->count).text,
						   line)
				      : fxt_format("      %s", line));
		free(line);
	}
	if (shown > most)
		fprintf(out, "      and %zu more place%s\n", shown - most, shown - most == 1 ? "" : "s");
	fxt_map_free(&seen);
	free(sums);
}

void fxt_failures_print(const struct fxt_failures *f, struct fxt_who *who, uint64_t begin_ns, size_t top,
			FILE *out)
{
	enum { PLACES_SHOWN = 2 };
	size_t most = (top + 1) / 2;    /* most take two lines or three */

	if (!f->has_stacks && !(top == FXT_TOP_WHOLE && f->count))
		return;
	fxt_put_title(out, "FAILED CALLS", LABEL);
	fprintf(out, FIGURES "error\n", "count", "first at");
	for (size_t i = 0; i < f->count && i < most; i++) {
		const struct fxt_failure *one = &f->list[i];
		struct fxt_text text = fxt_symbol_text(who->r, one->name);
		char *name = fxt_printable(&text, LABEL, true);

		fxt_put_label(out, fxt_handle_of_function(&text).text, name, LABEL);
		fprintf(out, FIGURES "%s\n", fxt_count(one->count).text,
			fxt_duration(fxt_ns_between(begin_ns, one->first_ns)).text, strerror(one->error));
		print_places(f, one, who, top == FXT_TOP_WHOLE ? top : PLACES_SHOWN, out);
		free(name);
	}
	fxt_put_more(out, f->count, most);
}

void fxt_failures_json(const struct fxt_failures *f, struct fxt_who *who, struct fxt_json *j)
{
	fxt_json_array(j, "failures");
	for (size_t i = 0; i < f->count; i++) {
		const struct fxt_failure *one = &f->list[i];

		struct fxt_text name = fxt_symbol_text(who->r, one->name);

		fxt_json_object(j, NULL);
		fxt_json_string(j, "handle", fxt_handle_of_function(&name).text);
		fxt_json_symbol(j, "category", who->r, one->category);
		fxt_json_symbol(j, "call", who->r, one->name);
		fxt_json_i64(j, "errno", one->error);
		fxt_json_u64(j, "count", one->count);
		fxt_json_u64(j, "first_ns", one->first_ns);
		fxt_most_by_json(j, &f->by_stack, one->id, who, FXT_FOR_CALL, false);
		fxt_json_array(j, "stacks");
		for (size_t k = 0; k < one->stack_count; k++)
			fxt_who_json(who, j, NULL, FXT_FOR_CALL, one->stacks[k]);
		fxt_json_end(j);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

void fxt_failures_free(struct fxt_failures *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->list[i].stacks);
	free(f->list);
	fxt_map_free(&f->by_call);
	fxt_map_free(&f->last);
	fxt_stack_sums_free(&f->by_stack);
	*f = (struct fxt_failures){0};
}
