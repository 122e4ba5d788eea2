/* fxt report: tells of locks that were taken in both orders, or along a longer circle. That may end in a
 * deadlock, although it did not this time. Deadlocks that did come about are the business of
 * report_contention.c. The work is done in tools/locks/. */
#ifndef FXT_TOOLS_REPORT_LOCK_ORDER_H
#define FXT_TOOLS_REPORT_LOCK_ORDER_H

#include <stdio.h>

#include "tools/analysis/objects.h"
#include "tools/analysis/overview.h"
#include "tools/locks/lock_circles.h"
#include "tools/locks/lock_scan.h"
#include "tools/printing/handle.h"

struct fxt_lock_orders {
	struct fxt_lock_scan scan;
	struct fxt_map places;          /* the locks that may be in circles: see lock_scan.h */
	struct fxt_lock_replay replay;
	struct fxt_lock_circles circles;
};

/* Returns whether a call of this name may be one that counts here. */
static inline bool fxt_lock_orders_want(struct fxt_lock_orders *o, struct fxt_reader *r,
					const struct fxt_record *rec)
{
	return fxt_lock_call_moves(fxt_lock_call(&o->scan.calls, r, &rec->name));
}

/* Takes a finished call, in the order of the file. */
static inline void fxt_lock_orders_take(struct fxt_lock_orders *o, struct fxt_reader *r,
					const struct fxt_record *rec)
{
	fxt_lock_scan_take(&o->scan, r, rec);
}

/* A chunk begins: the trace has a thread record. */
static inline void fxt_lock_orders_chunk(struct fxt_lock_orders *o)
{
	fxt_lock_scan_chunk(&o->scan);
}

/* Finds the circles. All events have been taken, and `overview` is not finished yet. */
void fxt_lock_orders_finish(struct fxt_lock_orders *o, struct fxt_reader *r,
			    const struct fxt_objects *objects, struct fxt_call_stacks *stacks,
			    const struct fxt_overview *overview);
/* Prints the circles, about `top` lines. Times are counted from `since_ns`. */
void fxt_lock_orders_print(const struct fxt_lock_orders *o, const struct fxt_reader *r, uint64_t since_ns,
			   bool with_process, size_t top, FILE *out);
/* Prints one of them. */
void fxt_lock_orders_print_one(const struct fxt_lock_orders *o, size_t place, const struct fxt_reader *r,
			       uint64_t since_ns, bool with_process, FILE *out);
/* Returns the name of the lock that the circle's order `i` has first. The caller frees it. */
char *fxt_lock_orders_name(const struct fxt_lock_orders *o, const struct fxt_lock_circle *circle, size_t i);
/* Returns the handle of the lock that was taken first. */
struct fxt_handle fxt_lock_order_handle(const struct fxt_lock_orders *o, const struct fxt_lock_order *order,
					const struct fxt_reader *r);
void fxt_lock_orders_free(struct fxt_lock_orders *o);

struct fxt_json;
void fxt_lock_orders_json(const struct fxt_lock_orders *o, struct fxt_json *j, const struct fxt_reader *r);

#endif
