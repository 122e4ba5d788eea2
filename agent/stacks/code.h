/* Finds the module of the code that a call returns to, and the rule by which its frame is left. This is done
 * once for an address; the results are kept in a table, which threads read and fill without a lock.
 *
 * A module is found by _dl_find_object(), which the C library (2.35 and later) has for unwinders: it takes
 * no lock and may be called in a signal handler. What is asked for is an address that the calling thread will
 * return to, so the module stays loaded meanwhile, and its headers and unwind tables are read in memory. No
 * file is opened. Any context, with 1 KiB of stack.
 */
#ifndef FXT_CODE_H
#define FXT_CODE_H

#include "unwind.h"

struct link_map;

enum {
	FXT_CODE_MODULES = 4095,        /* modules from here on are not known */
	FXT_BUILD_ID_MOST = 32,
};

/* A module: the program, a library, or the kernel's page of code. It stands in the table for good, and never
 * changes; another module at the same address is another entry. */
struct fxt_code_module {
	_Atomic uintptr_t low;          /* stored last; 0: it is being made */
	uintptr_t high;
	uintptr_t bias;                 /* how far the module lies in memory from its own addresses */
	const struct link_map *map;     /* the loader's entry; the program may have unloaded it since */
	/* where its unwind tables are (struct fxt_unwind_tables); NULL: it has none */
	const uint8_t *table_header, *table_low, *table_high;
	bool is_program;
	_Atomic bool is_gone;
	uint8_t build_id[FXT_BUILD_ID_MOST];
	uint8_t build_id_bytes;         /* 0: it has none */
	_Atomic uint64_t told;          /* which record the trace has of it: call_stack.c */
};

struct fxt_code {
	uint16_t module;                /* the module's number, from 1 up; 0: it is in none that is known */
	uint8_t how;                    /* enum fxt_unwind_found */
	struct fxt_unwind_rule rule;
};

/* The bits of a word that has what is known of an address. */
enum {
	FXT_CODE_HOW_BITS = 2,
	FXT_CODE_IS_FROM_FP = 1 << 2,
	FXT_CODE_IS_ALIGNED = 1 << 3,
	FXT_CODE_MODULE_SHIFT = 4,
	FXT_CODE_MODULE_BITS = 12,
	FXT_CODE_CALLER_SP_SHIFT = 16,
	FXT_CODE_SAVED_FP_SHIFT = 40,
	FXT_CODE_OFFSET_BITS = 24,
};

/* Returns the offset at this place of such a word. */
static inline int32_t fxt_code_offset(uint64_t word, unsigned shift)
{
	uint32_t bits = (uint32_t)(word >> shift) << (32 - FXT_CODE_OFFSET_BITS);

	return (int32_t)bits >> (32 - FXT_CODE_OFFSET_BITS);
}

/* Returns the program headers of an object of the loader's, which stand in memory, and sets their number;
 * NULL if they cannot be read. An object's own addresses need not begin with its headers. */
const Elf64_Phdr *fxt_code_segments(const struct link_map *object, size_t *count);

/* Returns what is known of the code that returns to `place`, as a word. */
uint64_t fxt_code_word(uintptr_t place);

/* Returns what is known of the code that returns to `place`. The member `module` is 0 for code that the
 * program has made while it runs, and where the C library cannot tell. This is inlined because a structure
 * that is stored in parts and loaded as a whole, as it is when it is returned, waits for the stores. */
static inline struct fxt_code fxt_code_at(uintptr_t place)
{
	uint64_t word = fxt_code_word(place);

	return (struct fxt_code){
		.module = word >> FXT_CODE_MODULE_SHIFT & ((1 << FXT_CODE_MODULE_BITS) - 1),
		.how = word & ((1 << FXT_CODE_HOW_BITS) - 1),
		.rule = {.caller_sp = fxt_code_offset(word, FXT_CODE_CALLER_SP_SHIFT),
			 .saved_fp = fxt_code_offset(word, FXT_CODE_SAVED_FP_SHIFT),
			 .is_from_fp = (word & FXT_CODE_IS_FROM_FP) != 0,
			 .is_aligned = (word & FXT_CODE_IS_ALIGNED) != 0},
	};
}

/* Returns the module with this number. */
struct fxt_code_module *fxt_code_module(unsigned number);
/* Returns the number of this library's own module; 0: it is not known. */
unsigned fxt_code_own(void);

/* Forgets the code of modules that have been unloaded. Called after each dlclose. */
void fxt_code_unloaded(void);
/* Returns a number that is another one when code was forgotten since, because an address can be another
 * function's then. */
unsigned fxt_code_generation(void);

#endif
