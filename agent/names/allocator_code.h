/* Tells code that allocates for others (`operator new`, std::vector, strdup(), getline()) from code that
 * allocates for itself. Memory is named by the latter, because the former answers nobody's question.
 */
#ifndef FXT_ALLOCATOR_CODE_H
#define FXT_ALLOCATOR_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind.h"

enum fxt_code_kind {
	FXT_CODE_UNKNOWN,               /* it cannot be looked at now */
	FXT_CODE_OWN,                   /* allocates for itself */
	/* allocates for its caller: a function of the C or C++ library or of this one, an operator new, or a
	 * function of a C++ or Rust standard library that was compiled into the program */
	FXT_CODE_ALLOCATOR,
	/* it allocates for its caller, which cannot be found: there is no unwind rule. So does the loader,
	 * whose callers may be any code. */
	FXT_CODE_END,
};

/* Returns the kind of the code at `address`, and the unwind rule for FXT_CODE_ALLOCATOR. Called with signals
 * blocked and under the lock of the function table, by function.c. */
enum fxt_code_kind fxt_allocator_code(uintptr_t address, struct fxt_unwind_rule *rule);

#endif
