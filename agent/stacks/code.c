/* See code.h. The table is a row of entries, which are taken one after the other, and 4096 lists of them. An
 * entry is filled, and then put at the head of the list of its address; so a handler or another thread that
 * comes in between costs an entry at most. Entries lie close together, because a program that records few
 * stacks should touch few pages. */
#include "code.h"

#include "agent/base/growing_table.h"

enum {
	HEAD_BITS = 12,
	HEADS = 1 << HEAD_BITS,
	ENTRIES = 1 << 16,              /* code that is met when all are taken is looked up each time */
	ADDRESS_BITS = 48,              /* programs' addresses are lower */
};

struct entry {
	uint64_t place;
	uint64_t code;                  /* what is known of it, in one module */
	uint16_t next;                  /* the number of the next entry of the list; 0: none */
};

struct table {
	_Atomic uint16_t heads[HEADS];
	_Atomic uint32_t count;
	struct entry entries[ENTRIES];
};

static struct fxt_growing_table table = {.most_bytes = sizeof(struct table)};

/* Returns an offset, which is a multiple of FXT_CODE_OFFSET_UNIT, at its place in a word. */
static uint64_t pack_offset(int32_t offset, unsigned shift)
{
	const uint64_t mask = (UINT64_C(1) << FXT_CODE_OFFSET_BITS) - 1;

	return ((uint64_t)(offset / FXT_CODE_OFFSET_UNIT) & mask) << shift;
}

/* Finds out about the code that returns to `place`, in the module with this number. `reach` is the walk's. */
static uint64_t learn(uintptr_t place, unsigned number, struct fxt_reach *reach)
{
	enum fxt_unwind_found how = FXT_UNWIND_NONE;
	uint64_t word = (uint64_t)number << FXT_CODE_MODULE_SHIFT;
#if defined(__x86_64__)
	struct fxt_unwind_rule rule = {0};
	struct fxt_unwind_tables tables;

	if (number && fxt_code_module_tables(number, place - 1, &tables)) {
		tables.reach = *reach;
		how = fxt_unwind_rule(&tables, place - 1, &rule);
		*reach = tables.reach;
	}
	if (how == FXT_UNWIND_RULE)
		word |= (rule.is_from_fp ? FXT_CODE_IS_FROM_FP : 0) |
			(rule.is_aligned ? FXT_CODE_IS_ALIGNED : 0) |
			pack_offset(rule.caller_sp, FXT_CODE_CALLER_SP_SHIFT) |
			pack_offset(rule.saved_fp, FXT_CODE_SAVED_FP_SHIFT);
#endif
	if (number && number != FXT_CODE_NO_ROOM && fxt_code_module(number)->is_lasting)
		word |= FXT_CODE_IS_LASTING;
	return word | how;
}

/* Makes the table reach as far as an entry. Returns false if there is no memory. */
static bool reaches(uint32_t number)
{
	return fxt_growing_table(&table, offsetof(struct table, entries) +
						 (number + 1) * sizeof(struct entry));
}

/* Finds out about an address, and keeps that in the list that begins at `head`, unless the module is not
 * known, and cannot be known again. Returns it as a word. */
static __attribute__((noinline)) uint64_t learn_word(struct table *all, _Atomic uint16_t *head,
						     uintptr_t place, unsigned module,
						     struct fxt_reach *reach)
{
	uint16_t first = atomic_load_explicit(head, memory_order_relaxed);
	uint64_t word = learn(place, module, reach);
	uint32_t number;

	number = atomic_load_explicit(&all->count, memory_order_relaxed) + 1;
	if (module == FXT_CODE_NO_ROOM || number >= ENTRIES || !reaches(number))
		return word;
	number = atomic_fetch_add_explicit(&all->count, 1, memory_order_relaxed) + 1;
	if (number >= ENTRIES || !reaches(number))
		return word;
	all->entries[number].place = place;
	all->entries[number].code = word;
	do
		all->entries[number].next = first;
	while (!atomic_compare_exchange_weak_explicit(head, &first, (uint16_t)number, memory_order_release,
						      memory_order_relaxed));
	return word;
}

uint64_t fxt_code_word(uintptr_t place, struct fxt_code_latest *latest)
{
	struct table *all = fxt_growing_table(&table, offsetof(struct table, entries));
	const struct entry *entry;
	bool is_module_known = false;
	_Atomic uint16_t *head;
	unsigned module = 0;
	uint32_t number;

	if (!all || place >> ADDRESS_BITS)
		return FXT_UNWIND_NONE;
	head = &all->heads[place * UINT64_C(0x9e3779b97f4a7c15) >> (64 - HEAD_BITS)];
	for (number = atomic_load_explicit(head, memory_order_acquire); number; number = entry->next) {
		entry = &all->entries[number];
		if (entry->place != place)
			continue;
		if (FXT_CODE_IS_LASTING & entry->code)
			return entry->code;
		/* What lay there when the entry was made may be gone, and something else may be there. */
		if (!is_module_known)
			module = fxt_code_module_of(place - 1, latest);
		is_module_known = true;
		if (fxt_code_module_in(entry->code) == module)
			return entry->code;
	}
	if (!is_module_known)
		module = fxt_code_module_of(place - 1, latest);
	return learn_word(all, head, place, module, &latest->reach);
}
