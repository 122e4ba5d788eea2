/* Names of functions in the joined trace. The agent records the nodes of call stacks as addresses in files,
 * because a name would cost the program too much. Merge writes a second record for each node that has no
 * name, with the function's name: the form that the kernel's nodes have. So whoever reads the trace needs
 * none of the files. Callers come before the functions that they call.
 *
 * Functions that a program has made while it ran get the names that the program has written for perf. Many
 * programs write them when they end, and what is made at an address may change until then. So they are looked
 * up when all of the part has been read, and only while `fxt record` joins its own run.
 *
 * For each part:
 *	fxt_frame_part_take()           takes each userspace object record, and names of processes
 *	fxt_frame_part_ahead()          looks up names ahead, while the part grows
 *	fxt_frame_part_end()            makes the records, when all of the part has been read
 * After all parts:
 *	fxt_frame_records_put()         writes them
 */
#ifndef FXT_TOOLS_FRAME_RECORDS_H
#define FXT_TOOLS_FRAME_RECORDS_H

#include <time.h>

#include "frame_namer.h"
#include "tools/analysis/call_stacks.h"
#include "tools/programs/frame_names.h"
#include "tools/programs/perf_map.h"

/* Which files may give names. */
struct fxt_frame_wish {
	/* Files whose build id is not known are used if they were not changed after this time; 0: now. */
	time_t not_after;
	/* When the run began, by CLOCK_REALTIME_COARSE: its processes may have written maps of functions
	 * since then (perf_map.h). 0: the processes are of an earlier run, or of another machine. */
	uint64_t made_since_ns;
};

/* Writes `count` words, which are whole records. Returns false if that failed. */
typedef bool fxt_frame_records_write(void *context, uint64_t *words, size_t count);

/* The records of an archive. All members but `wish` are zero at first. */
struct fxt_frame_records {
	struct fxt_frame_wish wish;
	/* Writes the records of a part while they are made, so that those of ten thousand programs need no
	 * memory at once. NULL: they wait until all parts have been read. */
	fxt_frame_records_write *write;
	void *context;
	bool has_failed;                /* to write some */
	struct fxt_frame_names *names;  /* NULL: nothing had to be named so far */
	struct fxt_frame_namer *namer;  /* it looks up names ahead; NULL: it does not */
	uint64_t *words;
	size_t count, capacity;
	struct fxt_perf_map made;       /* of process `made_by` */
	uint64_t made_by;
};

/* The nodes of the part that is being read. All members are zero at first. */
struct fxt_frame_part {
	struct fxt_call_stacks stacks;  /* those of the kernel's samples, too */
	struct fxt_map processes;       /* provider's index -> the process whose nodes it has */
	struct fxt_map renumbered;      /* processes that know themselves by another number */
	size_t ahead;                   /* of so many nodes the names were looked up ahead */
};

/* Takes a userspace object record or the name of a process, and passes over others. */
void fxt_frame_part_take(struct fxt_frame_part *p, struct fxt_reader *r, const struct fxt_record *rec);

/* Has the names of new nodes looked up in a thread of its own. */
void fxt_frame_part_ahead(struct fxt_frame_records *f, struct fxt_frame_part *p, const struct fxt_reader *r);

/* Returns the id in the archive of the provider that has this id in the part. */
typedef uint32_t fxt_frame_id_of(void *context, uint32_t id);

/* Makes the records of a part, which `r` has read to its end. All nodes that have a record have a name
 * then. */
void fxt_frame_part_end(struct fxt_frame_records *f, struct fxt_frame_part *p, struct fxt_reader *r,
			fxt_frame_id_of *id_of, void *context);
void fxt_frame_part_free(struct fxt_frame_part *p);

/* Returns the files in which names are looked up. It is for who calls after all parts. */
struct fxt_frame_names *fxt_frame_records_names(struct fxt_frame_records *f);

/* Writes the records that were made and not written. Returns false if any could not be written. */
bool fxt_frame_records_put(struct fxt_frame_records *f, fxt_frame_records_write *write, void *context);
void fxt_frame_records_free(struct fxt_frame_records *f);

#endif
