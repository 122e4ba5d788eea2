/* Findings on a page: what it needs to show each where it happened. See finding.h and tools/page/page.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "finding.h"
#include "tools/common/message.h"
#include "tools/page/page.h"

static void put_findings(const void *context, const struct fxt_report *report, struct fxt_json *j)
{
	fxt_findings_json(context, report, j);
}

void fxt_findings_page(const struct fxt_findings *f, const struct fxt_report *report, const char *title,
		       size_t most_slices, FILE *out)
{
	struct fxt_page_finding *list = fxt_alloc(f->count + 1, sizeof(*list));
	struct fxt_page page = {
		.report = report,
		.title = title,
		.most_slices = most_slices,
		.findings = list,
		.finding_count = f->count,
		.put_findings = put_findings,
		.context = f,
	};

	for (size_t i = 0; i < f->count; i++) {
		const struct fxt_finding *x = &f->list[i];

		list[i].what = x->what;
		if (x->innermost != FXT_NO_FRAME)
			list[i].stacks[list[i].stack_count++] = x->innermost;
		for (unsigned k = 0; k < x->stack_count; k++)
			list[i].stacks[list[i].stack_count++] = x->stacks[k].innermost;
	}
	fxt_page_write(&page, out);
	free(list);
}
