/* fxt record --keep-pid: the command is executed in fxt record's own place, with its process id, and a
 * process beside it records. See keep_pid.c.
 */
#ifndef FXT_TOOLS_KEEP_PID_H
#define FXT_TOOLS_KEEP_PID_H

#include <stdbool.h>

#include "run.h"

struct fxt_record_options;

/* What the options say of it. */
enum fxt_keep { FXT_KEEP_BY_ITSELF, FXT_KEEP_ALWAYS, FXT_KEEP_NEVER };

/* The recorder's side. */
struct fxt_kept {
	pid_t pid;                      /* of the command; 0: the command is a child as usual */
	int process;                    /* its pidfd, or -1 */
	int environment, report;        /* pipes to and from the process that will be the command */
};

/* Returns whether the command is to be executed in this process's place: as the options say, or because
 * systemd or a relative has told this process by its number that it has sockets or is to report. */
bool fxt_keep_wanted(const struct fxt_record_options *o);

/* Makes the recorder, and returns in it. This process waits for the environment meanwhile, and then
 * executes the command. The recorder is no child of it, in a session of its own, keeps standard error
 * alone open (and standard output, if the trace goes there), and ends by SIGKILL only. */
void fxt_keep_begin(struct fxt_kept *k, const struct fxt_record_options *o);

/* Has the command executed with the environment that this process has by now, and waits for it as fxt_run()
 * does. The status is -1 where the kernel does not tell it (before Linux 6.15). */
int fxt_keep_run(struct fxt_kept *k, struct fxt_run *run, fxt_run_meanwhile *meanwhile, void *context);

#endif
