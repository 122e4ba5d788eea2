/* The objects that the loader has in this process, and the functions that each exports: dlsym() and dladdr() without the loader's lock,
 * without allocation, and without a word of what another library makes of those names.
 *
 * The objects that a program begins with stand in the loader's list in the order in which it searches them, and stay there. A library that
 * another thread closes meanwhile may be in the list behind them: whoever walks so far does it while the process starts.
 * Any context; nothing here calls a function of the C library, as those may be somebody else's (bind.h).
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
};

/* A name and what its hash is in both kinds of tables. */
struct fxt_export_name {
	const char *text;
	uint32_t gnu_hash, hash;
};

/* This library, and the first object, which is the program. NULL where the loader has no such list. */
const struct link_map *fxt_loaded_own(void);
const struct link_map *fxt_loaded_first(void);

/* False: the object exports nothing. */
bool fxt_loaded_read(const struct link_map *object, struct fxt_loaded *tables);

struct fxt_export_name fxt_export_name(const char *text);

/* The function that the object exports by that name, in that version or, where `version` is NULL, in its default one. An object without
 * versions has each function in all of them. NULL: it has none. */
void *fxt_loaded_find(const struct fxt_loaded *tables, const struct fxt_export_name *name, const char *version);

#endif
