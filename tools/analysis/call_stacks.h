/* The call stacks that the agent has recorded: who made a call, asked for a block, or opened a descriptor.
 *
 * The trace has a node for each return address of each chain of callers (a userspace object of type `frame`)
 * and a record for each file that code is in (type `module`). Events name the innermost node of their stack
 * by the argument `stack`. A node's caller may stand before or behind it in the file. Join adds a second
 * record with the function's name for each node (frame_records.h), so of several records of a node one with a
 * name counts. Nodes of the kernel's samples have the same form, and are read here as well.
 *
 * Memory is taken for each node, and not for each event. Traces come from anywhere: a node's caller may be
 * missing, or lead in a circle.
 */
#ifndef FXT_TOOLS_CALL_STACKS_H
#define FXT_TOOLS_CALL_STACKS_H

#include "tools/reading/reader.h"

/* The place of the caller of an outermost node, and of a node that the trace has no record of. */
#define FXT_NO_FRAME UINT32_MAX

/* The types of the records of code in files and of nodes. */
#define FXT_MODULE_RECORD "module"
#define FXT_FRAME_RECORD "frame"

struct fxt_call_frame {
	uint32_t parent;                /* place of the caller's node, or FXT_NO_FRAME */
	uint32_t name;                  /* symbol of the function; 0: the trace has no name */
	uint32_t module;                /* symbol of the file's path; 0: code in no file */
	uint32_t build_id;              /* symbol, in hexadecimal digits; 0: none is known */
	/* the address of the last byte of the call, as in the module's file; without a module, in memory */
	uint64_t offset;
	uint32_t provider;              /* index of the provider that has the node */
	bool is_recorded;               /* a record of it was taken, and not only its number */
	uint64_t id;                    /* the node's pointer in the trace */
};

/* All nodes. When nothing has been taken, all members are zero. */
struct fxt_call_stacks {
	struct fxt_call_frame *frames;
	size_t count, capacity;
	struct fxt_map by_id;           /* provider's index and id -> place */
	struct fxt_map modules;         /* provider's index and id -> symbols of path and build id */
	struct fxt_map links;           /* place -> id of the caller, and of the module; until the end */
	bool is_finished;
};

/* Takes a userspace object record of type `frame` or `module`, and passes over all others. */
void fxt_call_stacks_take(struct fxt_call_stacks *s, struct fxt_reader *r, const struct fxt_record *rec);
/* Sets the symbols of the node's module, before the end, if the module's record has been taken already.
 * Returns false if it has not. A node that is in no module needs none. */
bool fxt_call_stacks_find_module(struct fxt_call_stacks *s, uint32_t place);
/* Links the nodes to their callers and modules. Nothing can be taken afterwards. No chain is a circle then:
 * the last node of one that was a circle is an outermost one. */
void fxt_call_stacks_finish(struct fxt_call_stacks *s);
/* Returns the place of the innermost node that an event names by its argument `stack`, or FXT_NO_FRAME. May
 * be called before the end: a node that no record was taken of yet gets its place. If none is taken until the
 * end, the node at this place has no name, no module and no caller, and its offset is 0. */
uint32_t fxt_call_stack_of(struct fxt_call_stacks *s, const struct fxt_record *rec);
void fxt_call_stacks_free(struct fxt_call_stacks *s);

#endif
