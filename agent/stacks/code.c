/* See code.h. The table is a row of entries, which are taken one after the other, and 4096 lists of them. An
 * entry is filled, and then put at the head of the list of its address; so a handler or another thread that
 * comes in between costs an entry at most. Entries lie close together, because a program that records few
 * stacks should touch few pages. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "code.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "agent/base/growing_table.h"

enum {
	HEAD_BITS = 12,
	HEADS = 1 << HEAD_BITS,
	ENTRIES = 1 << 16,              /* code that is met when all are taken is looked up each time */
	GENERATION_SHIFT = 48,          /* programs' addresses are lower */
	HEADER_BYTES = 4096,            /* a module's first page has its program headers */
};

struct entry {
	uint64_t key;                   /* the address, and the generation above it */
	uint64_t code;
	uint16_t next;                  /* the number of the next entry of the list; 0: none */
};

struct table {
	_Atomic uint16_t heads[HEADS];
	_Atomic uint32_t count;
	struct entry entries[ENTRIES];
};

static struct fxt_growing_table table = {.most_bytes = sizeof(struct table)};
static struct fxt_growing_table modules = {.most_bytes = FXT_CODE_MODULES * sizeof(struct fxt_code_module)};
static atomic_uint module_count, generation;
static atomic_uint own;                 /* the number of our own module, and 1; 0: not looked for */

/* -- Modules --------------------------------------------------------------------------------------- */

static struct fxt_code_module *module_list(void)
{
	return (struct fxt_code_module *)atomic_load_explicit(&modules.memory, memory_order_acquire);
}

struct fxt_code_module *fxt_code_module(unsigned number)
{
	return module_list() + (number - 1);
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

/* The C library may be older than the one that this library was built with. */
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

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
				memcpy(module->build_id, name + name_bytes, note->n_descsz);
				module->build_id_bytes = (uint8_t)note->n_descsz;
				return;
			}
			at = name + name_bytes + bytes;
		}
	}
}

/* Returns whether the loader still has this module. */
static bool is_loaded(const struct fxt_code_module *module)
{
	struct dl_find_object there;

	return _dl_find_object && !_dl_find_object((void *)module->low, &there) &&
	       there.dlfo_link_map == module->map && (uintptr_t)there.dlfo_map_end == module->high;
}

/* Returns the list of modules, in which there is room for one more than `count`; NULL: there is none. */
static struct fxt_code_module *modules_with(unsigned count)
{
	return fxt_growing_table(&modules, (count + 1) * sizeof(struct fxt_code_module));
}

/* Returns the number of a module, which is entered if it is new; 0: there is no room. */
static unsigned number_of(struct found *found)
{
	unsigned count = atomic_load_explicit(&module_count, memory_order_acquire), i;
	struct fxt_code_module *list = modules_with(count), *module;
	uintptr_t low = (uintptr_t)found->in.dlfo_map_start;
	struct fxt_unwind_tables tables;

	if (!list)
		return 0;
	for (i = count < FXT_CODE_MODULES ? count : FXT_CODE_MODULES; i-- > 0;)
		if (atomic_load_explicit(&list[i].low, memory_order_acquire) == low &&
		    !atomic_load_explicit(&list[i].is_gone, memory_order_relaxed))
			return i + 1;
	if (count >= FXT_CODE_MODULES)
		return 0;
	i = atomic_fetch_add(&module_count, 1);
	if (!modules_with(i))
		return 0;
	find_headers(found);
	module = &list[i];
	module->high = (uintptr_t)found->in.dlfo_map_end;
	module->map = found->in.dlfo_link_map;
	module->bias = module->map->l_addr;
	module->is_program = !*module->map->l_name;
	read_build_id(found, module);
	if (find_tables(found, &tables)) {
		module->table_low = tables.low;
		module->table_high = tables.high;
		module->table_header = tables.header;
	}
	atomic_store_explicit(&module->low, low, memory_order_release);
	return i + 1;
}

#if defined(__x86_64__)

/* Says in *tables where the unwind tables of a module are. Those of a module that is entered are known.
 * Returns false if it has none. */
static bool tables_of(struct found *found, unsigned number, struct fxt_unwind_tables *tables)
{
	const struct fxt_code_module *module = number ? fxt_code_module(number) : NULL;

	if (!module) {
		find_headers(found);
		return find_tables(found, tables);
	}
	*tables = (struct fxt_unwind_tables){
		.header = module->table_header, .low = module->table_low, .high = module->table_high};
	return tables->header;
}

#endif

/* Finds out about the code that returns to `place`. */
static struct fxt_code learn(uintptr_t place)
{
	struct fxt_code code = {.how = FXT_UNWIND_NONE};
#if defined(__x86_64__)
	struct fxt_unwind_tables tables;
#endif
	struct found found;

