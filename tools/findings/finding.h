/* Findings: what is wrong with a program, and who is to blame, before any table. A finding is what one rule
 * says of one thing. fxt report begins with the most costly ones.
 *
 * A rule is a function fxt_find_NAME() in a file of its own (find_NAME.c) and a row of rules.def. It reads
 * the finished report, which the tables read as well, so that a finding and a table never have two figures
 * for one thing. What a rule needs that a section keeps to itself, the section tells by a function.
 *
 *	F1  a.out 4711 waited 1.20 s for a lock, 61% of the run: mutex of pool_create
 *	    by rebuild_cache (cache.c:120) < serve (serve.c:33) < main (main.c:8)
 *	    36 waits, the longest 80.1 ms
 */
#ifndef FXT_TOOLS_FINDING_H
#define FXT_TOOLS_FINDING_H

#include <stdio.h>

#include "tools/report/report.h"

struct fxt_rule;

enum {
	FXT_FINDING_EVIDENCE = 6,       /* lines of evidence that a finding may have; the text shows three */
	FXT_FINDING_STACKS = 8,         /* stacks that it may stand on besides the culprit's */
	FXT_FINDINGS_SHOWN = 7,         /* findings that the report begins with */
};

/* A stack that a finding stands on besides the culprit's, and what it is of: "wanted by". */
struct fxt_finding_stack {
	char *of;
	enum fxt_purpose purpose;
	uint32_t innermost;
};

struct fxt_finding {
	const struct fxt_rule *rule;
	char *what;                     /* what is wrong, in one line */
	/* the culprit: the innermost node of the stack, or FXT_NO_FRAME: it is not known */
	uint32_t innermost;
	enum fxt_purpose purpose;
	char *culprit;                  /* his name and line where there is no such stack; or NULL */
	char *evidence[FXT_FINDING_EVIDENCE];   /* the figures that make it a fault, the most telling first */
	unsigned evidence_count;
	struct fxt_finding_stack stacks[FXT_FINDING_STACKS];
	unsigned stack_count;
	/* What it costs, as far as the rule knows: time of the run's clock, memory, and calls. */
	uint64_t cost_ns, cost_bytes, cost_calls;
	/* The part of the run, or of the memory, that it costs: 0 to 1. If the rule sets none, it follows
	 * from cost_ns and cost_bytes. */
	double share;
	struct fxt_handle about;        /* of the lock, file or thread that it is about; "": none */
	const char *sure;               /* NULL: it is certain. "likely" or "possible" */
	/* Prints the rows of tables that it stands on, or NULL: it has none. `row` is for this function. */
	void (*print_rows)(const struct fxt_report *report, const struct fxt_finding *x, FILE *out);
	size_t row;
};

/* The findings, once all rules have run: the most costly first. */
struct fxt_findings {
	struct fxt_finding *list;
	size_t count, capacity;
	uint64_t off;                   /* a bit for each rule that the user has switched off */
};

/* -- For rules ------------------------------------------------------------------------------------ */

/* Adds a finding of the rule that runs, and returns it. It stays at its address until the next is added. */
struct fxt_finding *fxt_finding_add(struct fxt_findings *f, uint32_t innermost, enum fxt_purpose purpose,
				    const char *what, ...) __attribute__((format(printf, 4, 5)));
/* Adds a line of evidence. More than FXT_FINDING_EVIDENCE are left out. */
void fxt_finding_evidence(struct fxt_finding *x, const char *line, ...) __attribute__((format(printf, 2, 3)));
/* Adds a stack besides the culprit's, unless it is FXT_NO_FRAME. */
void fxt_finding_stack(struct fxt_finding *x, const char *of, enum fxt_purpose purpose, uint32_t innermost);

/* -- For the command ------------------------------------------------------------------------------ */

/* Takes the value of --findings: rules to switch off, as "-contention,-leak". Returns NULL, or what is wrong
 * with it, which the caller frees. */
char *fxt_findings_switch(uint64_t *off, const char *list);
/* Runs the rules that are not in `off`. */
void fxt_findings_make(struct fxt_findings *f, const struct fxt_report *report, uint64_t off);
void fxt_findings_free(struct fxt_findings *f);
/* Returns whether one of them is a fault. Others say where the time went. */
bool fxt_findings_has_fault(const struct fxt_findings *f);

/* Prints the report: its first lines, the findings, and the tables. */
void fxt_findings_print_report(const struct fxt_findings *f, const struct fxt_report *report, FILE *out);
/* Prints the finding or the thing with this handle ("F2", "T4k2e") and all that is known of it. `path` is the
 * trace's. Returns NULL, or a message that there is none, which the caller frees. */
char *fxt_findings_explain(const struct fxt_findings *f, const struct fxt_report *report, const char *handle,
			   const char *path, FILE *out);
/* Prints a finding as the first lines of the report do. */
void fxt_findings_print_one(const struct fxt_findings *f, size_t place, const struct fxt_report *report,
			    FILE *out);
/* Returns whether this is the handle of a finding, and sets *place. */
bool fxt_findings_place(const struct fxt_findings *f, const char *handle, size_t *place);
/* Returns a message that the report has no such handle, and which it has. The caller frees it. */
char *fxt_findings_no_handle(const struct fxt_findings *f, const struct fxt_report *report,
			     const char *handle);
/* Prints the member `findings`, which has all of them. */
void fxt_findings_json(const struct fxt_findings *f, const struct fxt_report *report, struct fxt_json *j);
/* Prints the report as JSON. */
void fxt_findings_json_report(const struct fxt_findings *f, const struct fxt_report *report, FILE *out);

/* Writes a page with the findings and all that happened: tools/page/page.h. It has at most so many slices. */
void fxt_findings_page(const struct fxt_findings *f, const struct fxt_report *report, const char *title,
		       size_t most_slices, FILE *out);
/* Makes the report and the findings of a trace, and has `use` read them. Processes that had one number in
 * turn are told apart. Lines of source are looked up whatever the options say. Returns false after a message
 * if the trace cannot be opened. */
typedef void fxt_findings_use(const struct fxt_findings *f, const struct fxt_report *report, void *context);
bool fxt_findings_of_trace(const char *path, const struct fxt_report_options *options, fxt_findings_use *use,
			   void *context);
/* Returns the first finding of a trace, "F1 held across a wait: ...", if it is a fault or `also_note`; or
 * NULL. */
char *fxt_findings_first(const char *path, bool also_note);

/* The subcommand `fxt report`: see tools/common/command.h. */
int fxt_command_report(int argc, char **argv);

#endif
