/* dlsym(RTLD_NEXT, name) in a third of the instructions, for the hundreds of names at every start of a program. */
#ifndef FXT_NEXT_H
#define FXT_NEXT_H

#include <stdbool.h>
#include <stdint.h>

enum { FXT_NEXT_OBJECTS = 24 };

/* The first objects behind this library, in the order of the search. A kilobyte, for the time of it. */
struct fxt_next {
	unsigned count;
	bool is_whole;                          /* there are no others */
	const void *first;                      /* of the loader's list; NULL: not known */
	struct fxt_exports {
		uintptr_t base;
		const uint32_t *hash;
		const void *symbols;
		const char *strings;
		const uint16_t *versions;       /* NULL: none */
	} list[FXT_NEXT_OBJECTS];
};

/* Takes the loader's lock, as dlsym() does. */
void fxt_next_begin(struct fxt_next *next);

/* The default version of the function in the first of the objects that has the name, or NULL where none has. False: ask dlsym(), which
 * knows better. A search of dlsym's that fails allocates, and the next one frees: a sanitizer that is about to start can do neither. */
bool fxt_next_find(const struct fxt_next *next, const char *name, void **address);

/* The first of all objects behind this library that has the name, whatever it is there; NULL: none is known to. */
const void *fxt_next_owner(const struct fxt_next *next, const char *name);

#endif
