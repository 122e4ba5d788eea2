/* Lifetimes of memory: an async from where a block or a mapping came to where it went, of category malloc.
 * The begin has its address (ptr), its size and the function that asked for it, and of a block what it is
 * called (object), as has its end. Ids are those of fxt_flow_id(), so that no two are alike in all processes.
 *
 * Ends are written only for what has a begin in this process's trace. Threads' clocks differ by some
 * microseconds, and any thread may free a block: an end is always later than its begin. Any context.
 */
#ifndef FXT_MEMORY_LIFE_H
#define FXT_MEMORY_LIFE_H

#include "label.h"

struct fxt_life {
	uint64_t id;                    /* 0: none */
	uint64_t begin_ns;
};

/* What begins. */
struct fxt_memory {
	uint64_t name;                  /* an index of a string */
	uintptr_t address;
	uint64_t bytes;
	uintptr_t place;                /* the return address of the call that asked for it */
	struct fxt_label label;         /* or nothing */
};

/* Writes the begin, at life->begin_ns. Not on a short stack (stack.h). False: there is no room, and so no
 * lifetime; nothing is counted, as it is no call. */
bool fxt_life_begin(struct fxt_thread *thread, struct fxt_life *life, const struct fxt_memory *memory);

/* And the end. */
void fxt_life_end(struct fxt_thread *thread, struct fxt_life life, uint64_t name, const struct fxt_label *label, uint64_t end_ns);

#endif
