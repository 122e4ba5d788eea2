/* What threads did while they held a lock that others waited for: in which calls they waited themselves, and
 * in which functions they computed. Locks are mutexes, read-write locks and spin locks; semaphores of which
 * the thread that posts takes units too; and files that processes lock by flock() or lockf().
 *
 * A wait ends by a thread that gives the lock up (flights.h). This one has held it since its own wait for it
 * ended, or since it took it free, which it cannot while others wait. Of the time in which it held the lock,
 * those waits are kept that took FXT_HELD_LEAST_NS or more; whoever waits meanwhile, also behind others,
 * loses the time that both have in common. A file has no arrows, and the calls themselves tell who holds it.
 *
 * Memory is taken for each lock that was waited for, some waits of each thread and lock, each function that
 * held one, and each sample, up to a million.
 */
#ifndef FXT_TOOLS_LOCK_HOLDERS_H
#define FXT_TOOLS_LOCK_HOLDERS_H

#include "tools/analysis/flights.h"
#include "tools/analysis/objects.h"
#include "tools/callers/stack_sums.h"
#include "tools/waits/call_roles.h"

enum { FXT_HELD_LEAST_NS = 100 * 1000, FXT_HELD_PIECES = 32 };

/* A holder's wait in a call. */
struct fxt_held_piece {
	uint64_t from_ns, to_ns;
	uint32_t thread, name, innermost;       /* symbol of the call, and the node of its stack */
};

/* A lock. */
struct fxt_held_lock {
	const char *kind;               /* "mutex", "sem", ..., or "file" */
	uint64_t pid, lock;             /* of a file: 0, and its place */
	const struct fxt_object *known; /* the trace's record about it, or NULL */
	char *label;                    /* of a file; or NULL */
	uint64_t count, total_ns, max_ns;       /* waits for it */
	uint32_t innermost;             /* node of the stack of the longest wait, or FXT_NO_FRAME */
	uint64_t lost_ns;               /* of that, while a holder waited in a call */
	uint64_t worked_ns;             /* for how long holders were seen to compute meanwhile, about */
	struct fxt_held_piece pieces[FXT_HELD_PIECES];  /* the last of them */
	unsigned next;
	/* What the holders did most: set by fxt_held_finish(). Nodes, or FXT_NO_FRAME. */
	uint32_t waited_in, waited_call, worked_in;
	uint64_t waited_in_ns, worked_in_ns;
};

struct fxt_held_thread;         /* lock_holders.c */
struct fxt_held_sample;
struct fxt_held_file;

/* When nothing has been taken, all members are zero. */
struct fxt_held {
	struct fxt_held_lock *list;     /* sorted: those by which most was lost first */
	size_t count, capacity;
	struct fxt_map by_lock;         /* pid and address, or UINT64_MAX and the file's place -> place */
	struct fxt_held_thread *threads;
	size_t thread_count, thread_capacity;
	struct fxt_held_sample *samples;
	size_t sample_count, sample_capacity;
	struct fxt_map units;           /* thread and semaphore -> how often it took one, and gave one */
	struct fxt_stack_sums waits, work;      /* by place in the list */
	struct fxt_map calls;           /* node -> symbol of the call that it waited in */
	struct fxt_held_file *files;    /* holds of files, in the order of their ends */
	size_t file_count, file_capacity;
	struct fxt_map file_holders;    /* thread and file -> when it took it */
	struct fxt_map file_waits;      /* offset of a call that waited for a file -> file */
	uint64_t sample_ns;             /* so much processor time is between two samples */
};

/* Takes a sample, which is an event of the kernel about this thread. */
void fxt_held_sample(struct fxt_held *h, uint32_t thread, uint32_t innermost, uint64_t at_ns);
/* Takes a finished call in the order of the file: of a semaphore. */
void fxt_held_units(struct fxt_held *h, const struct fxt_record *rec);
/* Returns whether a finished call locks a file, or gives up the lock. */
bool fxt_held_locks_file(const struct fxt_record *rec);
/* Takes such a call, in the order of time, with the number and the name of the file. */
void fxt_held_file(struct fxt_held *h, const struct fxt_record *rec, uint64_t file, const char *label);
/* All samples, and calls about files, were taken. */
void fxt_held_ready(struct fxt_held *h, unsigned hz);
/* Take a finished call in the order of ends, and what let a thread go on. */
void fxt_held_call(struct fxt_held *h, struct fxt_reader *r, const struct fxt_objects *objects,
		   const struct fxt_record *rec, const struct fxt_role *role, bool did_not_wait,
		   uint32_t innermost);
void fxt_held_cause(struct fxt_held *h, uint32_t thread, const struct fxt_flight_cause *cause);
void fxt_held_finish(struct fxt_held *h, struct fxt_who *who);
void fxt_held_free(struct fxt_held *h);

#endif
