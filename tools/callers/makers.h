/* Who made what, how often, and what became of it: the lifetimes of descriptors, threads, children, mappings
 * and blocks that the trace tells of, by the stack that made them. The agent writes a stack at the begin of
 * each, so these counts are exact; blocks are those that it tracks or has drawn (heap_stacks.h), whose bytes
 * are estimates.
 *
 * Memory is taken for each stack, and for each lifetime that has not ended.
 */
#ifndef FXT_TOOLS_MAKERS_H
#define FXT_TOOLS_MAKERS_H

#include "tools/analysis/process_ends.h"
#include "trend.h"
#include "who.h"

struct fxt_maker {
	uint64_t pid;
	uint32_t category, name;        /* symbols of the lifetime: io and file, process and child, ... */
	uint32_t call;                  /* symbol of the call that made it; 0: the lifetime names none */
	/* symbol of its path, address or template; 0: it has none, or there are several */
	uint32_t label;
	bool has_labels;                /* there are several */
	uint32_t first_label;           /* that of the first */
	uint32_t innermost;             /* node of the stack that made most: bytes, if it made blocks */
	uint64_t most;                  /* how many, or how many bytes, that stack made */
	uint32_t path;                  /* fxt_path_short(), or FXT_NO_PATH; set by fxt_makers_finish() */
	uint64_t count, ended;
	uint64_t bytes;                 /* of blocks and mappings, in all */
	uint64_t moved_bytes;           /* through those descriptors that have ended */
	uint64_t first_ns, last_ns;     /* when the first and the last were made */
	uint64_t lives_ns;              /* how long those that have ended lasted, in all */
	struct fxt_trend alive;         /* how many there were; of blocks and mappings, how many bytes */
	/* of children: how many ended with another status than 0 or by a signal, and how the first did */
	uint64_t failed;
	int first_status, first_signal;
};

/* A lifetime without an end. */
struct fxt_alive {
	uint32_t maker;                 /* place in the list; FXT_NO_MAKER: the place is free */
	uint64_t begin_ns, bytes;       /* what the trend counts it as: bytes, or 1 */
	uint64_t koid;                  /* of a child: its process; of others 0 */
	size_t next_free;               /* of places that are free, plus 1; 0: the last */
};

/* When nothing has been taken, all members are zero. */
struct fxt_makers {
	struct fxt_maker *list;
	size_t count, capacity;
	struct fxt_map by_stack;        /* provider and kind, and node -> place */
	struct fxt_map open;            /* id -> place in `alive` */
	/* Id -> when it ended. Its begin comes later in the file: another thread has written that. */
	struct fxt_map early;
	struct fxt_alive *alive;
	size_t alive_count, alive_capacity, first_free;
};

#define FXT_NO_MAKER UINT32_MAX

/* Takes an async begin or end that the program made, in the order of the file. A begin without a stack is
 * passed over. */
void fxt_makers_take(struct fxt_makers *m, struct fxt_reader *r, struct fxt_call_stacks *stacks,
		     const struct fxt_record *rec);
/* Puts together what was made on stacks that are alike. */
void fxt_makers_finish(struct fxt_makers *m, struct fxt_reader *r, struct fxt_who *who);
/* Returns for what a stack of it is. */
enum fxt_purpose fxt_maker_purpose(const struct fxt_maker *m, const struct fxt_reader *r);
/* Returns whether it made things of this kind; `name` may be NULL. */
bool fxt_maker_is(const struct fxt_maker *m, const struct fxt_reader *r, const char *category,
		  const char *name);
void fxt_makers_free(struct fxt_makers *m);

#endif
