/* Knows which lock is at an address at what time. A place is an address in a process at which locks are that
 * may have been taken in a circle. One lock after another may be there: a call has made or destroyed a lock,
 * memory around it was allocated, or the trace has another name for it (tools/analysis/objects.h).
 * lock_replay.c asks in the order of time. */
#ifndef FXT_TOOLS_LOCK_PLACES_H
#define FXT_TOOLS_LOCK_PLACES_H

#include "tools/analysis/objects.h"
#include "tools/common/map.h"
#include "tools/reading/reader.h"

#define FXT_NO_LOCK UINT32_MAX

/* So often may another lock come to a place because memory was allocated. It takes some 100 ms, and bounds
 * what a trace costs whose blocks all have all places in them. */
enum { FXT_LOCK_RENEWALS_MAX = 1 << 24 };

struct fxt_lock_place {
	uint64_t pid, address;
	const struct fxt_object *known; /* the trace's record about the lock that is there, or NULL */
	uint32_t lock;                  /* the lock's number in the list; FXT_NO_LOCK: it has none yet */
	uint32_t owner;                 /* the thread that has it to itself, plus 1; 0: none */
	/* Grows when a thread gets the lock for itself, when somebody gives it up for its owner, and when
	 * another lock comes here. Whoever took it in an earlier turn does not hold it any more. */
	uint32_t turn;
	bool is_made;                   /* a call has made the lock that is there */
	bool is_in_block;               /* it is in a heap block that was seen to be allocated */
	bool is_confused;               /* a thread gave it up for some reader */
};

/* A lock that was at a place. */
struct fxt_lock {
	uint64_t pid, address;
	const struct fxt_object *known;
	/* It was the same lock for all the time: it is a variable, was made by a call, or is in a heap block
	 * that was allocated before and not again. Otherwise one lock after another may have been there, such
	 * as on a stack. */
	bool is_certain;
	bool is_confused;               /* as above */
};

/* The places, and the locks that were there. At the beginning all members are zero. */
struct fxt_lock_places {
	struct fxt_lock_place *list;
	size_t count;
	const struct fxt_map *by_address;       /* pid and address -> place */
	uint32_t *sorted;               /* places by process and address */
	struct fxt_map processes;       /* a set of pids */
	struct fxt_lock *locks;
	size_t lock_count, lock_capacity;
	size_t renewals;                /* more than FXT_LOCK_RENEWALS_MAX: not all of them were made */
};

/* Begins with the places of a map from process and address to a number, which has to stay. */
void fxt_lock_places_begin(struct fxt_lock_places *p, const struct fxt_map *by_address);
void fxt_lock_places_free(struct fxt_lock_places *p);

/* Returns the place at an address, or NULL if there is none. */
static inline struct fxt_lock_place *fxt_lock_place_at(const struct fxt_lock_places *p, uint64_t pid,
						       uint64_t address)
{
	const struct fxt_slot *s = fxt_map_find(p->by_address, pid, address);

	return s ? &p->list[s->value[0]] : NULL;
}

/* Another lock is at the place from now on. */
void fxt_lock_place_renew(struct fxt_lock_place *place);

/* Returns whether the call, which is complete, has allocated memory with a place in it. */
bool fxt_lock_places_allocated(const struct fxt_lock_places *p, const struct fxt_reader *r,
			       const struct fxt_record *rec);
/* Takes such a call. */
void fxt_lock_places_allocate(struct fxt_lock_places *p, const struct fxt_reader *r,
			      const struct fxt_record *rec);

/* Returns the number of the lock that is at the place. */
uint32_t fxt_lock_place_lock(struct fxt_lock_places *p, struct fxt_lock_place *place);

#endif
