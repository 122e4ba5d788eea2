/* What the kernel tells of a descriptor in its file below /proc, which costs some microseconds. Any context;
 * nothing is told to a process with a filter of its system calls, or on a short stack.
 */
#ifndef FXT_FDINFO_H
#define FXT_FDINFO_H

#include <stdbool.h>
#include <stdint.h>

struct fxt_fdinfo {
	char text[512];                 /* lines of a field's name, a colon, and what it is */
};

/* False: it does not tell. */
bool fxt_fdinfo_read(struct fxt_fdinfo *info, int fd);

/* The number in the line of `field`, in so many digits' notation; false: there is none. */
bool fxt_fdinfo_number(const struct fxt_fdinfo *info, const char *field, unsigned base, uint64_t *number);

#endif
