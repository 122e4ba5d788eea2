/* See code_module.h. The modules stand in a row, and in lists by the address at which they begin. An entry is
 * filled, and then put at the head of its list; so a handler or another thread that comes in between costs an
 * entry at most. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "code_module.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "agent/base/growing_table.h"
#include "load_number.h"

enum {
	HEAD_BITS = 8,
	HEADS = 1 << HEAD_BITS,
	HEADER_BYTES = 4096,            /* a module's first page has its program headers */
	PATH_MOST = 1024,               /* longer paths are cut */
	PATHS_BYTES = 4 << 20,          /* all paths together; modules that need more find no room */
	TABLE_MOST = 1024,              /* as much of its unwind table tells a module without a build id */
};

struct modules {
	_Atomic uint16_t heads[HEADS];
	struct fxt_code_module list[FXT_CODE_MODULES];
};

static struct fxt_growing_table modules = {.most_bytes = sizeof(struct modules)};
static struct fxt_growing_table paths = {.most_bytes = PATHS_BYTES};
static atomic_uint module_count, path_bytes;

struct fxt_code_module *fxt_code_module(unsigned number)
{
	struct modules *all =
		(struct modules *)atomic_load_explicit(&modules.memory, memory_order_acquire);

	return &all->list[number - 1];
}

/* Finds the program headers of the module whose first bytes are at `header`. Returns false if they are not in
 * its first page, or cannot be read. */
static bool find_segments(const Elf64_Ehdr *header, const Elf64_Phdr **segments, size_t *count)
{
	if (!fxt_sys_can_read((uintptr_t)header) || memcmp(header->e_ident, ELFMAG, SELFMAG) ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr) ||
	    header->e_phoff % _Alignof(Elf64_Phdr) || header->e_phoff > HEADER_BYTES ||
	    header->e_phnum > (HEADER_BYTES - header->e_phoff) / sizeof(Elf64_Phdr))
		return false;
	*segments = (const Elf64_Phdr *)((const char *)header + header->e_phoff);
	*count = header->e_phnum;
	return true;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE

/* A module as the loader describes it, with its program headers. */
struct found {
	struct dl_find_object in;
	const Elf64_Phdr *segments;
	size_t count;
};

static atomic_uint own;                 /* the number of our own module, and 1; 0: not looked for */

/* The C library may be older than the one that this library was built with. */
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

/* -- Finding a module ------------------------------------------------------------------------------- */

/* Takes the program headers of the program itself from where the kernel says they are. Of a program with gaps
 * between its segments the loader tells the one that the address is in, which may have no ELF header. Whether
 * the headers are its own is told by where they have the unwind tables. */
static void find_program(struct found *found)
{
	const Elf64_Phdr *segments = (const Elf64_Phdr *)getauxval(AT_PHDR);
	size_t count = getauxval(AT_PHNUM), i;

	if (*found->in.dlfo_link_map->l_name || getauxval(AT_PHENT) != sizeof(*segments) || !count ||
	    !fxt_sys_can_read((uintptr_t)segments) || !fxt_sys_can_read((uintptr_t)(segments + count) - 1))
		return;
	for (i = 0; i < count; i++)
		if (segments[i].p_type == PT_GNU_EH_FRAME && (uintptr_t)found->in.dlfo_eh_frame ==
		    found->in.dlfo_link_map->l_addr + segments[i].p_vaddr) {
			found->segments = segments;
			found->count = count;
		}
}

static bool find_module(uintptr_t address, struct found *found)
{
	found->count = 0;
	return _dl_find_object && !_dl_find_object((void *)address, &found->in);
}

/* Finds the program headers of a module that was found. There may be none that can be read. */
static void find_headers(struct found *found)
{
	if ((uintptr_t)found->in.dlfo_map_end - (uintptr_t)found->in.dlfo_map_start < HEADER_BYTES ||
	    !find_segments(found->in.dlfo_map_start, &found->segments, &found->count))
		find_program(found);
}

/* Finds the unwind tables of a module whose headers were found. */
static bool find_tables(const struct found *found, struct fxt_unwind_tables *tables)
{
	return fxt_unwind_find(found->segments, found->count, found->in.dlfo_link_map->l_addr, tables);
}

const Elf64_Phdr *fxt_code_segments(const struct link_map *object, size_t *count)
{
	const Elf64_Phdr *segments;
	struct found found;

	if (find_module((uintptr_t)object->l_ld, &found)) {
		find_headers(&found);
		*count = found.count;
		return found.count ? found.segments : NULL;
	}
	return find_segments((const Elf64_Ehdr *)object->l_addr, &segments, count) ? segments : NULL;
}

/* -- Knowing it again ------------------------------------------------------------------------------ */

