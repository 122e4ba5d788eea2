/* Finds functions whose blocks were never freed. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "rules.h"
#include "tools/printing/print.h"

enum { MANY = 16, MUCH_BYTES = 1 << 16 };

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
		if (left < MUCH_BYTES || (double)left < (double)peak * FXT_LEAST(leak) / 100)
			continue;
		x = fxt_finding_add(f, one->innermost, FXT_FOR_HEAP,
				    "leak: %s%s in %s blocks was never freed",
				    one->is_estimate ? "about " : "", fxt_bytes(left).text,
				    fxt_count(one->left.blocks).text);
		x->cost_bytes = left;
		x->cost_calls = one->left.blocks;
		x->share = peak ? (double)left / (double)peak : 0;
		x->sure = "likely";
	}
}
