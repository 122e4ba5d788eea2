/* See event_facts.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "event_facts.h"

#include <string.h>

#include "report.h"
#include "tools/common/message.h"

/* Returns whether the call says what a descriptor stands for, or changes its mode. */
static bool changes_descriptors(const struct fxt_role *role)
{
	return role->family == FXT_FAMILY_FD && role->effect < FXT_EFFECT_READ;
}

static void find_plain(struct fxt_event_facts *facts, struct fxt_report *report, const struct fxt_record *rec)
{
	facts->has_stack = fxt_argument(rec, "stack") || fxt_argument(rec, "held_stack");
	facts->has_errno = fxt_argument(rec, "errno");
	facts->has_at = fxt_argument(rec, "at");
	facts->is_io = fxt_text_is(&rec->category, "io");
	facts->is_process = fxt_text_is(&rec->category, "process");
	facts->is_function = fxt_text_is(&rec->category, "function");
	facts->is_heap = fxt_text_is(&rec->category, "malloc");
	facts->is_join = facts->role && facts->role->family == FXT_FAMILY_WAIT &&
			 strcmp(facts->role->kind, "join") == 0;
	facts->is_mapping = fxt_text_is(&rec->name, "mmap");
	facts->is_semaphore = fxt_argument(rec, "sem");
	facts->is_lock = fxt_text_is(&rec->category, "pthread") &&
			 fxt_lock_orders_want(&report->lock_orders, report->r, rec);
}

static void find(struct fxt_event_facts *facts, struct fxt_report *report, const struct fxt_record *rec)
{
	bool is_complete = rec->subtype == FXT_EVENT_DURATION_COMPLETE;

	*facts = (struct fxt_event_facts){.is_known = true};
	/* Other events have no role, and their names may be many. */
	if (is_complete) {
		facts->role = fxt_role_of(&report->roles, report->r, rec);
		facts->may_say_no_wait = fxt_may_say_no_wait(rec);
	}
	facts->is_chosen = fxt_report_wants(report, &rec->category);
	facts->is_replayed = facts->role && facts->role->family != FXT_FAMILY_WAIT &&
			     (changes_descriptors(facts->role) || facts->is_chosen);
	facts->is_plain = is_complete && !fxt_text_is(&rec->category, "agent");
	if (facts->is_plain)
		find_plain(facts, report, rec);
}

struct fxt_event_facts *fxt_facts_find(struct fxt_report *report, const struct fxt_record *rec)
{
	struct fxt_facts *all = &report->facts;
	struct fxt_event_facts *facts = &all->other;

	if (rec->kind) {
		all->by_kind = fxt_reach(all->by_kind, &all->capacity, &all->count, rec->kind,
					 sizeof(*all->by_kind));
		facts = &all->by_kind[rec->kind];
	}
	if (!rec->kind || !facts->is_known)
		find(facts, report, rec);
	return facts;
}
