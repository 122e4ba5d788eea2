/* When the heap blocks were there that have a lifetime: asyncs `heap block` of category malloc. Used by objects.c: such a block's name is
 * not that of a smaller one at its address later, of which the trace was told nothing.
 */
#ifndef FXT_TOOLS_BLOCK_LIFETIMES_H
#define FXT_TOOLS_BLOCK_LIFETIMES_H

#include "tools/common/map.h"
#include "tools/reading/reader.h"

/* A pointer of a process. */
struct fxt_where {
	uint32_t provider;              /* index */
	uint64_t pid, pointer;
};

/* Negative, 0 or positive, as for qsort(). */
int fxt_where_compare(const struct fxt_where *a, const struct fxt_where *b);

struct fxt_block_life {
	struct fxt_where at;
	uint64_t begin_ns, end_ns;
};

/* All zero is the beginning. */
struct fxt_block_lives {
	struct fxt_block_life *list;    /* sorted, when all are taken */
	size_t count, capacity;
	struct fxt_map by_id;           /* id and provider -> place in the list, from 1; the end, where that came first */
};

/* Whether a record with this header may be the begin or the end of one. */
bool fxt_block_lives_want(uint64_t header);
/* An event, in any order; and the last has been taken. */
void fxt_block_lives_take(struct fxt_block_lives *l, const struct fxt_reader *r, const struct fxt_record *rec);
void fxt_block_lives_finish(struct fxt_block_lives *l);

/* Whether there was one at the address then. */
bool fxt_block_lived(const struct fxt_block_lives *l, const struct fxt_where *at, uint64_t ns);
void fxt_block_lives_free(struct fxt_block_lives *l);

#endif
