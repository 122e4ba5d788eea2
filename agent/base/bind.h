/* Makes sure that the functions which the agent calls are the C library's own, and not the program's
 * clock_gettime() or memcpy(), or those of a library that fakes the time. The loader binds such a name to the
 * first object that has it. Such a function was made for its program: it may allocate, lock, make a call that
 * is traced, or be instrumented, and then it would call the agent, which would call it, without an end. */
#ifndef FXT_BIND_H
#define FXT_BIND_H

/* Binds the agent's imports to the C library. Called at start, before the agent calls anything; a second call
 * does no harm. Takes no lock and allocates nothing, so it may be called in any context. */
void fxt_bind_imports(void);

#endif
