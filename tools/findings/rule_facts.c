/* What rules ask of the finished report. See rule_facts.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "rule_facts.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/printing/print.h"

uint64_t fxt_rule_busy_ns(const struct fxt_report *report)
{
	uint64_t ns = 0;

	/* The kernel knows it better: a thread that is ready for a processor does not run. */
	for (size_t i = 0; i < report->processor.thread_count; i++)
		ns += report->processor.threads[i].times.running_ns;
	for (size_t i = 0; !ns && i < report->threads.count; i++)
		ns += report->threads.list[i].running_ns;
	return ns;
}

uint64_t fxt_rule_process_begin_ns(const struct fxt_report *report, uint64_t pid)
{
	uint64_t first_ns = UINT64_MAX;

	for (size_t i = 0; i < report->threads.count; i++) {
		const struct fxt_thread_time *t = &report->threads.list[i];

		if (t->has_events && report->r->threads[t->thread].pid == pid && t->first_ns < first_ns)
			first_ns = t->first_ns;
	}
	return first_ns == UINT64_MAX ? report->overview.first_ns : first_ns;
}

bool fxt_rule_starts_programs(const struct fxt_report *report, uint64_t pid)
{
	static const char *const starters[] = {"sh",	 "bash",  "dash",  "zsh",   "ksh",	"fish",
					       "busybox", "make",  "gmake", "ninja", "cmake",	"ctest",
					       "meson",	 "find",  "xargs", "git",   "parallel", "configure"};
	struct fxt_text name = fxt_process_name(report->r, pid);

	for (size_t i = 0; i < sizeof(starters) / sizeof(starters[0]); i++)
		if (fxt_text_is(&name, starters[i]))
			return true;
	return false;
}

uint64_t fxt_rule_times_called(const struct fxt_report *report, const char *name)
{
	uint64_t ns;

	return fxt_repeats_of(&report->repeats, report->r, name, &ns);
}

uint64_t fxt_rule_heap_ns(const struct fxt_report *report)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < report->repeats.call_count; i++) {
		struct fxt_text category = fxt_symbol_text(report->r, report->repeats.calls[i].category);

		ns += fxt_text_is(&category, "malloc") ? report->repeats.calls[i].ns : 0;
	}
	return ns;
}

uint64_t fxt_rule_process_of(const struct fxt_report *report, uint32_t innermost)
{
	const struct fxt_slot *own =
		innermost == FXT_NO_FRAME
			? NULL
			: fxt_map_find(&report->overview.own,
				       report->who->stacks.frames[innermost].provider, 0);

	return own ? own->value[0] : 0;
}

char *fxt_rule_name(const struct fxt_report *report, uint32_t symbol, size_t columns)
{
	struct fxt_text text = fxt_symbol_text(report->r, symbol);

	return fxt_printable(&text, columns, true);
}

/* -- Samples ------------------------------------------------------------------------------------- */

static bool is_one_of(const struct fxt_text *name, const char *const *names)
{
	for (; *names; names++)
		if (fxt_text_is(name, *names))
			return true;
	return false;
}

/* Sets bits of the functions that have one of the names. */
static bool *wanted_functions(const struct fxt_report *report, const char *const *names)
{
	const struct fxt_call_tree *tree = &report->processor.tree;
	bool *wanted = fxt_alloc(tree->function_count + 1, sizeof(*wanted));

	for (size_t i = 0; i < tree->function_count; i++) {
		struct fxt_text name = fxt_symbol_text(report->r, tree->functions[i].name);

		wanted[i] = is_one_of(&name, names);
	}
	return wanted;
}

uint64_t fxt_rule_samples_in(const struct fxt_report *report, const char *const *names, uint32_t *innermost)
{
	const struct fxt_call_tree *tree = &report->processor.tree;
	const struct fxt_call_stacks *stacks = &report->who->stacks;
	struct fxt_stack_sums callers = {0};
	struct fxt_stack_sum most;
	bool *wanted = wanted_functions(report, names);
	bool *within = fxt_alloc(tree->count + 1, sizeof(*within));
	uint64_t samples = 0;

	*innermost = FXT_NO_FRAME;
	/* A caller's place is lower than those of its callees. */
	for (size_t i = 0; i < tree->count; i++) {
		uint32_t parent = tree->nodes[i].parent;

		within[i] = parent != FXT_NO_NODE && (within[parent] || wanted[tree->nodes[parent].function]);
	}
	for (const struct fxt_slot *s = fxt_map_next(&tree->by_id, NULL); s;
	     s = fxt_map_next(&tree->by_id, s)) {
		const struct fxt_tree_node *node = &tree->nodes[s->value[0]];
		const struct fxt_slot *frame = fxt_map_find(&stacks->by_id, s->a, s->b);

		if (!wanted[node->function] || within[s->value[0]] || !node->total)
			continue;
		samples += node->total;
		/* Nodes of the agent have several ids. */
		within[s->value[0]] = true;
		if (frame && stacks->frames[frame->value[0]].parent != FXT_NO_FRAME)
			fxt_stack_sums_add(&callers, 0, stacks->frames[frame->value[0]].parent, node->total);
	}
	fxt_stack_sums_finish(&callers);
	if (fxt_stack_sums_most(&callers, 0, report->who, FXT_FOR_CALL, &most))
		*innermost = most.innermost;
	fxt_stack_sums_free(&callers);
	free(wanted);
	free(within);
	return samples;
}

uint32_t fxt_rule_caller_of(const struct fxt_report *report, const char *category, const char *name)
{
	struct fxt_text texts[] = {fxt_text_of(category), fxt_text_of(name)};
	struct fxt_stack_sum most;

	uint64_t key = fxt_call_key(fxt_symbol(report->r, &texts[0]), fxt_symbol(report->r, &texts[1]));

	return fxt_stack_sums_most(&report->call_stacks, key, report->who, FXT_FOR_CALL, &most)
		       ? most.innermost
		       : FXT_NO_FRAME;
}

/* -- Contrast ------------------------------------------------------------------------------------- */

bool fxt_rule_contrast(const struct fxt_report *report, struct fxt_finding *x, enum fxt_contrast_by by,
		       const struct fxt_contrast_item *items, size_t count, struct fxt_contrast *found)
{
	if (!fxt_contrast_find(report->who, x->purpose, x->innermost, by, items, count, found))
		return false;
	fxt_finding_stack(x, "through", x->purpose, x->innermost);
	x->innermost = found->frame;
	return true;
}

void fxt_rule_contrast_waits(const struct fxt_report *report, struct fxt_finding *x, uint64_t key)
{
	const struct fxt_stack_sums *sums = &report->call_stacks;
	struct fxt_contrast_item *items = fxt_alloc(sums->count + 1, sizeof(*items));
	struct fxt_contrast found;
	size_t count = 0;

	for (size_t i = 0; i < sums->count; i++) {
		const struct fxt_stack_sum *sum = &sums->list[i];
		double tells = fxt_stack_sum_tells(sum);

		if (sum->key == key)
			items[count++] = (struct fxt_contrast_item){
				sum->innermost, tells, (double)sum->total_ns * tells / (double)sum->count};
	}
	if (fxt_rule_contrast(report, x, FXT_BY_MEAN, items, count, &found)) {
		fxt_finding_evidence(x, "through %s: %s in the mean; %s of its %zu other caller%s",
				     found.helper,
				     fxt_duration((uint64_t)(found.own.bad / found.own.all)).text,
				     fxt_duration((uint64_t)(found.others.bad / found.others.all)).text,
				     found.callers, found.callers == 1 ? "" : "s");
		free(found.helper);
	}
	free(items);
}
