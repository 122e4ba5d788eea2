/* Triggers are the conditions on which a snapshot is saved, or recording ends. FXT_TRIGGER is a list of them,
 * separated by commas:
 *
 *	CALL>10ms  CALL>=2s  CALL<300ns  CALL<=1us     how long a call took: ns, us, ms or s
 *	CALL=EAGAIN  CALL!=ENOENT                      the error with which it failed
 *
 * CALL is the name of a call or of an instrumented function, or the beginning of such a name with a * behind
 * it. Each trigger may be followed by :snapshot (the default) or :stop.
 *
 * Triggers for long calls and for failures take no time from calls that are short and succeed: the comparison
 * in fxt_is_usual() is made anyway, and calls that failed have a path of their own. A trigger for short calls
 * makes all calls take a slower path. The triggers are read at start; watched.c compares calls with them.
 */
#ifndef FXT_TRIGGER_H
#define FXT_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FXT_TRIGGERS_MAX = 16, FXT_TRIGGER_NAME_BYTES = 64 };

enum fxt_trigger_test { FXT_LONGER, FXT_AT_LEAST, FXT_SHORTER, FXT_AT_MOST, FXT_FAILED_WITH,
		       FXT_FAILED_OTHERWISE };

struct fxt_trigger {
	char name[FXT_TRIGGER_NAME_BYTES];      /* the name, or its beginning */
	bool is_prefix;
	bool stops;                             /* it ends recording (:stop), and saves no snapshot */
	enum fxt_trigger_test test;
	uint64_t value;                         /* nanoseconds, or an error number */
};

struct fxt_trigger_list {
	struct fxt_trigger list[FXT_TRIGGERS_MAX];
	unsigned count;
	bool any_errno;                         /* whether any trigger looks at failures */
	uint64_t least_ns;                      /* calls that take less are compared; 0: none */
	/* calls that take this long or longer are compared; INT64_MAX: none */
	uint64_t most_ns;
};

/* Reads a duration such as 100us from `bytes` bytes of text. Returns false, with *ns as it was, if it is
 * none. */
bool fxt_duration_read(const char *text, size_t bytes, uint64_t *ns);

/* Reads the value of FXT_TRIGGER, which may be NULL. Returns false, after a message to the user, if the value
 * has a mistake. */
bool fxt_triggers_read(struct fxt_trigger_list *triggers, const char *text);

#endif
