/* fxt check: whether a trace is what the format and the viewers of it require.
 *
 * The reader finds what is wrong with a record by itself. What is wrong between records can only be seen in
 * the order of time, so every slice and every link is kept: 24 bytes for an event that makes or moves through
 * slices, some more for asyncs and flows. check.c walks the file and reports, check_slices.c replays each
 * thread as a viewer does, check_links.c follows asyncs and flows.
 */
#ifndef FXT_TOOLS_CHECK_H
#define FXT_TOOLS_CHECK_H

#include <stdio.h>

#include "reader.h"

struct fxt_check_options {
	bool allow_tail;        /* a torn last record (a killed writer) is noted, not a violation */
	bool ring;              /* async and flow ends whose begin a ring overwrote are noted */
	bool copy; /* a copy of a live file: a call may be in it both as still open and as complete */
	bool json;
};

/* An event in the life of a thread's slices. */
struct fxt_moment {
	uint64_t ticks;
	uint64_t end;                           /* complete events */
	uint64_t offset_words : 36;             /* half a tebibyte; a record starts at a whole word */
	uint64_t kind : 4;                      /* enum fxt_event_type */
	uint64_t name : 24;                     /* symbol */
};

static_assert(sizeof(struct fxt_moment) == 24, "there is one for every call in the trace");

enum { FXT_MOMENT_NAMES = 1 << 24 };
static const uint64_t FXT_MOMENT_BYTES = UINT64_C(1) << 39;

struct fxt_track {
	struct fxt_moment *list;
	size_t count, capacity;
};

/* An async or flow event. */
struct fxt_link {
	uint64_t ticks, id, offset;
	uint64_t bound;                         /* flows: when the slice began that it is bound to */
	uint32_t thread, category, name;        /* the latter two symbols */
	uint32_t kind;
};

struct fxt_links {
	struct fxt_link *list;
	size_t count, capacity;
};

enum fxt_noted {
	FXT_NOTED_OPEN_SLICES,
	FXT_NOTED_OPEN_ASYNCS,
	FXT_NOTED_OPEN_FLOWS,
	FXT_NOTED_OPEN_AND_COMPLETE,
	FXT_NOTED_ORPHANS,
	FXT_NOTED_APPENDED_ZEROS,
	FXT_NOTED_UNKNOWN_RECORDS,
	FXT_NOTED_BUFFER_FULL,
	FXT_NOTED_TORN_BYTES,
	FXT_NOTED_COUNT
};

struct fxt_violation {
	uint64_t count;
	uint64_t offset;                        /* of the first */
	char detail[96];
};

struct fxt_check {
	struct fxt_check_options options;
	struct fxt_reader *r;
	struct fxt_violation violations[FXT_FAULT_COUNT];
	uint64_t violation_count;
	uint64_t noted[FXT_NOTED_COUNT];
	uint64_t records, events, first_ns, last_ns;
	struct fxt_track *tracks;               /* by thread */
	size_t track_count, track_capacity;
	struct fxt_links asyncs, flows;         /* in the order of the file */
};

/* Checks all that `r` reads. */
void fxt_check(struct fxt_check *c, struct fxt_reader *r, const struct fxt_check_options *options);
void fxt_check_free(struct fxt_check *c);

/* Prints what was found. */
void fxt_check_print(const struct fxt_check *c, const char *path, FILE *out);

/* -- Between the files of check ------------------------------------------------------------------- */

void fxt_check_bad(struct fxt_check *c, enum fxt_fault fault, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void fxt_check_slices(struct fxt_check *c);
void fxt_check_asyncs(struct fxt_check *c);
void fxt_check_flows(struct fxt_check *c);

extern const char *const fxt_noted_text[FXT_NOTED_COUNT];

#ifdef HAVE_JANSSON
void fxt_check_json(const struct fxt_check *c, const char *path, FILE *out);
#endif

#endif
