/* Which records of a trace were chosen by the options of narrow.h, and which belong to those.
 *
 * A finished call is chosen by itself. What consists of several records is chosen as a whole, or not at all,
 * because a trace with one half of it would not be true: an async (the lifetime of a block, a descriptor, a
 * child), a flow (who let which thread go on) with the slices that it begins and ends in, and a call that is
 * written as a begin and an end. What a call brings with it comes along: instants that tell of its stack,
 * that it failed, or that others waited. So do the agent's counters of what was lost, wherever they stand,
 * because a part of a trace from which something is missing must not look whole. Names, objects, stacks and
 * files of code are no events, and are always there.
 *
 * The trace is read twice for this, and a third time by the caller, who asks about each record. Memory is
 * taken for asyncs, flows and what comes along with calls, and none for finished calls.
 */
#ifndef FXT_TOOLS_SELECTION_H
#define FXT_TOOLS_SELECTION_H

#include "narrow.h"
#include "tools/analysis/call_stacks.h"
#include "tools/analysis/demangle.h"
#include "tools/analysis/objects.h"
#include "tools/reading/reader.h"

/* Several records that are chosen together: those of one async, or of one flow. */
struct fxt_group {
	uint64_t start_ns, end_ns;      /* the end is UINT64_MAX if none was met */
	bool is_chosen;
};

/* A moment of a thread at which something belongs to the slice around it. */
struct fxt_narrow_moment {
	uint64_t ns, offset;            /* of the record */
	uint32_t thread;
	uint32_t group;                 /* of a flow: its place in `groups`; otherwise FXT_NO_GROUP */
	bool is_agents;                 /* the slice that it is in is one of the agent's own, if a flow's */
	bool is_chosen;
};
#define FXT_NO_GROUP UINT32_MAX

struct fxt_narrow_moments {
	struct fxt_narrow_moment *list;        /* by thread and time, once they are all there */
	size_t count, capacity;
};

/* A descriptor whose path fits. */
struct fxt_opened {
	uint32_t group;                 /* its lifetime */
	uint32_t next;                  /* another one of the same number, plus 1; 0: there is none */
};

/* What is known of the names of one kind, by symbol: whether they fit. */
struct fxt_fits {
	unsigned char *by_symbol;
	size_t count, capacity;
};

struct fxt_selection {
	struct fxt_narrow *narrow;
	struct fxt_reader known;        /* has read the whole trace */
	uint64_t first_ns, last_ns;     /* of all events */
	uint64_t from_ns, to_ns;        /* what was asked for */
	bool has_times;
	struct fxt_map place_of_tid;    /* koid of a thread -> its place among the threads */
	unsigned char *threads;         /* by place: whether the thread was chosen */
	struct fxt_call_stacks stacks;
	unsigned char *frames;          /* by place: whether a function of that stack fits */
	uint32_t frame_count;
	const struct fxt_reader *reader;        /* whose symbols the next three know */
	struct fxt_objects objects;
	struct fxt_demangled demangled;
	struct fxt_fits calls, categories;
	struct fxt_map calls_met, categories_met;       /* symbols, for messages */
	struct fxt_map group_of;        /* id and kind -> place in `groups` */
	struct fxt_group *groups;
	size_t group_count, group_capacity;
	struct fxt_map ends;            /* offset of a begin -> time and offset of its end */
	struct fxt_map chosen;          /* offsets of begins and ends that were chosen */
	struct fxt_narrow_moments attached;    /* what comes along with calls */
	struct fxt_narrow_moments flows;        /* ends of flows; in the end of chosen ones only */
	struct fxt_map opened;          /* process and descriptor -> the last of its lifetimes, plus 1 */
	struct fxt_opened *lifetimes;   /* of descriptors whose path fits */
	size_t lifetime_count, lifetime_capacity;
	uint64_t events;                /* how many were chosen */
};

/* Decides about the trace in these bytes, which have to stay until the end. */
void fxt_selection_make(struct fxt_selection *s, struct fxt_narrow *narrow, const void *data, uint64_t size);

/* Returns a text that says which option fits nothing in the trace, and what there is, for the caller to free;
 * NULL if something was chosen. */
char *fxt_selection_unmatched(const struct fxt_selection *s);

/* Returns whether the record, which another reader has read from the same bytes, was chosen, or belongs to
 * what was. It is asked about records that have a time. */
bool fxt_selects(struct fxt_selection *s, struct fxt_reader *r, const struct fxt_record *rec);

void fxt_selection_free(struct fxt_selection *s);

/* -- Between selection.c, selection_fit.c and selection_groups.c ------------------------------------- */

/* When something began and ended. */
struct fxt_span {
	uint64_t start_ns, end_ns;
};

/* Returns when an event was. What has only a begin is not over. */
struct fxt_span fxt_span_of(const struct fxt_record *rec);

/* Returns whether a thread that the record is about was chosen. */
bool fxt_fits_thread(const struct fxt_selection *s, const struct fxt_record *rec);
/* Returns whether the event fits the options that choose events. `span` is of all that it is part of. */
bool fxt_fits_event(struct fxt_selection *s, struct fxt_reader *r, const struct fxt_record *rec,
		    struct fxt_span span);

/* Notes a descriptor whose path fits, when the begin of its lifetime is met. */
void fxt_fits_note_opened(struct fxt_selection *s, const struct fxt_record *rec);

/* Returns whether an event comes along with the call around it. */
bool fxt_is_attached(const struct fxt_record *rec);

/* Notes what an event is part of. */
void fxt_groups_note(struct fxt_selection *s, const struct fxt_record *rec);
/* To be called when all were noted. */
void fxt_groups_settle(struct fxt_selection *s);
/* Returns the group of an async or flow, or NULL. */
struct fxt_group *fxt_group_of(struct fxt_selection *s, const struct fxt_record *rec);
/* Chooses what comes along with a slice that was chosen. */
void fxt_groups_choose_within(struct fxt_selection *s, uint32_t thread, struct fxt_span span);
/* Leaves out flows that were not chosen. */
void fxt_groups_end(struct fxt_selection *s);
/* Returns whether a slice has an end of a chosen flow in it, and is to be there because of that. */
bool fxt_carries_flow(const struct fxt_selection *s, const struct fxt_record *rec, struct fxt_span span);

#endif
