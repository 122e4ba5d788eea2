/* fxt check: tells whether a trace is what the format and its viewers require.
 *
 * The reader finds what is wrong with a single record. What is wrong between records can only be seen in
 * the order of time, and a file is not in that order. So check.c walks the file once and notes the first
 * and last time of the events in every 64 KiB. Then check_windows.c goes from one stretch of time to the
 * next, and reads those parts of the file that may have events of the stretch. It keeps only these events
 * in memory, sorts and examines them: check_slices.c replays each thread as a viewer does, check_links.c
 * follows asyncs and flows.
 *
 * Open slices and the ids of asyncs and flows are kept from one stretch to the next. Of ids only a
 * limited number is kept; fxt check says how many more there were, which it did not follow.
 */
#ifndef FXT_TOOLS_CHECK_H
#define FXT_TOOLS_CHECK_H

#include <stdio.h>

#include "tools/reading/reader.h"

struct fxt_check_options {
	/* a torn last record, as a killed writer leaves it, is noted and no violation */
	bool allow_tail;
	/* an async or flow end whose begin a ring overwrote is noted and no violation */
	bool ring;
	bool copy;              /* this copies a live file, so a call may be there both open and complete */
	/* only what the format forbids is a violation, and not what viewers draw wrongly (FXT_PROFILE) */
	bool format;
	bool json;
	/* the most events of one stretch of time; 0: a quarter of a million. Only tests set it. */
	uint64_t most_events;
};

/* An event in the life of a thread's slices. */
struct fxt_moment {
	uint64_t ticks;
	uint64_t end;                           /* the end of a complete event, in ticks */
	uint64_t offset_words : 36;             /* half a tebibyte; a record starts at a whole word */
	uint64_t kind : 4;                      /* enum fxt_event_type */
	uint64_t name : 24;                     /* symbol */
};

static_assert(sizeof(struct fxt_moment) == 24, "there is one for every call in a stretch of time");

enum { FXT_MOMENT_NAMES = 1 << 24 };
static const uint64_t FXT_MOMENT_BYTES = UINT64_C(1) << 39;

/* A slice that is open at some moment, or the last slice that ended. */
struct fxt_open {
	uint64_t start, end;                    /* in ticks */
	uint32_t name;                          /* symbol */
	bool ends;                              /* `end` is known; false: a begin without an end so far */
};

/* A thread's slices. */
struct fxt_track {
	struct fxt_moment *list;                /* events of the current stretch, in the order of the file */
	size_t count, capacity;
	struct fxt_open *open;                  /* kept from stretch to stretch; the innermost is last */
	size_t depth;
	uint64_t last_start;
	bool started;
	bool any;                               /* the thread has slices at some time */
};

/* An async or flow event. */
struct fxt_link {
	uint64_t ticks, id, offset;
	uint64_t bound;                         /* flows: when the slice began that the event is bound to */
	uint32_t thread, category, name;        /* category and name are symbols */
	uint32_t kind;                          /* enum fxt_event_type */
};

/* These are the begins and ends of all asyncs, or of all flows. */
struct fxt_links {
	struct fxt_link *list;                  /* events of the current stretch */
	size_t count, capacity;
	struct fxt_map live;                    /* open ids; check_links.c says what is known of each */
	struct fxt_map past;                    /* ended id -> its category and name, or process */
	bool lost;                              /* `live` had no room for some ids */
};

/* A part of the file: the records that begin in the same 64 KiB. */
struct fxt_check_block {
	uint64_t at;                            /* offset of the first of them */
	uint64_t first_ticks, last_ticks;       /* the times of its slices, asyncs and flows */
	struct fxt_provider *provider;          /* the provider of the records before it */
};

/* Findings that are no violations. fxt_noted_text has the words for each. */
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
	FXT_NOTED_PROVIDER_EVENTS,
	FXT_NOTED_TORN_BYTES,
	FXT_NOTED_COUNT
};

struct fxt_violation {
	uint64_t count;
	uint64_t offset;                        /* the place of the first one in the file */
	char detail[96];                        /* a few words about the first one */
};

struct fxt_check {
	struct fxt_check_options options;
	struct fxt_reader *r;
	struct fxt_violation violations[FXT_FAULT_COUNT];       /* those of viewers' rules, too */
	uint64_t violation_count;               /* without what the options say is none */
	uint64_t noted[FXT_NOTED_COUNT];
	uint64_t records, events, first_ns, last_ns;
	struct fxt_track *tracks;               /* by thread */
	size_t track_count, track_capacity;
	struct fxt_links asyncs, flows;
	struct fxt_check_block *blocks;
	size_t block_count, block_capacity;
	uint64_t ordered;                       /* events that are examined in the order of time */
	uint64_t ticks_per_second;              /* of the clock in whose ticks all times are compared */
};

/* Checks all that `r` reads, from where it stands to its end, and keeps what was found in `c`. */
void fxt_check(struct fxt_check *c, struct fxt_reader *r, const struct fxt_check_options *options);
void fxt_check_free(struct fxt_check *c);

/* Prints what was found, as text. `path` is the file's name. */
void fxt_check_print(const struct fxt_check *c, const char *path, FILE *out);

/* -- Between the files of check ------------------------------------------------------------------- */

/* check.c: returns whether such a fault counts as a violation. */
bool fxt_check_counts(const struct fxt_check *c, enum fxt_fault fault);
/* Counts a violation, which the record at `offset` shows. */
void fxt_check_bad(struct fxt_check *c, enum fxt_fault fault, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Returns the track of the thread. */
struct fxt_track *fxt_check_track(struct fxt_check *c, uint32_t thread);

/* check_windows.c has the next three functions, about blocks of the file and stretches of time. */
enum { FXT_BLOCK_BYTES = 1 << 16 };
/* Begins a block where the reader stands, in the first walk. */
void fxt_check_begin_block(struct fxt_check *c);
/* Takes an event of the last block, in the first walk. */
void fxt_check_note(struct fxt_check *c, const struct fxt_record *rec);
/* Examines all events in the order of time, after the first walk. */
void fxt_check_in_order(struct fxt_check *c);

/* check_slices.c and check_links.c have the functions below. These three examine the events that were kept of
 * one stretch, and are called for each stretch in the order of time. */
void fxt_check_slices(struct fxt_check *c);
void fxt_check_asyncs(struct fxt_check *c);
void fxt_check_flows(struct fxt_check *c);
/* These two note the slices, asyncs and flows that are open when the trace ends. */
void fxt_check_open_slices(struct fxt_check *c);
void fxt_check_open_links(struct fxt_check *c);

extern const char *const fxt_noted_text[FXT_NOTED_COUNT];

struct fxt_json;
/* Prints what was found as a JSON object on a line. `put_more` prints more members; NULL: there are none. */
void fxt_check_json(const struct fxt_check *c, const char *path,
		    void (*put_more)(const void *context, struct fxt_json *j), const void *context,
		    FILE *out);

#endif
