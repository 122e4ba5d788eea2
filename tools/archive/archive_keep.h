/* The files of an archive of which only a part is kept, because the run is long: its beginning, if that is
 * wanted, and its newest. The present file has the archive's name; one that is full gets the next number,
 * from 1 up. When the oldest of the numbered files goes, what the others need of it goes to the gap
 * (archive_gap.h), which has a file of its own. All files together are one trace.
 *
 * manager.1.fxt the beginning manager.gap.7.fxt what is kept of files 2 to 7 manager.8.fxt ... the newest
 * manager.fxt the present file
 *
 * A file of the gap is written beside the last one, named, and only then are the files removed that it
 * stands for. So there is a whole trace at each moment, whoever is killed.
 */
#ifndef FXT_TOOLS_ARCHIVE_KEEP_H
#define FXT_TOOLS_ARCHIVE_KEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct fxt_archive;
struct fxt_archive_keep;

/* The ending of a file of the gap that is not whole yet. */
#define FXT_ARCHIVE_UNFINISHED ".tmp"

/* How many numbered files there are, at most, beside the first one. */
enum { FXT_ARCHIVE_MOST_KEPT = 99 };

/* What is to be kept. */
struct fxt_archive_keep_wish {
	bool has_first;                 /* the first file is never removed */
	uint64_t first_bytes, bytes;    /* how large the first file becomes, and each later one */
	unsigned count;                 /* of numbered files that are kept beside the first */
	uint64_t age_ns;                /* older ones go, too; 0: they do not */
};

/* Makes the archive keep that alone. Called after fxt_archive_open(). */
void fxt_archive_keep_begin(struct fxt_archive *a, const struct fxt_archive_keep_wish *wish);

/* Returns whether it is time for another file. `now_ns` is of CLOCK_MONOTONIC. */
bool fxt_archive_keep_is_due(const struct fxt_archive *a, uint64_t now_ns);

/* Begins another file if it is time, and removes what has become too old. `now_ns` is of CLOCK_MONOTONIC.
 * Returns whether another file was begun: then the caller has to say the names of the providers and their
 * strings again. */
bool fxt_archive_keep_turn(struct fxt_archive *a, uint64_t now_ns);

/* Notes that the present file has records of this provider. */
void fxt_archive_keep_named(struct fxt_archive_keep *k, uint32_t id);

void fxt_archive_keep_free(struct fxt_archive_keep *k);

/* Puts the files of such an archive together, after fxt_archive_close(), under its name. It waits for whoever
 * writes the archive, for five seconds at most. Whoever is killed meanwhile leaves what can be put together
 * again. Does nothing if there is one file. Returns false after a message if that fails. */
bool fxt_archive_keep_put_together(const char *path);

/* Returns the path of the file that comes behind the one with the number `after` (0: the first file), and
 * sets *number to its own; the present file's is the one that it will get. Returns NULL if there is none
 * now. The caller frees the path. */
char *fxt_archive_keep_next(const char *path, uint32_t after, uint32_t *number);

/* Writes a trace of what the files have by now, while their manager goes on: of what was written down at
 * `from_ns` (CLOCK_BOOTTIME; 0: ever) or later. Returns false after a message. */
bool fxt_archive_keep_copy(const char *path, uint64_t from_ns, FILE *out);

#endif
