/* The windows in which programs lost records, as their threads tell when they can write again. */
#ifndef FXT_TOOLS_LOSS_SPANS_H
#define FXT_TOOLS_LOSS_SPANS_H

#include <stddef.h>
#include <stdint.h>

/* A window of one process: its threads lose records at the same time as a rule. */
struct fxt_loss_span {
	uint64_t pid, from_ns, to_ns, records;
};

/* Before the first window all members are zero. */
struct fxt_loss_spans {
	struct fxt_loss_span *list;
	size_t count, capacity;
	uint64_t gap_ns;                /* what lies closer together is one window */
};

/* Adds what a thread tells, in any order. Memory is bounded: of very many windows those that are close
 * together become one. */
void fxt_loss_spans_add(struct fxt_loss_spans *s, const struct fxt_loss_span *span);

/* Joins windows of a process that overlap or nearly do, and sorts them by process and time. */
void fxt_loss_spans_sort(struct fxt_loss_spans *s);

/* Returns the windows of a process after fxt_loss_spans_sort(), and how many there are. */
const struct fxt_loss_span *fxt_loss_spans_of(const struct fxt_loss_spans *s, uint64_t pid, size_t *count);

void fxt_loss_spans_free(struct fxt_loss_spans *s);

#endif
