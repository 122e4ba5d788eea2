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
	uint64_t end_ns;        /* when it ended, on the clock of traces */
};

/* Runs argv[0], looked for along PATH, with this process's environment, and waits for it. Signals that
 * other processes send to this one are handed on to the child, with their value. Those of the terminal
 * are not: the child gets them itself. From then on this process ends by nothing but SIGKILL and its own
 * faults, so that what the child leaves is always joined. Returns 0, or after a message FXT_STATUS_*
 * when it could not be started. */
int fxt_run(char **argv, struct fxt_run *run);

#endif
