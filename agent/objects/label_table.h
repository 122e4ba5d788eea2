/* The table of the objects that have names, for label.c. Heap blocks have a table of their own (blocks.c).
 * A key is an object's address. The functions may be called in any context; those that say so take a lock,
 * with signals blocked. */
#ifndef FXT_LABEL_TABLE_H
#define FXT_LABEL_TABLE_H

#include "label.h"

struct fxt_label_detail {
	struct fxt_label label;
	/* The place of the code that made or used the object. If it was opened by a path or has a descriptor,
	 * a hash of these. 0: the label is not to be compared. */
	uintptr_t place;
};

/* A bit of a key in the table: the object is dead. */
enum { FXT_LABEL_IS_DEAD = 1 };

/* Finds a key, alive or dead. `*found` is the key as it stands in the table, which is `key` itself if the
 * object lives. Returns false if the key is not there or is changing. */
bool fxt_label_look(uintptr_t key, struct fxt_label_detail *detail, uintptr_t *found);

/* Marks a dead object as alive again: what the trace was told of it is true again. Returns false if the key
 * is not there. */
bool fxt_label_revive(uintptr_t key);

/* Marks an object as dead. */
void fxt_label_bury(uintptr_t key);

/* Marks every object in [low, high) dead, because that memory was freed. Calls `buried` for each that was
 * alive. */
void fxt_label_bury_within(uintptr_t low, uintptr_t high, void (*buried)(uintptr_t key));

/* Marks all variables of libraries that are not loaded any more as dead. They are told again if the
 * libraries come back. Takes the lock. */
void fxt_label_bury_variables(void);

/* Tells whether an object that is not in the table would find a place, as far as can be seen without the
 * lock. */
bool fxt_label_has_place(uintptr_t key);
/* Tells whether no object was ever entered. */
bool fxt_label_table_is_empty(void);

enum fxt_entered {
	FXT_ENTERED_NOT,                /* the table has no room, or no lock may be taken here */
	/* the trace was told already, by another thread or of an earlier object with the same name */
	FXT_ENTERED_KNOWN,
	FXT_ENTERED_FIRST,              /* the trace was told nothing of this address before */
	FXT_ENTERED_NEXT,               /* the trace may have been told of an earlier object there */
};

/* Puts an object into the table. The text of a path is not kept, because it is the program's memory. Takes
 * the lock. */
enum fxt_entered fxt_label_enter(uintptr_t key, const struct fxt_label_detail *new);

/* Makes the table, which is otherwise made for the first object. */
void fxt_label_table_prepare(void);

/* Empties the table. Takes the lock. */
void fxt_label_table_empty(void);
/* Does so in the child of a fork, where another thread of the parent may have had the lock. */
void fxt_label_table_after_fork(void);

#endif
