/* fxt check: whether a trace is what the format and the viewers of it require.
 *
 * tools/check/ is this one command. It uses tools/printing/ and what that uses.
 *
 * The reader finds what is wrong with a record by itself. What is wrong between records can only be seen in
 * the order of time, and a file is not in that order. So check.c walks the file and notes of every 64 KiB from when to
 * when its events are; then check_windows.c goes from one stretch of time to the next and reads of the file what may have
 * events in it. Only the events of that stretch are kept, sorted, and examined: check_slices.c replays each
 * thread as a viewer does, check_links.c follows asyncs and flows. What goes on from one stretch to the next
 * are open slices, and the ids of asyncs and flows: up to a limit, beyond which it is noted that they were not followed.
 */
#ifndef FXT_TOOLS_CHECK_H
#define FXT_TOOLS_CHECK_H

#include <stdio.h>

#include "tools/reading/reader.h"

struct fxt_check_options {
	bool allow_tail;        /* a torn last record (a killed writer) is noted, not a violation */
	bool ring;              /* async and flow ends whose begin a ring overwrote are noted */
	bool copy; /* a copy of a live file: a call may be in it both as still open and as complete */
	bool json;
	uint64_t most_events;   /* of one stretch of time; 0: a quarter of a million. For tests */
};

/* An event in the life of a thread's slices. */
struct fxt_moment {
	uint64_t ticks;
	uint64_t end;                           /* complete events */
	uint64_t offset_words : 36;             /* half a tebibyte; a record starts at a whole word */
	uint64_t kind : 4;                      /* enum fxt_event_type */
	uint64_t name : 24;                     /* symbol */
};

static_assert(sizeof(struct fxt_moment) == 24, "there is one for every call in a stretch of time");

enum { FXT_MOMENT_NAMES = 1 << 24 };
static const uint64_t FXT_MOMENT_BYTES = UINT64_C(1) << 39;

/* A slice that is open at some moment, or the last that ended. */
struct fxt_open {
	uint64_t start, end;
	uint32_t name;
	bool ends;                              /* false: a begin without an end so far */
};

struct fxt_track {
	struct fxt_moment *list;                /* of the stretch at hand, in the order of the file */
	size_t count, capacity;
	struct fxt_open *open;                  /* between two stretches; innermost last */
	size_t depth;
	uint64_t last_start;
	bool started;
	bool any;                               /* it has slices at some time */
};

/* An async or flow event. */
struct fxt_link {
	uint64_t ticks, id, offset;
	uint64_t bound;                         /* flows: when the slice began that it is bound to */
	uint32_t thread, category, name;        /* the latter two symbols */
	uint32_t kind;
};

struct fxt_links {
	struct fxt_link *list;                  /* of the stretch at hand */
	size_t count, capacity;
	struct fxt_map live;                    /* id -> what is known of it: check_links.c */
	struct fxt_map past;                    /* id -> whose it was, of those that ended */
	bool lost;                              /* some were not entered there, as there were too many */
};

/* A part of the file, of records that begin in the same 64 KiB. */
struct fxt_block {
	uint64_t at;
	uint64_t first_ticks, last_ticks;       /* of its slices, asyncs and flows */
	struct fxt_provider *provider;          /* before its first record */
};

enum fxt_noted {
	FXT_NOTED_OPEN_SLICES,
	FXT_NOTED_OPEN_ASYNCS,
	FXT_NOTED_OPEN_FLOWS,
	FXT_NOTED_OPEN_AND_COMPLETE,
	FXT_NOTED_ORPHANS,
	FXT_NOTED_NOT_FOLLOWED,
	FXT_NOTED_FORGOTTEN,
	FXT_NOTED_NOT_COMPARED,
	FXT_NOTED_APPENDED_ZEROS,
	FXT_NOTED_UNKNOWN_RECORDS,
	FXT_NOTED_BUFFER_FULL,
	FXT_NOTED_TORN_BYTES,
	FXT_NOTED_COUNT
};

struct fxt_violation {
	uint64_t count;
	uint64_t offset;                        /* of the first in the file */
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
	struct fxt_links asyncs, flows;
	struct fxt_block *blocks;
	size_t block_count, block_capacity;
	uint64_t ordered;                       /* events that are examined in the order of time */
};

/* Checks all that `r` reads. */
void fxt_check(struct fxt_check *c, struct fxt_reader *r, const struct fxt_check_options *options);
void fxt_check_free(struct fxt_check *c);

/* Prints what was found. */
void fxt_check_print(const struct fxt_check *c, const char *path, FILE *out);

/* -- Between the files of check ------------------------------------------------------------------- */

void fxt_check_bad(struct fxt_check *c, enum fxt_fault fault, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
struct fxt_track *fxt_check_track(struct fxt_check *c, uint32_t thread);

/* check_windows.c. In the first walk: a new block begins where the reader is; an event of it. Then all that is examined in the order of
 * time. */
enum { FXT_BLOCK_BYTES = 1 << 16 };
void fxt_check_begin_block(struct fxt_check *c);
void fxt_check_note(struct fxt_check *c, const struct fxt_record *rec);
void fxt_check_in_order(struct fxt_check *c);

/* What was kept of one stretch of time, after those before it; then the ends. */
void fxt_check_slices(struct fxt_check *c);
void fxt_check_asyncs(struct fxt_check *c);
void fxt_check_flows(struct fxt_check *c);
void fxt_check_open_slices(struct fxt_check *c);
void fxt_check_open_links(struct fxt_check *c);

extern const char *const fxt_noted_text[FXT_NOTED_COUNT];

void fxt_check_json(const struct fxt_check *c, const char *path, FILE *out);

#endif
