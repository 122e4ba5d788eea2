/* Finds lifetimes (asyncs) that were still open, and calls that were still in progress, when the program
 * that began them was over. Merge writes ends for them, because viewers draw what has no end to the end of
 * the trace.
 *
 * A program is over when its process has ended or has executed another program. A part of a run has one
 * program, an archive of a manager has several, each with a provider of its own. A program whose manager was
 * killed has a part in the archive and another one with the rest. For each program the begins
 * without an end are kept: those of lifetimes by their id, those of calls by their thread (cut_calls.h).
 * What is left when the part has been read waits for what other parts say of the process, because its
 * parent's part may be read later. The ends that are made here carry the argument `ended_by`, so that a
 * leak can still be told from what was closed, and a call that hung from one that returned. Descriptors
 * that a program hands on to the one it executes belong to the next one, and their lifetimes end here like
 * all others; children stay those of the process.
 *
 * For each part:
 *	fxt_open_lifetimes_name()           says which process a provider's program runs in
 *	fxt_open_lifetimes_of()             returns a provider's program
 *	fxt_open_program_clock()            takes what tells whether two parts are of one program
 *	fxt_open_program_link()             takes each begin and end of a lifetime, in the order of the file
 *	fxt_open_program_call()             takes each begin and end of a call, in the same order
 *	fxt_open_program_seen()             takes times at which the process's threads lived
 *	fxt_open_program_executes()         takes what is said of programs that the process executes
 *	fxt_open_lifetimes_other()          takes times at which threads of other processes lived
 *	fxt_open_lifetimes_ended()          takes what the part says of ends of processes
 *	fxt_open_lifetimes_born()           takes births of processes whose number was used before
 *	fxt_open_lifetimes_kernel()         takes what the kernel says of them
 *	fxt_open_lifetimes_keep()           ends a program, as far as this part has it
 *	fxt_open_lifetimes_end_part()       ends the part
 * After all parts:
 *	fxt_open_lifetimes_close()          writes the ends
 */
#ifndef FXT_TOOLS_OPEN_LIFETIMES_H
#define FXT_TOOLS_OPEN_LIFETIMES_H

#include "cut_calls.h"
#include "tools/common/map.h"
#include "tools/reading/reader.h"

struct fxt_open_lifetime {
	uint64_t id, begin_ns, pid, tid;
	uint16_t category, name;        /* string indices */
	bool is_of_process;             /* it lasts beyond an exec, as a child does */
	uint64_t child;                 /* the child's process id; 0: it is no child, or that is not known */
};

/* A program and what it left open: one provider of the archive. */
struct fxt_ended_program {
	uint64_t pid;
	uint32_t provider;              /* its id in the archive */
	uint64_t begin_ns;              /* the time of its earliest event */
	/* When the agent read the clocks, once in a program, by CLOCK_BOOTTIME; 0: not known. Parts of a
	 * process that have the same are of one program: its manager was killed, the rest is elsewhere. */
	uint64_t clock_ns;
	/* when it executed another program, as it says itself; 0: it did not */
	uint64_t executed_ns;
	bool has_exited;                /* it says itself that it exited */
	/* Its process still ran when the part was read, so other parts may tell of an end that came later. */
	bool still_runs;
	struct fxt_open_lifetime *list;
	struct fxt_cut_call *calls;
	size_t count, call_count;
	struct fxt_map ended;           /* the ids of lifetimes that end here and have begun elsewhere */
};

/* When a process was born or ended. */
struct fxt_process_moment {
	uint64_t pid, at_ns;
	/* of ends: */
	bool by_signal;
	bool by_kernel;                 /* the kernel says so: it is the true end, and not how it came */
};

/* A program of the part that is being read, with the begins that have no end so far. */
struct fxt_open_program {
	struct fxt_provider *own;       /* its provider */
	bool numbers_differ;            /* the archive has other process ids: it is of another namespace */
	struct fxt_ended_program ended; /* what is known so far */
	/* id -> offset of the begin plus 1; 0: only the end was seen yet */
	struct fxt_map open;
	struct fxt_cut_calls in_progress;
};

