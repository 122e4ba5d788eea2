/* Figures of a report by name: "heap.peak", "count(read by load)". Limits are about them (tools/limits/).
 *
 * Each figure is what the report's tables say, and is taken from the sums that they are made of. The trace
 * may not tell all of it: records were lost, a call has no stack, or the value is an estimate. So a figure
 * also has the least and the most that it may be, and says why these differ.
 */
#ifndef FXT_TOOLS_FIGURES_H
#define FXT_TOOLS_FIGURES_H

#include "tools/findings/finding.h"

enum fxt_unit { FXT_UNIT_NUMBER, FXT_UNIT_NS, FXT_UNIT_BYTES };

/* How a call is chosen by a function: not at all; by the function that made it, which is the one that the
 * tables name; or by any function on its stack. */
enum fxt_figure_by { FXT_BY_NOBODY, FXT_BY_CULPRIT, FXT_BY_ANY_CALLER };

struct fxt_quantity;

/* What is asked for. */
struct fxt_asked {
	const struct fxt_quantity *quantity;
	char *of;                       /* a call, lock, file, function or rule; NULL: all of them */
	enum fxt_figure_by how;
	char *by;                       /* a function; NULL: whoever it was */
};

/* What there is to know of one trace. */
struct fxt_known {
	const struct fxt_report *report;
	const struct fxt_findings *findings;
	/* Categories that are known to be recorded, as FXT_CATEGORIES takes them: without an event of one
	 * there was no such call. NULL: only those with events are. */
	const char *recorded;
};

#define FXT_ANY UINT64_MAX              /* the most that a figure may be, if nothing bounds it */

struct fxt_figure {
	bool is_known;                  /* `value` means something */
	uint64_t value, low, high;
	char *doubt;                    /* why `low` and `high` differ; or NULL */
	char *remark;                   /* what else whoever reads the value should know; or NULL */
};

/* Reads "count(read by load)". Returns NULL, or what is wrong with it and what is accepted, which the caller
 * frees. */
char *fxt_asked_parse(struct fxt_asked *asked, const char *text);
void fxt_asked_free(struct fxt_asked *asked);
enum fxt_unit fxt_asked_unit(const struct fxt_asked *asked);
/* Returns whether the report has to keep durations by stacks (fxt_report_options) for this figure. */
bool fxt_asked_needs_durations(const struct fxt_asked *asked);

/* Finds the figure. fxt_figure_free() ends its texts. */
void fxt_figure_find(struct fxt_figure *x, const struct fxt_asked *asked, const struct fxt_known *known);
void fxt_figure_free(struct fxt_figure *x);

/* -- Between the files of figures ------------------------------------------------------------------ */

/* What the argument of a quantity names. */
enum fxt_figure_of {
	FXT_OF_NOTHING, FXT_OF_CALL, FXT_OF_LOCK, FXT_OF_FILE, FXT_OF_FUNCTION, FXT_OF_RULE
};

struct fxt_quantity {
	const char *name;
	enum fxt_unit unit;
	enum fxt_figure_of of;
	bool needs_of;                  /* there is no sum over all */
	bool has_by;
	void (*find)(struct fxt_figure *x, const struct fxt_asked *asked, const struct fxt_known *known);
	double percent;                 /* of a percentile */
	const char *says;               /* a sentence for docs/trace-limits.md */
};

/* quantities.c. The list ends with a name of NULL. */
extern const struct fxt_quantity fxt_quantities[];

/* figures.c. Returns how a quantity is written: "count(CALL [by FUNCTION])". The caller frees it. */
char *fxt_quantity_form(const struct fxt_quantity *q);
/* Returns whether a name is what was asked for: the same, or it fits the pattern. */
bool fxt_name_fits(const char *pattern, const char *name);
/* Sets a figure that is certain. */
void fxt_figure_certain(struct fxt_figure *x, uint64_t value);
/* Says that nothing is known of the figure, and why. Takes the text. */
void fxt_figure_unknown(struct fxt_figure *x, char *why);
/* Makes the figure less certain, and adds the reason. Takes the text. */
void fxt_figure_may_be(struct fxt_figure *x, uint64_t low, uint64_t high, char *why);
/* Returns how many records of calls are missing: any of them may have been any call. */
uint64_t fxt_calls_missing(const struct fxt_report *report, bool are_functions);
/* Returns why they are: "1 204 records were lost"; the caller frees it. */
char *fxt_calls_missing_why(uint64_t calls);

/* figure_calls.c. Returns whether the category was recorded, as far as that is known: it has events, or
 * known->recorded has it. */
bool fxt_figure_is_recorded(const struct fxt_known *known, const char *category);
/* Says that nothing is known of the figure because it was not. `hint` stands behind that. */
void fxt_figure_unrecorded(struct fxt_figure *x, const char *category, const char *hint);

/* Returns whether the function that was asked for is on a stack, as it was asked for. */
bool fxt_figure_has_caller(const struct fxt_report *report, const struct fxt_asked *asked,
			   enum fxt_purpose purpose, uint32_t innermost);

/* Quantities: figure_calls.c has the first group, figure_sums.c the second. */
#define FXT_FIND(name) \
	void fxt_find_figure_##name(struct fxt_figure *x, const struct fxt_asked *asked, \
				    const struct fxt_known *known)
FXT_FIND(count);
FXT_FIND(total);
FXT_FIND(longest);
FXT_FIND(percentile);

FXT_FIND(duration);
FXT_FIND(cpu);
FXT_FIND(processes);
FXT_FIND(threads);
FXT_FIND(lost);
FXT_FIND(findings);
FXT_FIND(leaks);
FXT_FIND(heap_peak);
FXT_FIND(heap_left);
FXT_FIND(heap_allocated);
FXT_FIND(descriptors);
FXT_FIND(failures);
FXT_FIND(waits);
FXT_FIND(wait_count);
FXT_FIND(wait_longest);
FXT_FIND(bytes_read);
FXT_FIND(bytes_written);

#endif
