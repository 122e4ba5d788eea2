/* The library of crashes.c, whose functions have no frame pointers. */
#ifndef CRASHES_LIBRARY_H
#define CRASHES_LIBRARY_H

/* Calls `go` with the rest of a path, from a function of the library. */
void crashes_library(const char *rest, void (*go)(const char *));

void go(const char *rest);

#endif
