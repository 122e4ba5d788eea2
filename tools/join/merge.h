/* Joins the parts of a run into one archive. join.c calls it, from one thread.
 *
 * An archive begins with one magic number. Then come the parts in the order in which they began, each
 * without its own magic number and without fillers. One part may be there already, as it is, and the others
 * are appended to it; so the only part, or the largest, need not be copied. Functions of C++ and Rust get
 * the names of their source, because viewers show names as they are in the file. Then come the ends of
 * what a process left open (open_lifetimes.h), what ran untraced, who made whom go on (wakeups.h), the names
 * of the functions in call stacks (frame_records.h), and last of all what Perfetto reads in its own form
 * (perfetto_blob.h). Before that,
 * processes that had one number in turn get koids of their own in all that was written (renumber.h).
 *
 * An archive that a manager writes can be followed while it grows, so that little is left to be done when it
 * is whole: then it is what the others are appended to.
 *
 * A process that called exec has left several parts with one provider id. Later ones get an id of their
 * own, because each provider has its own tables of strings and threads. The last of them may be the part
 * that is there already. It has named the process then, and the others leave out their names for the
 * process, because the last name that a reader meets is the one that it shows.
 */
#ifndef FXT_TOOLS_MERGE_H
#define FXT_TOOLS_MERGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "frame_records.h"
#include "open_lifetimes.h"
#include "renumber.h"
#include "tools/analysis/overview.h"
#include "tools/common/map.h"
#include "tools/perfetto/profile.h"
#include "tools/printing/not_seen.h"
#include "tools/reading/reader.h"
#include "untraced.h"
#include "wakeups.h"
#include "write_behind.h"

struct fxt_merged_category {
	char *name;
	uint64_t events, bytes;
};

struct fxt_merged_name;                 /* the name of a category, in merge_sums.c */
struct fxt_merged_part;                 /* the part that is being read, in merge_internal.h */

/* Which programs were to be traced. If all were, one without a part ran untraced. If nobody knows, one did
 * that cannot be traced. */
enum fxt_follows { FXT_FOLLOWS_UNKNOWN, FXT_FOLLOWS_SOME, FXT_FOLLOWS_ALL };

/* An archive that is being written, and sums of what went into it. All members are zero before it is begun,
 * but for `lacks_perfetto`, `follows` and `frames.wish`, which stay as they are. */
struct fxt_merge {
	struct fxt_write_behind output;
	uint64_t parts, processes, threads, events, bytes;
	uint64_t silent;                /* processes that have recorded nothing, as far as that is known */
	uint64_t packed_bytes;          /* the size of the file if that was compressed; otherwise 0 */
	size_t losers;                  /* processes that lost records */
	struct fxt_loser worst;         /* the one that lost most, and its name */
	char *worst_name;
	uint64_t lost[FXT_LOSS_KINDS], buffer_full, kernel_lost;
	uint64_t room_waits, room_ns;   /* how often and how long programs waited for room for records */
	uint64_t given_up;              /* how often a manager has given up a category of a program */
	bool only_counts;               /* the current part is counted and not written */
	bool as_it_is;                  /* a copy of the current part would only lack its fillers */
	unsigned char *buffer;          /* a block of the output; NULL: not begun yet, or ended */
	size_t buffered;
	bool still_runs;                /* the process of the current part still runs, and may write on */
	struct fxt_merged_part *followed;       /* the part that is followed; NULL: there is none */
	uint64_t dropped;               /* so much of it is in no memory of ours any more */
	/* the providers in it whose processes still run, by their ids -> when recording ended, and the pid */
	struct fxt_map running;
	struct fxt_untraced untraced;   /* programs that were executed and left no part */
	struct fxt_not_seen not_seen;
	bool was_off;                   /* recording was not on all the time: programs may be in no part */
	struct fxt_open_lifetimes lifetimes;
	struct fxt_frame_records frames;        /* names of functions */
	struct fxt_profile profile;
	struct fxt_wakeups wakeups;     /* who made whom go on */
	bool lacks_perfetto;            /* nothing is written in Perfetto's own form */
	enum fxt_follows follows;
	struct fxt_map exits;           /* pids whose own trace says how they ended */
	uint64_t damaged;               /* records that could not be read and were left out */
	char *reason;                   /* why something was dropped, as the first part says it; or NULL */
	struct fxt_merged_category *categories;
	size_t category_count, category_capacity;
	struct fxt_merged_name *category_names;
	/* `last_ids` has the id in the archive of the last part of each provider id. */
	struct fxt_map provider_ids, last_ids, tids;
	struct fxt_map pids;            /* of all processes -> 1 if they have recorded something */
	struct fxt_witnessed witnessed; /* what the kernel tells of */
	struct fxt_map children;        /* number of a child -> when the last child with it began */
	struct fxt_map holders;         /* number of a thread -> a process that had it */
	bool has_numbers_again; /* a process or thread may have had a number that another one had before */
	struct fxt_renumber renumber; /* who had which number, if so */
	uint32_t next_id;
	uint64_t named;                 /* the process whose last part was there first; 0: there is none */
};

