/* Reads what the kernel tells of a descriptor in /proc/self/fdinfo, which costs some microseconds. May be
 * called in any context; but nothing is read in a process with a filter of its system calls, or on a short
 * stack.
 */
#ifndef FXT_FDINFO_H
#define FXT_FDINFO_H

#include <stdbool.h>
#include <stdint.h>

struct fxt_fdinfo {
	char text[512];                 /* lines with a field's name, a colon and its value */
};

/* Reads what the kernel tells of `fd`. Returns false if it could not be read. */
bool fxt_fdinfo_read(struct fxt_fdinfo *info, int fd);

/* Reads the value of `field`, a number to the given base (10 or 16), into *number. Returns false if there is
 * none. */
bool fxt_fdinfo_number(const struct fxt_fdinfo *info, const char *field, unsigned base, uint64_t *number);

#endif
