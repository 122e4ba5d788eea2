/* Puts the heap's stacks together by who asked. See heap_askers.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "heap_askers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/printing/print.h"

/* In the place of a path, for stacks without one. */
enum { UNKNOWN = 0, LIBRARY = 1, CXX_LIBRARY = 2 };
#define NO_PATH(why) (UINT64_C(1) << 32 | (why))

static uint64_t path_key(struct fxt_who *who, const struct fxt_heap_stack *s, bool for_table)
{
	uint32_t path = fxt_path_of(&who->culprits, FXT_FOR_HEAP, s->innermost);

	if (path != FXT_NO_PATH)
		return for_table ? fxt_path_short(&who->culprits, FXT_FOR_HEAP, path) : path;
	if (fxt_is_of_cxx_library(&who->culprits, FXT_FOR_HEAP, s->innermost))
		return NO_PATH(CXX_LIBRARY);
	return NO_PATH(s->innermost >= who->culprits.count ? UNKNOWN : LIBRARY);
}

static void plus(struct fxt_heap_sum *to, const struct fxt_heap_sum *sum)
{
	to->bytes += sum->bytes;
	to->blocks += sum->blocks;
}

static void take(struct fxt_heap_asker *a, const struct fxt_heap_stack *s)
{
	unsigned __int128 weight = 2 * s->left.bytes + s->at_peak.bytes;

	if (weight > a->weight) {
		a->weight = weight;
		a->innermost = s->innermost;
	}
	a->is_of_several = a->is_of_several || a->process != s->process;
	a->is_estimate = a->is_estimate || s->is_estimate;
	plus(&a->left, &s->left);
	plus(&a->at_peak, &s->at_peak);
	plus(&a->all, &s->all);
}

/* What is left comes first; but a few bytes that a library keeps are not worth more than the peak. */
static int by_left(const void *a, const void *b)
{
	enum { WORTH_IT = 1 << 16 };
	const struct fxt_heap_asker *x = a, *y = b;
	unsigned __int128 p = x->left.bytes >= WORTH_IT ? x->left.bytes : 0,
			  q = y->left.bytes >= WORTH_IT ? y->left.bytes : 0;

	if (p != q)
		return p > q ? -1 : 1;
	if (x->at_peak.bytes != y->at_peak.bytes)
		return x->at_peak.bytes > y->at_peak.bytes ? -1 : 1;
	if (x->all.bytes != y->all.bytes)
		return x->all.bytes > y->all.bytes ? -1 : 1;
	return x->innermost < y->innermost ? -1 : 1;
}

static int by_all(const void *a, const void *b)
{
	const struct fxt_heap_asker *x = a, *y = b;

	if (x->all.bytes != y->all.bytes)
		return x->all.bytes > y->all.bytes ? -1 : 1;
	return by_left(a, b);
}

static int by_blocks(const void *a, const void *b)
{
	const struct fxt_heap_asker *x = a, *y = b;

	if (x->all.blocks != y->all.blocks)
		return x->all.blocks > y->all.blocks ? -1 : 1;
	return by_left(a, b);
}

void fxt_heap_askers_make(struct fxt_heap_askers *a, const struct fxt_heap_stacks *h, struct fxt_who *who,
			  bool for_table, enum fxt_sort sort)
{
	struct fxt_map groups = {0};

	*a = (struct fxt_heap_askers){0};
	for (size_t i = 0; i < h->count; i++) {
		const struct fxt_heap_stack *s = &h->list[i];
		uint64_t key = path_key(who, s, for_table);
		bool fresh;
		struct fxt_slot *slot =
			fxt_map_put(&groups, (for_table ? 0 : (uint64_t)s->process << 1) | s->is_mapping, key,
				    &fresh);

		if (fresh) {
			slot->value[0] = a->count;
			a->list = fxt_grow(a->list, &a->capacity, a->count + 1, sizeof(*a->list));
			a->list[a->count++] = (struct fxt_heap_asker){
				.innermost = s->innermost,
				.process = s->process,
				.is_mapping = s->is_mapping,
				.is_of_library = key == NO_PATH(CXX_LIBRARY),
			};
		}
		take(&a->list[slot->value[0]], s);
	}
	fxt_map_free(&groups);
	if (a->count)
		qsort(a->list, a->count, sizeof(*a->list),
		      sort == FXT_SORT_TOTAL ? by_all : sort == FXT_SORT_COUNT ? by_blocks : by_left);
}

void fxt_heap_askers_free(struct fxt_heap_askers *a)
{
	free(a->list);
	*a = (struct fxt_heap_askers){0};
}

/* -- Leaks ----------------------------------------------------------------------------------------- */

/* The rules of fxt_heaps_is_leaking(), for blocks of one function in the place of those of one size. A
 * quarter of the peak is enough, because it is known whose it is. */
