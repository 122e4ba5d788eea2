/* What is gone from an archive: the records of files that were removed (archive_keep.c), or of the time
 * before a snapshot (archive_mend.c). Of these the gap keeps what the records that are left need to be
 * true:
 *
 * - for each program how many calls are gone, and from when to when; of the kernel's part, how many samples
 *   and switches;
 * - begins of lifetimes that have no end there, and ends that have no begin there. The other one of the two
 *   is, or will be, in a file that is left;
 * - what processes, threads, objects and the frames of call stacks are called, by the last record of each;
 * - how processes ended, and when, by what the kernel told;
 * - the strings and threads that all these refer to.
 *
 * This takes a bounded memory. When there is too much of it, the oldest records are forgotten, and programs
 * of which nothing else is left are counted together.
 */
#ifndef FXT_TOOLS_ARCHIVE_GAP_H
#define FXT_TOOLS_ARCHIVE_GAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/common/map.h"

struct fxt_archive_file;

/* A program: a provider. */
struct fxt_gap_program {
	uint32_t id;
	uint64_t *name, *clock;         /* its records of information and initialization; NULL: none seen */
	uint64_t process;               /* its process; 0: not known */
	uint64_t calls, first_ns, last_ns;      /* what is gone; first_ns UINT64_MAX: nothing is */
	bool was_full;                  /* a provider event said that records were lost */
	struct fxt_map strings, threads;        /* index -> a copy of the record */
};

struct fxt_gap_record {
	uint64_t *words;                /* a copy; NULL: forgotten */
	uint32_t size, program;         /* words; an index of `programs` */
	uint64_t key[2];                /* in `keys`; both 0: it has none */
};

/* How many bytes of records a gap keeps, at most. */
enum { FXT_GAP_MOST_BYTES = 8 << 20 };

/* At first all members are zero. */
struct fxt_archive_gap {
	uint64_t most_bytes;            /* of records that are kept; 0: FXT_GAP_MOST_BYTES */
	const char *reason;             /* why records are gone */
	struct fxt_gap_program *programs;
	size_t program_count, program_capacity;
	struct fxt_map ids;             /* provider -> an index of `programs` plus 1 */
	struct fxt_gap_record *records; /* in the order in which they came */
	size_t record_count, record_capacity;
	size_t holes;                   /* records that were forgotten */
	struct fxt_map keys;            /* what a record is about -> an index of `records` plus 1 */
	uint64_t bytes;                 /* of `records` */
	struct fxt_map first;           /* lifetimes that are open at the end of the first file */
	/* what a file without its strings is told of them; NULL: it has all (archive_lost.h) */
	const struct fxt_archive_lost *lost;
	struct fxt_gap_program others;  /* programs that were counted together */
	uint64_t other_count;
};

/* Takes the file that is never removed, before all others: which lifetimes it leaves open. */
void fxt_gap_take_first(struct fxt_archive_gap *g, const struct fxt_archive_file *file);

/* Takes a file that is about to be removed, or of one that stays what was written down before `until_ns`
 * (UINT64_MAX: all). Files come from the oldest to the newest. */
void fxt_gap_take(struct fxt_archive_gap *g, const struct fxt_archive_file *file, uint64_t until_ns);

/* Counts programs together if there are too many of which nothing is left: those for which `is_left` returns
 * false. Those that ended first go first. */
void fxt_gap_fold(struct fxt_archive_gap *g, bool (*is_left)(void *context, uint32_t id), void *context);

/* Makes records that tell of the gap, without the magic number. */
void fxt_gap_put(const struct fxt_archive_gap *g,
		 void (*put)(void *context, const uint64_t *words, size_t count), void *context);

void fxt_gap_free(struct fxt_archive_gap *g);

#endif
