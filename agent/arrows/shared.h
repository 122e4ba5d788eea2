/* Memory that all traced processes of a run share: what one of them has to know of another. Streams of bytes
 * between them are in it (byte_stream.h), and who is whose child (parent_links.h).
 *
 * `fxt record` makes it, without a name in any directory, and keeps it open for as long as it lives;
 * FXT_SHARED says where it is, and each process maps it as it starts. Without that the first process makes
 * its own, which those that it forks inherit and those that it executes do not.
 *
 * Nobody waits in it: whoever has it may be killed between any two instructions. Nor is what stands in it
 * believed: another process wrote it, so every index and every time is looked at before it is used. All of it
 * is 0 at first, and pages that are not used are not there.
 */
#ifndef FXT_SHARED_H
#define FXT_SHARED_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	FXT_SHARED_BYTES = 1 << 20,     /* tools/record/shared_memory.c makes so many */
	FXT_SHARED_PAGE_BYTES = 4096,
	FXT_KIN_ENTRIES = 4096,
	FXT_KIN_ENTRY_BYTES = 64,
	FXT_KIN_BYTES = FXT_KIN_ENTRIES * FXT_KIN_ENTRY_BYTES,
	FXT_STREAMS_BYTES = FXT_SHARED_BYTES - FXT_SHARED_PAGE_BYTES - FXT_KIN_BYTES,
};

struct fxt_shared {
	_Atomic uint64_t magic;         /* and version and size; whoever comes first puts it there */
	_Atomic uint64_t begun_ns;      /* when that was */
	char rest[FXT_SHARED_PAGE_BYTES - 2 * sizeof(uint64_t)];
	/* Each on pages of its own, for who knows what is in it to cast. */
	unsigned char kin[FXT_KIN_BYTES];
	unsigned char streams[FXT_STREAMS_BYTES];
};

static_assert(sizeof(struct fxt_shared) == FXT_SHARED_BYTES, "no more than there is");

/* NULL: there is none, and nothing is known of others. Set before anything is recorded, and never changed. */
extern struct fxt_shared *fxt_shared __attribute__((visibility("hidden")));

/* Whether a time that another process has written there may be when something happened that is over by
 * `now_ns`: not before the run began. */
bool fxt_shared_may_be(uint64_t at_ns, uint64_t now_ns);

/* Whether it is `fxt record`'s, so that those who use it run any programs, and have their files in one trace;
 * otherwise they are forks of this program. */
bool fxt_shared_is_run(void);

/* Once, at start; the descriptor it takes is closed again before the program gets to open any. */
void fxt_shared_start(char **environment);

#endif
