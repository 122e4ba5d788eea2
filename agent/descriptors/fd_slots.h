/* These functions keep the begins of descriptors' lifetimes in slots, in circular mode. As long as a
 * lifetime goes on, its begin stands in a slot, which the ring never overwrites. When the lifetime ends, the
 * begin moves to the chunk of the thread that ends it, in front of the end. So the ring has both records or
 * neither, and the file has the begin of each open descriptor that has a slot, however long ago it was
 * opened, also if the program is killed. See docs/descriptors.md.
 *
 * A slot is a record of one fixed size: either a filler or an async begin with zeros behind its last word.
 * Slots lie in pages of the storage. A page is taken when one of its descriptor numbers comes into use, and
 * stays until the process ends. Each number below 1024 has two slots, because a socket and its connection
 * have lifetimes at once, and because a number may be given out again before the end of its earlier lifetime
 * is written. A lifetime that gets no slot begins in the thread's chunk, as in the other modes.
 *
 *	slot = fxt_fd_slot_claim(thread, fd, begin_ns, id, &lane)       NULL: none
 *	...                                                     arguments, from fxt_fd_slot_arguments(slot)
 *	fxt_fd_slot_show(lane, slot, at, id, names, arguments)
 *	...
 *	slot = fxt_fd_slot_take(fd, id)                         in the thread that ends the lifetime
 *	...                                                     copies its record: fxt_fd_slot_words()
 *	fxt_fd_slot_hide(slot)                                  before the copy is committed: the begin
 *	                                                        must never be there twice
 *	fxt_fd_slot_free(slot)
 *
 * The word behind each slot is a filler that also says which lifetime has the slot, so threads that race for
 * a number do not take each other's slots. There is no lock: a thread that does not get a slot does without.
 * While a thread stores to a slot it has a lane, as in an emission: fork.c says why. All functions may
 * be called in any context.
 */
#ifndef FXT_FD_SLOTS_H
#define FXT_FD_SLOTS_H

#include "agent/emit/emit.h"

enum {
	FXT_FD_SLOT_WORDS = 23,         /* the size of a slot's record; it has the last 102 bytes of a path */
	FXT_FD_SLOT_NUMBERS = 1024,     /* the numbers below this have slots */
};

/* True if this process has slots: it is in circular mode, and its file was not rewritten. */
extern bool fxt_fd_slots_on __attribute__((visibility("hidden")));

/* Called when the buffering mode is known: only a ring needs slots. */
void fxt_fd_slots_mode(void);

/* Empties all slots, because recording begins again. */
void fxt_fd_slots_empty(void);

/* Forgets the parent's slots in the child of a fork, whose own file has none yet. */
void fxt_fd_slots_after_fork(void);

/* Called when the file was rewritten at exit: the new file has the begins as they were, and no slot of it is
 * written to any more. */
void fxt_fd_slots_stop(void);

/* Takes a slot for lifetime `id` of number `fd`, which begins at begin_ns, and stores its words up to the
 * arguments. An emission begins with this, in *lane, and lasts until fxt_fd_slot_show(). Returns NULL if
 * there is no slot; then there is no emission. */
uint64_t *fxt_fd_slot_claim(struct fxt_thread *thread, int fd, uint64_t begin_ns, uint64_t id,
			    struct fxt_lane **lane);

/* Returns the stack that a slot's record names: a number; 0: none. */
uint32_t fxt_fd_slot_stack(const uint64_t *slot);

/* Returns where the arguments of a slot's record begin. */
static inline uint64_t *fxt_fd_slot_arguments(uint64_t *slot)
{
	return slot + 2 + FXT_INLINE_WORDS;
}

/* Returns how many words a slot has left for an argument that goes to `at`, if the arguments behind it take
 * `others` words. The word for the id is kept free. */
static inline size_t fxt_fd_slot_left(const uint64_t *slot, const uint64_t *at, size_t others)
{
	return (size_t)(slot + FXT_FD_SLOT_WORDS - 1 - at) - others;
}

/* Stores a text argument at `at` that takes at most `words` words with its header. If the text is longer, its
 * end is stored behind "..". Returns where the next argument goes. */
uint64_t *fxt_fd_slot_put_text(uint64_t *at, size_t words, uint64_t name, const char *text, size_t bytes);

/* Copies the text that the slot of another number has, shortened to `words`, to `at`. Returns where the next
 * argument goes, which is `at` if there is no text. */
uint64_t *fxt_fd_slot_copy_text(uint64_t *at, size_t words, const uint64_t *slot);

/* Shows the begin in a slot that was claimed: its arguments are stored up to `at`. Ends the emission. */
void fxt_fd_slot_show(struct fxt_lane *lane, uint64_t *slot, uint64_t *at, uint64_t id, uint64_t names,
		      unsigned arguments);

/* Returns the slot of lifetime `id` of number `fd`, or NULL if it has none or another thread is changing it.
 * The caller has a lane, because a signal handler may fork, and the child has none of its parent's
 * slots. */
const uint64_t *fxt_fd_slot(int fd, uint64_t id);

/* Takes the slot of lifetime `id` of number `fd`, to end the lifetime: the slot is the caller's then. Returns
 * NULL as fxt_fd_slot() does; a thread that is adding to the slot frees it afterwards. The caller has raised
 * the level. */
uint64_t *fxt_fd_slot_take(int fd, uint64_t id);

/* Adds a text argument to the begin of lifetime `id`, if there is room and the last text has not this name
 * already. `life` is where the id stands as long as the lifetime goes on; another thread may end it at any
 * time. */
void fxt_fd_slot_add(struct fxt_thread *thread, int fd, uint64_t name, const char *text, size_t bytes,
		     const _Atomic uint64_t *life, uint64_t id);

/* Returns how many words the record of a slot has, without the zeros behind it. */
size_t fxt_fd_slot_words(const uint64_t *slot);

/* Takes the begin out of the trace, by making a filler of the slot. */
void fxt_fd_slot_hide(uint64_t *slot);

/* Gives the slot back, so that another lifetime may have it. */
void fxt_fd_slot_free(uint64_t *slot);

#endif
