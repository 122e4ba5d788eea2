/* What fxt report has to know of an event, as far as it follows from the event's kind (struct fxt_record). It
 * is found for the first event of a kind and kept, so that for all others no section need compare names or
 * look for arguments that calls of this kind do not have. */
#ifndef FXT_TOOLS_EVENT_FACTS_H
#define FXT_TOOLS_EVENT_FACTS_H

#include "tools/waits/call_roles.h"

struct fxt_event_facts {
	bool is_known;
	/* It is a finished call, or an instrumented function, of the program: no record of the agent's
	 * own. */
	bool is_plain;
	bool is_chosen;                 /* the user wants to be told of its category */
	const struct fxt_role *role;    /* of a finished call; NULL: nothing is known of it, or it is none */
	bool is_replayed;               /* by its role the pass in the order of time takes it */
	bool may_say_no_wait;           /* fxt_may_say_no_wait() */
	/* The rest is about those that are plain. It has this argument, or may be about this: */
	bool has_stack, has_errno, has_at;
	bool is_io, is_mapping, is_semaphore, is_lock, is_process, is_function, is_heap, is_join;
	/* The places of its sums in the sections on calls and on repeated calls, from 1 up; 0: not known. */
	uint32_t call, repeated;
};

/* When nothing has been asked, all members are zero. */
struct fxt_facts {
	struct fxt_event_facts *by_kind;
	size_t count, capacity;
	struct fxt_event_facts other;   /* of the last event whose kind is not known */
};

struct fxt_report;

/* Returns what is known of the event. The address holds until the next event is asked for. */
struct fxt_event_facts *fxt_facts_find(struct fxt_report *report, const struct fxt_record *rec);

/* Returns whether the pass in the order of time takes these events, if at all, for their role alone. */
static inline bool fxt_is_replayed_by_role(const struct fxt_event_facts *facts)
{
	return facts->is_plain && !facts->is_process;
}

/* Returns whether the pass in the order of time takes none of these events, whatever their arguments are. */
static inline bool fxt_is_never_replayed(const struct fxt_event_facts *facts)
{
	return fxt_is_replayed_by_role(facts) && !facts->is_replayed;
}

#endif
