/* What a joined trace has for Perfetto, decoded and as lines of text, for tests that know what it should be:
 *
 *	sample TIME PID/TID cpu CPU MODE STACK
 *	heap PID ALLOCATED-FREED in BLOCKS-FREED STACK			in the end
 *	peak at TIME PID ALLOCATED-FREED in BLOCKS-FREED STACK		until a peak
 */
#ifndef FXT_TESTS_PERFETTO_FOUND_H
#define FXT_TESTS_PERFETTO_FOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/common/map.h"
#include "tools/perfetto/perfetto_trace.pb-c.h"

struct lines {
	char **list;
	size_t count, capacity;
};

/* Adds a line, which the lines own from then on. */
void add(struct lines *l, char *line);

/* Fails unless both have the same lines, in any order. */
void compare(struct lines *drawn, struct lines *got);

void free_lines(struct lines *l);

/* The packets of all blob records, and places of what has an iid. */
extern struct found {
	Perfetto__Trace *traces[2000];
	size_t trace_count, record_count;
	struct fxt_map names, paths, mappings, frames, stacks;
	struct lines lines;
	struct lines heap;              /* of the dump that is being read, and its time */
	uint64_t heap_ns;
	uint64_t next_index;
	bool is_begun, is_continued, has_clocks;
} found;

/* Decodes the blob of a trace. Each record of it has whole packets, and is small enough. */
void find(const unsigned char *trace, uint64_t bytes);

void free_found(void);

#endif
