/* The loader's objects (the program and its libraries) and the functions that each exports. This does what
 * dlsym() and dladdr() do, without the loader's lock and without allocation, and no other library's version
 * of those functions is involved.
 *
 * The objects that a program begins with stand in the loader's list in the order in which the loader
 * searches them, and stay there. Behind them the list may have a library that another thread is about to
 * close. So nobody walks that far except while the process starts. Any context. Nothing here calls a
 * function of the C library, because another library may have put its own in that function's place
 * (bind.h).
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
	const uint32_t *gnu_hash, *hash;        /* at least one is not NULL */
	const void *symbols, *definitions;      /* its symbols, and its versions; the latter may be NULL */
	const char *needs;              /* the versions that it needs of others; may be NULL */
	const uint16_t *versions;               /* NULL: no function has a version */
	const char *strings, *soname;           /* soname may be NULL */
	const void *relocations, *jump_slots;
	size_t relocation_bytes, jump_slot_bytes;
	size_t nameless;                        /* how many relocations at the beginning have no symbol */
};

/* A name, and its hash in the GNU hash table that most objects have. */
struct fxt_export_name {
	const char *text;
	uint32_t gnu_hash;
};

/* Returns this library's object. Returns NULL if the loader has no list of objects. */
const struct link_map *fxt_loaded_own(void);
/* Returns the first object, which is the program, or NULL as fxt_loaded_own() does. */
const struct link_map *fxt_loaded_first(void);

/* Reads the object's tables. Returns false if the object exports nothing. */
bool fxt_loaded_read(const struct link_map *object, struct fxt_loaded *tables);

/* Reads the tables of the C library. Returns false if there is none. */
bool fxt_loaded_c_library(struct fxt_loaded *tables);

/* Returns the name with its hash. */
struct fxt_export_name fxt_export_name(const char *text);

/* Tells whether the object may export the name. For most objects that do not, one load shows it. */
static inline bool fxt_loaded_may_have(const struct fxt_loaded *t, const struct fxt_export_name *name)
{
	uint32_t hash = name->gnu_hash;
	uint64_t bits;

	if (!t->gnu_hash)
		return true;
	bits = 1ull << hash % 64 | 1ull << (hash >> t->gnu_hash[3]) % 64;
	/* Behind the table's four numbers there are as many words as the third number says, which is a
	 * power of two. */
	return (((const uint64_t *)(t->gnu_hash + 4))[hash / 64 & (t->gnu_hash[2] - 1)] & bits) == bits;
}

/* Stands for the version of a reference that names none: that of an object which was linked when the object
 * with the function had no versions. */
extern const char fxt_loaded_first_version[] __attribute__((visibility("hidden")));

/* Returns the default version of a function that the object exports: the one that a program has in its
 * references which is linked with the object. Returns NULL if there is none. */
const char *fxt_loaded_version(const struct fxt_loaded *tables, const struct fxt_export_name *name);

/* Stands for the version of a variable, which is found in whichever version it is. */
extern const char fxt_loaded_variable[] __attribute__((visibility("hidden")));

/* Returns the function that the object exports by that name, in that version or, if `version` is NULL, in
 * its default version. An object without versions has each function in all versions. Returns NULL if there
 * is none. */
void *fxt_loaded_find(const struct fxt_loaded *tables, const struct fxt_export_name *name,
		      const char *version);

#endif
