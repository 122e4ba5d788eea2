/* Takes what libbabeltrace2 says of CTF traces, in the order of time, and writes the records that the agent
 * would have written. What CTF does not tell is left out. */
#ifndef FXT_TOOLS_IMPORT_EVENTS_H
#define FXT_TOOLS_IMPORT_EVENTS_H

#include "import_fields.h"
#include "import_open.h"

struct fxt_import_class; /* what events of a class become: import_lttng.c */
struct fxt_import_own; /* what is known of traces that fxt convert has written: import_own.c */

struct fxt_import_events {
	FILE *file;
	struct fxt_import_out out;
	bool has_begun;                 /* the trace's clock is known */
	int64_t offset_ns;              /* of the clock, from its origin */
	bool is_offset_known, is_epoch;
	struct fxt_import_locks locks;
	bool is_unsure;                 /* until this time some events are missing */
	uint64_t unsure_until_ns;
	struct fxt_import_fields fields;
	struct fxt_map by_class;        /* class of events -> place in `classes` */
	struct fxt_import_class *classes;
	size_t class_count, class_capacity;
	/* stream -> what it has counted as lost, now and at the most */
	struct fxt_map lost;
	uint64_t without_process;
	struct fxt_import_own *own;
};

/* Takes any message. `context` is a struct fxt_import_events of which only `file` is set at first. See
 * fxt_import_take. */
char *fxt_import_events_take(void *context, const bt_message *message);

/* Writes what is still open, after all messages. */
void fxt_import_events_end(struct fxt_import_events *e);
void fxt_import_events_free(struct fxt_import_events *e);

#endif
