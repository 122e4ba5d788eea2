/* What the pointers of a trace stand for: objects that userspace object records name. Used by report and dump.
 *
 * An address is used for one object after another, and records are not in the order of time: those of the agent have an argument
 * `since`, and hold until the next of the same `type` for the same address. An argument of an event stands for an object only if it
 * is of a type that it may point to: a lock at the beginning of a heap block has the block's address, and free() is not about the lock.
 * Records without `type`, of other writers, are about any pointer. The name of a block is for as long as the block's lifetime (block_lifetimes.h).
 */
#ifndef FXT_TOOLS_OBJECTS_H
#define FXT_TOOLS_OBJECTS_H

#include <stdio.h>

#include "block_lifetimes.h"
#include "tools/reading/reader.h"

struct fxt_object {
	struct fxt_where at;
	uint64_t since_ns, offset;
	struct fxt_text type, name;     /* in the mapping */
	struct fxt_text path;           /* what a stream or directory was opened by; or empty */
	char *label;                    /* the name for people: functions and variables as in their source; one for all of a name */
};

/* All zero is the beginning. */
struct fxt_objects {
	struct fxt_object *list;        /* sorted */
	size_t count, capacity;
	char **labels;                  /* by symbol of the name, or NULL */
	size_t label_count, label_capacity;
	struct fxt_map by_pointer;      /* the first of each */
	struct fxt_block_lives lives;
};

/* Finds all of a trace, in a pass of its own that looks at no event but asyncs. */
void fxt_objects_read(struct fxt_objects *o, const void *data, uint64_t size);
void fxt_objects_free(struct fxt_objects *o);

/* What the argument of an event stands for, when the event was; NULL. */
const struct fxt_object *fxt_object_of(const struct fxt_objects *o, const struct fxt_reader *r, const struct fxt_record *rec,
				       const struct fxt_argument *a);

/* An event's arguments, a space before each, and behind those that stand for something its name. */
void fxt_objects_put_arguments(const struct fxt_objects *o, const struct fxt_reader *r, const struct fxt_record *rec, FILE *out);

#endif
