/* Which calls did not wait, however long they took. A call says so itself: by a flag such as MSG_DONTWAIT, a timeout of 0, or the error
 * EAGAIN. Or its descriptor says so, by its non-blocking mode. Which mode a descriptor is in is known in the order of time alone, so the
 * pass of report that follows descriptors marks such calls, and everything that tells of waits asks afterwards.
 */
#ifndef FXT_TOOLS_NO_WAIT_H
#define FXT_TOOLS_NO_WAIT_H

#include "call_roles.h"

struct fxt_files;

/* All zero is the beginning. */
struct fxt_no_wait {
	uint8_t *marks;                 /* a bit for each word of the file; NULL: nothing is marked */
};

/* A finished call of the family FD, in the order of time: `files` has followed descriptors up to it. */
void fxt_no_wait_take(struct fxt_no_wait *n, const struct fxt_reader *r, const struct fxt_record *rec,
		      const struct fxt_role *role, struct fxt_files *files);

/* Returns whether the finished call cannot have waited. `role` may be NULL: nothing is known of the call. */
bool fxt_did_not_wait(const struct fxt_no_wait *n, const struct fxt_record *rec, const struct fxt_role *role);

void fxt_no_wait_free(struct fxt_no_wait *n);

#endif
