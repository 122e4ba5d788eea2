/* Figures of the run, its memory, waits, files and faults. See figures.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "figures.h"

#include <math.h>
#include <stdlib.h>

#include "tools/common/message.h"
#include "tools/findings/rules.h"
#include "tools/printing/print.h"

/* Says that more of it may be missing, if records are. */
static void may_lack(struct fxt_figure *x, const struct fxt_report *report)
{
	uint64_t missing = fxt_calls_missing(report, false);

	if (missing)
		fxt_figure_may_be(x, x->value, FXT_ANY, fxt_calls_missing_why(missing));
}

/* Says that nothing is known of the figure if no event of its category was recorded. Returns whether so. */
static bool is_unrecorded(struct fxt_figure *x, const struct fxt_known *known, const char *category)
{
	if (fxt_figure_is_recorded(known, category))
		return false;
	fxt_figure_unrecorded(x, category, "");
	return true;
}

/* -- The run --------------------------------------------------------------------------------------- */

FXT_FIND(duration)
{
	(void)asked;
	fxt_figure_certain(x, fxt_rule_run_ns(known->report));
}

/* Sets the figure to the time that samples stand for. How many there are is left to chance, so the true time
 * lies within five deviations: a right figure is refused once in two million comparisons. */
static void find_sampled(struct fxt_figure *x, const struct fxt_asked *asked, const struct fxt_report *report)
{
	const struct fxt_call_tree *t = &report->processor.tree;
	uint64_t samples = 0, spread;

	for (size_t i = 0; i < t->function_count; i++) {
		char *name = fxt_sampled_function_label(report->r, &t->functions[i], SIZE_MAX);

		if (fxt_name_fits(asked->of, name))
			samples += t->functions[i].self;
		free(name);
	}
	if (!t->samples || !fxt_samples_ns(&report->processor, t->samples)) {
		fxt_figure_unknown(x, fxt_strdup("the trace has no samples of processor time"));
		return;
	}
	spread = (uint64_t)ceil(5 * sqrt((double)samples + 1));
	fxt_figure_certain(x, fxt_samples_ns(&report->processor, samples));
	fxt_figure_may_be(x, fxt_samples_ns(&report->processor, samples > spread ? samples - spread : 0),
			  fxt_samples_ns(&report->processor, samples + spread),
			  fxt_format("this is an estimate, from %s sample%s", fxt_count(samples).text,
				     samples == 1 ? "" : "s"));
}

FXT_FIND(cpu)
{
	const struct fxt_report *report = known->report;
	uint64_t ns = 0;

	if (asked->of) {
		find_sampled(x, asked, report);
		return;
	}
	for (size_t i = 0; i < report->processor.thread_count; i++)
		ns += report->processor.threads[i].times.running_ns;
	if (!report->processor.switches.switches) {
		fxt_figure_unknown(x, fxt_strdup("the trace has no context switches"));
		return;
	}
	fxt_figure_certain(x, ns);
	if (report->processor.lost_records)
		fxt_figure_may_be(x, ns, FXT_ANY, fxt_format("%s records of the kernel were lost",
							     fxt_count(report->processor.lost_records).text));
}

FXT_FIND(processes)
{
	(void)asked;
	fxt_figure_certain(x, fxt_overview_processes(&known->report->overview, known->report->r));
	may_lack(x, known->report);
}

FXT_FIND(threads)
{
	(void)asked;
	fxt_figure_certain(x, fxt_overview_threads(&known->report->overview, known->report->r));
	may_lack(x, known->report);
}

FXT_FIND(lost)
{
	const struct fxt_overview *o = &known->report->overview;
	const struct fxt_reader *r = known->report->r;
	uint64_t lost = fxt_overview_lost(o, FXT_LOSS_OVERWRITTEN) + o->kernel_lost + r->damaged_records;

	(void)asked;
	for (unsigned i = 0; i < FXT_DROP_COUNT; i++)
		lost += fxt_overview_lost(o, (enum fxt_loss_kind)i);
	fxt_figure_certain(x, lost);
	if (r->tail_bytes)
		fxt_figure_may_be(x, lost + 1, FXT_ANY,
				  fxt_format("the trace is cut off: %s bytes at its end cannot be read",
					     fxt_count(r->tail_bytes).text));
}

FXT_FIND(findings)
{
	uint64_t count = 0;

	for (size_t i = 0; i < known->findings->count; i++) {
		const struct fxt_rule *rule = known->findings->list[i].rule;
		char *label = fxt_rule_label(rule);

		count += asked->of ? fxt_name_fits(asked->of, label) : rule->gravity != FXT_IS_NOTE;
		free(label);
	}
	fxt_figure_certain(x, count);
	may_lack(x, known->report);
}

