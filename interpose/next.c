/* See next.h. The objects that a program starts with are in the loader's list in the order in which it searches them, and stay
 * there; each has a hash table of what it exports (DT_GNU_HASH). Called by start.c, by any thread.
 *
 * What is out of the ordinary is left to dlsym(): an object without such a table, a name that is not in its default version
 * or not that of a plain function.
 */
#include "next.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

enum { HIDDEN_VERSION = 0x8000 };

/* Some objects have addresses here, others what has to be added to where they were loaded. */
static const void *table_at(const struct link_map *object, const ElfW(Dyn) *entry)
{
	uintptr_t value = entry->d_un.d_ptr;

	return (const void *)(value < object->l_addr ? object->l_addr + value : value);
}

static bool read_exports(const struct link_map *object, struct fxt_exports *e)
{
	const ElfW(Dyn) *entry;

	*e = (struct fxt_exports){.base = object->l_addr};
	for (entry = object->l_ld; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_GNU_HASH)
			e->hash = table_at(object, entry);
		else if (entry->d_tag == DT_SYMTAB)
			e->symbols = table_at(object, entry);
		else if (entry->d_tag == DT_STRTAB)
			e->strings = table_at(object, entry);
		else if (entry->d_tag == DT_VERSYM)
			e->versions = table_at(object, entry);
	}
	return e->hash && e->symbols && e->strings;
}

void fxt_next_begin(struct fxt_next *next)
{
	const struct link_map *object;
	void *own;
	Dl_info info;

	next->count = 0;
	next->is_whole = false;
	next->first = NULL;
	if (!dladdr1((const void *)fxt_next_begin, &info, &own, RTLD_DL_LINKMAP))
		return;
	next->first = ((const struct link_map *)own)->l_next;
	for (object = next->first; object; object = object->l_next) {
		/* Whatever is behind one that we cannot look into is not the first. */
		if (next->count == FXT_NEXT_OBJECTS || !read_exports(object, &next->list[next->count]))
			return;
		next->count++;
	}
	next->is_whole = true;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

/* The index of the name's default version, or of one that is not; 0: it is not here. */
static uint32_t find(const struct fxt_exports *e, const char *name, uint32_t hash)
{
	uint32_t buckets = e->hash[0], first = e->hash[1], words = e->hash[2], shift = e->hash[3], i, found = 0, other;
	const uint64_t *bloom = (const uint64_t *)(e->hash + 4);
	const uint32_t *bucket = (const uint32_t *)(bloom + words), *chain = bucket + buckets;
	uint64_t bits = 1ull << hash % 64 | 1ull << (hash >> shift) % 64;
	const ElfW(Sym) *symbols = e->symbols;

	if (!buckets || !words || (bloom[hash / 64 % words] & bits) != bits)
		return 0;
	i = bucket[hash % buckets];
	if (i < first)
		return 0;
	do {
		other = chain[i - first];
		if ((other | 1) == (hash | 1) && symbols[i].st_shndx != SHN_UNDEF &&
		    !strcmp(e->strings + symbols[i].st_name, name)) {
			found = i;
			if (!e->versions || !(e->versions[i] & HIDDEN_VERSION))
				break;
		}
		i++;
	} while (!(other & 1));
	return found;
}

bool fxt_next_find(const struct fxt_next *next, const char *name, void **address)
{
	uint32_t hash = hash_of(name), found;
	const struct fxt_exports *e;
	const ElfW(Sym) *symbol;

	*address = NULL;
	for (e = next->list; e < next->list + next->count; e++) {
		found = find(e, name, hash);
		if (!found)
			continue;
		symbol = (const ElfW(Sym) *)e->symbols + found;
		if ((e->versions && e->versions[found] & HIDDEN_VERSION) || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
			return false;
		*address = (void *)(e->base + symbol->st_value);
		return true;
	}
	return next->is_whole;
}

const void *fxt_next_owner(const struct fxt_next *next, const char *name)
{
	const struct link_map *object;
	struct fxt_exports exports;
	uint32_t hash = hash_of(name);

	for (object = next->first; object && read_exports(object, &exports); object = object->l_next)
		if (find(&exports, name, hash))
			return object;
	return NULL;
}
