/* Programs of a run that left no trace: they were executed, as the trace of the process that did it
 * says, and nothing is there of them. Used by merge, which shows it the parts, and by record, which says
 * it. */
#ifndef FXT_TOOLS_UNTRACED_H
#define FXT_TOOLS_UNTRACED_H

#include "tools/reading/reader.h"

struct fxt_execution {
	char *program;                  /* as it was given to the call */
	uint64_t pid;                   /* of the process that became it */
	/* of executions; once fxt_untraced_finish() has joined those that are alike */
	uint64_t count;
	char *why;                      /* a clause, or NULL: it cannot be told */
};

/* All zero is the beginning. */
struct fxt_untraced {
	/* pid -> whether it has a part, and the place of its last execution of which no part came, plus 1 */
	struct fxt_map processes;
	struct fxt_map children;        /* thread -> pid of the child that it made last, and when */
	struct fxt_execution *list;
	size_t count, capacity;
	/* a process whose last part has come, and its place as above after that */
	uint64_t last_pid, last_place;
};

/* A part begins, which is of that process: the program that it executed last is traced. Parts of one
 * process come in their order. */
void fxt_untraced_part(struct fxt_untraced *u, uint64_t pid);

/* What was just read is the last part of the process, whose others are still to come. There may be one
 * such process. */
void fxt_untraced_came_last(struct fxt_untraced *u, uint64_t pid);

/* An event of category process in a part of process `own`. Where the process knows itself and its
 * children by other numbers than the trace does (`numbers_differ`), no part can be told to be that of
 * what it executed, and nothing is. */
void fxt_untraced_take(struct fxt_untraced *u, const struct fxt_reader *r, const struct fxt_record *rec,
		       uint64_t own, bool numbers_differ);

/* The part of the process was read, which went on as the program that it was: who executed something was
 * a child of a vfork. */
void fxt_untraced_stayed(struct fxt_untraced *u, uint64_t pid);

/* Whether it is a call by which that process itself was to become another program, before it is taken:
 * no child of a vfork is known to have made it. */
bool fxt_untraced_executes(const struct fxt_untraced *u, const struct fxt_reader *r,
			   const struct fxt_record *rec, uint64_t own);

/* Leaves in the list what no trace came of, each program once, the most frequent first. */
void fxt_untraced_finish(struct fxt_untraced *u);

void fxt_untraced_free(struct fxt_untraced *u);

#endif
