/* What the agent calls of the C library is the C library's: not the program's own clock_gettime() or
 * memcpy(), and not those of a library that fakes the time. The loader binds such names to whoever comes
 * first, and what that does is made for its program: it may allocate, lock, make a call that is traced, or be
 * an instrumented function, and so come back to the agent for ever. */
#ifndef FXT_BIND_H
#define FXT_BIND_H

/* Once, before the agent calls anything. Twice does no harm. Any context; takes no lock and allocates
 * nothing. */
void fxt_bind_imports(void);

#endif
