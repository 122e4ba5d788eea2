/* See allocation_site.h. The kind of the code at an address is kept in a table that any number of threads
 * read and fill without a lock. An address that finds no place is looked up each time. */
#include "allocation_site.h"

#include "agent/base/lazy_table.h"
#include "agent/base/stack.h"
#include "agent/emit/function.h"
#include "agent/emit/held_locks.h"
#include "agent/stacks/stack_nodes.h"

enum { ENTRY_BITS = 12, ENTRIES = 1 << ENTRY_BITS, PROBES = 16, KIND_SHIFT = 48 };

/* Each entry is a return address with the kind of its code above it; 0: it is free. Programs' addresses are
 * lower than the kind. */
static _Atomic(void *) table;           /* _Atomic uint64_t */

/* Looks the code up. Files may have to be read for that, and a lock taken. */
static enum fxt_code_kind learn(struct fxt_thread *thread, uintptr_t place)
{
	if (fxt_holds_lock(thread) || fxt_is_forbidden(FXT_NO_CALLS) || fxt_may_not_lock())
		return FXT_CODE_UNKNOWN;
	return fxt_function_code(place - 1);
}

/* Returns the kind of the code that returns to `place`. */
static enum fxt_code_kind kind_at(struct fxt_thread *thread, uintptr_t place)
{
	_Atomic uint64_t *entries = fxt_lazy_table(&table, ENTRIES * sizeof(*entries)), *entry;
	uint64_t slot = place * UINT64_C(0x9e3779b97f4a7c15) >> (64 - ENTRY_BITS), there;
	enum fxt_code_kind kind;
	unsigned i;

	for (i = 0; entries && i < PROBES; i++) {
		entry = &entries[(slot + i) % ENTRIES];
		there = atomic_load_explicit(entry, memory_order_relaxed);
		if (there && (there & ((UINT64_C(1) << KIND_SHIFT) - 1)) == place)
			return (enum fxt_code_kind)(there >> KIND_SHIFT);
		if (there)
			continue;
		kind = learn(thread, place);
		if (kind != FXT_CODE_UNKNOWN)
			atomic_compare_exchange_strong_explicit(entry, &there,
								place | (uint64_t)kind << KIND_SHIFT,
								memory_order_relaxed, memory_order_relaxed);
		return kind;
	}
	return learn(thread, place);
}

uintptr_t fxt_allocation_site(struct fxt_thread *thread, uint32_t stack, uintptr_t caller)
{
	enum fxt_code_kind kind = FXT_CODE_ALLOCATOR;
	uintptr_t place = 0;

	for (; stack; stack = fxt_stack_node(stack)->caller) {
		place = fxt_stack_node(stack)->place;
		if (!place)
			break;
		kind = kind_at(thread, place);
		if (kind != FXT_CODE_ALLOCATOR)
			break;
	}
	/* Code that cannot be looked at now is named by its address all the same. */
	return place && (kind == FXT_CODE_OWN || kind == FXT_CODE_UNKNOWN) ? place : caller;
}

void fxt_allocation_sites_unloaded(void)
{
	if (!atomic_load_explicit(&table, memory_order_relaxed))
		return;
	if (!fxt_is_forbidden(FXT_NO_CALLS) && !fxt_may_not_lock() && !fxt_stack_is_short())
		fxt_functions_unloaded();
	fxt_lazy_table_empty(&table, ENTRIES * sizeof(_Atomic uint64_t));
}
