/* fxt record runs a command traced and joins what its processes left. record.c is the command itself,
 * record_options.c reads its options, record_env.c turns them into the agent's variables, and record_say.c
 * prints how it went. */
#ifndef FXT_TOOLS_RECORD_H
#define FXT_TOOLS_RECORD_H

#include <stdbool.h>

#include "tools/join/merge.h"
#include "tools/join/run_directory.h"
#include "keep_pid.h"
#include "run.h"

struct fxt_record_options {
	char *out;                      /* NULL: PROGRAM.PID.fxt */
	const char *agent;
	const char *categories;
	const char *mode;
	const char *buffer_mb;
	const char *max_mb;
	uint64_t rotate_bytes;          /* of a file of the archive; 0: as --max-size says */
	unsigned rotate_count;
	char *keep_ns;                  /* what is older goes; NULL: nothing does for its age */
	uint64_t memory_bytes;          /* of all processes together (manager/grants.h); 0: the usual */
	char *threshold_ns;
	const char *filter, *depth;     /* of functions */
	const char *patch;              /* which functions are patched; NULL: none */
	const char *plt;                /* which functions of libraries are recorded; NULL: by category */
	const char *callers;            /* whose calls are recorded */
	char *explain_ns;
	const char *stacks;
	unsigned budget;                /* hundredths of a percent (manager/budget.h); 0: none */
	bool is_toggled;                /* a signal that is kept (run.h) begins recording, and then ends it */
	pid_t pid;                      /* of a process that runs already and is only watched; 0: none */
	bool lacks_kernel;              /* the kernel is not asked (witness.h) */
	bool is_ctf;                    /* the trace is converted, too */
	bool lacks_perfetto;            /* nothing is written in Perfetto's own form (perfetto_blob.h) */
	unsigned hz;                    /* of samples of the processor clock; 0: none are taken */
	bool is_sampled;                /* --sample was given */
	char *delay_ns, *duration_ns;   /* when recording begins, and how long it lasts; or NULL */
	char *shared;                   /* path of the memory that the processes share: shared.h */
	const char *follow, *on_full, *signal, *start, *trigger, *trigger_keep;
	enum fxt_keep keep;             /* whether the command is executed in this process's place */
	bool is_detached;               /* recording ends with the command, whoever goes on */
	bool compresses, quiet, json;
	char **command;
};

/* Reads the command line. Ends the program after a message if it is wrong. */
void fxt_record_parse(struct fxt_record_options *o, int argc, char **argv);
void fxt_record_options_free(struct fxt_record_options *o);

/* Returns NULL, or which options do not go together, or not with the environment, or that the output cannot
 * be one. The caller frees the text. */
char *fxt_record_check_together(const struct fxt_record_options *o);

/* Sets LD_PRELOAD and the agent's variables in this process's environment, which the command inherits.
 * `sanitizer` is what fxt_program_check() has set. `manager` is the path of a manager's socket, or NULL, and
 * `key` another way to it, or NULL. */
void fxt_record_environment(const struct fxt_record_options *o, const char *agent,
			    const char *parts_directory, const char *sanitizer, const char *manager,
			    const char *key);

/* Returns the option that has set the agent's variable of this name, such as --stacks; or NULL. */
const char *fxt_record_option_of(const struct fxt_record_options *o, const char *variable, size_t bytes);

/* Returns whether an option sets a variable of the agent's as it is. */
bool fxt_record_sets_any(const struct fxt_record_options *o);

/* Asks the agent whether it accepts the options and the variables of the environment, before anything runs.
 * Returns false after a message for each mistake. */
bool fxt_record_accepted(const struct fxt_record_options *o, const char *agent);

/* Watches process o->pid until it ends, a signal comes or the time is over, and makes a trace of what the
 * kernel tells of it. Returns the exit status. */
int fxt_record_watch(const struct fxt_record_options *o);

/* Returns whether all descendants were to be traced. Some may have been left out on purpose, and those of a
 * dormant program have no file. */
bool fxt_record_wants_all(const struct fxt_record_options *o);

/* Returns what is to be said last about the trace of this path, for the caller to free; or NULL. With
 * `also_note` it need be no fault. fxt's main function sets it, because findings are made of more than this
 * folder knows. */
extern char *(*fxt_record_first_finding)(const char *path, bool also_note);

/* Prints one line of summary on standard error, advice if the trace is large, and its first finding. */
void fxt_record_summary(const struct fxt_record_options *o, const struct fxt_merge *m,
			const struct fxt_run *run, const char *path);

/* Says, or writes as JSON, that no trace could be made and what is known to be lost; the parts are left. */
void fxt_record_not_joined(const struct fxt_record_options *o, const struct fxt_merge *m,
			   const struct fxt_run *run, const char *directory);
/* Prints the line of summary for what fxt merge has joined, or a JSON object. */
void fxt_merge_summary(const struct fxt_merge *m, const char *path, bool json);

/* Prints why no program has left a part, as far as it can be known. `witness` is the path of the part that
 * has what the kernel told, or NULL. */
void fxt_record_nothing(const struct fxt_record_options *o, const struct fxt_run *run,
			const char *parts_directory, const char *witness);

/* The subcommands: see tools/common/command.h. */
int fxt_command_record(int argc, char **argv);
int fxt_command_merge(int argc, char **argv);

#endif
