/* The arguments of a page's slices, in columns that the page unpacks when somebody asks.
 *
 * The arguments of a record are a path in a tree: each node is an argument with its name and type behind
 * those before it. A slice has the number of the last node, and each node has a column with the values of all
 * slices that pass it, in the order in which the slices are written. So a value costs what it differs from
 * the one before, and names and types cost nothing.
 *
 * Stacks are numbers of nodes of a table of functions, and pointers to something that the trace has a name
 * for are numbers in a table of these.
 */
#ifndef FXT_TOOLS_DETAILS_H
#define FXT_TOOLS_DETAILS_H

#include "columns.h"
#include "timeline.h"
#include "tools/report/report.h"

/* How a column's values are written, as the page's script knows it. */
enum fxt_detail_type {
	FXT_DETAIL_NONE,        /* it has no value */
	FXT_DETAIL_SIGNED,      /* the difference to the one before */
	FXT_DETAIL_UNSIGNED,    /* ... and is read as unsigned */
	FXT_DETAIL_POINTER,     /* ... and in hexadecimal */
	FXT_DETAIL_REAL,        /* 8 bytes */
	FXT_DETAIL_TEXT,        /* place in `texts` */
	FXT_DETAIL_BOOL,
	FXT_DETAIL_STACK,       /* place in `frames` plus 1; 0: none */
	FXT_DETAIL_OBJECT,      /* place in `objects` */
};

struct fxt_detail_node {
	uint32_t parent;
	uint32_t name;          /* place in `texts` */
	enum fxt_detail_type type;
	struct fxt_column values;
	uint64_t last;
};

/* The longest slice that has a stack: where a finding about that stack is shown. */
struct fxt_detail_moment {
	uint32_t track;
	uint64_t start_ns, end_ns;
};

struct fxt_details {
	const struct fxt_report *report;
	struct fxt_detail_node *nodes;          /* the first stands for no arguments */
	size_t node_count, node_capacity;
	struct fxt_map children;                /* node, and name and type -> node */
	struct fxt_map by_text;                 /* symbol -> place in `texts` */
	uint32_t *texts;                        /* symbols */
	size_t text_count, text_capacity;
	struct fxt_map by_frame;                /* place of a stack's node -> place in `frames` */
	uint32_t *frames;                       /* places of the report's nodes, callers before callees */
	size_t frame_count, frame_capacity;
	struct fxt_map by_object;
	const struct fxt_object **objects;
	uint64_t *pointers;
	size_t object_count, object_capacity, pointer_capacity;
	struct fxt_map by_stack;                /* place of a stack's node -> place in `moments` */
	struct fxt_detail_moment *moments;
	size_t moment_count, moment_capacity;
};

void fxt_details_begin(struct fxt_details *d, const struct fxt_report *report);
/* Takes the arguments of a slice of the track, and returns the number of their node. */
uint32_t fxt_details_take(struct fxt_details *d, uint32_t track, const struct fxt_slice *slice);
/* Returns the longest slice with this stack, or NULL. */
const struct fxt_detail_moment *fxt_details_moment(const struct fxt_details *d, uint32_t innermost);
/* Writes the members about arguments, and puts all columns into one. */
void fxt_details_write(struct fxt_details *d, struct fxt_json *j, struct fxt_column *all);
void fxt_details_free(struct fxt_details *d);

#endif
