/* Declares the C code that the entries in entries.S call, and the variables that they read. */
#ifndef FXT_ENTRY_H
#define FXT_ENTRY_H

#include "agent/emit/function.h"

/* Counts a call for the profile (gmon.out) of a program that was linked with -pg, as the C library's mcount()
 * does. NULL until the first such call. */
typedef void fxt_gmon_record(unsigned long from, unsigned long to);
extern fxt_gmon_record *_Atomic fxt_gmon __attribute__((visibility("hidden")));

/* Makes the function whose entry this is return to `thunk`. A handler may have used the entry before it was
 * taken, and left another frame there. */
static inline void fxt_return_word_set(struct fxt_in_progress *entry, uintptr_t *return_word, uintptr_t thunk)
{
	entry->frame = (uintptr_t)return_word;
	*return_word = thunk;
}

/* Enters a function that has only a hook at its entry, and makes a return thunk (return_thunk.h) of its
 * return address, which stands at `return_word`; `address` is what the function is known by. */
void fxt_return_word_enter(struct fxt_thread *thread, uintptr_t *return_word, uintptr_t address);

/* Ends the function whose return address stood at `return_word`, and those that it is the tail call of. */
void fxt_return_word_leave(struct fxt_thread *thread, uintptr_t return_word);

/* The quick ways, which entries.S calls: with the return word of the function, which has its return address,
 * and the address that it is known by. They return 0 if all is done, also where the stack is too short for
 * anything else, and 1, with nothing changed, if the slow way has to be taken. fxt_return_quick() returns
 * bits (return_thunk_count.h). They use integer registers alone. */
unsigned long fxt_entry_quick(uintptr_t *return_word, uintptr_t address);
unsigned long fxt_entry_mcount_quick(uintptr_t *return_word, uintptr_t address);
unsigned long fxt_entry_fentry_quick(uintptr_t *return_word, uintptr_t address);
unsigned long fxt_entry_plt_quick(uintptr_t *return_word, uintptr_t address);
unsigned long fxt_return_quick(uintptr_t return_word);

/* Returns the return word of a function that has called __fentry__(): as a rule, the word above its address.
 * gcc saves the static chain of a nested function there, and takes it back behind the call. */
static inline uintptr_t *fxt_fentry_return_word(uintptr_t *above, uintptr_t address)
{
	const unsigned char *next = (const unsigned char *)address;
	enum { PREFIX = 0x41, POP_R10 = 0x5a };

	return next[0] == PREFIX && next[1] == POP_R10 ? above + 1 : above;
}

/* Returns to its caller; does nothing else. */
void fxt_entry_nothing(void) __attribute__((visibility("hidden")));
/* Finds the C library's hooks. */
void fxt_entry_prepare(void);

/* The slow ways. */
void fxt_entry_mcount(uintptr_t *return_word, uintptr_t address);
void fxt_entry_fentry(uintptr_t *return_word, uintptr_t address);
void fxt_entry_patched_slow(uintptr_t *return_word, uintptr_t address);
void fxt_entry_plt(uintptr_t *return_word, uintptr_t address);
void fxt_return_slow(uintptr_t return_word);

/* Finds out how many bytes the vector registers take in memory, and sets the two variables that entries.S
 * reads. Uses integer registers alone. */
unsigned fxt_vector_find(void);

#endif
