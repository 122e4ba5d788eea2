/* Knows where programs died by a signal, for fxt report. The agent's instant `crash` tells it
 * (docs/crashes.md); what the trace knows of the heap tells which block or mapping the address of a fault was
 * in. Where a stack is used up the agent has no room for the instant, and the kernel's last sample of the
 * process says what it was in.
 */
#ifndef FXT_TOOLS_CRASHES_H
#define FXT_TOOLS_CRASHES_H

#include "tools/analysis/call_stacks.h"
#include "tools/reading/reader.h"

/* A block of the heap, or a mapping. */
struct fxt_crash_block {
	bool is_known, is_mapping;
	uint64_t at, bytes;
	uint64_t id;                    /* of its lifetime; 0: it has none */
	uint64_t freed_ns;              /* 0: it was there */
	uint32_t made_in, freed_in;     /* innermost nodes, or FXT_NO_FRAME */
};

struct fxt_crash {
	const struct fxt_provider *provider;
	uint64_t pid, at_ns;
	uint32_t thread;
	int signal, code;               /* as siginfo has them */
	uint64_t ip, sp, address;
	bool has_address;
	struct fxt_text access;         /* "read", "write" or "execute"; empty: not known */
	uint64_t sender;                /* the number of the process that sent the signal; 0: it is a fault */
	uint32_t innermost;             /* node, or FXT_NO_FRAME */
	struct fxt_crash_block block;   /* the last that had the address, or ended just before it */
};

/* When nothing has been taken, all members are zero. */
struct fxt_crashes {
	struct fxt_crash *list;
	size_t count, capacity;
	struct fxt_map by_pid;          /* pid -> place plus 1 of the last */
	struct fxt_map samples;         /* pid -> when the kernel's last sample was, and its node */
};

/* Takes any event of a program. */
void fxt_crashes_take(struct fxt_crashes *c, const struct fxt_reader *r, struct fxt_call_stacks *stacks,
		      const struct fxt_record *rec);
/* Takes a sample of a thread of this process, which the kernel took. */
void fxt_crashes_sample(struct fxt_crashes *c, struct fxt_call_stacks *stacks, const struct fxt_record *rec,
			uint64_t pid);

/* These take, in the order of time and when all crashes have been taken, that the event's process got a block
 * or gave it up, and the begin or end of a lifetime of memory. */
void fxt_crashes_got(struct fxt_crashes *c, const struct fxt_reader *r, const struct fxt_record *rec,
		     uint64_t at, uint64_t bytes);
void fxt_crashes_gave(struct fxt_crashes *c, const struct fxt_reader *r, const struct fxt_record *rec,
		      uint64_t at);
void fxt_crashes_life(struct fxt_crashes *c, const struct fxt_reader *r, struct fxt_call_stacks *stacks,
		      const struct fxt_record *rec);

/* Returns the last crash of a process that was by this signal, or NULL. */
const struct fxt_crash *fxt_crash_of(const struct fxt_crashes *c, uint64_t pid, int signal);
/* Returns whether the crash is that of a stack that was used up: the address lies just below the stack
 * pointer. */
bool fxt_crash_is_overflow(const struct fxt_crash *x);
/* Returns the node of the kernel's last sample of a process, and sets *at_ns; or FXT_NO_FRAME. */
uint32_t fxt_crashes_last_sample(const struct fxt_crashes *c, uint64_t pid, uint64_t *at_ns);

/* The function that a stack has most frames of, which are so many of `frames`. */
struct fxt_recursion {
	/* the innermost node in which it calls itself, maybe by way of others; or FXT_NO_FRAME: no function
	 * is there twice */
	uint32_t frame;
	size_t times, frames;
};
struct fxt_recursion fxt_recursion_of(const struct fxt_call_stacks *stacks, uint32_t innermost);

void fxt_crashes_free(struct fxt_crashes *c);

#endif
