/* What saves the past when something rare happens: FXT_TRIGGER, a list of
 *
 *	CALL>10ms  CALL>=2s  CALL<300ns  CALL<=1us     how long a call took: ns, us, ms or s
 *	CALL=EAGAIN  CALL!=ENOENT                      how it failed
 *
 * where CALL is the name of a call or of an instrumented function, or a beginning of one and *; each may be
 * followed by :snapshot (which is meant without it) or :stop. Separated by commas.
 *
 * A call costs nothing more for it: durations that may meet a trigger and those below the threshold leave the
 * straight path by the same comparison (fxt_room()), failed calls have a path of their own anyway.
 */
#ifndef FXT_TRIGGER_H
#define FXT_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>

enum { FXT_TRIGGERS_MAX = 16, FXT_TRIGGER_NAME_BYTES = 64 };

enum fxt_trigger_test { FXT_LONGER, FXT_AT_LEAST, FXT_SHORTER, FXT_AT_MOST, FXT_FAILED_WITH, FXT_FAILED_OTHERWISE };

struct fxt_trigger {
	char name[FXT_TRIGGER_NAME_BYTES];      /* what has to be the same */
	bool is_prefix;
	bool stops;                             /* :stop, not :snapshot */
	enum fxt_trigger_test test;
	uint64_t value;                         /* nanoseconds, or an error number */
};

struct fxt_trigger_list {
	struct fxt_trigger list[FXT_TRIGGERS_MAX];
	unsigned count;
	bool any_errno;                         /* whether any looks at failures */
	uint64_t least_ns;                      /* calls that take less are looked at; 0: none */
	uint64_t most_ns;                       /* and those that take this or more; INT64_MAX: none */
};

/* Reads FXT_TRIGGER's value, which may be NULL. False: a mistake, which has been told. */
bool fxt_triggers_read(struct fxt_trigger_list *triggers, const char *text);

#endif
