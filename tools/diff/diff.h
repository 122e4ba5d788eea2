/* fxt diff: what differs between two versions of a program, or between two of its runs. Each side is one
 * trace or several, of which each is a run.
 *
 * diff_take.c makes figures of each run's report: of calls, waits, functions, memory, files, faults. A
 * thing is the same in all runs if it has the same name, as handles are made of names
 * (tools/printing/handle.h); numbers of processes and addresses are no part of it. diff_compare.c says
 * which figures have changed: those that are the same in all runs of a side and differ between the sides,
 * and those whose runs differ by more than chance explains. diff_print.c and diff_json.c show them, the
 * most costly first.
 */
#ifndef FXT_TOOLS_DIFF_H
#define FXT_TOOLS_DIFF_H

#include <stdio.h>

#include "tools/findings/finding.h"
#include "tools/export/weighed_stacks.h"

/* What a thing is. */
enum fxt_diff_kind {
	FXT_DIFF_RUN,                   /* the run as a whole */
	FXT_DIFF_CALL,
	FXT_DIFF_FAILURE,               /* a call and an error */
	FXT_DIFF_WAIT,                  /* a lock or another object that threads waited for */
	FXT_DIFF_FUNCTION,              /* a function that had a processor */
	FXT_DIFF_HEAP,                  /* a function that asked for memory */
	FXT_DIFF_PROGRAM,               /* the heap of all processes of a program */
	FXT_DIFF_FILE,
	FXT_DIFF_LEFT_OPEN,             /* descriptors of a kind that were left open */
	FXT_DIFF_MADE,                  /* threads or children that a function made */
	FXT_DIFF_FINDING,
	FXT_DIFF_CATEGORY,              /* a category that one side alone has events of */
	FXT_DIFF_KINDS
};
extern const char *const fxt_diff_kind_names[FXT_DIFF_KINDS];

/* What there is to know of things. */
enum fxt_diff_quantity {
	FXT_DIFF_TIME,
	FXT_DIFF_CPU,
	/* Of this time, what lies on the run's critical path. It claims nothing and only puts things in
	 * order: what a thread that nobody waits for does takes long and costs nothing. */
	FXT_DIFF_PATH,
	FXT_DIFF_COUNT,
	FXT_DIFF_BYTES_LEFT,            /* never freed */
	FXT_DIFF_BYTES_PEAK,
	FXT_DIFF_BYTES_ASKED,
	FXT_DIFF_BYTES_READ,
	FXT_DIFF_BYTES_WRITTEN,
	FXT_DIFF_QUANTITIES
};
extern const char *const fxt_diff_quantity_names[FXT_DIFF_QUANTITIES];

enum fxt_diff_verdict {
	FXT_DIFF_SAME,                  /* as far as anybody can tell */
	FXT_DIFF_PERHAPS,               /* it differs, and there are too few runs to tell that from noise */
	FXT_DIFF_CHANGED
};

/* One figure of a thing, in all runs. */
struct fxt_diff_figure {
	double *values;                 /* by run; NULL: no run has it */
	bool is_noisy;                  /* chance has a part in it, as in all times */
	/* set by fxt_diff_compare() */
	double a, b;                    /* medians of the sides */
	/* The difference as a part of the run's time, or of the most memory. That of a number has no such
	 * part: it is the part of the larger one, times the thing's weight. */
	double share;
	bool is_tested;                 /* by the rank test, so that `p` means something */
	double p;                       /* how likely chance makes so much, among all that were tested */
	bool is_each;                   /* all runs of a side have the same value, and the sides differ */
	enum fxt_diff_verdict verdict;
};

/* The category of samples of processor time. They are no calls. */
#define FXT_DIFF_SAMPLES "sample"

struct fxt_diff_thing;
struct fxt_diff_hash;

