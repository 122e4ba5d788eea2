/* The budget of what recording may cost a program (--budget, FXT_BUDGET). A manager keeps it for each
 * provider of a streaming session: it counts the events that it saves, and multiplies them by the price of
 * one. If that is more than so much of the rest of the program's processor time, the category with the most
 * events is given up: the provider is stopped, and started again without it. An instant in the trace says so,
 * and a counter has the sums. Categories are given up until the budget is kept, and do not come back.
 */
#ifndef FXT_TOOLS_BUDGET_H
#define FXT_TOOLS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fxt_client;
struct fxt_session;

/* Categories have small string indices, because their names are the same in all programs. */
enum { FXT_BUDGET_CATEGORIES = 256, FXT_BUDGET_TEXT_BYTES = 200, FXT_CATEGORY_NAME_BYTES = 24 };

/* This is what is known of one provider's cost. At first all members are zero. */
struct fxt_budget {
	uint64_t events[FXT_BUDGET_CATEGORIES]; /* by category, since the last look */
	uint64_t cpu_ns;                /* the process's processor time at the last look; 0: there was none */
	uint64_t cost_ns, used_ns;      /* the sums of both since the provider was started first */
	char given_up[FXT_BUDGET_TEXT_BYTES];   /* "-malloc,pthread"; empty: nothing */
	bool steps;                     /* the provider is stopped to be started without a category */
};

/* Reads "2%" or "0.5%": *budget is in hundredths of a percent. Returns NULL, or what is wrong with it, which
 * the caller frees. */
char *fxt_budget_read(const char *text, unsigned *budget);

/* Reads FXT_BUDGET in the same way; *budget stays as it is if it is not set. */
char *fxt_budget_of_environment(unsigned *budget);

/* Begins to look at what the provider costs: it is about to record. */
void fxt_budget_begin(struct fxt_client *p);
/* Counts the events among these words, which were saved. */
void fxt_budget_count(struct fxt_budget *budget, const uint64_t *words, size_t count);
/* Looks at what the provider has cost since the last look, and writes that to the archive. Returns whether
 * the provider has to be stopped, to be started again without the categories in `given_up`. */
bool fxt_budget_is_passed(struct fxt_client *p, struct fxt_session *session);

#endif
