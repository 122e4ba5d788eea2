/* fxt report: what the section on the critical path (tools/critical/critical.h) is made of. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "report.h"
#include "tools/common/message.h"

/* The deviation of so many samples is a third of them. Of traces in which no kernel sampled all are known. */
enum { LEAST_SAMPLES = 8 };

void fxt_report_critical(struct fxt_report *report)
{
	const struct fxt_thread_times *times = &report->threads;
	struct fxt_critical_life *lives = fxt_alloc(times->count ? times->count : 1, sizeof(*lives));
	struct fxt_critical *c = &report->critical;
	size_t count = 0;

	for (size_t i = 0; i < times->count; i++) {
		const struct fxt_thread_time *t = &times->list[i];

		if (t->has_events || t->is_told)
			lives[count++] = (struct fxt_critical_life){
				t->thread, t->first_ns, t->last_ns, t->open != 0};
	}
	c->least_samples = report->processor.hz ? LEAST_SAMPLES : 0;
	/* Of a part of the categories no path can be told, and other tracers have other arrows. */
	if (!report->options.categories && !report->processor.is_foreign &&
	    !fxt_overview_is_foreign(&report->overview, report->r))
		fxt_critical_finish(c, report->r, report->who, lives, count, report->overview.first_ns);
	for (size_t i = 0; i < c->count; i++)
		if (c->things[i].kind == FXT_CRITICAL_FILE)
			c->things[i].label = fxt_strdup(report->files.list[c->things[i].key].label);
	for (unsigned loss = 0; loss < FXT_LOSS_COUNT; loss++)
		c->lacks_events |= fxt_overview_lost(&report->overview, loss) > 0;
	free(lives);
}
