/* Finds locks that threads took in different orders. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "rules.h"
#include "tools/printing/print.h"

static void print_rows(const struct fxt_report *report, const struct fxt_finding *x, FILE *out)
{
	fxt_lock_orders_print_one(&report->lock_orders, x->row, report->r, report->overview.first_ns,
				  report->has_processes, out);
}

void fxt_find_lock_order(const struct fxt_report *report, struct fxt_findings *f)
{
	const struct fxt_lock_orders *o = &report->lock_orders;

	for (size_t i = 0; i < o->circles.count; i++) {
		const struct fxt_lock_circle *circle = &o->circles.list[i];
		struct fxt_finding *x = fxt_finding_add(
			f, FXT_NO_FRAME, FXT_FOR_LOCK,
			"%zu locks were taken in different orders: a deadlock is possible", circle->count);

		for (size_t k = 0; k < circle->count; k++) {
			const struct fxt_lock_order *order = &circle->orders[k];
			char *first = fxt_lock_orders_name(o, circle, k);
			char *then = fxt_lock_orders_name(o, circle, (k + 1) % circle->count);
			char *who = fxt_thread_label(report->r, order->thread, report->has_processes);
			char *where = fxt_who_culprit(report->who, FXT_FOR_LOCK, order->innermost, 40);

			fxt_finding_evidence(x, "%s took %s, then %s%s%s, %s time%s", who, first, then,
					     where ? " in " : "", where ? where : "",
					     fxt_count(order->count).text, order->count == 1 ? "" : "s");
			x->cost_calls += order->count;
			/* Whoever has a stack is one of those to blame; all are told. */
			if (x->innermost == FXT_NO_FRAME)
				x->innermost = order->innermost;
			fxt_finding_stack(x, "took the second lock", FXT_FOR_LOCK, order->innermost);
			free(where);
			free(who);
			free(then);
			free(first);
		}
		x->row = i;
		x->print_rows = print_rows;
	}
}
