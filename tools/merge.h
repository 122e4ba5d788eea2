/* Joins the files of several processes into one archive. Used by record.
 *
 * One magic number, then every part without its own and without fillers, in the order the parts began. A
 * process that called exec has left several parts of one provider id; later ones get an id of their own,
 * since string and thread tables are a provider's.
 */
#ifndef FXT_TOOLS_MERGE_H
#define FXT_TOOLS_MERGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "map.h"
#include "overview.h"
#include "reader.h"

struct fxt_merged_category {
	char *name;
	uint64_t events, bytes;
};

/* What went into the archive. All zero is the beginning. */
struct fxt_merge {
	FILE *out;
	uint64_t parts, processes, threads, events, bytes;
	uint64_t lost[FXT_LOSS_COUNT], buffer_full;
	uint64_t damaged;               /* records that could not be read and were left out */
	char *reason;                   /* why something was dropped, of the first part that says; or NULL */
	struct fxt_merged_category *categories;
	size_t category_count, category_capacity;
	struct fxt_map provider_ids, pids, tids;
	uint32_t next_id;
};

/* Writes the magic number. False when that fails; errno says why. */
bool fxt_merge_begin(struct fxt_merge *m, FILE *out);

/* Appends the part; one that cannot be read is left out, with a message. False when nothing can be
 * written; errno says why. */
bool fxt_merge_part(struct fxt_merge *m, const char *path);

/* The same of what a reader reads. */
bool fxt_merge_trace(struct fxt_merge *m, struct fxt_reader *r);

/* The category with the most bytes, or NULL. */
const struct fxt_merged_category *fxt_merge_largest(const struct fxt_merge *m);

void fxt_merge_free(struct fxt_merge *m);

#endif
