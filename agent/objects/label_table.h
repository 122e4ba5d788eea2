/* The objects that have names, of label.c, but heap blocks (blocks.c). Any context; where it says so, under a
 * lock with signals blocked. */
#ifndef FXT_LABEL_TABLE_H
#define FXT_LABEL_TABLE_H

#include "label.h"

struct fxt_label_detail {
	struct fxt_label label;
	uintptr_t place;                /* by which code; of a path, a hash of it and the descriptor; 0: not to be compared */
};

/* In keys, which are addresses. */
enum { FXT_LABEL_IS_DEAD = 1 };

/* What is known of a key, alive (`*found` is the key itself) or not. False: nothing, or it is changing. */
bool fxt_label_look(uintptr_t key, struct fxt_label_detail *detail, uintptr_t *found);

/* It lives again: what was told of it is true of it. False: it is not there. */
bool fxt_label_revive(uintptr_t key);

/* It lives no more. */
void fxt_label_bury(uintptr_t key);

/* So do all in this memory, which is another's; each that lived is handed on. */
void fxt_label_bury_within(uintptr_t low, uintptr_t high, void (*buried)(uintptr_t key));

/* So do all variables of libraries that are not loaded any more; they are told again should they come back.
 * Takes the lock. */
void fxt_label_bury_variables(void);

/* Whether one that is not in it would find a place, as far as can be seen without the lock. */
bool fxt_label_has_place(uintptr_t key);
bool fxt_label_table_is_empty(void);

enum fxt_entered {
	FXT_ENTERED_NOT,                /* there is no room */
	FXT_ENTERED_KNOWN,              /* it was told, by another thread or as another object of the same name */
	FXT_ENTERED_FIRST,              /* nothing was told of this address before */
	FXT_ENTERED_NEXT,
};

/* Puts an object into the table; not the text of a path, which is the program's. Takes the lock. */
enum fxt_entered fxt_label_enter(uintptr_t key, const struct fxt_label_detail *new);

/* In the child of a fork. */
void fxt_label_table_after_fork(void);

#endif
