/* Slots of descriptors' lifetimes, in circular mode: the begin of a lifetime stands in a slot that the ring
 * never overwrites for as long as the lifetime goes on. When it ends the begin moves to the chunk of the
 * thread that ends it, in front of the end: so the ring has both or neither, and what is open is told of
 * however long ago it was opened, in a killed program too.
 *
 * A slot is a record of one fixed size, either a filler or an async begin with zeros behind its last word.
 * Slots lie in pages of the storage, which are taken when their numbers come into use and stay until the
 * process ends. Each of the first 1024 numbers has two: for a socket and its connection, and for a number
 * that is given out again before the lifetime it had has been ended. A lifetime that gets no slot begins in
 * the thread's chunk, as in the other modes.
 *
 *	slot = fxt_fd_slot_claim(thread, fd, begin_ns, id)              NULL: none
 *	...                                                             arguments, from fxt_fd_slot_arguments(slot)
 *	fxt_fd_slot_show(thread, slot, at, id, names, arguments)
 *	...
 *	slot = fxt_fd_slot_take(fd, id)                                 by who ends the lifetime
 *	...                                                             copies its record: fxt_fd_slot_words()
 *	fxt_fd_slot_hide(slot)                                          before the copy is committed: it must never be there twice
 *	fxt_fd_slot_free(slot)
 *
 * Behind each slot a filler of one word says which lifetime has it: threads that race for a number do not
 * take each other's. There is no lock: whoever does not get a slot does without. A thread's level is raised
 * while it stores to a slot, as it is for an emission: fork.c. Any context.
 */
#ifndef FXT_FD_SLOTS_H
#define FXT_FD_SLOTS_H

#include "agent/emit/emit.h"

enum {
	FXT_FD_SLOT_WORDS = 23,         /* of its record; of a long path it has the last 102 bytes */
	FXT_FD_SLOT_NUMBERS = 1024,
};

/* Whether this process has slots. */
extern bool fxt_fd_slots_on __attribute__((visibility("hidden")));

/* Once, at start; in the child of a fork, whose file has none yet; and after the file was rewritten, which
 * has the begins as they were: no slot of it is written any more. */
void fxt_fd_slots_start(void);
void fxt_fd_slots_after_fork(void);
void fxt_fd_slots_stop(void);

/* A slot for lifetime `id` of number `fd`, which begins at begin_ns, its words up to the arguments being
 * stored. The thread's level is raised until it is shown. NULL: there is none. */
uint64_t *fxt_fd_slot_claim(struct fxt_thread *thread, int fd, uint64_t begin_ns, uint64_t id);

static inline uint64_t *fxt_fd_slot_arguments(uint64_t *slot)
{
	return slot + 2 + FXT_INLINE_WORDS;
}

/* The words that a slot has for an argument that goes to `at`, with as many behind it for others; the id is
 * accounted for. */
static inline size_t fxt_fd_slot_left(const uint64_t *slot, const uint64_t *at, size_t others)
{
	return (size_t)(slot + FXT_FD_SLOT_WORDS - 1 - at) - others;
}

/* A text of at most so many words with the argument's own: of a longer one the end, behind "..". */
uint64_t *fxt_fd_slot_put_text(uint64_t *at, size_t words, uint64_t name, const char *text, size_t bytes);

/* Copies the text that the slot of another number has, shortened to `words`, to `at`. Returns where the next
 * argument goes, which is `at` where there is no text. */
uint64_t *fxt_fd_slot_copy_text(uint64_t *at, size_t words, const uint64_t *slot);

/* The arguments are stored up to `at`. */
void fxt_fd_slot_show(struct fxt_thread *thread, uint64_t *slot, uint64_t *at, uint64_t id, uint64_t names, unsigned arguments);

/* The slot of lifetime `id` of number `fd`; NULL: it has none, or somebody is at it. For whoever has raised
 * the level: a handler that forks leaves the child without the parent's slots. The second is for who ends the
 * lifetime, whose the slot is then; where somebody is adding to it, that thread gives the slot back. */
const uint64_t *fxt_fd_slot(int fd, uint64_t id);
uint64_t *fxt_fd_slot_take(int fd, uint64_t id);

/* Adds a text to the begin of lifetime `id`, if there is room and none of this name. `life` is where the id
 * stands while that goes on; another thread may end it at any time. */
void fxt_fd_slot_add(struct fxt_thread *thread, int fd, uint64_t name, const char *text, size_t bytes,
		     const _Atomic uint64_t *life, uint64_t id);

/* The words of its record without the zeros behind. */
size_t fxt_fd_slot_words(const uint64_t *slot);
/* Takes the begin out of the trace; and gives the slot to whoever claims it next. */
void fxt_fd_slot_hide(uint64_t *slot);
void fxt_fd_slot_free(uint64_t *slot);

#endif
