/* Finds programs of a run that left no trace: the trace of the process that executed them says so, or the
 * kernel does, and no part came of them. Merge shows it the parts, and record prints what it found. */
#ifndef FXT_TOOLS_UNTRACED_H
#define FXT_TOOLS_UNTRACED_H

#include "tools/reading/reader.h"

struct fxt_execution {
	char *program;                  /* its name or path, as it was given to the call */
	uint64_t pid;                   /* the process that became it */
	/* the process and the thread that tell of it, and when it was executed */
	uint64_t teller, teller_tid, at_ticks;
	/* how often it was executed; set by fxt_untraced_finish(), which joins those that are alike */
	uint64_t count;
	char *why;                      /* the reason, as a clause; NULL: not known */
};

/* A program that a process has executed, as the kernel tells. */
struct fxt_seen_execution {
	uint64_t pid, at_ns;
	char *program;                  /* its name */
	bool is_known;                  /* a part came of it, or an agent has told of it */
};

/* The executions that no part came of. At the beginning all members are zero. */
struct fxt_untraced {
	/* pid -> whether it has a part, and the place in the list plus 1 of its last execution of which
	 * no part came */
	struct fxt_map processes;
	/* thread -> pid of the child that it made last, and the time of that */
	struct fxt_map children;
	struct fxt_execution *list;
	size_t count, capacity;
	/* a process whose last part came first, and the place (as in `processes`) of what it executed
	 * after that part */
	uint64_t last_pid, last_place;
	/* what an agent has said last of an execution, whose event comes next: the program, why it is not
	 * traced, and who said so; NULL: nothing */
	struct fxt_untraced_word {
		char *program, *why;
		uint64_t teller, teller_tid;
	} reason;
	bool is_settled;
	struct fxt_seen_execution *seen;
	size_t seen_count, seen_capacity;
	bool has_begun;                 /* a part came of one of them */
};

/* Begins a part of that process, which shows that the program it executed last is traced. Parts of one
 * process come in their order. */
void fxt_untraced_part(struct fxt_untraced *u, uint64_t pid);

/* Says that the part just read is the last one of the process, whose other parts are still to come.
 * There may be one such process. */
void fxt_untraced_came_last(struct fxt_untraced *u, uint64_t pid);

/* Takes an event of category process in a part of process `own`. `numbers_differ` says that the process
 * knows itself and its children by other numbers than the trace does. Then nobody can tell which part is
 * of a program that it executed, and nothing is noted. */
void fxt_untraced_take(struct fxt_untraced *u, const struct fxt_reader *r, const struct fxt_record *rec,
		       uint64_t own, bool numbers_differ);

/* Says that the process whose part was read went on as the program that it was. So the execution that the
 * part tells of was that of a child by vfork. */
void fxt_untraced_stayed(struct fxt_untraced *u, uint64_t pid);

/* Returns whether the event is a call by which process `own` itself was to execute another program: no
 * child of a vfork is known to have made it. It is asked before the event is taken. */
bool fxt_untraced_executes(const struct fxt_untraced *u, const struct fxt_reader *r,
			   const struct fxt_record *rec, uint64_t own);

/* Takes an instant by which the agent says why a program that process `own` has just spawned is untraced. The
 * event of the call comes behind it. */
void fxt_untraced_why(struct fxt_untraced *u, const struct fxt_reader *r, const struct fxt_record *rec,
		      uint64_t own);

/* Takes what the kernel tells of a process: it has executed a program. */
void fxt_untraced_seen(struct fxt_untraced *u, uint64_t pid, uint64_t at_ns, const struct fxt_text *program);

/* Ends that, before all of the following: what agents have told of is known. */
void fxt_untraced_seen_all(struct fxt_untraced *u);

/* Says that a part came of a program that began at this time in the process. */
void fxt_untraced_began(struct fxt_untraced *u, uint64_t pid, uint64_t at_ns);

/* Adds executions that the kernel alone tells of, after fxt_untraced_settle(): the process has executed the
 * program by an instruction of its own, or nothing came of one that an untraced process has executed. Adds
 * nothing if no part came of any: the kernel may count processes in another namespace. `teller` is a process
 * with a part that tells of those whose processes have none. */
void fxt_untraced_add_seen(struct fxt_untraced *u, uint64_t teller);

/* Reduces the list to the executions that no part came of, and finds out why. */
void fxt_untraced_settle(struct fxt_untraced *u);

/* Returns the reason, also where it is not known. */
const char *fxt_untraced_reason(const struct fxt_execution *e);

/* Reduces the list to the programs that left no trace, each once, the most frequent first. */
void fxt_untraced_finish(struct fxt_untraced *u);

void fxt_untraced_free(struct fxt_untraced *u);

#endif
