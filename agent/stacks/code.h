/* Finds the module of the code that a call returns to, and the rule by which its frame is left. The rule is
 * found once for an address in a module; the results are kept in a table, which threads read and fill without
 * a lock. Any context, with 1 KiB of stack.
 */
#ifndef FXT_CODE_H
#define FXT_CODE_H

#include "code_module.h"

struct fxt_code {
	/* the module's number; 0: it is in none; FXT_CODE_NO_ROOM: it is in one that is not known */
	uint16_t module;
	uint8_t how;                    /* enum fxt_unwind_found */
	struct fxt_unwind_rule rule;
};

/* The bits of a word that has what is known of an address. */
enum {
	FXT_CODE_HOW_BITS = 2,
	FXT_CODE_IS_FROM_FP = 1 << 2,
	FXT_CODE_IS_ALIGNED = 1 << 3,
	FXT_CODE_IS_LASTING = 1 << 4,   /* the module cannot be unloaded */
	FXT_CODE_MODULE_SHIFT = 5,
	FXT_CODE_MODULE_BITS = 16,
	FXT_CODE_CALLER_SP_SHIFT = 21,
	FXT_CODE_SAVED_FP_SHIFT = 42,
	FXT_CODE_OFFSET_BITS = 21,
	FXT_CODE_OFFSET_UNIT = 8,       /* all offsets are multiples of it */
};

/* Returns the offset at this place of such a word. */
static inline int32_t fxt_code_offset(uint64_t word, unsigned shift)
{
	uint32_t bits = (uint32_t)(word >> shift) << (32 - FXT_CODE_OFFSET_BITS);

	return ((int32_t)bits >> (32 - FXT_CODE_OFFSET_BITS)) * FXT_CODE_OFFSET_UNIT;
}

/* Returns the number of the module in such a word. */
static inline unsigned fxt_code_module_in(uint64_t word)
{
	return word >> FXT_CODE_MODULE_SHIFT & ((1 << FXT_CODE_MODULE_BITS) - 1);
}

/* Returns what is known of the code that returns to `place`, as a word. `latest` is the walk's. */
uint64_t fxt_code_word(uintptr_t place, struct fxt_code_latest *latest);

/* Returns what is known of the code that returns to `place`. The member `module` is 0 for code that the
 * program has made while it runs, and where the C library cannot tell. This is inlined because a structure
 * that is stored in parts and loaded as a whole, as it is when it is returned, waits for the stores. */
static inline struct fxt_code fxt_code_at(uintptr_t place, struct fxt_code_latest *latest)
{
	uint64_t word = fxt_code_word(place, latest);

	return (struct fxt_code){
		.module = (uint16_t)fxt_code_module_in(word),
		.how = word & ((1 << FXT_CODE_HOW_BITS) - 1),
		.rule = {.caller_sp = fxt_code_offset(word, FXT_CODE_CALLER_SP_SHIFT),
			 .saved_fp = fxt_code_offset(word, FXT_CODE_SAVED_FP_SHIFT),
			 .is_from_fp = (word & FXT_CODE_IS_FROM_FP) != 0,
			 .is_aligned = (word & FXT_CODE_IS_ALIGNED) != 0},
	};
}

#endif
