/* The critical path of a run: for how much of its wall time it was in a function or waited for a lock, a
 * file, a peer or a program, and how long the run would have taken if that had taken no time.
 * docs/critical-path.md has the model.
 *
 * The report hands in what it reads, in any order: finished calls, arrows, joins, samples. Then
 * fxt_critical_finish() makes a graph of it (critical_graph.h), walks it back from the end of the run
 * (critical_path.c), and replays it with one thing after the other taking no time (critical_replay.c). Memory
 * is bounded: where a trace has more calls than the graph has room for, the shorter ones become part of what
 * their threads did around them.
 */
#ifndef FXT_TOOLS_CRITICAL_H
#define FXT_TOOLS_CRITICAL_H

#include "tools/analysis/call_stacks.h"
#include "tools/analysis/flights.h"
#include "tools/analysis/objects.h"
#include "tools/callers/who.h"
#include "tools/reading/reader.h"
#include "tools/waits/call_roles.h"

/* What a thing is that takes time. */
enum fxt_critical_kind {
	FXT_CRITICAL_CALL,              /* calls of one name that are about no lock and no file */
	FXT_CRITICAL_LOCK,              /* calls that wait for one lock, condition or semaphore */
	FXT_CRITICAL_FILE,              /* calls about one file, pipe or peer */
	FXT_CRITICAL_FUNCTION,          /* a function, with what it called */
	FXT_CRITICAL_PROGRAM,           /* processes that ran one program, without the one that ended last */
};

/* The place of a file that is not known. */
#define FXT_CRITICAL_NO_FILE UINT64_MAX

/* A thing that takes time. */
struct fxt_critical_thing {
	enum fxt_critical_kind kind;
	uint64_t key;                   /* symbol of the name, the place of the file, or a lock's number */
	uint32_t module;                /* symbol of a function's module */
	uint32_t frame;                 /* a node of the function's, or FXT_NO_FRAME */
	char *label;                    /* of a lock, or NULL */
	uint64_t pid, object;           /* a lock's process and address */
	/* Of the time on the path: in the thing itself; and while a thread on the path waited for it, with
	 * what those who let it go on did meanwhile. */
	uint64_t in_ns, for_ns;
	/* Of a function: how many samples tell of it, and for what part of in_ns they stand. */
	uint64_t samples, sampled_ns;
	/* How long the run would have taken if this had taken no time: as it is taken for, and at most and at
	 * least where the trace does not say who ended waits. */
	uint64_t run_ns, run_most_ns, run_least_ns;
	/* Nearly all that it and another function did on the path was that it called the other one. */
	bool is_passed;
	/* Of a function: the innermost function of its stacks that had most of its time, which may be itself,
	 * by its key and module; and that time. */
	uint64_t inner_key, inner_ns;
	uint32_t inner_module;
	bool is_of_agent;               /* what the agent itself waited for: it is not the program's */
	bool is_signal;                 /* a lock's: it is a condition, a barrier, or a semaphore as one */
};

/* The life of a thread, as the report knows it. */
struct fxt_critical_life {
	uint32_t thread;
	uint64_t first_ns, last_ns;
	bool is_open;                   /* it was in a call when the trace ended, since last_ns */
};

struct fxt_critical_graph;

/* At the beginning all members are zero. */
struct fxt_critical {
	struct fxt_critical_graph *graph;       /* until the end */
	/* sorted after the end: what would win most comes first */
	struct fxt_critical_thing *things;
	size_t count, capacity;
	/* So many samples tell of a function, or it was in waits, whose time is known. The caller sets it. */
	uint64_t least_samples;
	uint64_t run_ns;                /* from the beginning of the run to the end of the path */
	uint64_t wakeups_ns;            /* on the path: from a wakeup until the thread ran, and starts */
	uint64_t unsampled_ns;          /* on the path: threads ran, and no sample says what */
	uint64_t unknown_ns;            /* on the path: waits that nobody is known to have ended */
	uint64_t threads;               /* that the path goes through */
	uint64_t least_ns;              /* calls shorter than this count as what was done around them */
	uint32_t last_thread;           /* the path's last one */
	bool is_known;                  /* there is a path */
	bool lacks_events;              /* set by the report: records were lost, filtered or overwritten */
	bool has_bounds;                /* run_most_ns and run_least_ns may differ from run_ns */
};

/* Returns whether the finished call took long enough. */
static inline bool fxt_critical_wants(const struct fxt_record *rec)
{
	return rec->extra > rec->ticks && fxt_ns(rec->provider, rec->extra) -
							fxt_ns(rec->provider, rec->ticks) >=
						FXT_STANDING_LEAST_NS;
}

/* Takes a finished call of FXT_STANDING_LEAST_NS or more. Its thread was off the processor in it for
 * `waited_ns`, and `file` is the place of the file that it is about. */
void fxt_critical_call(struct fxt_critical *c, struct fxt_reader *r, const struct fxt_objects *objects,
		       struct fxt_call_stacks *stacks, const struct fxt_record *rec,
		       const struct fxt_role *role, uint64_t waited_ns, uint64_t file);
/* Takes what let a thread go on. */
void fxt_critical_cause(struct fxt_critical *c, uint32_t thread, const struct fxt_flight_cause *cause);
/* Takes the begin of a lifetime; that of a thread tells its pthread_t. */
void fxt_critical_begin(struct fxt_critical *c, const struct fxt_reader *r, const struct fxt_record *rec);
/* Takes any finished call of pthread_join() or its like, also one that did not wait. */
void fxt_critical_join(struct fxt_critical *c, const struct fxt_reader *r, const struct fxt_record *rec);
/* Takes a sample of the thread. */
void fxt_critical_sample(struct fxt_critical *c, struct fxt_call_stacks *stacks, const struct fxt_record *rec,
			 uint32_t thread);
/* Makes the list. The run began at first_ns. `lives` are all threads that have one. */
void fxt_critical_finish(struct fxt_critical *c, struct fxt_reader *r, struct fxt_who *who,
			 const struct fxt_critical_life *lives, size_t count, uint64_t first_ns);
/* Returns the thing's name, in at most `columns` characters. The caller frees it. */
char *fxt_critical_name(const struct fxt_critical_thing *x, const struct fxt_reader *r, struct fxt_who *who,
			size_t columns);
struct fxt_handle fxt_critical_handle(const struct fxt_critical_thing *x, const struct fxt_reader *r,
				      struct fxt_who *who);
/* Prints a section, if a path is known and there is something that would win a fiftieth of the run. */
void fxt_critical_print(const struct fxt_critical *c, const struct fxt_reader *r, struct fxt_who *who,
			size_t top, FILE *out);
struct fxt_json;
/* Prints a member `critical_path`: an object, or null if no path is known. */
void fxt_critical_json(const struct fxt_critical *c, struct fxt_json *j, const struct fxt_reader *r,
		       struct fxt_who *who);
void fxt_critical_free(struct fxt_critical *c);

#endif
