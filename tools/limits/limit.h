/* fxt check --limit: what a trace has to keep to, as "heap.peak < 24MB". A limit is a figure (figures.h), a
 * comparison and a value with its unit. It is met if the figure is sure to keep to it, and broken if the
 * figure is sure not to; if the trace does not tell, it is neither, and never counts as met.
 */
#ifndef FXT_TOOLS_LIMIT_H
#define FXT_TOOLS_LIMIT_H

#include "tools/check/check.h"
#include "tools/figures/figures.h"

struct fxt_json;

enum fxt_comparison { FXT_LESS, FXT_AT_MOST, FXT_MORE, FXT_AT_LEAST, FXT_EQUAL, FXT_NOT_EQUAL };

struct fxt_limit {
	const char *text;               /* as the user has written it */
	struct fxt_asked asked;
	enum fxt_comparison comparison;
	uint64_t value;
	const char *unit;               /* the unit that it was given in; "": none */
	uint64_t scale;                 /* how much one of these is */
};

enum fxt_verdict { FXT_MET, FXT_BROKEN, FXT_UNTOLD, FXT_VERDICTS };
extern const char *const fxt_verdict_names[FXT_VERDICTS];

/* What became of a limit in one trace. */
struct fxt_limit_result {
	const struct fxt_limit *limit;
	struct fxt_figure figure;
	enum fxt_verdict verdict;
};

struct fxt_limits {
	struct fxt_limit *list;
	size_t count, capacity;
	const char *recorded;           /* the value of --recorded, or NULL */
};

/* What became of all of them in one trace. */
struct fxt_limit_results {
	struct fxt_limit_result *list;
	size_t count;
	bool is_read;                   /* the trace could be read */
	char *not_seen;                 /* what the trace says that it does not have, in lines; or NULL */
};

/* Adds a limit. Returns NULL, or what is wrong with the text, which the caller frees. */
char *fxt_limits_add(struct fxt_limits *limits, const char *text);
void fxt_limits_free(struct fxt_limits *limits);

/* Returns the verdict on a figure. */
enum fxt_verdict fxt_limit_verdict(const struct fxt_limit *limit, const struct fxt_figure *figure);

/* Examines a trace. */
void fxt_limits_examine(const struct fxt_limits *limits, const char *path, struct fxt_limit_results *results);
/* Returns whether all limits are met. */
bool fxt_limits_all_met(const struct fxt_limit_results *results);
void fxt_limit_results_free(struct fxt_limit_results *results);

/* limits_print.c. Returns the figure in the unit of the limit, and what doubt there is. The caller frees the
 * text. */
char *fxt_limit_found(const struct fxt_limit_result *one);
/* Prints a line for each limit, and writes them as the member `limits`. */
void fxt_limits_print(const struct fxt_limit_results *results, FILE *out);
void fxt_limits_json(const struct fxt_limit_results *results, struct fxt_json *j);

/* The subcommand fxt check: see tools/common/command.h. */
int fxt_command_check(int argc, char **argv);

/* junit.c. A file in the form of JUnit, which the machines that run tests read: a suite for each trace, a
 * case for each limit, and one for the rules of the format. */
struct fxt_junit {
	FILE *out;                      /* of the suites, until all are there */
	char *text;
	size_t bytes;
	unsigned suites, tests, failures, errors;
};

void fxt_junit_begin(struct fxt_junit *junit);
void fxt_junit_suite(struct fxt_junit *junit, const char *path, const struct fxt_check *c,
		     const struct fxt_limit_results *results);
/* Writes the file. Returns false after a message if that fails. */
bool fxt_junit_end(struct fxt_junit *junit, const char *path);

#endif
