/* Lifetimes of memory. Each is an async of category malloc, from the call that made a block or a mapping to
 * the call that ended it. The begin carries the address (`ptr`), the size and the function that asked for the
 * memory, with its call stack. Begin and end of a block carry its name (`object`), and the end has the stack
 * of who freed it. A smaller block that was drawn (poisson.h) is a `heap sample`, of which the stacks
 * alone are known, and says for how many bytes it stands. Ids are those of fxt_flow_id(), so no two are alike
 * in all processes.
 *
 * An end is written only if its begin is in this process's trace. Threads' clocks differ by some
 * microseconds, and any thread may free a block, so the end is made later than the begin if need be. Called
 * by blocks.c and mappings.c, in any context.
 */
#ifndef FXT_MEMORY_LIFE_H
#define FXT_MEMORY_LIFE_H

#include "label.h"

struct fxt_memory_life {
	uint64_t id;                    /* 0: none */
	uint64_t begin_ns;
};

/* The memory whose lifetime begins. */
struct fxt_memory {
	uint64_t name;                  /* a string index */
	uintptr_t address;
	uint64_t bytes;
	uintptr_t place;                /* the return address of the call that asked for it */
	struct fxt_label label;         /* all zero: there is none */
	uint32_t stack;                 /* who asked for it (call_stack.h); 0: not known */
	/* of a block that was drawn: how many bytes it stands for; 0: it stands for itself */
	uint64_t stands_for;
};

/* Writes the begin, at life->begin_ns. Not to be called on a short stack (stack.h). Returns false if there
 * is no room, and so no lifetime. No record is counted as lost then, because a lifetime is no call. */
bool fxt_memory_life_begin(struct fxt_thread *thread, struct fxt_memory_life *life,
			   const struct fxt_memory *memory);

/* Writes the end of that lifetime. `stack` is that of who ended it; 0: not known. */
void fxt_memory_life_end(struct fxt_thread *thread, struct fxt_memory_life life, uint64_t name,
			 const struct fxt_label *label, uint32_t stack, uint64_t end_ns);

#endif
