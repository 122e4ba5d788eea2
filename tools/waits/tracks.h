/* Counters, asyncs and flows of traces that other tracers wrote, for fxt report. Those of our agent are told
 * in the sections that they belong to: lifetimes, waits, the heap.
 *
 * All three are taken in the order of time. A counter's series is one argument of one id. An async lasts from
 * its begin to the end of the same id, category and name; those of one name may nest. A flow leads from a
 * thread to the next thread that has a step or an end of the same id, category and name.
 */
#ifndef FXT_TOOLS_TRACKS_H
#define FXT_TOOLS_TRACKS_H

#include <stdio.h>

#include "tools/common/map.h"
#include "tools/printing/json.h"
#include "tools/reading/reader.h"

struct fxt_series {
	uint64_t pid, id;
	uint32_t category, name, argument;      /* symbols */
	uint64_t samples;
	double least, most, sum, last;
};

struct fxt_async_sum {
	uint32_t category, name;        /* symbols */
	uint64_t ended, total_ns, longest_ns;
	uint64_t open;                  /* begun, and not ended at the end of the trace */
};

struct fxt_flow_sum {
	uint32_t category, name, from, to;      /* symbols, and places in fxt_reader.threads */
	uint64_t count, total_ns, longest_ns;
};

struct fxt_open_async;

/* When nothing has been taken, all members are zero. */
struct fxt_tracks {
	struct fxt_series *series;
	size_t series_count, series_capacity;
	struct fxt_async_sum *asyncs;
	size_t async_count, async_capacity;
	struct fxt_flow_sum *flows;
	size_t flow_count, flow_capacity;
	struct fxt_map ids;             /* process and id of a counter -> a number for both, from 1 up */
	struct fxt_map processes;       /* process -> its number, from 1 up */
	struct fxt_map series_of;       /* number and category, name and argument -> place from 1 up */
	struct fxt_map async_of;        /* category and name -> place from 1 up */
	struct fxt_map open_of;         /* id, process and place in asyncs -> the last begin, from 1 up */
	struct fxt_map flow_of;         /* name and category, threads -> place from 1 up */
	struct fxt_map flying;          /* id, name and category -> thread and time of the last step */
	struct fxt_open_async *open;
	size_t open_count, open_capacity;
	size_t unused;                  /* the first place of those that have ended, from 1 up; 0: none */
};

/* Reads the events of the trace, after `r` has read to the end. `wants` says whether a category is chosen. */
typedef bool fxt_tracks_wants(void *context, const struct fxt_text *category);
void fxt_tracks_read(struct fxt_tracks *t, struct fxt_reader *r, fxt_tracks_wants *wants, void *context);

void fxt_tracks_print(const struct fxt_tracks *t, const struct fxt_reader *r, bool with_process, size_t top,
		      FILE *out);
void fxt_tracks_json(const struct fxt_tracks *t, const struct fxt_reader *r, struct fxt_json *j);
void fxt_tracks_free(struct fxt_tracks *t);

#endif
