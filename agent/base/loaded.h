/* The objects that the loader has in this process, and the functions that each exports: dlsym() and dladdr()
 * without the loader's lock, without allocation, and without a word of what another library makes of those
 * names.
 *
 * The objects that a program begins with stand in the loader's list in the order in which it searches them,
 * and stay there. A library that another thread closes meanwhile may be in the list behind them: whoever
 * walks so far does it while the process starts. Any context; nothing here calls a function of the C library,
 * as those may be somebody else's (bind.h).
 */
#ifndef FXT_LOADED_H
#define FXT_LOADED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link_map;

/* The tables of one object. */
struct fxt_loaded {
	uintptr_t base;
	const uint32_t *gnu_hash, *hash;        /* at least one of them */
	const void *symbols, *definitions;      /* of its functions and of its versions; the latter may be NULL */
	const uint16_t *versions;               /* NULL: none of its functions has one */
	const char *strings, *soname;           /* the latter may be NULL */
	const void *relocations, *jump_slots;
	size_t relocation_bytes, jump_slot_bytes;
	size_t nameless;                        /* the first so many relocations have no symbol */
};

/* A name and its hash for most objects' tables. */
struct fxt_export_name {
	const char *text;
	uint32_t gnu_hash;
};

/* This library, and the first object, which is the program. NULL where the loader has no such list. */
const struct link_map *fxt_loaded_own(void);
const struct link_map *fxt_loaded_first(void);

/* False: the object exports nothing. */
bool fxt_loaded_read(const struct link_map *object, struct fxt_loaded *tables);

struct fxt_export_name fxt_export_name(const char *text);

/* Whether it is worth looking: one load tells of most objects that they do not have the name. */
static inline bool fxt_loaded_may_have(const struct fxt_loaded *t, const struct fxt_export_name *name)
{
	uint32_t hash = name->gnu_hash;
	uint64_t bits;

	if (!t->gnu_hash)
		return true;
	bits = 1ull << hash % 64 | 1ull << (hash >> t->gnu_hash[3]) % 64;
	/* Behind the four numbers are as many words as the third says, a power of two. */
	return (((const uint64_t *)(t->gnu_hash + 4))[hash / 64 & (t->gnu_hash[2] - 1)] & bits) == bits;
}

/* The function that the object exports by that name, in that version or, where `version` is NULL, in its
 * default one. An object without versions has each function in all of them. NULL: it has none. */
void *fxt_loaded_find(const struct fxt_loaded *tables, const struct fxt_export_name *name, const char *version);

#endif
