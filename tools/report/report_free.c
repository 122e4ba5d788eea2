/* fxt report: gives back what a report took. See report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "report.h"

void fxt_report_free(struct fxt_report *report)
{
	fxt_roles_free(&report->roles);
	fxt_overview_free(&report->overview);
	fxt_calls_free(&report->calls);
	fxt_calls_free(&report->agent);
	fxt_waits_free(&report->waits);
	fxt_contention_free(&report->contention);
	fxt_lock_orders_free(&report->lock_orders);
	fxt_budget_steps_free(&report->budget);
	fxt_left_out_free(&report->left_out);
	fxt_gaps_free(&report->gaps);
	fxt_heaps_free(&report->heaps);
	fxt_leaks_free(&report->leaks);
	fxt_heap_stacks_free(&report->heap_stacks);
	fxt_heap_askers_free(&report->askers);
	fxt_map_free(&report->makers);
	fxt_failures_free(&report->failures);
	fxt_stack_sums_free(&report->call_stacks);
	fxt_stack_sums_free(&report->wait_stacks);
	fxt_who_free(report->who);
	free(report->who);
	fxt_files_free(&report->files);
	fxt_log_free(&report->log);
	fxt_calls_in_progress_free(&report->open);
	fxt_descriptors_free(&report->descriptors);
	fxt_threads_free(&report->threads);
	fxt_chains_free(&report->chains);
	fxt_blocked_threads_free(&report->blocked);
	fxt_order_free(&report->order);
	fxt_order_free(&report->ends);
	fxt_no_wait_free(&report->no_wait);
	fxt_map_free(&report->cut);
	fxt_ends_free(&report->process_ends);
	fxt_objects_free(&report->objects);
	fxt_processor_time_free(&report->processor);
	free(report->chosen);
}