bool fxt_heap_askers_leak(const struct fxt_heap_askers *a, const struct fxt_heap_stacks *h)
{
	enum { MANY = 16, MUCH_BYTES = 1 << 20 };

	for (size_t i = 0; i < a->count; i++) {
		const struct fxt_heap_asker *one = &a->list[i];

		if (!one->is_mapping && !one->is_of_library && one->left.blocks >= MANY &&
		    one->left.bytes >= MUCH_BYTES && one->left.bytes >= h->processes[one->process].peak / 4)
			return true;
	}
	return false;
}

/* -- Text ------------------------------------------------------------------------------------------ */

static uint64_t in_64_bits(unsigned __int128 n)
{
	return n > UINT64_MAX ? UINT64_MAX : (uint64_t)n;
}

static struct fxt_short bytes_text(const struct fxt_heap_asker *a, const struct fxt_heap_sum *sum)
{
	struct fxt_short text = {"-"};

	if (sum->blocks)
		snprintf(text.text, sizeof(text.text), "%s%.40s", a->is_estimate ? "~" : "",
			 fxt_bytes(in_64_bits(sum->bytes)).text);
	return text;
}

static struct fxt_short blocks_text(const struct fxt_heap_asker *a, const struct fxt_heap_sum *sum)
{
	enum { LARGE = 1000000 };       /* numbers from here on would be too wide for the column */
	const char *about = a->is_estimate ? "~" : "";
	struct fxt_short text = {"-"};

	if (sum->blocks >= LARGE)
		snprintf(text.text, sizeof(text.text), "%s%.3g M", about, (double)sum->blocks / LARGE);
	else if (sum->blocks)
		snprintf(text.text, sizeof(text.text), "%s%.40s", about, fxt_count(sum->blocks).text);
	return text;
}

enum { LABEL = 34, INDENT = 6 };
#define FIGURES " %9s %8s %9s %8s %9s %8s\n"

static char *label_of(const struct fxt_heap_asker *a, struct fxt_who *who, size_t columns)
{
	char *label = fxt_who_culprit(who, FXT_FOR_HEAP, a->innermost, columns);

	if (!label)
		label = fxt_strdup(a->innermost < who->culprits.count ? "(a library, for itself)"
								      : "(caller not recorded)");
	return label;
}

/* Returns where the function was called from and what else there is to say, or NULL. */
static char *second_line(const struct fxt_heap_asker *a, const struct fxt_heap_stacks *h, struct fxt_who *who,
			 bool with_process)
{
	const struct fxt_heap_process *p = &h->processes[a->process];
	char *program = fxt_printable(&p->provider->name, 16, true), *in, *callers, *line;

	if (!with_process)
		in = fxt_strdup("");
	else if (a->is_of_several)
		in = fxt_strdup(", in several processes");
	else
		in = fxt_format(", in %s %" PRIu64, program, fxt_number(who->r, p->pid));
	callers = fxt_who_callers(who, FXT_FOR_HEAP, a->innermost,
				  fxt_width() - INDENT - fxt_columns(in) - (a->is_mapping ? 8 : 0));
	line = fxt_format("      %s%s%s", callers ? callers : "", a->is_mapping ? ", mapped" : "", in);
	/* Without callers it begins with what comes behind these. */
	if (!callers && (a->is_mapping || *in)) {
		char *other = fxt_format("      %s", line + INDENT + 2);

		free(line);
		line = other;
	} else if (!callers) {
		free(line);
		line = NULL;
	}
	free(callers);
	free(in);
	free(program);
	return line;
}

static void print_note(const struct fxt_heap_askers *a, const struct fxt_heap_stacks *h, FILE *out)
{
	uint64_t samples = 0, bytes = 0;
	bool is_estimate = false;

	for (size_t i = 0; i < a->count; i++)
		is_estimate = is_estimate || a->list[i].is_estimate;
	for (size_t i = 0; i < h->process_count; i++) {
		samples += h->processes[i].samples;
		bytes = bytes ? bytes : h->processes[i].bytes_a_sample;
	}
	if (!is_estimate)
		return;
	fprintf(out, "  ~ means about: of small blocks, %s %s drawn, and stand%s for all",
		fxt_count(samples).text, samples == 1 ? "was" : "were", samples == 1 ? "s" : "");
	if (bytes)
		fprintf(out, ": one in %s", fxt_bytes(bytes).text);
	fputc('\n', out);
}

/* Prints what the sums lack. */
static void print_missing(const struct fxt_heap_stacks *h, FILE *out)
{
	uint64_t blocks = fxt_heap_blocks_missing(h), stacks = 0;

	for (size_t i = 0; i < h->process_count; i++)
		stacks += h->processes[i].stacks_missing;
	if (blocks)
		fprintf(out,
			"  too low: %s blocks and samples found no place in the agent's table or the trace\n",
			fxt_count(blocks).text);
	if (stacks)
		fprintf(out,
			"  callers are missing: %s stacks found no room (FXT_STACKS=malloc:16 needs less)\n",
			fxt_count(stacks).text);
}

