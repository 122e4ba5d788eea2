/* The files of this folder share this: a fiber, and how it is found. See fiber.h. */
#ifndef FXT_FIBERS_H
#define FXT_FIBERS_H

#include "fiber.h"

enum {
	FXT_FIBERS_MAX = 1 << 14,
	/* Slots are eight words, and so lie within a cache line: header, start, process, track, an argument
	 * of two words, and two that are zero. */
	FXT_FIBER_SLOT_WORDS = 8,
	/* A fiber has one small page, and large ones if it nests deeper. */
	FXT_FIBER_SMALL_SLOTS = (FXT_SMALL_PAGE_WORDS - 1) / FXT_FIBER_SLOT_WORDS,
	FXT_FIBER_SLOTS = (FXT_PAGE_WORDS - 1) / FXT_FIBER_SLOT_WORDS,
};

/* A function in progress on a fiber. */
struct fxt_fiber_call {
	uintptr_t frame, function, site, call_site;
	uint64_t start_ns;
	uint64_t names;                 /* as in an event's header; 0: it is being filled or emptied */
	uint64_t *slot;                 /* NULL: there is no page for it */
	uint16_t mark;                  /* what the filter found: filtered.h */
	uint8_t hook;                   /* enum fxt_fiber_hook */
};

/* A fiber, or the fibers that have used one stack one after the other. Its members are written by the thread
 * that runs on the stack. */
struct fxt_fiber {
	_Atomic uintptr_t high;         /* its frames lie below; 0: no stack has it */
	uintptr_t low;                  /* the lowest frame that was seen to belong to it */
	struct fxt_fiber *_Atomic next; /* in its bucket */
	struct fxt_fiber_call *open;    /* the entry that the next function gets */
	uint32_t number;
	uint32_t generation;            /* the process and the file that know it: fiber_tracks.c */
	uint32_t koid;                  /* of its track */
	uint32_t deep_count, hidden;    /* functions without entries that last: as in a thread's state */
	bool lacks_pages;               /* there was no page for it */
	/* A thread is about to give it its first entry, or another stack; no other may do so meanwhile */
	atomic_bool is_claimed;
	uint64_t last_ns;               /* the time of its last event */
	uint64_t lasted_ns;             /* as in a thread's state */
	uintptr_t root_frame, root_site;        /* of the last function that it began with */
	struct fxt_fiber_call calls[FXT_FUNCTION_DEPTH];
};

/* Finds the fiber whose stack `frame` may lie on: the one that begins the least above it. Returns NULL if
 * there is none. */
struct fxt_fiber *fxt_fiber_above(const struct fxt_thread *thread, uintptr_t frame);

/* Returns a fiber for the stack on which `frame` is the first frame that was seen; `end` is where the
 * frame ends, or 0 if that is not known. It may have had another stack, which is not there any more, and
 * functions in progress there. It is claimed. Returns NULL if there is no memory, or no lock may be
 * taken. */
FXT_COLD struct fxt_fiber *fxt_fiber_make(uintptr_t frame, uintptr_t end, uint64_t now_ns);
/* Notes that the fiber's stack reaches up to `end`. */
FXT_COLD void fxt_fiber_extend(struct fxt_fiber *fiber, uintptr_t end);
/* Takes its stack away from a fiber that is over, because it is another's. */
FXT_COLD void fxt_fiber_retire(struct fxt_fiber *fiber);

/* Returns whether the frame lies on the thread's alternate signal stack, or on its own stack, which has grown
 * beyond where it was expected. Looks it up, if the thread does not know. */
bool fxt_fiber_is_none(struct fxt_thread *thread, uintptr_t frame);

/* Claims a fiber without entries. Returns false if it is claimed. Who claims one blocks signals. */
static inline bool fxt_fiber_claim(struct fxt_fiber *fiber)
{
	return !atomic_exchange(&fiber->is_claimed, true);
}

static inline void fxt_fiber_release(struct fxt_fiber *fiber)
{
	atomic_store(&fiber->is_claimed, false);
}

/* Enters a function in the fiber: an entry like *new gets the next place, a slot, and if start_ns is 0 the
 * present time. Returns false if it nests too deep; it was counted. The caller has claimed a fiber that has
 * no entries yet. */
bool fxt_fiber_push(struct fxt_thread *thread, struct fxt_fiber *fiber, const struct fxt_fiber_call *new);

/* Returns the present time. It is later than all times that the fiber got before, also in another thread. */
uint64_t fxt_fiber_now(struct fxt_thread *thread, struct fxt_fiber *fiber);

/* Ends the function of the last entry now. */
void fxt_fiber_end_last(struct fxt_thread *thread, struct fxt_fiber *fiber);
/* Closes all entries above `call`, or all that there are: their functions were left at end_ns without an end
 * that was seen. */
void fxt_fiber_close_above(struct fxt_thread *thread, struct fxt_fiber *fiber,
			   const struct fxt_fiber_call *call, uint64_t end_ns);
void fxt_fiber_close_all(struct fxt_thread *thread, struct fxt_fiber *fiber, uint64_t end_ns);
/* Closes the entries that cannot be alive because a function with this frame is entered from this site. */
void fxt_fiber_drop_stale(struct fxt_thread *thread, struct fxt_fiber *fiber, uintptr_t frame, uintptr_t site,
			  enum fxt_fiber_hook hook, uint64_t end_ns);

/* Gives fibers the functions that have entries among those of the thread, and are on other stacks than its
 * own: they were entered by the quick way, which does not look, before the first fiber was met. */
void fxt_fiber_adopt(struct fxt_thread *thread);

/* Returns a fiber whose stack begins in [low, high), or NULL. Takes the lock. */
FXT_COLD struct fxt_fiber *fxt_fiber_within(uintptr_t low, uintptr_t high);

/* Calls `each` for all fibers that have functions in progress. */
void fxt_fibers_each(void (*each)(struct fxt_fiber *fiber, uint64_t a, uint64_t b), uint64_t a, uint64_t b);

/* Makes the fiber known to this process's file, if it is not: gives it a track with a name. */
void fxt_fiber_know(struct fxt_thread *thread, struct fxt_fiber *fiber);
/* Gives an entry a slot, if there is a page for it. */
void fxt_fiber_give_slot(struct fxt_thread *thread, struct fxt_fiber *fiber, struct fxt_fiber_call *call);
/* Shows a function in progress, and takes it away. */
void fxt_fiber_show(struct fxt_thread *thread, const struct fxt_fiber *fiber,
		    const struct fxt_fiber_call *call);
void fxt_fiber_hide(struct fxt_thread *thread, const struct fxt_fiber *fiber,
		    const struct fxt_fiber_call *call);

extern _Atomic uint32_t fxt_fiber_generation __attribute__((visibility("hidden")));

/* Returns whether an entry is that of a function that is left out with all that it calls. */
static inline bool fxt_fiber_is_silent(const struct fxt_fiber_call *call)
{
	return call->names == FXT_IN_PROGRESS_SILENT;
}

/* Returns the entry of the function that was entered last, or NULL. */
static inline struct fxt_fiber_call *fxt_fiber_top(struct fxt_fiber *fiber)
{
	return fiber->open > fiber->calls ? fiber->open - 1 : NULL;
}

#endif
