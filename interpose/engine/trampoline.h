/* Calls that are recorded before they are made, as instants, and left to their functions as they came: registers, stack and return
 * address are those of the program's own call. That is how to stand in for
 *
 *	dlopen, dlmopen         the loader goes by the caller's address: its RUNPATH, its $ORIGIN, its namespace
 *	vfork                   the child returns first, and would return from a frame of ours
 *	error, error_at_line    variadic, and the C library has none that takes a list
 *
 * Neither how they ended nor how long they took is seen.
 */
#ifndef FXT_TRAMPOLINE_H
#define FXT_TRAMPOLINE_H

/* The real functions, for the lists of their families; found by fxt_interpose_start(). */
#define FXT_BEFORE(symbol) extern void *fxt_real_##symbol __attribute__((visibility("hidden")));
FXT_BEFORE(dlopen)
FXT_BEFORE(dlmopen)
FXT_BEFORE(vfork)
FXT_BEFORE(__vfork)
FXT_BEFORE(error)
FXT_BEFORE(error_at_line)
#undef FXT_BEFORE

#endif
