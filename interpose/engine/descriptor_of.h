/* The descriptor of a stream, for what closes both. */
#ifndef FXT_DESCRIPTOR_OF_H
#define FXT_DESCRIPTOR_OF_H

#include <errno.h>
#include <stdio.h>

/* -1: it has none. errno stays. */
static inline int descriptor_of(FILE *stream)
{
	int error = errno, fd = fileno_unlocked(stream);

	errno = error;
	return fd;
}

#endif