/* Begins an archive by writing the magic number. Returns false if that fails; errno says why. */
bool fxt_merge_begin(struct fxt_merge *m, FILE *out);

/* Begins an archive with the part that `out` already holds and `r` reads; the rest is appended to it.
 * Returns false, with nothing begun, if that part has to be copied because it is not whole or something
 * in it has to be written in another way. */
bool fxt_merge_begin_with(struct fxt_merge *m, FILE *out, struct fxt_reader *r);

/* Begins to follow a part, which `r` reads. It begins the archive, and grows still. */
void fxt_merge_follow_begin(struct fxt_merge *m, struct fxt_reader *r);

/* Reads what there is of it by now: the caller has set r->size to the end of a whole record. Returns false
 * if the part cannot stay as it is. Then fxt_merge_free() is all that may follow, and the part is one like
 * any other. */
bool fxt_merge_follow(struct fxt_merge *m, struct fxt_reader *r);

/* Ends it. All of the part was read, and others can be appended to `out`, which has it already. */
void fxt_merge_follow_end(struct fxt_merge *m, struct fxt_reader *r, FILE *out);

/* Says that this part was the last of process `pid`, whose other parts are still to be appended. */
void fxt_merge_came_last(struct fxt_merge *m, uint64_t pid);

/* Appends the part at `path`. A part that cannot be read is left out, with a message. `still_runs` says
 * that its process may write on. Returns false if the archive cannot be written; errno says why. */
bool fxt_merge_part(struct fxt_merge *m, const char *path, bool still_runs);

/* Appends the part that `r` reads. Returns false as fxt_merge_part() does. */
bool fxt_merge_trace(struct fxt_merge *m, struct fxt_reader *r);

/* Writes how and when the process ended, if it has left a trace and that does not say so. `signal` is 0
 * if it exited. Called after all parts. Returns false if the archive cannot be written. */
bool fxt_merge_exit(struct fxt_merge *m, uint64_t pid, uint64_t at_ns, int status, int signal);

/* Writes that process `pid`, if it has left a trace, still ran at this time, when recording ended: otherwise
 * the trace would seem to end with the last call of a program that is stuck. Called after all parts. Returns
 * false if the archive cannot be written. */
bool fxt_merge_still_runs(struct fxt_merge *m, uint64_t pid, uint64_t at_ns);

/* Writes ends for what programs that are over left open, what Perfetto reads, and all that is still
 * buffered. It has to be called after a failure too, before the stream is closed. Returns false if something
 * could not be written; errno says why. */
bool fxt_merge_end(struct fxt_merge *m);

/* Returns the category with the most bytes, or NULL if there is none. */
const struct fxt_merged_category *fxt_merge_largest(const struct fxt_merge *m);

void fxt_merge_free(struct fxt_merge *m);

#endif
