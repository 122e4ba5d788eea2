/* fxt report: tells what the trace does not have, in a line each: programs that ran untraced
 * (tools/join/merge.c says so), what agents say that they did not see (not_seen.h), that operations went
 * through rings of io_uring (agent/descriptors/rings.h), and that processes which had the same number in turn
 * are shown as one.
 */
#ifndef FXT_TOOLS_UNSEEN_H
#define FXT_TOOLS_UNSEEN_H

#include <stdio.h>

#include "tools/common/map.h"
#include "tools/printing/not_seen.h"
#include "tools/reading/reader.h"

struct fxt_untraced_program {
	uint64_t pid, processes;        /* one that ran it, and how many did */
	char *program, *reason;
};

/* The rings of a process. */
struct fxt_process_rings {
	uint64_t pid;
	uint64_t made, enters;          /* calls of io_uring_setup and io_uring_enter that succeeded */
	uint64_t entered;               /* operations that these calls have submitted */
	uint64_t submitted, completed;  /* what the kernel says of rings, in all */
	bool is_told;                   /* it has said something */
	/* what tells that rings were made by instructions of the program's own, which nobody sees; or NULL */
	char *unseen;
};

struct fxt_unseen {
	struct fxt_untraced_program *programs;
	size_t program_count, program_capacity;
	struct fxt_not_seen not_seen;
	struct fxt_process_rings *rings;
	size_t ring_count, ring_capacity;
	/* provider and ring -> submitted and completed */
	struct fxt_map counts;
	/* number of a process -> how many had it in turn, as the lifetimes of children tell */
	struct fxt_map children;
};

struct fxt_json;

/* Takes an instant of category kernel, which is about a process. */
void fxt_unseen_kernel(struct fxt_unseen *u, const struct fxt_record *rec, uint64_t pid);
/* Takes any event of a program. */
void fxt_unseen_take(struct fxt_unseen *u, const struct fxt_reader *r, const struct fxt_record *rec);
/* Returns how many processes that had this number in turn are shown as one. */
uint64_t fxt_unseen_children(const struct fxt_unseen *u, const struct fxt_reader *r, uint64_t pid);
/* Returns whether processes are shown as one in a trace that was not joined, which would tell them apart. */
bool fxt_unseen_shares_numbers(const struct fxt_unseen *u, const struct fxt_reader *r);
void fxt_unseen_print(const struct fxt_unseen *u, const struct fxt_reader *r, size_t top, FILE *out);
void fxt_unseen_json(const struct fxt_unseen *u, const struct fxt_reader *r, struct fxt_json *j);
void fxt_unseen_free(struct fxt_unseen *u);

#endif
