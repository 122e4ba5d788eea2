/* Finds functions in the objects that the loader has mapped: see next.h. start.c and heap_sizes.c call this,
 * in any thread.
 *
 * Every object is read once for a batch of functions: it takes longer to read an object than to find that it
 * has no function of a name.
 *
 * Programs ask for a function in the version that was the default one of the C library with which they were
 * linked. Another library may have the function in that version too, and hide it, so that nobody is linked
 * with that library by chance (libc_malloc_debug). So a function is looked for in the C library's default
 * version, hidden or not, as the loader does for a program.
 */
#include "next.h"

#include <link.h>

#include "agent/base/loaded.h"
#include "interpose.h"

enum { BATCH = 64 };

/* The names of a batch of functions, and their versions; NULL: the default one of whichever object. */
struct batch {
	struct fxt_export_name names[BATCH];
	const char *versions[BATCH];
};

/* Looks for those functions of the batch that have a bit in `wanted`; returns the bits of those that it did
 * not find. */
static uint64_t find_in(const struct fxt_loaded *tables, const struct fxt_real *reals,
			const struct batch *batch, uint64_t wanted, bool is_any_version)
{
	uint64_t rest;
	void *address;
	unsigned i;

	for (rest = wanted; rest; rest &= rest - 1) {
		i = (unsigned)__builtin_ctzll(rest);
		if (!fxt_loaded_may_have(tables, &batch->names[i]))
			continue;
		address = fxt_loaded_find(tables, &batch->names[i],
					  is_any_version ? NULL : batch->versions[i]);
		if (!address)
			continue;
		__atomic_store_n(reals[i].pointer, address, __ATOMIC_RELEASE);
		wanted &= ~(UINT64_C(1) << i);
	}
	return wanted;
}

static uint64_t find_behind(const struct link_map *object, const struct fxt_real *reals,
			    const struct batch *batch, uint64_t wanted, bool is_any_version)
{
	struct fxt_loaded tables;

	for (; object && wanted; object = object->l_next)
		if (fxt_loaded_read(object, &tables))
			wanted = find_in(&tables, reals, batch, wanted, is_any_version);
	return wanted;
}

/* Returns a bit for each function of the batch that was not found. */
static uint64_t find_batch(const struct fxt_real *reals, unsigned count)
{
	const struct link_map *own = fxt_loaded_own(), *next = own ? own->l_next : NULL;
	struct fxt_loaded c_library;
	bool has_c_library = fxt_loaded_c_library(&c_library);
	uint64_t wanted = 0, versioned = 0;
	struct batch batch;
	unsigned i;

	for (i = 0; i < count; i++) {
		batch.names[i] = fxt_export_name(reals[i].name);
		batch.versions[i] = reals[i].version;
		if (!reals[i].version && has_c_library)
			batch.versions[i] = fxt_loaded_version(&c_library, &batch.names[i]);
		wanted |= UINT64_C(1) << i;
		if (batch.versions[i])
			versioned |= UINT64_C(1) << i;
	}
	wanted = find_behind(next, reals, &batch, wanted, false);
	/* A version may have come later, or this architecture may lack it: then the default one is taken. */
	return (wanted & ~versioned) | find_behind(next, reals, &batch, wanted & versioned, true);
}

void fxt_next_find(const struct fxt_real *reals)
{
	unsigned count;

	for (; reals->name; reals += count) {
		for (count = 0; count < BATCH && reals[count].name; count++)
			;
		find_batch(reals, count);
	}
}

bool fxt_next_find_one(const struct fxt_real *real)
{
	return !find_batch(real, 1);
}

static const struct link_map *owner_from(const struct link_map *object, const char *text, const char *version)
{
	struct fxt_export_name name = fxt_export_name(text);
	struct fxt_loaded tables;

	if (!version && fxt_loaded_c_library(&tables))
		version = fxt_loaded_version(&tables, &name);
	while (object && !(fxt_loaded_read(object, &tables) && fxt_loaded_find(&tables, &name, version)))
		object = object->l_next;
	return object;
}

const void *fxt_next_owner(const char *name, const char *version)
{
	const struct link_map *own = fxt_loaded_own();

	return own ? owner_from(own->l_next, name, version) : NULL;
}

bool fxt_is_anywhere(const char *name)
{
	return owner_from(fxt_loaded_first(), name, NULL) != NULL;
}

bool fxt_is_first(const char *name)
{
	return owner_from(fxt_loaded_first(), name, NULL) == fxt_loaded_own();
}
