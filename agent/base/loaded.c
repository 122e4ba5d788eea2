/* See loaded.h. Called by bind.c, follow.c and the search for the real functions
 * (interpose/engine/next.c). */
#include "loaded.h"

#include <features.h>
#include <link.h>
#ifdef __aarch64__
#include <sys/auxv.h>
#include <sys/ifunc.h>
#endif

/* The index of the first version that an object defines, behind those of local and global symbols. */
enum { HIDDEN_VERSION = 0x8000, FIRST_VERSION = 2 };

const char fxt_loaded_first_version[] = "";
const char fxt_loaded_variable[] = "";

/* Compares two texts. strcmp() is not called, because it may be the program's. */
static bool is_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static const struct link_map *own_of(const struct link_map *object)
{
	while (object && object->l_ld != _DYNAMIC)
		object = object->l_next;
	return object;
}

const struct link_map *fxt_loaded_own(void)
{
	const struct link_map *own = own_of(_r_debug.r_map);

#if __GLIBC_PREREQ(2, 35)
	/* If dlmopen() loaded the library, it is in another list. */
	const struct r_debug_extended *space = (const struct r_debug_extended *)&_r_debug;

	if (!own && _r_debug.r_version > 1)
		while (!own && (space = space->r_next) != NULL)
			own = own_of(space->base.r_map);
#endif
	return own;
}

const struct link_map *fxt_loaded_first(void)
{
	const struct link_map *object = fxt_loaded_own();

	while (object && object->l_prev)
		object = object->l_prev;
	return object;
}

/* Returns a table's address. The entries of some objects have the address, those of others the offset from
 * the object's own address. */
static const void *table_at(const struct link_map *object, const ElfW(Dyn) *entry)
{
	uintptr_t value = entry->d_un.d_ptr;

	return (const void *)(value < object->l_addr ? object->l_addr + value : value);
}

bool fxt_loaded_read(const struct link_map *object, struct fxt_loaded *t)
{
	const ElfW(Dyn) *entry;
	size_t soname = 0;

	*t = (struct fxt_loaded){.base = object->l_addr};
	for (entry = object->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
		switch (entry->d_tag) {
		case DT_GNU_HASH: t->gnu_hash = table_at(object, entry); break;
		case DT_HASH: t->hash = table_at(object, entry); break;
		case DT_SYMTAB: t->symbols = table_at(object, entry); break;
		case DT_STRTAB: t->strings = table_at(object, entry); break;
		case DT_VERSYM: t->versions = table_at(object, entry); break;
		case DT_VERDEF: t->definitions = table_at(object, entry); break;
		case DT_VERNEED: t->needs = table_at(object, entry); break;
		case DT_RELA: t->relocations = table_at(object, entry); break;
		case DT_JMPREL: t->jump_slots = table_at(object, entry); break;
		case DT_RELASZ: t->relocation_bytes = entry->d_un.d_val; break;
		case DT_RELACOUNT: t->nameless = entry->d_un.d_val; break;
		case DT_PLTRELSZ: t->jump_slot_bytes = entry->d_un.d_val; break;
		case DT_SONAME: soname = entry->d_un.d_val; break;
		default: break;
		}
	}
	if (soname && t->strings)
		t->soname = t->strings + soname;
	return (t->gnu_hash || t->hash) && t->symbols && t->strings;
}

bool fxt_loaded_c_library(struct fxt_loaded *tables)
{
	const struct link_map *object = fxt_loaded_first();

	for (; object; object = object->l_next)
		if (fxt_loaded_read(object, tables) && tables->soname && is_same(tables->soname, "libc.so.6"))
			return true;
	return false;
}

struct fxt_export_name fxt_export_name(const char *text)
{
	struct fxt_export_name name = {text, 5381};

	for (; *text; text++)
		name.gnu_hash = name.gnu_hash * 33 + (unsigned char)*text;
	return name;
}

/* Tells whether the version at this index has that name. */
static bool is_version(const struct fxt_loaded *t, unsigned index, const char *version)
{
	const char *at = t->definitions;
	const ElfW(Verdef) *definition;

	while (at) {
		definition = (const ElfW(Verdef) *)at;
		if (definition->vd_ndx == index)
			return is_same(t->strings +
				       ((const ElfW(Verdaux) *)(at + definition->vd_aux))->vda_name, version);
		at = definition->vd_next ? at + definition->vd_next : NULL;
	}
	return false;
}

