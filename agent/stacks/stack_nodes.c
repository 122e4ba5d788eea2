/* See stack_nodes.h. Nodes are taken one after the other, filled, and then put at the head of the list of
 * their hash. Two threads that make the same node at the same moment make two. */
#include "stack_nodes.h"

#include "agent/base/growing_table.h"

enum { HEAD_BITS = 13, HEADS = 1 << HEAD_BITS, ADDRESS_BITS = 48 };

struct table {
	_Atomic uint32_t heads[HEADS];
	_Atomic uint32_t count;
	struct fxt_stack_node nodes[FXT_STACK_NODES];
};

static struct fxt_growing_table table = {.most_bytes = sizeof(struct table)};   /* struct table */

struct fxt_stack_node *fxt_stack_node(uint32_t number)
{
	return &((struct table *)atomic_load_explicit(&table.memory, memory_order_acquire))->nodes[number];
}

static _Atomic uint32_t *head_of(struct table *all, uintptr_t place, uint32_t caller)
{
	/* The address is known long before the caller, for which the caller's own list has to be searched. */
	uint64_t mixed = place * UINT64_C(0x9e3779b97f4a7c15) + caller * UINT64_C(0xbf58476d1ce4e5b9);

	return &all->heads[mixed >> (64 - HEAD_BITS)];
}

/* Makes the table reach as far as a node. Returns false if there is no memory. */
static bool reaches(uint32_t number)
{
	return fxt_growing_table(&table, offsetof(struct table, nodes) +
						 (number + 1) * sizeof(struct fxt_stack_node));
}

static uint32_t make(struct table *all, _Atomic uint32_t *head, uintptr_t place, uint32_t caller,
		     uint16_t module)
{
	uint32_t number, first = atomic_load_explicit(head, memory_order_relaxed);
	struct fxt_stack_node *node;

	number = atomic_load_explicit(&all->count, memory_order_relaxed) + 1;
	if (number >= FXT_STACK_NODES || !reaches(number))
		return 0;
	number = atomic_fetch_add_explicit(&all->count, 1, memory_order_relaxed) + 1;
	if (number >= FXT_STACK_NODES || !reaches(number))
		return 0;
	node = &all->nodes[number];
	node->place = place;
	node->caller = caller;
	node->module = module;
	do
		node->next = first;
	while (!atomic_compare_exchange_weak_explicit(head, &first, number, memory_order_release,
						      memory_order_relaxed));
	return number;
}

/* Returns the number of the node of an address with this caller; 0: there is no room. */
static uint32_t node_of(struct table *all, uintptr_t place, uint32_t caller, uint16_t module)
{
	_Atomic uint32_t *head = head_of(all, place, caller);
	const struct fxt_stack_node *node;
	uint32_t number;

	for (number = atomic_load_explicit(head, memory_order_acquire); number; number = node->next) {
		node = &all->nodes[number];
		if (node->place == place && node->caller == caller && node->module == module)
			return number;
	}
	return make(all, head, place, caller, module);
}

uint32_t fxt_stack_node_of(const struct fxt_walk *walk)
{
	struct table *all = fxt_growing_table(&table, offsetof(struct table, nodes));
	unsigned left = walk->count;
	uint32_t number = 0;

	if (!left && !walk->lacks_room)
		return 0;
	if (!left || !all)
		return FXT_STACK_NO_ROOM;
	if (!walk->is_whole) {
		number = node_of(all, 0, 0, 0);
		if (!number)
			return FXT_STACK_NO_ROOM;
	}
	while (left-- > 0) {
		if (walk->places[left] >> ADDRESS_BITS)
			return 0;
		number = node_of(all, walk->places[left], number, walk->modules[left]);
		if (!number)
			return FXT_STACK_NO_ROOM;
	}
	return number;
}
