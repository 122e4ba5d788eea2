/* Finds functions whose blocks were never freed. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "rule_facts.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"
#include "tools/programs/frame_names.h"

enum {
	MUCH_BYTES = 1 << 17,
	QUARTERS = 4,
	/* Fewer blocks or samples are left by chance, or are what a program has for as long as it runs. */
	MANY = 8,
	SHORT_NS = 1000000000,
};

static uint64_t in_64_bits(unsigned __int128 n)
{
	return n > UINT64_MAX ? UINT64_MAX : (uint64_t)n;
}

/* Returns the exact totals of a process's heap, or NULL if its calls are not in the trace. */
static const struct fxt_process_heap *heap_of(const struct fxt_report *report,
					      const struct fxt_heap_process *p)
{
	for (size_t i = 0; i < report->heaps.count; i++)
		if (report->heaps.list[i].provider == p->provider && report->heaps.list[i].pid == p->pid)
			return &report->heaps.list[i];
	return NULL;
}

/* Returns whether what the asker has left was asked for all through the life of its process: in each quarter
 * of it but one. What a program gets at its start lives as long as it does. */
static bool is_steady(const struct fxt_report *report, const struct fxt_heap_asker *asker)
{
	const struct fxt_heap_stacks *h = &report->heap_stacks;
	struct fxt_culprits *culprits = &report->who->culprits;
	uint32_t path = fxt_path_of(culprits, FXT_FOR_HEAP, asker->innermost), wanted;
	uint64_t begin_ns = report->overview.first_ns, run_ns = fxt_rule_run_ns(report);
	size_t in_quarter[QUARTERS] = {0}, all = 0, quarters = 0;

	if (path == FXT_NO_PATH || !run_ns)
		return false;
	wanted = fxt_path_short(culprits, FXT_FOR_HEAP, path);
	for (size_t i = 0; i < h->block_count; i++) {
		const struct fxt_heap_block *b = &h->blocks[i];
		const struct fxt_heap_stack *s = &h->list[b->stack];
		uint64_t quarter = fxt_ns_between(begin_ns, b->begin_ns) / (run_ns / QUARTERS + 1);

		if (!b->blocks || b->gaps != h->processes[s->process].gaps || s->is_mapping ||
		    quarter >= QUARTERS)
			continue;
		path = fxt_path_of(culprits, FXT_FOR_HEAP, s->innermost);
		if (path == FXT_NO_PATH || fxt_path_short(culprits, FXT_FOR_HEAP, path) != wanted)
			continue;
		in_quarter[quarter]++;
		all++;
	}
	for (unsigned i = 0; i < QUARTERS; i++)
		quarters += in_quarter[i] > 0;
	return all >= MANY && quarters >= QUARTERS - 1;
}

/* Returns whether the blocks are of a program that its user did not build, as it has no names of functions,
 * and that ran for a moment only. Such a program leaves what it has to its exit, and need not free it. */
static bool is_left_to_exit(const struct fxt_report *report, const struct fxt_heap_asker *asker)
{
	uint32_t culprit = fxt_culprit_of(&report->who->culprits, FXT_FOR_HEAP, asker->innermost);

	return fxt_rule_run_ns(report) < SHORT_NS && culprit != FXT_NO_FRAME &&
	       fxt_frame_is_nameless(report->r, &report->who->stacks.frames[culprit]);
}

/* Returns whether the process has executed another program since: that has freed all that it had. */
static bool is_executed(const struct fxt_report *report, const struct fxt_heap_process *p)
{
	const struct fxt_slot *executed = fxt_map_find(&report->process_ends.executed, p->pid, 0);
	const struct fxt_heap_stacks *h = &report->heap_stacks;

	for (size_t i = 0; i < h->process_count; i++)
		if (h->processes[i].pid == p->pid && h->processes[i].provider != p->provider &&
		    h->processes[i].peak_ns > p->peak_ns)
			return true;
	return executed && executed->value[0] > p->peak_ns;
}

/* Finds which caller of a helper is to blame, if the helper's other callers free what they get. */
static void tell_caller(const struct fxt_report *report, struct fxt_finding *x, uint32_t process)
{
	const struct fxt_heap_stacks *h = &report->heap_stacks;
	struct fxt_contrast_item *items = fxt_alloc(h->count + 1, sizeof(*items));
	struct fxt_contrast found;
	size_t count = 0;

	for (size_t i = 0; i < h->count; i++)
		if (h->list[i].process == process && !h->list[i].is_mapping)
			items[count++] =
				(struct fxt_contrast_item){h->list[i].innermost, (double)h->list[i].told,
							   (double)h->list[i].told_left};
	if (fxt_rule_contrast(report, x, FXT_BY_SHARE, items, count, &found)) {
		fxt_finding_evidence(x,
				     "through %s: %.0f of %.0f known blocks are left; %.0f of %.0f of its "
				     "%zu other caller%s",
				     found.helper, found.own.bad, found.own.all, found.others.bad,
				     found.others.all, found.callers, found.callers == 1 ? "" : "s");
		free(found.helper);
	}
	free(items);
}

void fxt_find_leak(const struct fxt_report *report, struct fxt_findings *f)
{
	const struct fxt_heap_askers *a = &report->askers;

	for (size_t i = 0; i < a->count; i++) {
		const struct fxt_heap_asker *one = &a->list[i];
		const struct fxt_heap_process *p = &report->heap_stacks.processes[one->process];
		const struct fxt_process_heap *heap = heap_of(report, p);
		uint64_t left = in_64_bits(one->left.bytes), peak = in_64_bits(p->peak);
		struct fxt_finding *x;

		if (one->is_mapping || one->is_of_library || one->left.blocks < MANY || left < MUCH_BYTES)
			continue;
		/* What samples stand for is an estimate, and cannot be more than what is really left. */
		if (heap && !one->is_of_several && left > heap->in_use_bytes)
			left = heap->in_use_bytes;
		if (left < MUCH_BYTES || (double)left < (double)peak * FXT_LEAST(leak) / 100 ||
		    is_left_to_exit(report, one) || is_executed(report, p) || !is_steady(report, one))
			continue;
		x = fxt_finding_add(f, one->innermost, FXT_FOR_HEAP,
				    "leak: %s%s in %s blocks was never freed",
				    one->is_estimate ? "about " : "", fxt_bytes(left).text,
				    fxt_count(one->left.blocks).text);
		x->cost_bytes = left;
		x->cost_calls = one->left.blocks;
		x->share = peak ? (double)left / (double)peak : 0;
		x->sure = "likely";
		tell_caller(report, x, one->process);
	}
}
