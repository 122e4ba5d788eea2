/* What the trace tells of threads that stand still when it ends, besides the calls that they are in: what the
 * kernel says of those that were blocked for long (docs/witness.md), who has the files that they wait for,
 * which threads have ended, and which memory processes share.
 *
 * Memory is taken for each thread that was blocked for long or has ended, each process that has the other end
 * of such a file, and each shared mapping.
 */
#ifndef FXT_TOOLS_STANDSTILL_H
#define FXT_TOOLS_STANDSTILL_H

#include "tools/analysis/call_stacks.h"
#include "tools/common/map.h"
#include "tools/reading/reader.h"

/* How a thread uses the file that it waits for. */
enum fxt_wanted {
	FXT_WANTS_NOTHING,
	FXT_WANTS_TO_READ,
	FXT_WANTS_TO_WRITE,
	/* it opens a FIFO, and these are not there */
	FXT_WANTS_A_READER,
	FXT_WANTS_A_WRITER,
};

/* A thread that was blocked for long. What it is in is what it was blocked in last. */
struct fxt_long_blocked {
	uint32_t thread;
	uint32_t innermost;             /* node of the stack, or FXT_NO_FRAME */
	uint64_t at_ns;                 /* when it was told */
	enum fxt_wanted wanted;         /* of `file` */
	/* symbols: the file, and the one whose holders may let it go on; or 0 */
	uint32_t file, by;
};

/* A process has a file open. */
struct fxt_holder {
	uint64_t pid;
	uint32_t file;                  /* symbol */
	uint64_t fd;                    /* the lowest that can be written to, or any */
	bool reads, writes;
	size_t next;                    /* the place of another one of the file, or SIZE_MAX */
};

struct fxt_shared_memory {
	uint64_t from, bytes;
};

/* When nothing has been taken, all members are zero. */
struct fxt_standstill {
	struct fxt_long_blocked *list;  /* the last word of each thread */
	size_t count, capacity;
	struct fxt_map by_thread;       /* thread -> place */
	struct fxt_map left;            /* thread's koid -> when it left a processor last and went on later */
	struct fxt_holder *holders;
	size_t holder_count, holder_capacity;
	struct fxt_map by_file;         /* file -> place of its last holder */
	struct fxt_shared_memory *shared;
	size_t shared_count, shared_capacity;
	struct fxt_map over;            /* thread -> when it ended */
};

/* Takes a record of the kernel, of any type, and an event of a program. */
void fxt_standstill_kernel(struct fxt_standstill *s, struct fxt_reader *r, struct fxt_call_stacks *stacks,
			   const struct fxt_record *rec);
void fxt_standstill_take(struct fxt_standstill *s, const struct fxt_record *rec);

/* Returns what is told of a thread that has not gone on since, or NULL. All records were taken. */
const struct fxt_long_blocked *fxt_standstill_of(const struct fxt_standstill *s, const struct fxt_reader *r,
						 uint32_t thread);
/* Returns the place of a process that has the file, from which `next` leads to the others; or SIZE_MAX. */
size_t fxt_standstill_holder(const struct fxt_standstill *s, uint32_t file);
/* Returns whether an address is in memory that some process has mapped so that others may share it. Children
 * have it at the same address as their parent. */
bool fxt_standstill_is_shared(const struct fxt_standstill *s, uint64_t address);

void fxt_standstill_free(struct fxt_standstill *s);

#endif
