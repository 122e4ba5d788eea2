/* What a page draws over time: tracks with slices, moments and points, and arrows between them.
 *
 * fxt_timeline_read() visits a trace once (tools/export/visit.h) and keeps of each event what a picture
 * needs; its arguments are decoded again when they are written. A track is a thread, a processor, the
 * lifetimes of one kind in a process, or a counter. Afterwards each track's slices lie in rows, in which none
 * covers another, and are sorted by row and time.
 *
 * The number of slices is bounded. When there are more, the shortest are left out, and each track counts its
 * own. So memory does not grow with the trace beyond that, but for names and tracks.
 */
#ifndef FXT_TOOLS_TIMELINE_H
#define FXT_TOOLS_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/analysis/demangle.h"
#include "tools/reading/reader.h"

/* A call, function, lifetime, or stretch of a thread on a processor. A moment ends when it begins. */
struct fxt_slice {
	uint64_t start_ns, end_ns;
	uint64_t offset;        /* of the record that has its arguments */
	uint32_t name;          /* place in fxt_timeline.names */
	uint32_t provider;      /* index */
	uint32_t row;
	bool has_arguments;     /* there may be some at `offset` */
	bool is_open;           /* no end was recorded: it ends where the program's records end */
};

struct fxt_slices {
	struct fxt_slice *list;
	size_t count, capacity;
	uint64_t left_out;      /* they were among the shortest, or more of them overlap than have rows */
	size_t row_count;
};

struct fxt_point {
	uint64_t at_ns;
	union {
		int64_t i;
		double f;
	};
};

enum fxt_track_kind { FXT_TRACK_THREAD, FXT_TRACK_PROCESSOR, FXT_TRACK_LIFETIMES, FXT_TRACK_COUNTER };

struct fxt_track {
	enum fxt_track_kind kind;
	uint64_t pid;                   /* koid; 0: of no process */
	uint32_t thread;                /* of a thread: place in fxt_reader.threads */
	uint32_t name;                  /* of lifetimes and counters: place in fxt_timeline.names */
	uint32_t series;                /* of a counter: symbol of the argument; 0: what `label` says */
	const char *label;              /* of a track that the trace has no name for; else NULL */
	unsigned cpu;
	bool is_real;                   /* the points are floating */
	struct fxt_slices slices, moments;
	struct fxt_point *points;
	size_t point_count, point_capacity;
};

struct fxt_arrow {
	uint64_t from_ns, to_ns;
	uint32_t from, to;              /* places of tracks */
	uint32_t name;
};

struct fxt_label {
	uint32_t category, name;        /* symbols */
	uint32_t thread;                /* of the names on processors: that thread; else UINT32_MAX */
};

struct fxt_timeline {
	struct fxt_reader *r;
	struct fxt_track *tracks;
	size_t track_count, track_capacity;
	struct fxt_arrow *arrows;       /* sorted by where they begin */
	size_t arrow_count, arrow_capacity;
	uint64_t arrows_without_end;
	struct fxt_label *labels;
	size_t label_count, label_capacity;
	uint64_t first_ns, last_ns;     /* of all that is drawn */
	size_t slice_count, most_slices;
	uint64_t least_ns;              /* slices shorter than this are left out */
	bool is_whole;                  /* it was read to its end: it is neither damaged nor cut short */
	uint64_t left_out, left_out_short;      /* all; of them, those that were among the shortest */
	/* while it is read */
	struct fxt_map by_track, by_label, by_flow, by_async, by_tid;
	struct fxt_open_call *open;
	size_t open_count, open_capacity;
	uint64_t *provider_last_ns;     /* by provider's index */
	size_t provider_count, provider_capacity;
};

/* Reads all that `r` reads, from its beginning. `most` is how many slices are kept. */
void fxt_timeline_read(struct fxt_timeline *t, struct fxt_reader *r, size_t most);
/* Puts the slices of all tracks in rows. */
void fxt_timeline_nest(struct fxt_timeline *t);
/* Returns the place of a track of points that the caller fills. */
uint32_t fxt_timeline_points(struct fxt_timeline *t, uint64_t pid, const char *label);
void fxt_track_add_point(struct fxt_track *track, uint64_t at_ns, int64_t value);
void fxt_timeline_free(struct fxt_timeline *t);

#endif
