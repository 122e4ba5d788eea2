/* Knows from when to when heap blocks lived that have a lifetime, which is an async `heap block` of
 * category malloc. objects.c asks it, because the name of such a block must not be shown for a smaller
 * block that was at the same address later and that the trace has no lifetime of.
 */
#ifndef FXT_TOOLS_BLOCK_LIFETIMES_H
#define FXT_TOOLS_BLOCK_LIFETIMES_H

#include "tools/common/map.h"
#include "tools/reading/reader.h"

/* A pointer in a program. */
struct fxt_where {
	uint32_t provider;              /* index */
	uint64_t pid, pointer;
};

/* Compares two pointers for qsort(): returns a negative value, 0 or a positive value. */
int fxt_where_compare(const struct fxt_where *a, const struct fxt_where *b);

struct fxt_block_life {
	struct fxt_where at;
	uint64_t begin_ns, end_ns;
};

/* The lifetimes of blocks. When there are none, all members are zero. */
struct fxt_block_lives {
	struct fxt_block_life *list;    /* sorted after fxt_block_lives_finish() */
	size_t count, capacity;
	/* Id and provider -> place in the list plus 1, and the time of the end if that came before the
	 * begin. */
	struct fxt_map by_id;
};

/* Returns whether a record with this header may be the begin or the end of a block's lifetime. */
bool fxt_block_lives_want(uint64_t header);
/* Takes an event, in any order. */
void fxt_block_lives_take(struct fxt_block_lives *l, const struct fxt_reader *r,
			  const struct fxt_record *rec);
/* Sorts the list after the last event. */
void fxt_block_lives_finish(struct fxt_block_lives *l);

/* Returns whether a block with a lifetime was at the address at that time. */
bool fxt_block_lived(const struct fxt_block_lives *l, const struct fxt_where *at, uint64_t ns);
void fxt_block_lives_free(struct fxt_block_lives *l);

#endif
