/* Reads /proc/PID/stat, in which the kernel describes a process in one line of fields: its id, its program's
 * name in parentheses, its state and so on. See proc_pid_stat(5). The agent and the tools read the file
 * themselves and hand its text over. Any context may call this.
 */
#ifndef FXT_PROCESS_STAT_H
#define FXT_PROCESS_STAT_H

#include <stdint.h>
#include <string.h>

#include "decimal.h"

struct fxt_process_stat {
	char state;                     /* a letter, Z for a zombie; '\0': the text ends before it */
	uint64_t start_ticks;           /* when the process began, in ticks since boot; 0: the text is too
					 * short to say */
};

/* Takes apart the text of the file, which ends with a NUL. */
static inline struct fxt_process_stat fxt_parse_process_stat(const char *text)
{
	enum { NAME_FIELD = 2, STATE_FIELD = 3, START_FIELD = 22 };
	struct fxt_process_stat found = {0};
	/* The name may contain blanks, newlines and parentheses, so the last parenthesis is where it ends. */
	const char *at = strrchr(text, ')');

	for (unsigned field = NAME_FIELD; at && field < START_FIELD; field++) {
		at = strchr(at + 1, ' ');
		if (at && field + 1 == STATE_FIELD)
			found.state = at[1];
	}
	if (!at)
		return found;
	at++;
	found.start_ticks = fxt_decimal_at(&at);
	if (!*at)
		found.start_ticks = 0;
	return found;
}

#endif