/* Copies the build id of a module, which stands in one of its notes. */
static void read_build_id(const struct found *found, struct fxt_code_module *module)
{
	enum { NAME_BYTES = 4 };
	struct fxt_reach reach = {0};
	size_t i;

	for (i = 0; i < found->count; i++) {
		const Elf64_Phdr *segment = &found->segments[i];
		const char *at = (const char *)(module->bias + segment->p_vaddr),
			   *end = at + segment->p_filesz;

		while (segment->p_type == PT_NOTE && (size_t)(end - at) > sizeof(Elf64_Nhdr) &&
		       fxt_reaches_all(&reach, at, sizeof(Elf64_Nhdr))) {
			const Elf64_Nhdr *note = (const void *)at;
			const char *name = at + sizeof(*note);
			size_t name_bytes = ((size_t)note->n_namesz + 3) & ~(size_t)3,
			       bytes = ((size_t)note->n_descsz + 3) & ~(size_t)3;

			if (name_bytes + bytes > (size_t)(end - name))
				break;
			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == NAME_BYTES &&
			    note->n_descsz <= FXT_BUILD_ID_MOST &&
			    fxt_reaches_all(&reach, name, name_bytes + bytes) &&
			    !memcmp(name, "GNU", NAME_BYTES)) {
				module->build_id_at = (const uint8_t *)name + name_bytes;
				module->build_id_bytes = (uint8_t)note->n_descsz;
				memcpy(module->build_id, module->build_id_at, note->n_descsz);
				return;
			}
			at = name + name_bytes + bytes;
		}
	}
}