/* -- Memory and descriptors ------------------------------------------------------------------------ */

/* Says that a figure of the heap is not known, if it is not. A block of which one call is missing may be
 * there, gone, or of any size. */
static bool is_heap_unknown(struct fxt_figure *x, const struct fxt_known *known)
{
	const struct fxt_report *report = known->report;
	uint64_t missing = fxt_calls_missing(report, false), forgotten = 0;

	if (is_unrecorded(x, known, "malloc"))
		return true;
	for (size_t i = 0; i < report->heaps.count; i++)
		forgotten += report->heaps.list[i].forgotten_blocks;
	if (missing)
		fxt_figure_unknown(x, fxt_calls_missing_why(missing));
	else if (forgotten)
		fxt_figure_unknown(x, fxt_format("recording had stopped, and what became of %s blocks is not "
						 "known", fxt_count(forgotten).text));
	return missing || forgotten;
}

FXT_FIND(leaks)
{
	const struct fxt_heaps *heaps = &known->report->heaps;
	uint64_t blocks = 0;

	(void)asked;
	for (size_t i = 0; i < heaps->count; i++)
		blocks += heaps->list[i].live_blocks > heaps->list[i].library_blocks
				  ? heaps->list[i].live_blocks - heaps->list[i].library_blocks
				  : 0;
	if (!is_heap_unknown(x, known))
		fxt_figure_certain(x, blocks);
}

FXT_FIND(heap_peak)
{
	const struct fxt_heaps *heaps = &known->report->heaps;
	uint64_t most = 0;

	(void)asked;
	for (size_t i = 0; i < heaps->count; i++)
		most = heaps->list[i].peak_bytes > most ? heaps->list[i].peak_bytes : most;
	if (!is_heap_unknown(x, known))
		fxt_figure_certain(x, most);
}

/* Sets the figure to what stacks with a function asked for: all of it, or what is left. */
static void find_asked_for(struct fxt_figure *x, const struct fxt_asked *asked, const struct fxt_known *known,
			   bool is_left)
{
	const struct fxt_heap_stacks *h = &known->report->heap_stacks;
	unsigned __int128 bytes = 0;
	bool is_estimate = !h->process_count, is_his;
	uint64_t most;

	if (is_heap_unknown(x, known))
		return;
	for (size_t i = 0; i < h->process_count; i++)
		is_estimate |= h->processes[i].has_blocks && !fxt_heap_is_exact(&h->processes[i]);
	for (size_t i = 0; i < h->count; i++) {
		const struct fxt_heap_stack *one = &h->list[i];

		if (one->is_mapping)
			continue;
		is_his = fxt_figure_has_caller(known->report, asked, FXT_FOR_HEAP, one->innermost);
		bytes += is_his ? is_left ? one->left.bytes : one->all.bytes : 0;
	}
	most = bytes < FXT_ANY ? (uint64_t)bytes : FXT_ANY;
	if (!is_estimate)
		fxt_figure_certain(x, most);
	else if (!h->process_count)
		fxt_figure_unknown(x, fxt_strdup("no call of the heap has a stack"));
	else
		fxt_figure_unknown(x, fxt_format("this is an estimate, about %s: with FXT_STACKS=malloc each "
						 "call has a stack", fxt_bytes(most).text));
}

FXT_FIND(heap_left)
{
	const struct fxt_heaps *heaps = &known->report->heaps;
	uint64_t bytes = 0;

	if (asked->by) {
		find_asked_for(x, asked, known, true);
		return;
	}
	for (size_t i = 0; i < heaps->count; i++)
		bytes += fxt_heap_left(&heaps->list[i]);
	if (!is_heap_unknown(x, known))
		fxt_figure_certain(x, bytes);
}

FXT_FIND(heap_allocated)
{
	const struct fxt_heaps *heaps = &known->report->heaps;
	uint64_t bytes = 0;

	if (asked->by) {
		find_asked_for(x, asked, known, false);
		return;
	}
	for (size_t i = 0; i < heaps->count; i++)
		bytes += heaps->list[i].allocated_bytes;
	if (is_unrecorded(x, known, "malloc"))
		return;
	fxt_figure_certain(x, bytes);
	may_lack(x, known->report);
}

