/* fxt report: tells how many calls of which instrumented functions were left out, by FXT_FILTER, FXT_DEPTH or
 * a threshold (docs/functions.md). The agent writes running totals, as instants, when a program ends or is
 * copied.
 */
#ifndef FXT_TOOLS_LEFT_OUT_H
#define FXT_TOOLS_LEFT_OUT_H

#include <stdio.h>

#include "tools/common/map.h"
#include "tools/reading/reader.h"

struct fxt_left_out_function {
	uint32_t name;                  /* symbol */
	uint64_t calls, ns;
};

struct fxt_left_out {
	/* totals by provider and function; function UINT32_MAX stands for all that have no instant */
	struct fxt_map totals, others;
	/* after fxt_left_out_sort(): the function that was called most first */
	struct fxt_left_out_function *list;
	size_t count, capacity;
	uint64_t other_calls, other_ns, other_functions;
};

struct fxt_json;

/* Takes any event. */
void fxt_left_out_take(struct fxt_left_out *l, struct fxt_reader *r, const struct fxt_record *rec);
void fxt_left_out_sort(struct fxt_left_out *l);
/* Returns how many calls of functions were left out, once they are sorted. */
uint64_t fxt_left_out_calls(const struct fxt_left_out *l);
/* Prints one line, or nothing if no function was left out. */
void fxt_left_out_print(const struct fxt_left_out *l, const struct fxt_reader *r, FILE *out);
void fxt_left_out_json(const struct fxt_left_out *l, const struct fxt_reader *r, struct fxt_json *j);
void fxt_left_out_free(struct fxt_left_out *l);

#endif
