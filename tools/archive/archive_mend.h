/* Makes one file of the files of an archive. Records that need others which are gone are left out: ends of
 * lifetimes whose begins are nowhere, and arrows that have lost one of their slices. archive_keep.c and
 * ctl_save.c use it, in one thread.
 *
 * All files are looked at first, from the oldest to the newest, and then copied in the same order.
 */
#ifndef FXT_TOOLS_ARCHIVE_MEND_H
#define FXT_TOOLS_ARCHIVE_MEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/common/map.h"

struct fxt_archive_file;

/* At first all members are zero. */
struct fxt_archive_mend {
	uint64_t from_ns;               /* events that were over before are gone, too */
	struct fxt_map asyncs, flows;   /* ids of which one half has been found -> which one */
	struct fxt_map threads;         /* threads that have had a slice since the gap */
	bool is_behind;                 /* the gap has come */
	uint64_t left_out;              /* records */
};

/* Says that a gap lies before the next file. */
void fxt_mend_gap(struct fxt_archive_mend *m);

/* Looks at a file. */
void fxt_mend_look(struct fxt_archive_mend *m, const struct fxt_archive_file *file);

/* Says that all files have been looked at: copying begins. */
void fxt_mend_looked(struct fxt_archive_mend *m);

/* Appends a file to `out`, without the magic number. Returns false if that failed; errno says why. */
bool fxt_mend_copy(struct fxt_archive_mend *m, const struct fxt_archive_file *file, FILE *out);

void fxt_mend_free(struct fxt_archive_mend *m);

#endif
