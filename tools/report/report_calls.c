/* fxt report: the section on calls, by category and name. See report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tools/analysis/demangle.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

uint32_t fxt_calls_place(struct fxt_calls *c, uint32_t category, uint32_t name)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&c->by_name, category, name, &fresh);

	if (fresh) {
		s->value[0] = c->count;
		c->list = fxt_grow(c->list, &c->capacity, c->count + 1, sizeof(*c->list));
		c->list[c->count++] = (struct fxt_call){.category = category, .name = name};
	}
	return (uint32_t)s->value[0];
}

void fxt_calls_add(struct fxt_calls *c, uint32_t place, uint64_t duration_ns)
{
	struct fxt_call *call = &c->list[place];

	call->count++;
	call->total_ns += duration_ns;
	call->max_ns = duration_ns > call->max_ns ? duration_ns : call->max_ns;
	fxt_histogram_add(&call->durations, duration_ns);
}

static int by_total(const void *a, const void *b)
{
	const struct fxt_call *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return x->name < y->name ? -1 : 1;
}

static int by_category(const void *a, const void *b)
{
	const struct fxt_call *x = a, *y = b;

	if (x->category_ns != y->category_ns)
		return x->category_ns > y->category_ns ? -1 : 1;
	if (x->category != y->category)
		return x->category < y->category ? -1 : 1;
	return by_total(a, b);
}

/* Compares calls by their number, and categories as before. */
static int by_number(const void *a, const void *b)
{
	const struct fxt_call *x = a, *y = b;

	if (x->category != y->category || x->count == y->count)
		return by_category(a, b);
	return x->count > y->count ? -1 : 1;
}

static void sum_categories(struct fxt_calls *c)
{
	struct fxt_map totals = {0};
	bool fresh;

	for (size_t i = 0; i < c->count; i++)
		fxt_map_put(&totals, c->list[i].category, 0, &fresh)->value[0] += c->list[i].total_ns;
	for (size_t i = 0; i < c->count; i++)
		c->list[i].category_ns = fxt_map_find(&totals, c->list[i].category, 0)->value[0];
	fxt_map_free(&totals);
}

void fxt_calls_sort(struct fxt_calls *c, enum fxt_sort sort)
{
	if (c->count == 0)
		return;
	sum_categories(c);
	qsort(c->list, c->count, sizeof(*c->list), sort == FXT_SORT_COUNT ? by_number : by_category);
	fxt_map_free(&c->by_name);
}

uint64_t fxt_call_percentile(const struct fxt_call *call, double percent)
{
	uint64_t ns = fxt_histogram_percentile(&call->durations, percent);

	/* The middle of the last bucket may lie above all values in it. */
	return ns < call->max_ns ? ns : call->max_ns;
}

char *fxt_call_label(const struct fxt_reader *r, uint32_t category, uint32_t name, size_t columns)
{
	struct fxt_text of = fxt_symbol_text(r, category), text = fxt_symbol_text(r, name);

	return fxt_text_is(&of, "function") ? fxt_function_label(&text, columns)
					    : fxt_printable(&text, columns, true);
}

struct fxt_handle fxt_call_handle(const struct fxt_reader *r, const struct fxt_call *call)
{
	struct fxt_text name = fxt_symbol_text(r, call->name);

	return fxt_handle_of_function(&name);
}

enum { LABEL = 28 };
#define SUM " %10s %12s"
#define LENGTHS " %9s %9s %9s %9s\n"

enum fxt_purpose fxt_call_purpose(const struct fxt_reader *r, uint32_t category)
{
	struct fxt_text text = fxt_symbol_text(r, category);

	return fxt_text_is(&text, "malloc") ? FXT_FOR_HEAP
	       : fxt_text_is(&text, "pthread") ? FXT_FOR_LOCK
					       : FXT_FOR_CALL;
}

/* Prints who made the calls of one name, if they took long enough. */
static void print_who(const struct fxt_call *call, const struct fxt_reader *r,
		      const struct fxt_stack_sums *by_stack, struct fxt_who *who, bool whole, FILE *out)
{
	if (call->total_ns >= FXT_WORTH_A_CALLER_NS)
		fxt_most_by_print(by_stack, fxt_call_key(call->category, call->name), who,
				  fxt_call_purpose(r, call->category), call->total_ns, whole, out);
}

