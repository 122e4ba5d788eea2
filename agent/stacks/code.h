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

/* Returns what is known of the code that returns to `place`. `code->module` is 0 for code that the program
 * has made while it runs, and where the C library cannot tell. */
struct fxt_code fxt_code_at(uintptr_t place);

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
