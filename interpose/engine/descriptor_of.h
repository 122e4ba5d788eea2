/* The descriptor of a FILE, for wrappers that close both. */
#ifndef FXT_DESCRIPTOR_OF_H
#define FXT_DESCRIPTOR_OF_H

#include <errno.h>
#include <stdio.h>

/* Returns the descriptor, or -1 if the stream has none or is NULL, which endmntent() takes. errno stays as it
 * is. */
static inline int descriptor_of(FILE *stream)
{
	int error = errno, fd = stream ? fileno_unlocked(stream) : -1;

	errno = error;
	return fd;
}

#endif
