/* Runs the traced command. Used by record. */
#ifndef FXT_TOOLS_RUN_H
#define FXT_TOOLS_RUN_H

#include <stdint.h>
#include <sys/types.h>

struct fxt_run {
	pid_t pid;
	int status;             /* as a shell reports it: 128 + the signal when it was killed */
	int signal;             /* that killed it, or 0 */
	uint64_t wall_ns;
};

/* Runs argv[0], looked for along PATH, with this process's environment, and waits for it. The child gets
 * the terminal's signals itself, so SIGINT and SIGQUIT are ignored here; SIGTERM and SIGHUP are passed on.
 * Returns 0, or after a message FXT_STATUS_* when it could not be started. */
int fxt_run(char **argv, struct fxt_run *run);

#endif
