/* Calls and functions of a CTF trace that have begun and not ended, and who holds which mutex.
 *
 * A CTF trace has an event where a call begins and another one where it ends. An FXT trace of ours has one
 * event, with both times, where it ends. So each thread has a stack of what it is in.
 */
#ifndef FXT_TOOLS_IMPORT_OPEN_H
#define FXT_TOOLS_IMPORT_OPEN_H

#include "import_out.h"

/* Something that a thread is in. */
struct fxt_import_open {
	bool is_function;               /* else it waits for a mutex */
	uint64_t key;                   /* the function's address, or the mutex */
	uint64_t call_site;
	uint64_t start_ns;
	/* who held the mutex when the call began; 0: nobody, or nobody knows */
	uint64_t holder, held_since_ns;
	const char *at, *held_at;       /* functions that wanted it and had taken it; NULL: not known */
};

struct fxt_import_mutex {
	uint64_t holder;                /* thread id; 0: nobody that is known */
	uint64_t since_ns, depth;
	const char *at;
	/* who has given it up last, when, and how it had been held */
	uint64_t last, unlocked_ns, last_since_ns;
	const char *last_at;
};

struct fxt_import_locks {
	struct fxt_map by_address;      /* program's id and mutex -> place in `list` */
	struct fxt_import_mutex *list;
	size_t count, capacity;
};

void fxt_import_enter(struct fxt_import_out *o, struct fxt_import_thread *t, uint64_t ns, uint64_t address,
		      uint64_t call_site);
/* Ends the function with this address; 0: the innermost one. */
void fxt_import_leave(struct fxt_import_out *o, struct fxt_import_thread *t, uint64_t ns, uint64_t address,
		      uint64_t call_site);

/* A thread calls pthread_mutex_lock, and returns from it with an error number or 0. */
void fxt_import_lock_begin(struct fxt_import_out *o, struct fxt_import_locks *l, struct fxt_import_thread *t,
			   uint64_t ns, uint64_t mutex);
void fxt_import_lock_end(struct fxt_import_out *o, struct fxt_import_locks *l, struct fxt_import_thread *t,
			 uint64_t ns, uint64_t mutex, int64_t error);
void fxt_import_trylock(struct fxt_import_out *o, struct fxt_import_locks *l, struct fxt_import_thread *t,
			uint64_t ns, uint64_t mutex, int64_t error);
void fxt_import_unlock(struct fxt_import_out *o, struct fxt_import_locks *l, struct fxt_import_thread *t,
		       uint64_t ns, uint64_t mutex, int64_t error);
/* Forgets who holds what, after a loss. */
void fxt_import_locks_forget(struct fxt_import_locks *l);
void fxt_import_locks_free(struct fxt_import_locks *l);

/* Ends what all threads of a program are in, right before its process has executed another one. */
void fxt_import_executed(struct fxt_import_out *o, struct fxt_import_locks *l, struct fxt_import_program *p,
			 uint64_t ns);

/* Writes what all threads are still in, as calls in progress. */
void fxt_import_still_open(struct fxt_import_out *o, struct fxt_import_locks *l);

#endif