FXT_FIND(descriptors)
{
	const struct fxt_descriptors *d = &known->report->descriptors;
	uint64_t missing = fxt_calls_missing(known->report, false), count = 0;

	(void)asked;
	for (size_t i = 0; i < d->count; i++)
		count += d->list[i].count;
	if (is_unrecorded(x, known, "io"))
		return;
	if (missing) {
		fxt_figure_unknown(x, fxt_calls_missing_why(missing));
		return;
	}
	fxt_figure_certain(x, count);
	if (d->unknown)
		fxt_figure_may_be(x, count, count + d->unknown,
				  fxt_format("what became of %s others is not known: recording stopped",
					     fxt_count(d->unknown).text));
}

/* -- Failures, waits and files --------------------------------------------------------------------- */

FXT_FIND(failures)
{
	const struct fxt_report *report = known->report;
	struct fxt_asked calls = {.quantity = asked->quantity, .of = asked->of};
	uint64_t count = 0;

	for (size_t i = 0; i < report->failures.count; i++) {
		const struct fxt_failure *one = &report->failures.list[i];
		char *name = fxt_call_label(report->r, one->category, one->name, SIZE_MAX);

		count += !asked->of || fxt_name_fits(asked->of, name) ? one->count : 0;
		free(name);
	}
	/* Whether there would be such a call is known by the number of those that were made. */
	if (asked->of && !count) {
		fxt_find_figure_count(x, &calls, known);
		if (!x->is_known || x->value == 0)
			return;
		fxt_figure_free(x);
		*x = (struct fxt_figure){0};
	}
	fxt_figure_certain(x, count);
	may_lack(x, report);
}

struct wait_sums {
	uint64_t count, total_ns, max_ns;
};

static bool is_waited_for(const struct fxt_asked *asked, const struct fxt_wait *wait)
{
	char *name;
	bool fits;

	if (!asked->of || fxt_name_fits(asked->of, wait->kind))
		return true;
	if (!wait->label)
		return false;
	name = fxt_wait_name(wait->kind, wait->label);
	fits = fxt_name_fits(asked->of, wait->label) || fxt_name_fits(asked->of, name);
	free(name);
	return fits;
}

/* Returns false if nothing is known of waits: the figure says so. */
static bool sum_waits(struct fxt_figure *x, const struct fxt_asked *asked, const struct fxt_known *known,
		      struct wait_sums *sums)
{
	const struct fxt_waits *w = &known->report->waits;

	*sums = (struct wait_sums){0};
	for (size_t i = 0; i < w->count; i++) {
		if (!is_waited_for(asked, &w->list[i]))
			continue;
		sums->count += w->list[i].count;
		sums->total_ns += w->list[i].total_ns;
		sums->max_ns = w->list[i].max_ns > sums->max_ns ? w->list[i].max_ns : sums->max_ns;
	}
	return sums->count || !is_unrecorded(x, known, "pthread");
}

FXT_FIND(waits)
{
	struct wait_sums sums;

	if (!sum_waits(x, asked, known, &sums))
		return;
	fxt_figure_certain(x, sums.total_ns);
	may_lack(x, known->report);
}

FXT_FIND(wait_count)
{
	struct wait_sums sums;

	if (!sum_waits(x, asked, known, &sums))
		return;
	fxt_figure_certain(x, sums.count);
	may_lack(x, known->report);
}

FXT_FIND(wait_longest)
{
	struct wait_sums sums;

	if (!sum_waits(x, asked, known, &sums))
		return;
	fxt_figure_certain(x, sums.max_ns);
	may_lack(x, known->report);
}

static void find_bytes(struct fxt_figure *x, const struct fxt_asked *asked, const struct fxt_known *known,
		       enum fxt_file_use use)
{
	const struct fxt_files *files = &known->report->files;
	uint64_t bytes = 0, unsaid = 0;

	for (size_t i = 0; i < files->count; i++) {
		const struct fxt_file *file = &files->list[i];

		if (asked->of && !fxt_name_fits(asked->of, file->label))
			continue;
		bytes += use == FXT_FILE_READ ? file->in_bytes : file->out_bytes;
		unsaid += file->uses[use] ? file->uses[use]->unsaid : 0;
	}
	if (!bytes && is_unrecorded(x, known, "io"))
		return;
	fxt_figure_certain(x, bytes);
	may_lack(x, known->report);
	if (unsaid)
		fxt_figure_may_be(x, bytes, FXT_ANY,
				  fxt_format("%s calls do not say how many bytes they moved",
					     fxt_count(unsaid).text));
}

FXT_FIND(bytes_read)
{
	find_bytes(x, asked, known, FXT_FILE_READ);
}

FXT_FIND(bytes_written)
{
	find_bytes(x, asked, known, FXT_FILE_WRITE);
}