/* Adds up to a page of memory to a hash, as far as it can be read. */
static uint64_t add(uint64_t hash, struct fxt_reach *reach, const void *memory, size_t bytes)
{
	const unsigned char *at = memory;
	size_t i;

	for (i = 0; i < bytes && fxt_reaches(reach, at + i); i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* Returns a hash of what tells a module without a build id from another one: the first header, which says how
 * long the file is, the program headers, and where the first functions begin. */
static uint64_t hash_headers(const struct found *found, const struct fxt_unwind_tables *tables)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	struct fxt_reach reach = {0};
	size_t bytes;

	hash = add(hash, &reach, found->in.dlfo_map_start, sizeof(Elf64_Ehdr));
	hash = add(hash, &reach, found->segments, found->count * sizeof(Elf64_Phdr));
	if (!tables)
		return hash;
	bytes = (size_t)(tables->high - tables->header);
	return add(hash, &reach, tables->header, bytes < TABLE_MOST ? bytes : TABLE_MOST);
}

/* Returns whether the module that was found has the build id of one that is known; if that has none, whether
 * its headers are the same. Where the file was cut off, nothing can be compared, and it is the same one if
 * the loader has not moved its entry. */
static bool is_same_inside(struct found *found, const struct fxt_code_module *module)
{
	const uint8_t *at = module->build_id_at;
	struct fxt_unwind_tables tables;
	struct fxt_reach reach = {0};

	if (module->build_id_bytes) {
		if (fxt_reaches_all(&reach, at, module->build_id_bytes))
			return !memcmp(at, module->build_id, module->build_id_bytes);
		return module->map == found->in.dlfo_link_map;
	}
	find_headers(found);
	if (!found->count)
		return module->map == found->in.dlfo_link_map;
	return module->headers == hash_headers(found, find_tables(found, &tables) ? &tables : NULL);
}

/* Returns whether the module that was found is one that is known. */
static bool is_same(struct found *found, struct fxt_code_module *module)
{
	uint64_t load;

	if (module->low != (uintptr_t)found->in.dlfo_map_start ||
	    module->high != (uintptr_t)found->in.dlfo_map_end ||
	    module->bias != found->in.dlfo_link_map->l_addr)
		return false;
	if (module->is_lasting)
		return true;
	load = fxt_load_number(found->in.dlfo_link_map);
	if (load && load == atomic_load_explicit(&module->load, memory_order_relaxed))
		return true;
	if (strncmp(module->path, found->in.dlfo_link_map->l_name, PATH_MOST - 1) ||
	    !is_same_inside(found, module))
		return false;
	atomic_store_explicit(&module->load, load, memory_order_relaxed);
	return true;
}

/* -- Entering it ----------------------------------------------------------------------------------- */

/* Keeps a copy of a path, with a null byte behind it. Returns false if there is no room. */
static bool keep_path(struct fxt_code_module *module, const char *path)
{
	size_t bytes = strnlen(path, PATH_MOST - 1), from, i;
	char *memory;

	if (atomic_load_explicit(&path_bytes, memory_order_relaxed) > PATHS_BYTES - PATH_MOST)
		return false;
	from = atomic_fetch_add_explicit(&path_bytes, (unsigned)bytes + 1, memory_order_relaxed);
	memory = fxt_growing_table(&paths, from + bytes + 1);
	if (!memory)
		return false;
	for (i = 0; i < bytes; i++)
		memory[from + i] = path[i];
	memory[from + bytes] = '\0';
	module->path = memory + from;
	module->path_bytes = bytes;
	return true;
}

/* Enters a module that is new. Returns its number, or FXT_CODE_NO_ROOM. */
static unsigned enter(struct modules *all, _Atomic uint16_t *head, struct found *found)
{
	uint16_t first = atomic_load_explicit(head, memory_order_relaxed);
	struct fxt_unwind_tables tables;
	struct fxt_code_module *module;
	bool has_tables;
	unsigned i;

	if (atomic_load_explicit(&module_count, memory_order_relaxed) >= FXT_CODE_MODULES)
		return FXT_CODE_NO_ROOM;
	i = atomic_fetch_add(&module_count, 1);
	if (i >= FXT_CODE_MODULES ||
	    !fxt_growing_table(&modules, offsetof(struct modules, list) + (i + 1) * sizeof(all->list[0])))
		return FXT_CODE_NO_ROOM;
	module = &all->list[i];
	module->map = found->in.dlfo_link_map;
	if (!keep_path(module, module->map->l_name))
		return FXT_CODE_NO_ROOM;
	module->low = (uintptr_t)found->in.dlfo_map_start;
	module->high = (uintptr_t)found->in.dlfo_map_end;
	module->bias = module->map->l_addr;
	module->is_lasting = fxt_load_is_lasting(module->map);
	if (!module->is_lasting)
		atomic_store_explicit(&module->load, fxt_load_number(module->map), memory_order_relaxed);
	find_headers(found);
	read_build_id(found, module);
	has_tables = find_tables(found, &tables);
	if (has_tables) {
		module->table_low = tables.low;
		module->table_high = tables.high;
		module->table_header = tables.header;
	}
	if (!module->build_id_bytes)
		module->headers = hash_headers(found, has_tables ? &tables : NULL);
	do
		module->next = first;
	while (!atomic_compare_exchange_weak_explicit(head, &first, (uint16_t)(i + 1), memory_order_release,
						      memory_order_relaxed));
	return i + 1;
}

/* Returns the number of a module that was found, which is entered if it is new. */
static unsigned number_of(struct found *found)
{
	struct modules *all = fxt_growing_table(&modules, offsetof(struct modules, list));
	uint64_t page = (uintptr_t)found->in.dlfo_map_start / HEADER_BYTES;
	_Atomic uint16_t *head;
	unsigned number;

	if (!all)
		return FXT_CODE_NO_ROOM;
	head = &all->heads[page * UINT64_C(0x9e3779b97f4a7c15) >> (64 - HEAD_BITS)];
	for (number = atomic_load_explicit(head, memory_order_acquire); number;
	     number = all->list[number - 1].next)
		if (is_same(found, &all->list[number - 1]))
			return number;
	return enter(all, head, found);
}

unsigned fxt_code_module_of(uintptr_t address, struct fxt_code_latest *latest)
{
	struct found found;

	if (address - latest->low < latest->high - latest->low)
		return latest->number;
	if (!find_module(address, &found))
		return 0;
	latest->low = (uintptr_t)found.in.dlfo_map_start;
	latest->high = (uintptr_t)found.in.dlfo_map_end;
	latest->number = number_of(&found);
	return latest->number;
}

bool fxt_code_module_tables(unsigned number, uintptr_t address, struct fxt_unwind_tables *tables)
{
	struct fxt_code_module *module;
	struct found found;

	if (number == FXT_CODE_NO_ROOM) {
		if (!find_module(address, &found))
			return false;
		find_headers(&found);
		return find_tables(&found, tables);
	}
	module = fxt_code_module(number);
	*tables = (struct fxt_unwind_tables){
		.header = module->table_header,
		.low = module->table_low,
		.high = module->table_high,
		.known = &module->table_known,
	};
	return tables->header;
}

unsigned fxt_code_own(void)
{
	unsigned known = atomic_load_explicit(&own, memory_order_relaxed);
	struct fxt_code_latest latest = {0};

	if (!known) {
		known = 1 + fxt_code_module_of((uintptr_t)fxt_code_own, &latest);
		atomic_store_explicit(&own, known, memory_order_relaxed);
	}
	return known - 1;
}

#else

const Elf64_Phdr *fxt_code_segments(const struct link_map *object, size_t *count)
{
	const Elf64_Phdr *segments;

	return find_segments((const Elf64_Ehdr *)object->l_addr, &segments, count) ? segments : NULL;
}

/* This C library cannot tell which module an address is in. */
unsigned fxt_code_module_of(uintptr_t address, struct fxt_code_latest *latest)
{
	(void)address;
	(void)latest;
	return 0;
}

bool fxt_code_module_tables(unsigned number, uintptr_t address, struct fxt_unwind_tables *tables)
{
	(void)number;
	(void)address;
	(void)tables;
	return false;
}

unsigned fxt_code_own(void)
{
	return 0;
}

#endif
