/* Functions that a program has made while it ran, such as an interpreter's or a compiler's, by the file that
 * some of these write for perf: /tmp/perf-PID.map, with a line `START SIZE NAME` for each, in hexadecimal. */
#ifndef FXT_TOOLS_PERF_MAP_H
#define FXT_TOOLS_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct fxt_made_function {
	uint64_t start, end;
	char *name;
	size_t line;                    /* of two that overlap, the later one counts */
};

/* The functions of a process, by their addresses. All members are zero at first. */
struct fxt_perf_map {
	struct fxt_made_function *list;
	size_t count, capacity;
	uint64_t bytes;                 /* how much of the file was read */
	uint64_t looked_ns;             /* when it was looked for */
};

/* Reads whole lines from where the stream is. Lines that are none are passed over. */
void fxt_perf_map_read(struct fxt_perf_map *map, FILE *file);

/* Returns the name of the function that has the address, or NULL. The file of process `pid` is looked into
 * again if it has grown, ten times a second at most. */
const char *fxt_perf_map_find(struct fxt_perf_map *map, uint32_t pid, uint64_t address);

void fxt_perf_map_free(struct fxt_perf_map *map);

#endif