/* All begins that have no end so far. At first all members are zero. */
struct fxt_open_lifetimes {
	/* the programs of the part that is being read, by their providers' indices; NULL: not known yet */
	struct fxt_open_program **part;
	size_t part_count, part_capacity;
	struct fxt_thread_moments others;
	struct fxt_ended_program *programs;
	size_t program_count, program_capacity;
	struct fxt_process_moment *ends;
	size_t end_count, end_capacity;
	struct fxt_process_moment *births; /* of children with a number that a child had before */
	size_t birth_count, birth_capacity;
	bool has_numbers_again; /* a process that ended has left its number to another one */
	struct fxt_map kernel_ends;     /* pid -> its last end by the kernel: place in `ends` plus 1 */
};

/* Says that the provider stands for a program of process `pid`. `id` is the provider's id in the archive.
 * Returns the program. */
struct fxt_open_program *fxt_open_lifetimes_name(struct fxt_open_lifetimes *l, struct fxt_provider *own,
						 uint64_t pid, uint32_t id);

/* Returns the provider's program, or NULL if it is not known yet. */
struct fxt_open_program *fxt_open_lifetimes_of(const struct fxt_open_lifetimes *l,
					       const struct fxt_provider *provider);

/* Takes when the program's agent has read the clocks, in nanoseconds of CLOCK_BOOTTIME. */
void fxt_open_program_clock(struct fxt_open_program *program, uint64_t boottime_ns);

/* Takes the begin or end of a lifetime of that program; its record is at `offset`. */
void fxt_open_program_link(struct fxt_open_program *program, enum fxt_event_type type, uint64_t id,
			   uint64_t offset);

/* Takes the decoded begin or end of a call of that program. */
void fxt_open_program_call(struct fxt_open_program *program, const struct fxt_record *rec);

/* Takes the times of events of one of the process's own threads. */
void fxt_open_program_seen(struct fxt_open_program *program, uint32_t thread, const struct fxt_times *times);

/* Notes that a thread of the process was about to execute another program, or that it failed to. */
void fxt_open_program_executes(struct fxt_open_program *program, uint32_t thread, uint64_t at_ns,
			       bool has_failed);

/* Takes the end of a slice that belongs to a thread of another process than the program's. */
void fxt_open_lifetimes_other(struct fxt_open_lifetimes *l, uint64_t pid, uint64_t tid, uint64_t at_ns);

/* Notes that some process ended. This may be told several times; the first end after a program began
 * counts. */
void fxt_open_lifetimes_ended(struct fxt_open_lifetimes *l, uint64_t pid, uint64_t at_ns, bool by_signal);

/* Notes that a child began whose number another child had before. */
void fxt_open_lifetimes_born(struct fxt_open_lifetimes *l, uint64_t pid, uint64_t at_ns);

/* Takes what the kernel says of a thread: that it ended, or that it executed a program. */
void fxt_open_lifetimes_kernel(struct fxt_open_lifetimes *l, uint64_t pid, uint64_t tid, uint64_t at_ns,
			       bool has_ended);

/* Keeps what the program left open. `r` has read all of the part, of which `may_be_copy` says that it may
 * have been copied while it was written. Returns when the process executed another program, as the part
 * says itself, or 0. */
uint64_t fxt_open_lifetimes_keep(struct fxt_open_lifetimes *l, struct fxt_open_program *program,
				 struct fxt_reader *r, bool still_runs, bool may_be_copy);

/* Ends the part: the providers of the next one are others. */
void fxt_open_lifetimes_end_part(struct fxt_open_lifetimes *l);

/* Writes `count` words, which are whole records. Returns false if that failed. */
typedef bool fxt_open_lifetimes_put(void *context, uint64_t *words, size_t count);

/* Writes an end for all that can be ended. Returns false if something could not be written. */
bool fxt_open_lifetimes_close(struct fxt_open_lifetimes *l, fxt_open_lifetimes_put *put, void *context);

void fxt_open_lifetimes_free(struct fxt_open_lifetimes *l);

#endif