static void print_call(const struct fxt_call *call, const struct fxt_reader *r, FILE *out)
{
	char *name = fxt_call_label(r, call->category, call->name, LABEL);

	fxt_put_label(out, fxt_call_handle(r, call).text, name, LABEL);
	/* The events are instants, and it is not known how long their calls took. */
	if (call->max_ns == 0)
		fprintf(out, SUM "\n", "-", fxt_count(call->count).text);
	else
		fprintf(out, SUM LENGTHS, fxt_duration(call->total_ns).text,
			fxt_count(call->count).text, fxt_duration(call->total_ns / call->count).text,
			fxt_duration(fxt_call_percentile(call, 50)).text,
			fxt_duration(fxt_call_percentile(call, 99)).text, fxt_duration(call->max_ns).text);
	free(name);
}

static void print_category(const struct fxt_call *calls, size_t count, size_t shown,
			   const struct fxt_reader *r, FILE *out)
{
	struct fxt_text text = fxt_symbol_text(r, calls[0].category);
	char *name = fxt_printable(&text, LABEL, true);
	uint64_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += calls[i].count;
	/* A category begins where the title does. */
	fxt_put_padded(out, *name ? name : "(no category)", LABEL + FXT_HANDLE_COLUMNS + 1);
	/* A category with nothing but instants has no time. */
	fprintf(out, SUM, calls[0].category_ns ? fxt_duration(calls[0].category_ns).text : "-",
		fxt_count(n).text);
	if (shown < count && shown == 1)
		fprintf(out, "  the longest of %zu:", count);
	else if (shown < count)
		fprintf(out, "  the longest %zu of %zu:", shown, count);
	fputc('\n', out);
	free(name);
}

static bool is_function(const struct fxt_call *call, const struct fxt_reader *r)
{
	struct fxt_text category = fxt_symbol_text(r, call->category);

	return fxt_text_is(&category, "function");
}

static int longest_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x != y ? (x > y ? -1 : 1) : 0;
}

/* Returns the time that a call must have taken to be among the longest `top`. Functions are ranked by
 * themselves, because their time includes that of all they call. */
static uint64_t least_of_top(const struct fxt_calls *c, const struct fxt_reader *r, bool functions,
			     size_t top)
{
	uint64_t *totals = fxt_alloc(c->count, sizeof(*totals)), least;
	size_t count = 0;

	for (size_t i = 0; i < c->count; i++)
		if (is_function(&c->list[i], r) == functions)
			totals[count++] = c->list[i].total_ns;
	qsort(totals, count, sizeof(*totals), longest_first);
	least = count > top ? totals[top - 1] : 0;
	free(totals);
	return least;
}

/* Prints the longest calls of all, and at least one of each category. */
void fxt_calls_print(const struct fxt_calls *c, const struct fxt_reader *r,
		     const struct fxt_stack_sums *by_stack, struct fxt_who *who, size_t top, FILE *out)
{
	uint64_t least_ns, least_function_ns;

	if (c->count == 0)
		return;
	least_ns = least_of_top(c, r, false, top);
	least_function_ns = least_of_top(c, r, true, top);
	fxt_put_title(out, "CALLS", LABEL);
	fprintf(out, SUM LENGTHS, "total", "count", "mean", "p50", "p99", "max");
	for (size_t i = 0, n, shown; i < c->count; i += n) {
		uint64_t least;

		for (n = 1; i + n < c->count && c->list[i + n].category == c->list[i].category; n++)
			;
		least = is_function(&c->list[i], r) ? least_function_ns : least_ns;
		for (shown = 1; shown < n && shown < top && c->list[i + shown].total_ns >= least; shown++)
			;
		print_category(&c->list[i], n, shown, r, out);
		for (size_t k = 0; k < shown; k++) {
			print_call(&c->list[i + k], r, out);
			print_who(&c->list[i + k], r, by_stack, who, top == FXT_TOP_WHOLE, out);
		}
	}
}

void fxt_calls_free(struct fxt_calls *c)
{
	for (size_t i = 0; i < c->count; i++)
		fxt_histogram_free(&c->list[i].durations);
	free(c->list);
	fxt_map_free(&c->by_name);
}
