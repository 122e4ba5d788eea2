/* Runs the traced command. Record calls it. */
#ifndef FXT_TOOLS_RUN_H
#define FXT_TOOLS_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fxt_descendant;

struct fxt_run {
	pid_t other;            /* another child of fxt record, or 0; set by the caller */
	pid_t pid;
	int status;             /* the status that a shell reports: 128 + the signal when it was killed */
	bool is_untold;         /* how it ended is not known, and the status is -1 */
	int signal;             /* the signal that killed it, or 0 */
	uint64_t wall_ns;       /* of the command and what was recorded after it */
	uint64_t end_ns;        /* when it ended, on the clock of traces */
	struct fxt_descendant *left;    /* those that went on when recording ended */
	size_t left_count;
};

struct fxt_descendants;

/* A function that is called while child `pid` runs. It returns when the child has ended, and does not reap
 * it. */
typedef void fxt_run_meanwhile(void *context, pid_t pid);

/* A function that is called when the command has ended and was reaped, while descendants of it may go on. */
typedef void fxt_run_afterwards(void *context, struct fxt_descendants *descendants);

/* Keeps a signal that other processes send to this one, instead of handing it on to the child of
 * fxt_run(), which comes later. It is given by its number, or by its name with or without SIG: 10, USR1,
 * SIGUSR1. Returns false if there is no such signal, or if fxt needs it for something else. fxt_run_kept()
 * returns how often the signal has come. */
bool fxt_run_keep(const char *text);
unsigned fxt_run_kept(void);

/* Runs argv[0], looked for along PATH, with this process's environment, and waits for it. Variables of
 * systemd that have the number `stands_for` of this process, as it was when it began, have the command's
 * there. Meanwhile it calls `meanwhile`, unless that is NULL, and then `afterwards`. What becomes of
 * signals is in signals.h. Returns 0, or FXT_STATUS_* after a message if the command could not be started. */
int fxt_run(char **argv, struct fxt_run *run, pid_t stands_for, fxt_run_meanwhile *meanwhile,
	    fxt_run_afterwards *afterwards, void *context);

/* Makes LISTEN_PID and WATCHDOG_PID, if they have the number of process `from`, have that of this process. */
void fxt_run_follow_pid(pid_t from);

/* Returns how many descriptors this process may still open, `most` at most. */
unsigned fxt_run_descriptors(unsigned most);

/* Says that the program cannot be executed because of this errno. Returns FXT_STATUS_*. */
int fxt_run_refused(const char *program, int error);

#endif
