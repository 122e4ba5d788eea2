/* See allocation_site.h. What is known of the code at an address is kept in a table that any number of
 * threads read and fill without a lock. An entry is claimed, filled, and shown by storing its address; one
 * that finds no place is looked up each time. */
#include "allocation_site.h"

#include "agent/base/lazy_table.h"
#include "agent/base/stack.h"
#include "agent/emit/function.h"
#include "agent/emit/held_locks.h"

/* A std::map in a std::function may be a dozen frames of std, and std::regex more. */
enum { FRAMES_MOST = 32, ENTRY_BITS = 12, ENTRIES = 1 << ENTRY_BITS, PROBES = 16 };

/* These are the bits of a word that says what is known of the code at an address: its kind and its rule. */
enum {
	KIND_BITS = 2,
	IS_FROM_FP = 1 << KIND_BITS,
	CALLER_SP_SHIFT = 8,
	SAVED_FP_SHIFT = 32,
	OFFSET_BITS = 24,
};

struct entry {
	_Atomic uintptr_t place;        /* FREE; CLAIMED; or a return address */
	_Atomic uint64_t code;          /* packed; 0: not known, as the table was emptied meanwhile */
};

#define FREE ((uintptr_t)0)
#define CLAIMED ((uintptr_t)1)

static _Atomic(void *) table;           /* struct entry */

static uint64_t pack(enum fxt_code_kind kind, const struct fxt_unwind_rule *rule)
{
	const uint64_t mask = (UINT64_C(1) << OFFSET_BITS) - 1;

	if (kind != FXT_CODE_ALLOCATOR)
		return kind;
	return (uint64_t)kind | (rule->is_from_fp ? IS_FROM_FP : 0) |
	       ((uint64_t)rule->caller_sp & mask) << CALLER_SP_SHIFT |
	       ((uint64_t)rule->saved_fp & mask) << SAVED_FP_SHIFT;
}

static int32_t offset_at(uint64_t code, unsigned shift)
{
	uint32_t bits = (uint32_t)(code >> shift) << (32 - OFFSET_BITS);

	return (int32_t)bits >> (32 - OFFSET_BITS);
}

static struct fxt_unwind_rule rule_of(uint64_t code)
{
	return (struct fxt_unwind_rule){offset_at(code, CALLER_SP_SHIFT), offset_at(code, SAVED_FP_SHIFT),
					(code & IS_FROM_FP) != 0};
}

/* Looks the code up. Files may have to be read for that, and a lock taken. */
static uint64_t learn(struct fxt_thread *thread, uintptr_t place)
{
	struct fxt_unwind_rule rule = {0};

	if (fxt_holds_lock(thread) || fxt_is_forbidden(FXT_NO_CALLS) || fxt_may_not_lock())
		return FXT_CODE_UNKNOWN;
	return pack(fxt_function_code(place - 1, &rule), &rule);
}

/* Returns what is known of the code that returns to `place`, packed. */
static uint64_t code_at(struct fxt_thread *thread, uintptr_t place)
{
	struct entry *entries = fxt_lazy_table(&table, ENTRIES * sizeof(*entries)), *entry;
	uint64_t slot = place * UINT64_C(0x9e3779b97f4a7c15) >> (64 - ENTRY_BITS), code;
	uintptr_t there;
	unsigned i;

	for (i = 0; entries && i < PROBES; i++) {
		entry = &entries[(slot + i) % ENTRIES];
		there = atomic_load_explicit(&entry->place, memory_order_acquire);
		if (there == place) {
			code = atomic_load_explicit(&entry->code, memory_order_relaxed);
			return code ? code : learn(thread, place);
		}
		if (there != FREE)
			continue;
		code = learn(thread, place);
		if (code != FXT_CODE_UNKNOWN &&
		    atomic_compare_exchange_strong_explicit(&entry->place, &there, CLAIMED,
							    memory_order_acquire, memory_order_relaxed)) {
			atomic_store_explicit(&entry->code, code, memory_order_relaxed);
			atomic_store_explicit(&entry->place, place, memory_order_release);
		}
		return code;
	}
	return learn(thread, place);
}

#if defined(__x86_64__)

uintptr_t fxt_allocation_site(struct fxt_thread *thread, const uintptr_t *frame)
{
	/* The wrapper has pushed its caller's frame pointer below the return address. */
	struct fxt_frame at = {frame[1], (uintptr_t)(frame + 2), frame[0]};
	struct fxt_unwind_rule rule;
	uint64_t code;
	unsigned i;

	if (!fxt_on_own_stack(thread, at.sp))
		return frame[1];
	for (i = 0; i < FRAMES_MOST; i++) {
		code = code_at(thread, at.place);
		if ((code & ((1 << KIND_BITS) - 1)) == FXT_CODE_END)
			break;
		if ((code & ((1 << KIND_BITS) - 1)) != FXT_CODE_ALLOCATOR)
			return at.place;
		rule = rule_of(code);
		if (!fxt_unwind_step(&rule, thread->stack.high, &at) || !at.place)
			break;
	}
	return frame[1];
}

#else

/* There are no unwind rules for this processor. */
uintptr_t fxt_allocation_site(struct fxt_thread *thread, const uintptr_t *frame)
{
	(void)thread;
	return frame[1];
}

#endif

void fxt_allocation_sites_unloaded(void)
{
	if (!atomic_load_explicit(&table, memory_order_relaxed))
		return;
	if (!fxt_is_forbidden(FXT_NO_CALLS) && !fxt_may_not_lock() && !fxt_stack_is_short())
		fxt_functions_unloaded();
	fxt_lazy_table_empty(&table, ENTRIES * sizeof(struct entry));
}
