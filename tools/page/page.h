/* A page that shows a trace: fxt report --html and fxt view. It is one file that needs nothing else: the
 * findings, a timeline, and flame graphs, drawn by a script of ours (view.js) that is in it.
 *
 * No text of the trace is in the page's markup. All of it is in packed blocks, and the script puts it on
 * canvas or into text nodes, so a name cannot become markup or script.
 */
#ifndef FXT_TOOLS_PAGE_H
#define FXT_TOOLS_PAGE_H

#include <stdio.h>

#include "tools/report/report.h"

/* The slices that a page has, if nobody says otherwise. */
enum { FXT_PAGE_SLICES = 4000000 };

/* Where a finding is to be shown: at the longest call with one of these stacks, else at the process or thread
 * whose number is in the text. */
struct fxt_page_finding {
	const char *what;
	uint32_t stacks[16];
	unsigned stack_count;
};

struct fxt_page {
	const struct fxt_report *report;
	const char *title;
	size_t most_slices;
	const struct fxt_page_finding *findings;
	size_t finding_count;
	/* prints the member `findings` */
	void (*put_findings)(const void *context, const struct fxt_report *report, struct fxt_json *j);
	const void *context;
};

/* Writes the page. The stream's error is the caller's to find. */
void fxt_page_write(const struct fxt_page *page, FILE *out);

#endif
