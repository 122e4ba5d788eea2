/* Runs the traced command. Record calls it. */
#ifndef FXT_TOOLS_RUN_H
#define FXT_TOOLS_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fxt_run {
	pid_t pid;
	int status;             /* the status that a shell reports: 128 + the signal when it was killed */
	int signal;             /* the signal that killed it, or 0 */
	uint64_t wall_ns;
	uint64_t end_ns;        /* when it ended, on the clock of traces */
};

/* A function that is called while child `pid` runs. It returns when the child has ended, and does not reap
 * it. */
typedef void fxt_run_meanwhile(void *context, pid_t pid);

/* Keeps a signal that other processes send to this one, instead of handing it on to the child of
 * fxt_run(), which comes later. It is given by its number, or by its name with or without SIG: 10, USR1,
 * SIGUSR1. Returns false if there is no such signal, or if fxt needs it for something else. fxt_run_kept()
 * returns how often the signal has come. */
bool fxt_run_keep(const char *text);
unsigned fxt_run_kept(void);

/* Runs argv[0], looked for along PATH, with this process's environment, and waits for it. Meanwhile it calls
 * `meanwhile`, unless that is NULL. Signals that other processes send to this one are handed on to the child,
 * with their value. Signals of the terminal are not, because the child gets them itself. From then on only
 * SIGKILL and faults of its own end this process, so that what the child leaves is always joined. Returns 0,
 * or FXT_STATUS_* after a message if the command could not be started. */
int fxt_run(char **argv, struct fxt_run *run, fxt_run_meanwhile *meanwhile, void *context);

#endif
