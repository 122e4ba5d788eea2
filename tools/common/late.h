/* Libraries that few commands need: they are opened at their first use, and not by the loader at the start of
 * every command. libbabeltrace2 and libdw bring six more libraries with them. To map and bind these took more
 * than half of the time that `fxt --version` took, and each process that `fxt record` makes copied their
 * mappings.
 *
 * A header of ours includes that of the library, and has a line for each function that is called:
 *
 *	#define dwfl_begin FXT_LATE(&fxt_libdw, dwfl_begin)
 *
 * So the code is written as if the library was linked. A function that has no such line is not found when fxt
 * is linked. Any thread may call all of this; a function of the library if fxt_late_open() has returned true
 * before.
 */
#ifndef FXT_TOOLS_LATE_H
#define FXT_TOOLS_LATE_H

#include <stdbool.h>

struct fxt_late_library {
	const char *name;               /* as programs that are linked with it name it */
	bool was_tried;
	void *handle;                   /* NULL: it is not installed, or nobody has opened it yet */
};

/* Opens the library, if nobody has done so. Returns whether it is there. */
bool fxt_late_open(struct fxt_late_library *library);

/* Returns the function. Ends the program with a message if the library does not have it, or is not open. */
void *fxt_late_find(const struct fxt_late_library *library, const char *function);

#define FXT_LATE(library, function)                                                                 \
	(*__extension__({                                                                           \
		static __typeof__(function) *late;                                                  \
		__typeof__(function) *at = __atomic_load_n(&late, __ATOMIC_RELAXED);                \
		if (!at) {                                                                          \
			at = (__typeof__(function) *)fxt_late_find((library), #function);           \
			__atomic_store_n(&late, at, __ATOMIC_RELAXED);                              \
		}                                                                                   \
		at;                                                                                 \
	}))

#endif
