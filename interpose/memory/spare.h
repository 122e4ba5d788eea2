/* Makes the calls that unmap or change a range of addresses, without the agent's own mappings there
 * (writer/place.h), which no program knows of. What else is in the range is the program's, and is treated as
 * it asks for. Any context may call these functions. */
#ifndef FXT_SPARE_H
#define FXT_SPARE_H

#include "interpose/engine/interpose.h"

/* Returns whether there may be something to spare. Then the call has to be made by fxt_spare_make(). A range
 * that the kernel refuses anyway needs nothing. */
bool fxt_spare_begin(const void *address, size_t length);

/* Makes munmap(), mprotect(), pkey_mprotect(), madvise(), or mmap() with MAP_FIXED or MAP_FIXED_NOREPLACE, in
 * pieces. Leaves the result and errno as one call would have. */
long fxt_spare_make(struct fxt_by_number *call);

/* Returns whether mremap() would move a mapping of the agent, or replace one. It cannot be made in pieces, so
 * it fails then: errno says that there is nothing to move, or that addresses are short. A call without
 * MREMAP_FIXED has no `new_address`. */
bool fxt_spare_refuses_resize(const void *old_address, size_t old_size, const void *new_address,
			      size_t new_size);

#endif
