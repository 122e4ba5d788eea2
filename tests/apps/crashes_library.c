/* See crashes_library.h. */
#include "crashes_library.h"

static volatile int done;

static __attribute__((noinline)) void library_inner(const char *rest, void (*next)(const char *))
{
	volatile char room[40];

	room[0] = *rest;
	next(rest);
	done += room[0];
}

void crashes_library(const char *rest, void (*next)(const char *))
{
	library_inner(rest, next);
	done++;
}
