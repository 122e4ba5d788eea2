/* Descriptors and streams that one thread closed while another was in a call on them. The number may be
 * another file's the next moment.
 *
 * Memory is taken for each number that a call waited on, and for each close in use.
 */
#ifndef FXT_TOOLS_CLOSED_IN_USE_H
#define FXT_TOOLS_CLOSED_IN_USE_H

#include "tools/analysis/call_stacks.h"
#include "tools/waits/call_roles.h"

/* One such close. */
struct fxt_closed_in_use {
	uint64_t object;                /* descriptor, or address of the stream */
	bool is_stream;
	uint32_t name;                  /* symbol of the call that was in progress */
	uint32_t closer, user;          /* places in fxt_reader.threads */
	uint32_t closed_in, used_in;    /* innermost nodes of their stacks, or FXT_NO_FRAME */
	uint64_t after_ns;              /* how long the call went on */
};

/* When nothing has been taken, all members are zero. */
struct fxt_closes_in_use {
	struct fxt_closed_in_use *list;
	size_t count, capacity;
	/* Provider and object -> the end of the call on it that ends last so far, and where its record is. */
	struct fxt_map uses;
	struct fxt_map vforked;         /* threads that have called vfork() */
};

/* Takes an instant, before all else: a child of vfork() closes descriptors of its own, in the name of the
 * thread that made it. So of threads that call it nothing is told. */
void fxt_closes_vfork(struct fxt_closes_in_use *c, const struct fxt_record *rec);
/* Takes a finished call that uses or closes a descriptor, in the order in which they began. */
void fxt_closes_take(struct fxt_closes_in_use *c, struct fxt_reader *r, struct fxt_call_stacks *stacks,
		     const struct fxt_record *rec, const struct fxt_role *role);
void fxt_closes_free(struct fxt_closes_in_use *c);

#endif
