/* What programs do again and again to no use: polls that find nothing, transfers of a few bytes, and waits
 * for a condition that begin anew at once. Memory is taken for each kind of call, and each condition. */
#ifndef FXT_TOOLS_REPEATS_H
#define FXT_TOOLS_REPEATS_H

#include "tools/common/map.h"
#include "tools/reading/reader.h"
#include "tools/waits/call_roles.h"

/* Calls of one name in the whole run. */
struct fxt_repeated {
	uint64_t count, ns;
	uint32_t category, name;        /* symbols */
	/* of these, calls that asked without waiting whether there is something, and found nothing */
	uint64_t empty, empty_ns;
	/* and those that moved FXT_TINY_BYTES or less through a descriptor, but not nothing */
	uint64_t tiny, tiny_bytes, tiny_ns;
};
enum { FXT_TINY_BYTES = 16 };

/* Waits for one condition. */
struct fxt_woken {
	uint64_t pid, cond;
	uint32_t name;                  /* symbol of the condition's name; 0: it has none */
	/* Vain: the thread's call before had waited for the same, and it made no other between them. */
	uint64_t waits, vain;
	uint64_t signals, broadcasts;
	uint64_t signalled_ns;          /* when the last of these began */
	uint32_t signaller;             /* the thread that made it */
};

/* When nothing has been taken, all members are zero. */
struct fxt_repeats {
	struct fxt_repeated *calls;
	size_t call_count, call_capacity;
	struct fxt_map by_call;         /* category and name -> place */
	struct fxt_woken *conds;
	size_t cond_count, cond_capacity;
	struct fxt_map by_cond;         /* pid and address -> place */
	uint64_t *last;                 /* by thread: the condition that its last call waited for, or 0 */
	size_t last_count, last_capacity;
};

/* Takes a finished call, in the order of the file. `says_no_wait`: fxt_says_no_wait(). *place is where calls
 * of its name are, from 1 up; 0: it is not known and is set. */
void fxt_repeats_take(struct fxt_repeats *p, struct fxt_reader *r, const struct fxt_record *rec,
		      const struct fxt_role *role, bool says_no_wait, uint32_t *place);
/* Returns how often the whole run made calls of this name, and sets *ns to their time. */
uint64_t fxt_repeats_of(const struct fxt_repeats *p, const struct fxt_reader *r, const char *name,
			uint64_t *ns);
/* Returns what is known of a condition of a process, or NULL. */
const struct fxt_woken *fxt_repeats_cond(const struct fxt_repeats *p, uint64_t pid, uint64_t cond);
void fxt_repeats_free(struct fxt_repeats *p);

#endif
