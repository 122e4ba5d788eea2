/* Finds the objects that the pointers of a trace stand for, as userspace object records tell. Report and dump
 * use this.
 *
 * An address is used for one object after another, and records are not in the order of time. So the
 * agent's records have an argument `since`, and hold from then until the next record of the same `type`
 * for the same address. An argument of an event stands for an object only if the argument may point to
 * an object of that type. A lock at the beginning of a heap block has the block's address, but free() is
 * not about the lock. Records of other writers have no `type` and are about any pointer, and without `since`
 * they are about the events behind them in the file. The name of a
 * block holds as long as the block's lifetime (block_lifetimes.h).
 */
#ifndef FXT_TOOLS_OBJECTS_H
#define FXT_TOOLS_OBJECTS_H

#include <stdio.h>

#include "tools/analysis/block_lifetimes.h"
#include "tools/reading/reader.h"

struct fxt_object {
	struct fxt_where at;
	uint64_t since_ns, offset;
	bool has_since;
	struct fxt_text type, name;     /* texts in the mapping */
	struct fxt_text path;           /* the path that a stream or directory was opened by; or empty */
	/* The name to show: functions and variables are as in their source. All objects of a name share
	 * it. */
	char *label;
};

/* The objects of a trace. When there are none, all members are zero. */
struct fxt_objects {
	struct fxt_object *list;        /* sorted */
	size_t count, capacity;
	char **labels;                  /* by symbol of the name; NULL: not made yet */
	size_t label_count, label_capacity;
	struct fxt_map by_pointer;      /* the first place in the list for each pointer */
	struct fxt_block_lives lives;
};

/* Finds all objects of a trace, in a pass of its own that looks at no events but asyncs. */
void fxt_objects_read(struct fxt_objects *o, const void *data, uint64_t size);
void fxt_objects_free(struct fxt_objects *o);

/* Returns the object that the argument of an event stood for at the time of the event, or NULL. */
const struct fxt_object *fxt_object_of(const struct fxt_objects *o, const struct fxt_reader *r,
				       const struct fxt_record *rec,
				       const struct fxt_argument *a);

/* Returns a key for tables of objects, which tells apart objects that had one address after another. It is a
 * number of its own for an object that the trace has a record about, and `otherwise` for any other, whose
 * `known` is NULL. */
uint64_t fxt_object_key(const struct fxt_objects *o, const struct fxt_object *known, uint64_t otherwise);

/* Returns a number for a pointer in a process, for tables that have only half of a key for both. Pointers
 * have fewer than 48 bits. The number has the lowest 16 bits of the process id. */
static inline uint64_t fxt_pointer_key(uint64_t pid, uint64_t pointer)
{
	return pid << 48 ^ pointer;
}

/* Prints an event's arguments with a space before each; after one that stands for an object comes its
 * name. */
void fxt_objects_put_arguments(const struct fxt_objects *o, const struct fxt_reader *r,
			       const struct fxt_record *rec, FILE *out);

#endif