static bool is_meant(const struct fxt_loaded *t, uint32_t i, const char *name, const char *version)
{
	const ElfW(Sym) *symbol = (const ElfW(Sym) *)t->symbols + i;
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	if (version == fxt_loaded_variable)
		return symbol->st_shndx != SHN_UNDEF && type == STT_OBJECT &&
		       is_same(t->strings + symbol->st_name, name);
	if (symbol->st_shndx == SHN_UNDEF || !symbol->st_value ||
	    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
	    ELF64_ST_BIND(symbol->st_info) == STB_LOCAL || !is_same(t->strings + symbol->st_name, name))
		return false;
	if (!t->versions)
		return true;
	if (!version)
		return !(t->versions[i] & HIDDEN_VERSION);
	/* The loader takes it although newer versions hide it. */
	if (version == fxt_loaded_first_version)
		return (t->versions[i] & ~HIDDEN_VERSION) <= FIRST_VERSION;
	/* The loader takes a symbol without a version for all of them. */
	if (t->versions[i] <= VER_NDX_GLOBAL)
		return true;
	return is_version(t, t->versions[i] & ~HIDDEN_VERSION, version);
}

/* Returns the index of the symbol, or 0 if the object does not export it. */
static uint32_t find_by_gnu_hash(const struct fxt_loaded *t, const struct fxt_export_name *name,
				 const char *version)
{
	uint32_t buckets = t->gnu_hash[0], first = t->gnu_hash[1], words = t->gnu_hash[2],
		hash = name->gnu_hash, i, other;
	const uint32_t *bucket = t->gnu_hash + 4 + 2 * words, *chain = bucket + buckets;

	if (!buckets || !fxt_loaded_may_have(t, name))
		return 0;
	i = bucket[hash % buckets];
	if (i < first)
		return 0;
	do {
		other = chain[i - first];
		if ((other | 1) == (hash | 1) && is_meant(t, i, name->text, version))
			return i;
		i++;
	} while (!(other & 1));
	return 0;
}

/* Does what find_by_gnu_hash() does, with the table of objects that were not linked with --hash-style=gnu. */
static uint32_t find_by_hash(const struct fxt_loaded *t, const struct fxt_export_name *name,
			     const char *version)
{
	uint32_t buckets = t->hash[0], hash = 0, high, i;
	const uint32_t *bucket = t->hash + 2, *chain = bucket + buckets;
	const char *text;

	for (text = name->text; *text; text++) {
		hash = (hash << 4) + (unsigned char)*text;
		high = hash & 0xf0000000;
		hash = (hash ^ high >> 24) & ~high;
	}
	if (!buckets)
		return 0;
	for (i = bucket[hash % buckets]; i; i = chain[i])
		if (is_meant(t, i, name->text, version))
			return i;
	return 0;
}

/* Returns the function that an indirect function's resolver chooses for this processor. */
static void *chosen_by(uintptr_t resolver)
{
#ifdef __aarch64__
	__ifunc_arg_t argument = {sizeof(argument), getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};

	return ((void *(*)(uint64_t, const __ifunc_arg_t *))resolver)(argument._hwcap | _IFUNC_ARG_HWCAP,
								      &argument);
#else
	return ((void *(*)(void))resolver)();
#endif
}

static uint32_t find(const struct fxt_loaded *t, const struct fxt_export_name *name, const char *version)
{
	return t->gnu_hash ? find_by_gnu_hash(t, name, version) : find_by_hash(t, name, version);
}

const char *fxt_loaded_version(const struct fxt_loaded *t, const struct fxt_export_name *name)
{
	uint32_t found = find(t, name, NULL);
	const char *at = t->definitions;
	unsigned index;

	if (!found || !t->versions)
		return NULL;
	index = t->versions[found] & ~HIDDEN_VERSION;
	while (at && index > VER_NDX_GLOBAL) {
		const ElfW(Verdef) *definition = (const ElfW(Verdef) *)at;

		if (definition->vd_ndx == index)
			return t->strings + ((const ElfW(Verdaux) *)(at + definition->vd_aux))->vda_name;
		at = definition->vd_next ? at + definition->vd_next : NULL;
	}
	return NULL;
}

void *fxt_loaded_find(const struct fxt_loaded *t, const struct fxt_export_name *name, const char *version)
{
	uint32_t found = find(t, name, version);
	const ElfW(Sym) *symbol = (const ElfW(Sym) *)t->symbols + found;

	if (!found)
		return NULL;
	if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
		return chosen_by(t->base + symbol->st_value);
	return (void *)(t->base + symbol->st_value);
}
