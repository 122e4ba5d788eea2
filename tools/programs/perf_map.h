/* Functions that a program has made while it ran, such as an interpreter's or a compiler's, by the file that
 * some of these write for perf: /tmp/perf-PID.map, with a line `START SIZE NAME` for each, in hexadecimal.
 * The witness names the kernel's samples by it, and join the agent's nodes.
 *
 * Anybody may make files in /tmp, and a PID is used again. So the file must be a regular one that belongs to
 * our own user, to root or to the process's user, and be newer than the process. Whatever is in it takes a
 * bounded time and amount of memory, and names are UTF-8.
 */
#ifndef FXT_TOOLS_PERF_MAP_H
#define FXT_TOOLS_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* The longest line that is read as a whole; of a longer one the end of the name is cut off. So much of a file
 * is read, and so many functions are kept: lines of node's have some 50 bytes. */
enum { FXT_PERF_MAP_LINE = 4096, FXT_PERF_MAP_FUNCTIONS = 1000000, FXT_PERF_MAP_BYTES = 128 << 20 };

struct fxt_made_function {
	uint64_t start, end;
	char *name;
};

/* A piece of memory, up to where the next one starts. */
struct fxt_made_piece {
	uint64_t start;
	uint32_t function;              /* the place of the last function that was made there; or none */
};

/* The functions of a process. All members are zero at first. */
struct fxt_perf_map {
	/* In the order of their lines: of two that overlap, the later one counts. */
	struct fxt_made_function *list;
	size_t count, capacity;
	struct fxt_made_piece *pieces;  /* by their addresses */
	size_t piece_count;
	uint64_t bytes;                 /* how much of the file was read */
	uint64_t looked_ns;             /* when it was looked for */
	uid_t user;                     /* the process's, if it is known */
	bool knows_user;
};

/* Reads whole lines from where the stream is. Lines that are none are passed over. */
void fxt_perf_map_read(struct fxt_perf_map *map, FILE *file);

/* Returns the name of the function that has the address, or NULL. The name lasts as long as the map. The file
 * of process `pid` is looked into again if it has grown, ten times a second at most. It is not used if it was
 * last changed before `since_ns`, by CLOCK_REALTIME_COARSE, which is what files get their times from; 0: its
 * age does not matter. */
const char *fxt_perf_map_find(struct fxt_perf_map *map, uint32_t pid, uint64_t since_ns, uint64_t address);

void fxt_perf_map_free(struct fxt_perf_map *map);

#endif
