/* Memory that all traced processes of a run share, for what one of them has to know of another: streams of
 * bytes between them (byte_stream.h), whose child each process is (parent_links.h), and signals that were
 * sent (signal_senders.h).
 *
 * `fxt record` makes the memory, without a name in any directory, and keeps it open for as long as it
 * lives. FXT_SHARED says where it is, and each process maps it at its start. Without FXT_SHARED the first
 * process makes memory of its own, which the processes that it forks inherit and those that it executes do
 * not.
 *
 * Nobody waits in this memory, because a process may be killed between any two instructions. Nothing that
 * stands there is believed, because another process wrote it: every index and every time is checked before
 * it is used. All of it is 0 at first, and pages that are not used take no memory.
 */
#ifndef FXT_SHARED_H
#define FXT_SHARED_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "writer/run/run_memory.h"

enum {
	FXT_SHARED_PAGE_BYTES = 4096,
	FXT_PARENT_ENTRIES = 4096,
	FXT_PARENT_ENTRY_BYTES = 64,
	FXT_PARENT_BYTES = FXT_PARENT_ENTRIES * FXT_PARENT_ENTRY_BYTES,
	FXT_STREAMS_BYTES = FXT_SHARED_BYTES - FXT_SHARED_PAGE_BYTES - FXT_PARENT_BYTES,
};

struct fxt_shared {
	_Atomic uint64_t magic;         /* magic number, version and size; the first process stores them */
	_Atomic uint64_t begun_ns;      /* the time at which that process stored them */
	char between[FXT_ADOPTER_OFFSET - 2 * sizeof(uint64_t)];
	struct fxt_adopter adopter;
	char rest[FXT_SHARED_PAGE_BYTES - FXT_ADOPTER_OFFSET - sizeof(struct fxt_adopter)];
	/* Both sections begin at a page. The files that know their contents cast them. */
	unsigned char parents[FXT_PARENT_BYTES];
	unsigned char streams[FXT_STREAMS_BYTES];
};

static_assert(sizeof(struct fxt_shared) == FXT_SHARED_BYTES, "no more than there is");

/* The mapped memory. If it is NULL, there is none, and nothing is known of other processes. It is set before
 * anything is recorded, and never changed. */
extern struct fxt_shared *fxt_shared __attribute__((visibility("hidden")));

/* Tells whether a time that another process stored in the memory is possible: it must not be before the run
 * began, nor after `now_ns`. */
bool fxt_shared_may_be(uint64_t at_ns, uint64_t now_ns);

/* Tells whether the memory is that of `fxt record`. Then the processes that share it run any programs, and
 * their files are joined into one trace. Otherwise they are forks of this program. */
bool fxt_shared_is_run(void);

/* Returns the id of the parent that this process would have without `fxt record`; `parent` is that of the one
 * that it has. Any context. */
uint32_t fxt_shared_parent(uint32_t parent);

/* Maps or makes the memory. Called once, at start. The descriptor that this takes is closed again before
 * the program can open any. */
void fxt_shared_start(char **environment);

#endif
