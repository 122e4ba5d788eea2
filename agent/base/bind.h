/* Makes sure that the functions which the agent calls are the C library's own, and not the program's
 * clock_gettime() or memcpy(), or those of a library that fakes the time. The loader binds such a name to the
 * first object that has it. Such a function was made for its program: it may allocate, lock, make a call that
 * is traced, or be instrumented, and then it would call the agent, which would call it, without an end. */
#ifndef FXT_BIND_H
#define FXT_BIND_H

#include <stdbool.h>
#include <stdint.h>

/* Binds the agent's imports to the C library. Called at start, before the agent calls anything; a second call
 * does no harm. Takes no lock and allocates nothing, so it may be called in any context. */
void fxt_bind_imports(void);

/* A library that is relocated before the agent may have functions that are chosen by a resolver (IFUNC), and
 * the resolver may call functions that we stand in for. Then the agent's own words for addresses still have
 * what the linker has put there, which is an offset, and its thread-local variables cannot be reached.
 *
 * fxt_bind_early() does the loader's work on those words, except for the thread-local variables. The loader
 * does it again afterwards, and so undoes what was found meanwhile. Until then calls pass through. */
void fxt_bind_early(void);

/* What the loader has put here is known: see fxt_is_relocated(). */
extern void *volatile fxt_bind_mark __attribute__((visibility("hidden")));

/* No object is mapped below this address, and no offset in this library is above it. */
enum { FXT_LEAST_ADDRESS = 1 << 24 };

/* Returns whether a word that has an address in it was relocated. */
static inline bool fxt_is_relocated_word(const volatile void *word)
{
	return __builtin_expect((uintptr_t)word >= FXT_LEAST_ADDRESS, 1);
}

/* Returns whether the agent was relocated, by the loader or by fxt_bind_early(). */
static inline bool fxt_is_relocated(void)
{
	return fxt_is_relocated_word(fxt_bind_mark);
}

/* Returns whether it was the loader, so that the agent may begin. */
static inline bool fxt_is_relocated_by_loader(void)
{
	return fxt_bind_mark == (void *)&fxt_bind_mark;
}

#endif
