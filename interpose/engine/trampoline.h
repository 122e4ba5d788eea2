/* Records calls before they are made, as instants, and hands them on to the real functions as they came:
 * registers, stack and return address are those of the program's own call. We stand in so for
 *
 *	dlopen, dlmopen         the loader goes by its caller's address: whose RUNPATH, $ORIGIN and namespace
 *	vfork                   the child returns first, and would return from a frame of ours
 *	error, error_at_line    they are variadic, and the C library has none that takes a list
 *
 * Neither how such a call ended nor how long it took is seen.
 */
#ifndef FXT_TRAMPOLINE_H
#define FXT_TRAMPOLINE_H

/* The real functions, for the lists of their families. fxt_interpose_start() finds them. */
#define FXT_BEFORE(symbol) extern void *fxt_real_##symbol __attribute__((visibility("hidden")));
FXT_BEFORE(dlopen)
FXT_BEFORE(dlmopen)
FXT_BEFORE(vfork)
FXT_BEFORE(__vfork)
FXT_BEFORE(error)
FXT_BEFORE(error_at_line)
#undef FXT_BEFORE

#endif
