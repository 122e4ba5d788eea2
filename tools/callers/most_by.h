/* Who made most of the calls of one row: of one name, on one file, or that failed with one error. Calls that
 * were slow have stacks, and some of the others were drawn; if such are among them, what is said is an
 * estimate, and has its deviation.
 */
#ifndef FXT_TOOLS_MOST_BY_H
#define FXT_TOOLS_MOST_BY_H

#include <stdio.h>

#include "tools/callers/stack_sums.h"

struct fxt_json;

/* Calls that took less, in all, are not worth a line on who made them. */
enum { FXT_WORTH_A_CALLER_NS = 400 * 1000 };

/* Returns the share of a whole that a sum is, with its deviation, as in "~66% +-5". */
struct fxt_short fxt_most_by_share(const struct fxt_stack_sum *sum, uint64_t whole);
/* Prints a line on who has most of the sums of a key, if that is a quarter of `whole` or more; and his whole
 * stack, if `is_whole`. */
void fxt_most_by_print(const struct fxt_stack_sums *s, uint64_t key, struct fxt_who *who,
		       enum fxt_purpose purpose, uint64_t whole, bool is_whole, FILE *out);
/* Adds the member `most_by`, if a stack is known. `is_time` says that the sums are times. */
void fxt_most_by_json(struct fxt_json *j, const struct fxt_stack_sums *s, uint64_t key, struct fxt_who *who,
		      enum fxt_purpose purpose, bool is_time);

#endif
