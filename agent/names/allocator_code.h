/* Tells code that allocates for others (`operator new`, std::vector, strdup(), getline()) from code that
 * allocates for itself. Memory is named by the latter, because the former answers nobody's question.
 */
#ifndef FXT_ALLOCATOR_CODE_H
#define FXT_ALLOCATOR_CODE_H

#include <stdint.h>

enum fxt_code_kind {
	FXT_CODE_UNKNOWN,               /* it cannot be looked at now */
	FXT_CODE_OWN,                   /* allocates for itself */
	/* allocates for its caller: a function of the C or C++ library or of this one, an operator new, or a
	 * function of a C++ or Rust standard library that was compiled into the program */
	FXT_CODE_ALLOCATOR,
	FXT_CODE_END,                   /* the loader's, whose callers may be any code */
};

/* Returns the kind of the code at `address`. Called with signals blocked and under the lock of the function
 * table, by function.c. */
enum fxt_code_kind fxt_allocator_code(uintptr_t address);

#endif
