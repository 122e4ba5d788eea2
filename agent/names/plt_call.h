/* Calls through procedure linkage tables: the functions that modules call in other modules, by way of a word
 * in their own memory. interpose/functions/plt.c makes such a word point to a stub of this library
 * (interpose/functions/entries.S), which records the call and goes on at the real function. Each function has
 * one stub, whoever calls it, and is known in the table of functions by the stub's address.
 *
 * The list is made at start, before there are threads, and does not change afterwards. Any context.
 */
#ifndef FXT_PLT_CALL_H
#define FXT_PLT_CALL_H

#include "plt_call_count.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fxt_plt_call {
	const char *name;               /* in the string table of a module that calls it */
	size_t bytes;                   /* the length of the name */
	const char *file;               /* the file that has the function, without directories */
};

#if defined(__x86_64__)

extern const char fxt_plt_stubs[] __attribute__((visibility("hidden")));

/* Returns whether the address is that of a stub. */
static inline bool fxt_is_plt_call(uintptr_t address)
{
	return address - (uintptr_t)fxt_plt_stubs < FXT_PLT_CALLS * FXT_PLT_STUB_BYTES;
}

/* Returns the function whose stub is at `address`. */
const struct fxt_plt_call *fxt_plt_call(uintptr_t address);

/* Returns the address of the stub for a function at `target`, which is made if there is none. Returns 0 if
 * there is no room for one. The caller is alone. `file` and `name` stay valid. */
uintptr_t fxt_plt_call_make(const char *name, const char *file, uintptr_t target);

/* Returns how many functions have stubs. */
unsigned fxt_plt_call_count(void);

#else

static inline bool fxt_is_plt_call(uintptr_t address)
{
	(void)address;
	return false;
}

static inline const struct fxt_plt_call *fxt_plt_call(uintptr_t address)
{
	(void)address;
	return NULL;
}

#endif

#endif
