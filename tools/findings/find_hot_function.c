/* Says which functions of the program computed longest, with what libraries did for them. That is no
 * fault. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "rules.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* Returns the innermost node from this one on whose code is known: what the kernel does, and code that was
 * made at run time, was called by somebody. */
static uint32_t known_from(const struct fxt_report *report, uint32_t frame)
{
	const struct fxt_call_stacks *stacks = &report->who->stacks;

	while (frame != FXT_NO_FRAME) {
		const struct fxt_call_frame *at = &stacks->frames[frame];
		struct fxt_text name = fxt_symbol_text(report->r, at->name);

		if (!fxt_text_is(&name, "[kernel]") && !fxt_text_is(&name, "[code in no file]"))
			break;
		frame = at->parent;
	}
	return frame;
}

/* Sums samples by path: that of the culprit, and nobody's if all of a stack is wrappers. */
static void sum(const struct fxt_report *report, struct fxt_stack_sums *sums)
{
	const struct fxt_call_tree *tree = &report->processor.tree;
	const struct fxt_call_stacks *stacks = &report->who->stacks;
	/* Nodes of the agent have several ids. */
	bool *taken = fxt_alloc(tree->count + 1, sizeof(*taken));

	for (const struct fxt_slot *s = fxt_map_next(&tree->by_id, NULL); s;
	     s = fxt_map_next(&tree->by_id, s)) {
		const struct fxt_tree_node *node = &tree->nodes[s->value[0]];
		const struct fxt_slot *frame = fxt_map_find(&stacks->by_id, s->a, s->b);
		uint32_t culprit, innermost;

		if (!node->self || !frame || taken[s->value[0]])
			continue;
		taken[s->value[0]] = true;
		innermost = known_from(report, (uint32_t)frame->value[0]);
		culprit = fxt_culprit_of(&report->who->culprits, FXT_FOR_CALL, innermost);
		if (culprit != FXT_NO_FRAME)
			fxt_stack_sums_add(sums,
					   (uint64_t)stacks->frames[culprit].name << 32 |
						   stacks->frames[culprit].module,
					   innermost, node->self);
	}
	free(taken);
	fxt_stack_sums_finish(sums);
}

void fxt_find_hot_function(const struct fxt_report *report, struct fxt_findings *f)
{
	const struct fxt_processor_time *p = &report->processor;
	struct fxt_stack_sums sums = {0};

	if (!fxt_processor_is_telling(p))
		return;
	sum(report, &sums);
	for (size_t i = 0; i < sums.count;) {
		struct fxt_stack_sum most;
		uint64_t samples = 0, key = sums.list[i].key;
		double percent;
		struct fxt_finding *x;

		for (; i < sums.count && sums.list[i].key == key; i++)
			samples += sums.list[i].total_ns;
		percent = 100.0 * (double)samples / (double)p->tree.samples;
		if (percent < FXT_LEAST(hot_function) ||
		    !fxt_stack_sums_most(&sums, key, report->who, FXT_FOR_CALL, &most))
			continue;
		x = fxt_finding_add(f, most.innermost, FXT_FOR_CALL,
				    "where the time goes: %.0f%% of the processor time in one function",
				    percent);
		x->share = percent / 100;
		if (fxt_samples_ns(p, 1))
			fxt_finding_evidence(x, "%s of %s on processors, with what libraries did for it",
					     fxt_duration(fxt_samples_ns(p, samples)).text,
					     fxt_duration(fxt_samples_ns(p, p->tree.samples)).text);
	}
	fxt_stack_sums_free(&sums);
}