	if (!find_module(place - 1, &found))
		return code;
	code.module = (uint16_t)number_of(&found);
#if defined(__x86_64__)
	if (tables_of(&found, code.module, &tables))
		code.how = (uint8_t)fxt_unwind_rule(&tables, place - 1, &code.rule);
#endif
	return code;
}

unsigned fxt_code_own(void)
{
	unsigned known = atomic_load_explicit(&own, memory_order_relaxed);
	struct found found;

	if (!known) {
		known = 1 + (find_module((uintptr_t)fxt_code_own, &found) ? number_of(&found) : 0);
		atomic_store_explicit(&own, known, memory_order_relaxed);
	}
	return known - 1;
}

void fxt_code_unloaded(void)
{
	struct fxt_code_module *list = module_list();
	unsigned count = atomic_load_explicit(&module_count, memory_order_acquire), i;
	bool any = false;

	for (i = 0; list && i < count && i < FXT_CODE_MODULES; i++) {
		if (!atomic_load_explicit(&list[i].low, memory_order_acquire) ||
		    atomic_load_explicit(&list[i].is_gone, memory_order_relaxed) || is_loaded(&list[i]))
			continue;
		atomic_store_explicit(&list[i].is_gone, true, memory_order_relaxed);
		any = true;
	}
	if (any)
		atomic_fetch_add(&generation, 1);
}

#else

const Elf64_Phdr *fxt_code_segments(const struct link_map *object, size_t *count)
{
	const Elf64_Phdr *segments;

	return find_segments((const Elf64_Ehdr *)object->l_addr, &segments, count) ? segments : NULL;
}

/* This C library cannot tell which module an address is in. */
static struct fxt_code learn(uintptr_t place)
{
	(void)place;
	return (struct fxt_code){.how = FXT_UNWIND_NONE};
}

unsigned fxt_code_own(void)
{
	return 0;
}

void fxt_code_unloaded(void)
{
}

#endif

unsigned fxt_code_generation(void)
{
	return atomic_load_explicit(&generation, memory_order_acquire) & UINT16_MAX;
}

/* -- The table ------------------------------------------------------------------------------------- */

static uint64_t pack(const struct fxt_code *code)
{
	const uint64_t mask = (UINT64_C(1) << FXT_CODE_OFFSET_BITS) - 1;

	return (uint64_t)code->how | (code->rule.is_from_fp ? FXT_CODE_IS_FROM_FP : 0) |
	       (code->rule.is_aligned ? FXT_CODE_IS_ALIGNED : 0) |
	       (uint64_t)code->module << FXT_CODE_MODULE_SHIFT |
	       ((uint64_t)code->rule.caller_sp & mask) << FXT_CODE_CALLER_SP_SHIFT |
	       ((uint64_t)code->rule.saved_fp & mask) << FXT_CODE_SAVED_FP_SHIFT;
}

/* Makes the table reach as far as an entry. Returns false if there is no memory. */
static bool reaches(uint32_t number)
{
	return fxt_growing_table(&table, offsetof(struct table, entries) +
						 (number + 1) * sizeof(struct entry));
}

/* Finds out about an address, and keeps that in the list that begins at `head`. Returns it as a word. */
static __attribute__((noinline)) uint64_t learn_word(struct table *all, _Atomic uint16_t *head, uint64_t key,
						     uintptr_t place)
{
	uint16_t first = atomic_load_explicit(head, memory_order_relaxed);
	struct fxt_code code = learn(place);
	uint32_t number;
	uint64_t word = pack(&code);

	number = atomic_load_explicit(&all->count, memory_order_relaxed) + 1;
	if (number >= ENTRIES || !reaches(number))
		return word;
	number = atomic_fetch_add_explicit(&all->count, 1, memory_order_relaxed) + 1;
	if (number >= ENTRIES || !reaches(number))
		return word;
	all->entries[number].key = key;
	all->entries[number].code = word;
	do
		all->entries[number].next = first;
	while (!atomic_compare_exchange_weak_explicit(head, &first, (uint16_t)number, memory_order_release,
						      memory_order_relaxed));
	return word;
}

uint64_t fxt_code_word(uintptr_t place)
{
	struct table *all = fxt_growing_table(&table, offsetof(struct table, entries));
	uint64_t key = place | (uint64_t)fxt_code_generation() << GENERATION_SHIFT;
	const struct entry *entry;
	_Atomic uint16_t *head;
	uint32_t number;

	if (!all || place >> GENERATION_SHIFT)
		return FXT_UNWIND_NONE;
	head = &all->heads[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - HEAD_BITS)];
	for (number = atomic_load_explicit(head, memory_order_acquire); number; number = entry->next) {
		entry = &all->entries[number];
		if (entry->key == key)
			return entry->code;
	}
	return learn_word(all, head, key, place);
}