/* Returns whether there is nothing to say: all is little, or chance decides what would be said because few
 * blocks were drawn. */
static bool is_nothing(const struct fxt_heap_askers *a, const struct fxt_heap_stacks *h)
{
	enum { SAMPLES_THAT_TELL = 8, MUCH_BYTES = 1 << 15 };
	uint64_t samples = 0;

	for (size_t i = 0; i < a->count; i++)
		if (!a->list[i].is_estimate && !a->list[i].is_of_library &&
		    a->list[i].all.bytes >= MUCH_BYTES)
			return false;
	for (size_t i = 0; i < h->process_count; i++)
		samples += h->processes[i].samples;
	return samples < SAMPLES_THAT_TELL;
}

/* Prints a line about what one function asked for, which is `sum`. */
static void print_most(const struct fxt_heap_asker *most, const struct fxt_heap_sum *sum, const char *what,
		       const char *by, struct fxt_who *who, FILE *out)
{
	char *begin = fxt_format("%s: %s%s in %s block%s, %s ", what, most->is_estimate ? "about " : "",
				 fxt_bytes(in_64_bits(sum->bytes)).text, fxt_count(sum->blocks).text,
				 sum->blocks == 1 ? "" : "s", by);
	char *label = fxt_who_line(who, FXT_FOR_HEAP, most->innermost, fxt_width() - strlen(begin));

	if (label)
		fxt_put_line(out, fxt_format("%s%s", begin, label));
	free(label);
	free(begin);
}

void fxt_heap_askers_print_head(const struct fxt_heap_askers *a, const struct fxt_heap_stacks *h,
				struct fxt_who *who, FILE *out)
{
	enum { WORTH_A_LINE = 1 << 16, WORTH_A_LINE_OF_MANY = 1 << 20, PEAK_WORTH_A_LINE = 4 << 20 };
	/* Where there are several processes, one of them leaves as much as a rule. */
	const unsigned worth_a_line = h->process_count > 1 ? WORTH_A_LINE_OF_MANY : WORTH_A_LINE;
	const struct fxt_heap_asker *left = NULL, *peak = NULL;

	if (is_nothing(a, h))
		return;
	for (size_t i = 0; i < a->count; i++) {
		const struct fxt_heap_asker *one = &a->list[i];

		if (one->is_of_library || one->is_mapping)
			continue;
		/* A program has single blocks for as long as it runs. */
		if (one->left.bytes >= worth_a_line && one->left.blocks > 1 &&
		    (!left || one->left.bytes > left->left.bytes))
			left = one;
		if (one->at_peak.bytes >= PEAK_WORTH_A_LINE &&
		    (!peak || one->at_peak.bytes > peak->at_peak.bytes))
			peak = one;
	}
	if (left)
		print_most(left, &left->left, "not freed", "asked for by", who, out);
	/* What was not freed is at the peak as well, and would be said twice. */
	if (peak && peak->at_peak.bytes > 2 * peak->left.bytes)
		print_most(peak, &peak->at_peak, "heap at its peak", "by", who, out);
}

void fxt_heap_askers_print(const struct fxt_heap_askers *a, const struct fxt_heap_stacks *h,
			   struct fxt_who *who, bool with_process, size_t top, FILE *out)
{
	size_t shown = 0, all = 0, most = (top + 1) / 2;        /* most of them take two lines */

	if (is_nothing(a, h) && top != FXT_TOP_WHOLE)
		return;
	for (size_t i = 0; i < a->count; i++) {
		const struct fxt_heap_asker *one = &a->list[i];
		char *label, *line;

		if (one->is_of_library || all++ >= most)
			continue;
		if (shown++ == 0) {
			fxt_put_title(out, "HEAP BY WHO ASKED FOR IT", LABEL);
			fprintf(out, FIGURES, "unfreed", "blocks", "at peak", "blocks", "in all", "blocks");
		}
		label = label_of(one, who, LABEL);
		fxt_put_label(out, fxt_who_handle(who, FXT_FOR_HEAP, one->innermost).text, label, LABEL);
		fprintf(out, FIGURES, bytes_text(one, &one->left).text, blocks_text(one, &one->left).text,
			bytes_text(one, &one->at_peak).text, blocks_text(one, &one->at_peak).text,
			bytes_text(one, &one->all).text, blocks_text(one, &one->all).text);
		line = second_line(one, h, who, with_process);
		if (line)
			fxt_put_line(out, line);
		if (top == FXT_TOP_WHOLE)
			fxt_who_print(who, FXT_FOR_HEAP, one->innermost, top, out);
		free(label);
	}
	if (!shown)
		return;
	fxt_put_more(out, all, shown);
	print_note(a, h, out);
	print_missing(h, out);
}
