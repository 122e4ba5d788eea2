/* The tree of the calls that stacks are made of. A node is an address in a module that a call returns to, as
 * one chain of callers reached it, so each stack is one node: its innermost. Nodes are numbered from 1 up and
 * stay for the life of the process. Threads make and find them without a lock. Any context.
 */
#ifndef FXT_STACK_NODES_H
#define FXT_STACK_NODES_H

#include "stack_walk.h"

enum { FXT_STACK_NODES = 1 << 18 };     /* stacks that need more find no room */
#define FXT_STACK_NO_ROOM UINT32_MAX

struct fxt_stack_node {
	uintptr_t place;                /* the address that a call returns to; 0: further callers */
	uint32_t caller;                /* the caller's number; 0: none */
	uint32_t next;                  /* the next node of the same hash; 0: none */
	_Atomic uint64_t told;          /* which record the trace has of it: agent/emit/call_stack.c */
	uint16_t module;                /* fxt_code_module(); 0: none */
};

/* Returns the number of the innermost node of the stack that was walked. Returns 0 if nothing was found, and
 * FXT_STACK_NO_ROOM if there is no room for its nodes, or for the module of its innermost one. */
uint32_t fxt_stack_node_of(const struct fxt_walk *walk);

/* Returns the node with this number. */
struct fxt_stack_node *fxt_stack_node(uint32_t number);

#endif
