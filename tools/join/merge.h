/* Joins the files of several processes into one archive. Used by join.
 *
 * One magic number, then every part without its own and without fillers, in the order the parts began. One part may be there
 * already, as it is, for the others to be appended to: so the only one, or the largest, need not be copied. Functions of C++ and
 * Rust get the names of their source, as viewers show names as they are in the file. A
 * process that called exec has left several parts of one provider id; later ones get an id of their own,
 * since string and thread tables are a provider's. The last of them may be the one that is there already: it has named the process, and
 * the others leave their names for it out, as the last name that a reader meets is the one that holds. What a process left open when it ended
 * is ended last of all (open_lifetimes.h).
 */
#ifndef FXT_TOOLS_MERGE_H
#define FXT_TOOLS_MERGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "open_lifetimes.h"
#include "tools/analysis/overview.h"
#include "tools/common/map.h"
#include "tools/reading/reader.h"
#include "untraced.h"
#include "write_behind.h"

struct fxt_merged_category {
	char *name;
	uint64_t events, bytes;
};

struct fxt_merged_name;                 /* of a category, in merge_sums.c */

/* What went into the archive. All zero is the beginning. */
struct fxt_merge {
	struct fxt_write_behind output;
	uint64_t parts, processes, threads, events, bytes;
	size_t losers;                  /* parts that lost records; and of the worst of them: */
	struct fxt_loser worst;
	char *worst_name;
	uint64_t lost[FXT_LOSS_COUNT], buffer_full;
	bool only_counts;               /* what is in the part at hand, without writing it */
	bool as_it_is;                  /* the part at hand is what it becomes, but for fillers */
	unsigned char *buffer;          /* a block of the output; NULL: nothing has begun, or it is over */
	size_t buffered;
	bool still_runs;                /* the process of the part at hand, which may write on */
	struct fxt_untraced untraced;   /* what was executed, of which no part came */
	struct fxt_open_lifetimes lifetimes;
	struct fxt_map exits;           /* pids whose own trace says how they ended */
	uint64_t damaged;               /* records that could not be read and were left out */
	char *reason;                   /* why something was dropped, of the first part that says; or NULL */
	struct fxt_merged_category *categories;
	size_t category_count, category_capacity;
	struct fxt_merged_name *category_names;
	struct fxt_map provider_ids, last_ids, pids, tids;    /* last_ids: of each id, what the last part of it became */
	uint32_t next_id;
	uint64_t named;                 /* the process whose last part came first; 0: there is none */
};

/* Writes the magic number. False when that fails; errno says why. */
bool fxt_merge_begin(struct fxt_merge *m, FILE *out);

/* Begins with a part that is what `out` holds, and which the rest is appended to. False, and nothing has begun, if it has to be copied:
 * it is not whole, or something in it has to be written in another way. */
bool fxt_merge_begin_with(struct fxt_merge *m, FILE *out, struct fxt_reader *r);

/* Says that it was the last part of process `pid`, whose others are still to be appended. */
void fxt_merge_came_last(struct fxt_merge *m, uint64_t pid);

/* Appends the part; one that cannot be read is left out, with a message. `still_runs` says that its process may write on. False when
 * nothing can be written; errno says why. */
bool fxt_merge_part(struct fxt_merge *m, const char *path, bool still_runs);

/* The same of what a reader reads. */
bool fxt_merge_trace(struct fxt_merge *m, struct fxt_reader *r);

/* Writes how and when the process ended, where its own trace does not say so and there is one. `signal` is 0 where it was by exit. Comes
 * after all parts. False when nothing can be written. */
bool fxt_merge_exit(struct fxt_merge *m, uint64_t pid, uint64_t at_ns, int status, int signal);

/* Ends the lifetimes of what has ended, and writes what is left; also after a failure, before the stream is closed. False when something
 * could not be written; errno says why. */
bool fxt_merge_end(struct fxt_merge *m);

/* Adds to the sums what was found in a part that has been read: merge.c's own. */
void fxt_merge_add(struct fxt_merge *m, struct fxt_overview *o, const struct fxt_reader *r);

/* Frees what they were added to. */
void fxt_merge_free_sums(struct fxt_merge *m);

/* The category with the most bytes, or NULL. */
const struct fxt_merged_category *fxt_merge_largest(const struct fxt_merge *m);

void fxt_merge_free(struct fxt_merge *m);

#endif
