/* The rules, by the rows of rules.def, and what several of them ask. */
#ifndef FXT_TOOLS_RULES_H
#define FXT_TOOLS_RULES_H

#include "finding.h"

/* What a finding of a rule is. This is the first thing by which findings are put in order. */
enum fxt_gravity {
	FXT_IS_NOTE,                    /* no fault: where the time of a sound program goes */
	FXT_IS_HAZARD,                  /* it has cost nothing this time */
	FXT_IS_COST,                    /* it costs time, memory or calls */
	FXT_IS_END,                     /* the program did not do what it is for */
	FXT_GRAVITIES
};

struct fxt_rule {
	const char *symbol;             /* the name, with _ in place of - */
	enum fxt_gravity gravity;
	double least;                   /* the threshold */
	const char *unit;
	const char *says;               /* a sentence for docs/findings.md */
	void (*find)(const struct fxt_report *report, struct fxt_findings *f);
};

#define RULE(name, gravity, least, unit, says) \
	void fxt_find_##name(const struct fxt_report *report, struct fxt_findings *f);
#include "rules.def"
#undef RULE

/* The place of each rule in fxt_rules. */
enum {
#define RULE(name, gravity, least, unit, says) FXT_RULE_##name,
#include "rules.def"
#undef RULE
	FXT_RULES
};
extern const struct fxt_rule fxt_rules[FXT_RULES];

/* The threshold of a rule, as its row has it. */
#define FXT_LEAST(name) (fxt_rules[FXT_RULE_##name].least)

/* Returns the name of a rule, which the caller frees: "held-lock". */
char *fxt_rule_label(const struct fxt_rule *rule);
/* The word for a gravity. */
extern const char *const fxt_gravity_names[FXT_GRAVITIES];

/* Returns the time of the whole run. */
uint64_t fxt_rule_run_ns(const struct fxt_report *report);
/* Returns so much time as percent of the run. */
double fxt_rule_percent(const struct fxt_report *report, uint64_t ns);
/* Returns the process that the run began with, or 0 if the trace has none. */
uint64_t fxt_rule_first_process(const struct fxt_report *report);
/* The calls of some names by one function. */
struct fxt_rule_calls {
	uint64_t total_ns, count;       /* of all of these calls, whoever made them */
	uint32_t innermost;             /* the stack that has most of their time, or FXT_NO_FRAME */
	uint64_t key;                   /* of that call: fxt_call_key() */
	uint64_t by_ns, by_count;       /* of the calls with a stack, those of that function */
	char *name;                     /* the call that took longest, which the caller frees; or NULL */
};

/* Sums up the calls of these names; the list ends with NULL. */
struct fxt_rule_calls fxt_rule_calls(const struct fxt_report *report, const char *const *names);
/* Returns "app 1234", which the caller frees. One that has left no name before it ended is "process 1235 (a
 * child of app 1234)". */
char *fxt_rule_process(const struct fxt_report *report, uint64_t pid);

#endif
