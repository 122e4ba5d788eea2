/* fxt record: runs a command traced and joins what its processes left. record.c is the command, record_env.c
 * turns its options into the agent's variables, record_say.c has the words for how it went.
 *
 * tools/record/ has the two commands that make traces, record and merge. It uses tools/join/ and what that uses.
 */
#ifndef FXT_TOOLS_RECORD_H
#define FXT_TOOLS_RECORD_H

#include <stdbool.h>

#include "run.h"
#include "tools/join/merge.h"
#include "tools/join/run_directory.h"

struct fxt_record_options {
	char *out;                      /* NULL: PROGRAM.PID.fxt */
	const char *agent;
	const char *categories;
	const char *mode;
	const char *buffer_mb;
	const char *max_mb;
	char *threshold_ns;
	char *explain_ns;
	char *shared;                   /* what the processes share: shared_memory.h */
	const char *follow, *on_full, *signal, *start, *trigger, *trigger_keep;
	bool quiet, json;
	char **command;
};

/* What an option's value is checked by before anything runs; NULL, or what is wrong. */
char *fxt_record_bad_categories(const char *list);
char *fxt_record_bad_mode(const char *mode);
char *fxt_record_bad_megabytes(const char *text);

/* "500", "10us", "1.5ms", "2s" as nanoseconds; NULL if it is none. Free it. */
char *fxt_record_duration_ns(const char *text);

/* Sets LD_PRELOAD and the agent's variables, for this process and so for the command; `sanitizer`: see program.h. */
void fxt_record_environment(const struct fxt_record_options *o, const char *agent,
			    const char *parts_directory, const char *sanitizer);

/* The line of summary on stderr, and what to do about a large trace. */
void fxt_record_summary(const struct fxt_record_options *o, const struct fxt_merge *m,
			const struct fxt_run *run, const char *path);

/* The same line of what fxt merge has joined. */
void fxt_merge_summary(const struct fxt_merge *m, const char *path);

/* Why there is nothing to join, as far as it can be known. */
void fxt_record_nothing(const struct fxt_record_options *o, const struct fxt_run *run,
			const char *parts_directory);

#endif
