/* What agents say that a trace does not have, and why, by instants `unseen` of category agent: a child that
 * may not record, say, or the heap of a program with an allocator of its own (agent/emit/losses.h). Nobody
 * knows how many records these would be, so they count as no loss; a summary tells them beside its losses.
 */
#ifndef FXT_TOOLS_NOT_SEEN_H
#define FXT_TOOLS_NOT_SEEN_H

#include "tools/common/map.h"
#include "tools/reading/reader.h"

struct fxt_not_seen_thing {
	char *what;                     /* as the agents say it, printable */
	uint64_t pid;                   /* the first process that said so */
	uint64_t processes, times;      /* how many did, and how often in all */
};

/* Zeroed, it is empty. */
struct fxt_not_seen {
	struct fxt_not_seen_thing *list;
	size_t count, capacity;
	struct fxt_map said;            /* place in the list and process */
};

/* Takes an event of a process. One that is no such instant changes nothing. */
void fxt_not_seen_take(struct fxt_not_seen *n, const struct fxt_record *rec, uint64_t pid);
/* Returns ", 3 times in process 123" or the like. The caller frees it. */
char *fxt_not_seen_where(const struct fxt_not_seen_thing *thing);
void fxt_not_seen_free(struct fxt_not_seen *n);

#endif
