/* Instants that tell of a call stack: `blocked` and `contended`, where a thread is about to be blocked, and
 * `unlocked`, where it has given up a lock that others wait for. They are of the category of the call that
 * they are about, and are no calls themselves. So does `crash`, where a signal is about to end the process.
 */
#ifndef FXT_TOOLS_STACK_INSTANTS_H
#define FXT_TOOLS_STACK_INSTANTS_H

#include "tools/reading/reader.h"

static inline bool fxt_tells_blocked(const struct fxt_record *rec)
{
	return rec->subtype == FXT_EVENT_INSTANT &&
	       (fxt_text_is(&rec->name, "blocked") || fxt_text_is(&rec->name, "contended")) &&
	       fxt_argument(rec, "stack");
}

static inline bool fxt_tells_unlocked(const struct fxt_record *rec)
{
	return rec->subtype == FXT_EVENT_INSTANT && fxt_text_is(&rec->name, "unlocked") &&
	       fxt_argument(rec, "stack");
}

static inline bool fxt_tells_crash(const struct fxt_record *rec)
{
	return rec->subtype == FXT_EVENT_INSTANT && fxt_text_is(&rec->name, "crash") &&
	       fxt_text_is(&rec->category, "agent");
}

/* Returns whether the record is a wait for room for records: a cost of the recording, which lies on a thread
 * like its calls. */
static inline bool fxt_tells_room(const struct fxt_record *rec)
{
	return rec->subtype == FXT_EVENT_DURATION_COMPLETE && fxt_text_is(&rec->category, "agent") &&
	       fxt_text_is(&rec->name, "waiting for room") && rec->extra >= rec->ticks;
}

#endif
