/* Knows which calls did not wait, however long they took. A call says so itself, by a flag such as
 * MSG_DONTWAIT, a timeout of 0 or the error EAGAIN; or its descriptor is in non-blocking mode. The mode
 * of a descriptor is known only in the order of time. So the pass of report that follows descriptors
 * marks such calls, and the sections about waits ask for the marks afterwards.
 */
#ifndef FXT_TOOLS_NO_WAIT_H
#define FXT_TOOLS_NO_WAIT_H

#include "tools/waits/call_roles.h"

struct fxt_files;

/* The marks of calls. When nothing is marked, all members are zero. */
struct fxt_no_wait {
	uint8_t *marks;                 /* a bit for each word of the file; NULL: nothing is marked */
};

/* Takes a finished call whose role is of the family FD, in the order of time, and marks it if its
 * descriptor says that it cannot have waited. `files` has followed descriptors up to this call. */
void fxt_no_wait_take(struct fxt_no_wait *n, const struct fxt_reader *r, const struct fxt_record *rec,
		      const struct fxt_role *role, struct fxt_files *files);

/* Returns whether the call itself says that it did not wait: by its arguments, or by its error. */
bool fxt_says_no_wait(const struct fxt_record *rec);
/* Returns whether a call with this name and arguments like these can say that. */
bool fxt_may_say_no_wait(const struct fxt_record *rec);

/* Returns whether the finished call at this offset was marked. */
bool fxt_is_marked_no_wait(const struct fxt_no_wait *n, uint64_t offset);

void fxt_no_wait_free(struct fxt_no_wait *n);

#endif