struct fxt_diff_thing {
	enum fxt_diff_kind kind;
	char *name;
	struct fxt_handle handle;       /* "": it has none that is the same in all runs */
	uint32_t parent;                /* of a call by a function: the call's place; or FXT_DIFF_NONE */
	uint32_t category;              /* of a call: the category's place; or FXT_DIFF_NONE */
	double weight;                  /* what a change of a number from nothing is worth: see share */
	struct fxt_diff_figure figures[FXT_DIFF_QUANTITIES];
	/* set by fxt_diff_compare(): the figure that has changed most, and by how much things are put in
	 * order */
	enum fxt_diff_quantity main;
	enum fxt_diff_verdict verdict;
	double score;
	uint32_t by;                    /* of a call: the thing of it by the function that changed most */
};
#define FXT_DIFF_NONE UINT32_MAX

struct fxt_diff_run {
	const char *path;
	uint64_t lost;                  /* records of calls that are missing */
	bool has_path;                  /* its critical path is known */
	bool is_read;
};

struct fxt_diff {
	struct fxt_diff_run *runs;      /* those of side A come first */
	size_t run_count, a_count;
	const char *per;                /* figures are divided by the number of these calls, or NULL */
	struct fxt_diff_thing *things;
	size_t count, capacity;
	struct fxt_diff_hash *hash;
	uint32_t *order;                /* places of things that differ: what cost most is first */
	size_t order_count;
	size_t compared;                /* noisy figures that were compared with each other */
	size_t changed;                 /* things that have changed */
};

/* diff_take.c: takes a run's figures. */
void fxt_diff_take(struct fxt_diff *d, size_t run, const struct fxt_findings *f,
		   const struct fxt_report *report);

/* diff_things.c: returns the place of a thing, which is made if it is new, and adds to a figure of it.
 * The name is copied. */
uint32_t fxt_diff_thing(struct fxt_diff *d, enum fxt_diff_kind kind, const char *name, uint32_t parent);
void fxt_diff_add(struct fxt_diff *d, uint32_t thing, enum fxt_diff_quantity quantity, size_t run,
		  double value);
/* Says that chance has a part in a figure. */
void fxt_diff_noisy(struct fxt_diff *d, uint32_t thing, enum fxt_diff_quantity quantity);
void fxt_diff_free(struct fxt_diff *d);

/* diff_compare.c: finds what has changed. All runs were taken. Returns NULL, or why they cannot be
 * compared, which the caller frees. */
char *fxt_diff_compare(struct fxt_diff *d);
/* Returns the run as a whole. */
struct fxt_diff_thing *fxt_diff_whole(const struct fxt_diff *d);
/* Returns whether there are too few runs to tell differences of times from noise: of all that are compared,
 * and of the run as a whole, which is one. */
bool fxt_diff_has_few_runs(const struct fxt_diff *d);
bool fxt_diff_has_very_few_runs(const struct fxt_diff *d);
/* Returns how many runs a side are enough, if both sides have as many. */
size_t fxt_diff_enough_runs(const struct fxt_diff *d);

/* diff_folded.c: the stacks of both sides, as other tools draw them: a flame graph of the difference. */
struct fxt_diff_folded {
	struct fxt_stacks_output to;
	struct fxt_diff_stack *stacks;
};

/* Adds the stacks of a run, and writes a line for each stack: "process;outermost;...;innermost A B", with the
 * means of both sides. The latter returns false after a message if that fails, or if no run has a stack. */
void fxt_diff_folded_take(struct fxt_diff_folded *f, const struct fxt_diff *d, size_t run,
			  const struct fxt_report *report);
bool fxt_diff_folded_write(struct fxt_diff_folded *f);
void fxt_diff_folded_free(struct fxt_diff_folded *f);

void fxt_diff_print(const struct fxt_diff *d, size_t top, FILE *out);
void fxt_diff_json(const struct fxt_diff *d, FILE *out);

/* The subcommand fxt diff: see tools/common/command.h. */
int fxt_command_diff(int argc, char **argv);

#endif
