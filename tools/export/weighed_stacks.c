/* The stacks of a report, weighed. See weighed_stacks.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "weighed_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/programs/option_values.h"

/* Returns what is wrong with a word in front of a colon, or NULL. */
static char *wrong_word(const char *word, const char *arg)
{
	char *bad = fxt_option_bad_word(word, fxt_weight_names, FXT_WEIGHTS), *text;

	if (!bad)
		return NULL;
	text = fxt_format("%s; a FILE of such a name is ./%s", bad, arg);
	free(bad);
	return text;
}

char *fxt_stacks_output_parse(struct fxt_stacks_output *to, const char *arg)
{
	const char *colon = strchr(arg, ':');
	char *word = fxt_format("%.*s", (int)(colon ? colon - arg : 0), arg), *bad = NULL;

	/* A path may have a colon, behind a slash or a dot that no weight has. */
	if (colon && !word[strspn(word, "abcdefghijklmnopqrstuvwxyz")])
		bad = wrong_word(word, arg);
	free(word);
	*to = (struct fxt_stacks_output){FXT_WEIGHT_PROCESSOR, arg};
	for (unsigned i = 0; i < FXT_WEIGHTS; i++) {
		size_t bytes = strlen(fxt_weight_names[i]);

		if (strncmp(arg, fxt_weight_names[i], bytes) != 0 || (arg[bytes] && arg[bytes] != ':'))
			continue;
		to->weight = (enum fxt_weight)i;
		to->path = arg[bytes] ? arg + bytes + 1 : "-";
	}
	return bad || *to->path ? bad : fxt_strdup("no FILE was given to write stacks to");
}

static void add_waits(const struct fxt_report *report, struct fxt_stacks *s)
{
	for (size_t i = 0; i < report->wait_stacks.count; i++) {
		const struct fxt_stack_sum *one = &report->wait_stacks.list[i];

		fxt_stacks_add(s, &report->who->stacks, report->r, one->key, one->innermost, one->total_ns);
	}
}

static void add_heap(const struct fxt_report *report, enum fxt_weight weight, struct fxt_stacks *s)
{
	const struct fxt_heap_stacks *h = &report->heap_stacks;

	for (size_t i = 0; i < h->count; i++) {
		const struct fxt_heap_stack *one = &h->list[i];
		const struct fxt_heap_sum *sum = weight == FXT_WEIGHT_LEFT   ? &one->left
						 : weight == FXT_WEIGHT_PEAK ? &one->at_peak
									     : &one->all;

		if (sum->bytes)
			fxt_stacks_add(s, &report->who->stacks, report->r, h->processes[one->process].pid,
				       one->innermost,
				       sum->bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)sum->bytes);
	}
}

const char *fxt_weighed_stacks(const struct fxt_report *report, enum fxt_weight weight, struct fxt_stacks *s,
			       uint64_t *missing)
{
	*missing = 0;
	if (weight == FXT_WEIGHT_PROCESSOR) {
		if (!report->processor.tree.samples)
			return "it has no samples, so there are no stacks";
		fxt_stacks_make(s, &report->processor, report->r);
		return NULL;
	}
	fxt_stacks_begin(s, weight == FXT_WEIGHT_WAITS ? FXT_STACKS_NS : FXT_STACKS_BYTES);
	if (weight == FXT_WEIGHT_WAITS) {
		add_waits(report, s);
	} else {
		add_heap(report, weight, s);
		*missing = fxt_heap_blocks_missing(&report->heap_stacks);
	}
	fxt_stacks_finish(s);
	if (s->samples)
		return NULL;
	fxt_stacks_free(s);
	return weight == FXT_WEIGHT_WAITS  ? "it has no waits with stacks"
	       : weight == FXT_WEIGHT_LEFT ? "it has no blocks with stacks that were left"
					   : "it has no blocks with stacks";
}
