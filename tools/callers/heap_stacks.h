/* What each call stack asked of the heap, in the order of time: what is left of it, what was in use when most
 * was, and all of it.
 *
 * Where each call that takes memory has its stack (FXT_STACKS=malloc), the figures are exact. Otherwise large
 * blocks and mappings have lifetimes with a stack, and of smaller blocks some were drawn, each of which
 * stands for as many bytes as it says. A process without any stack is not here.
 *
 * Memory is taken for each stack and each block that is there, and not for those that are gone. The sums at
 * the peak need no second pass: a stack whose sums were not touched since the peak had the same sums then, so
 * they are put aside when they are touched next.
 */
#ifndef FXT_TOOLS_HEAP_STACKS_H
#define FXT_TOOLS_HEAP_STACKS_H

#include "tools/analysis/call_stacks.h"
#include "tools/analysis/overview.h"

/* Sizes come from anywhere, and are added up beyond 64 bits. */
struct fxt_heap_sum {
	unsigned __int128 bytes;
	uint64_t blocks;
};

/* What one stack asked for in one process. */
struct fxt_heap_stack {
	uint32_t process;               /* place in fxt_heap_stacks.processes */
	uint32_t innermost;             /* node, or FXT_NO_FRAME */
	bool is_mapping;
	bool is_estimate;               /* samples stand for some of it */
	bool is_active;                 /* it is among the active ones of its process */
	uint64_t peaks;                 /* as many peaks of the process are over for `at_peak` */
	struct fxt_heap_sum left, at_peak, all;
	/* how many lifetimes or calls these follow from, and how many of those are left */
	uint64_t told, told_left;
};

struct fxt_heap_process {
	const struct fxt_provider *provider;
	uint64_t pid;
	/* what the first pass has seen */
	uint64_t samples, stacked_calls, bare_calls;
	bool has_blocks, has_stacks;
	/* how many blocks and samples, and how many stacks, found no place: fxt_heap_stacks_lack() */
	uint64_t blocks_missing, stacks_missing;
	/* A block is drawn once in so many bytes; 0: not known. */
	uint64_t bytes_a_sample;
	/* the replay */
	unsigned __int128 in_use, peak;         /* bytes in blocks; in mappings, if there are no blocks */
	uint64_t peak_ns;
	uint64_t peaks;                 /* how often the bytes in use have fallen from a peak */
	bool is_at_peak;
	uint32_t gaps;                  /* how often blocks were forgotten */
	uint32_t *active;               /* stacks with sums of what is there, since the last gap */
	size_t active_count, active_capacity;
};

/* A block or mapping that is there, or with `blocks` 0 one that is gone. */
struct fxt_heap_block {
	uint32_t stack, gaps;
	uint64_t bytes, blocks, begin_ns;
	size_t next_free;               /* of those that are free, plus 1; 0: the last */
};

struct fxt_heap_stacks {
	struct fxt_heap_stack *list;
	size_t count, capacity;
	struct fxt_heap_process *processes;
	size_t process_count, process_capacity;
	struct fxt_map by_process;      /* provider's index and pid -> process */
	struct fxt_map by_stack;        /* process and kind, and node -> stack */
	struct fxt_map open;            /* provider's index and id of a lifetime -> block */
	struct fxt_map at_address;      /* process and address -> block, for exact figures */
	struct fxt_heap_block *blocks;
	size_t block_count, block_capacity, first_free;
};

/* Returns whether the event begins or ends the lifetime of a block or mapping, and the program did that. */
bool fxt_heap_stacks_want(const struct fxt_record *rec);

/* The first pass, in any order: takes a wanted event, or a call that has taken memory. */
void fxt_heap_stacks_see(struct fxt_heap_stacks *h, const struct fxt_reader *r, const struct fxt_record *rec);

/* Notes what the agent says that it had no place for. Called after the first pass. */
void fxt_heap_stacks_lack(struct fxt_heap_stacks *h, const struct fxt_overview *o);

/* The replay, in the order of time. All stacks are known. Takes a wanted event. */
void fxt_heap_stacks_life(struct fxt_heap_stacks *h, const struct fxt_reader *r,
			  struct fxt_call_stacks *stacks, const struct fxt_record *rec);
/* Take what a call did: it got a block at its end, or gave one up at its start. */
void fxt_heap_stacks_got(struct fxt_heap_stacks *h, const struct fxt_reader *r,
			 struct fxt_call_stacks *stacks, const struct fxt_record *rec, uint64_t block,
			 uint64_t bytes);
void fxt_heap_stacks_gave(struct fxt_heap_stacks *h, const struct fxt_reader *r, const struct fxt_record *rec,
			  uint64_t block);
/* Forgets what the program has: recording starts after a gap. */
void fxt_heap_stacks_forget(struct fxt_heap_stacks *h, const struct fxt_reader *r,
			    const struct fxt_record *rec);

/* Completes the sums. */
void fxt_heap_stacks_finish(struct fxt_heap_stacks *h);
/* Returns how many blocks and samples the sums lack. Those that follow from calls lack none. */
uint64_t fxt_heap_blocks_missing(const struct fxt_heap_stacks *h);
/* Returns the process, or NULL if it has no stacks. Returns whether its figures are exact. */
const struct fxt_heap_process *fxt_heap_stacks_of(const struct fxt_heap_stacks *h,
						  const struct fxt_provider *provider, uint64_t pid);
bool fxt_heap_is_exact(const struct fxt_heap_process *p);
void fxt_heap_stacks_free(struct fxt_heap_stacks *h);

#endif
