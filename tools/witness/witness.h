/* The kernel as a second witness of a run (docs/witness.md): a process beside fxt record takes the kernel's
 * records of the programs (perf_events.h) and makes a part of the trace of them. It is a process of its own,
 * because it reads files that programs map, and what it does with them must not stop what programs wait for.
 */
#ifndef FXT_TOOLS_WITNESS_H
#define FXT_TOOLS_WITNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/archive/archive_keep.h"

enum { FXT_WITNESS_USUAL_HZ = 199 };

struct fxt_witness {
	pid_t pid;                      /* of the process beside this one; 0: there is none */
	int control;                    /* it goes on until this is closed */
	char *path;                     /* the part that it makes */
};

struct fxt_witness_wish {
	pid_t pid;                      /* the process; 0: all that the executor and its children execute */
	pid_t executor;                 /* 0: this process */
	unsigned hz;                    /* samples in a second of processor time; 0: none */
	struct fxt_archive_keep_wish keep;      /* what is kept of a long run */
	bool waits;                     /* nothing is kept before fxt_witness_go() */
	bool is_for_traced;             /* programs without the agent are left out */
	const char *path;               /* where the part will be */
};

/* Begins to watch. Returns 0, or the errno with which the kernel has refused. */
int fxt_witness_begin(struct fxt_witness *witness, const struct fxt_witness_wish *wish);

/* Keeps what comes from now on, if it has not before. It can be called if there is no witness. */
void fxt_witness_go(const struct fxt_witness *witness);

/* Ends it, waits until the part is whole, and makes one file of it. Returns false after a message if that
 * failed. It can be called if there is no witness. */
bool fxt_witness_end(struct fxt_witness *witness);

/* Returns why the kernel refuses, for a message; the caller frees it. */
char *fxt_witness_refusal(int error);

#endif
