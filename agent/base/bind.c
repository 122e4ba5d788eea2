/* See bind.h. The search for the real functions (interpose/start.c) calls this.
 *
 * Each function that the agent imports has a word in its memory with the function's address, which the loader
 * has filled (-z now). If the address lies outside the C library, which is rare, the word is filled again.
 * Imported variables stay as they are: a program may have a copy of a C library's variable in its own memory,
 * and then the C library itself uses that copy. tests/check_exports.sh knows what is imported.
 */
#include "bind.h"

#include <link.h>
#include <sys/mman.h>

#include "loaded.h"
#include "writer/sys.h"

#if defined(__x86_64__)
enum { FUNCTION_BY_CALL = R_X86_64_JUMP_SLOT, FUNCTION_BY_WORD = R_X86_64_GLOB_DAT };
#else
enum { FUNCTION_BY_CALL = R_AARCH64_JUMP_SLOT, FUNCTION_BY_WORD = R_AARCH64_GLOB_DAT };
#endif

/* The C library, as the loader has mapped it. */
struct c_library {
	struct fxt_loaded tables;
	uintptr_t low, high;
};

/* Returns whether a loaded object is the C library, by its name. This compares byte by byte, because no
 * function of the C library may be called yet. */
static bool is_c_library(const struct fxt_loaded *tables)
{
	static const char name[] = "libc.so.6";
	unsigned i;

	if (!tables->soname)
		return false;
	for (i = 0; i < sizeof(name); i++)
		if (tables->soname[i] != name[i])
			return false;
	return true;
}

/* Finds out which addresses the C library takes, by its program headers. */
static void measure(struct c_library *c)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)c->tables.base;
	const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(c->tables.base + header->e_phoff);
	unsigned i;

	c->low = c->tables.base;
	for (i = 0; i < header->e_phnum; i++)
		if (segment[i].p_type == PT_LOAD &&
		    c->low + segment[i].p_vaddr + segment[i].p_memsz > c->high)
			c->high = c->low + segment[i].p_vaddr + segment[i].p_memsz;
}

static bool find_c_library(struct c_library *c)
{
	const struct link_map *object = fxt_loaded_first();

	for (; object; object = object->l_next) {
		if (!fxt_loaded_read(object, &c->tables) || !is_c_library(&c->tables))
			continue;
		measure(c);
		return true;
	}
	return false;
}

/* Stores an address in an import's word. The loader has made the word read-only; it stays writable after
 * this. */
static void fill(void **word, void *address)
{
	enum { LEAST_PAGE = 4096, LARGEST_PAGE = 65536 };
	uintptr_t page;

	for (page = LEAST_PAGE; page <= LARGEST_PAGE; page *= 2) {
		if (FXT_SYSCALL3(SYS_mprotect, (uintptr_t)word & -page, page, PROT_READ | PROT_WRITE))
			continue;
		__atomic_store_n(word, address, __ATOMIC_RELAXED);
		return;
	}
}

/* Binds the functions of one table of relocations, from entry `from` on. */
static void bind_all(const struct c_library *c, const struct fxt_loaded *own, const ElfW(Rela) * relocation,
		     size_t bytes, size_t from)
{
	const ElfW(Rela) *end = relocation + bytes / sizeof(*relocation);
	struct fxt_export_name name;
	const ElfW(Sym) *symbol;
	void **word, *address;

	for (relocation += from; relocation < end; relocation++) {
		symbol = (const ElfW(Sym) *)own->symbols + ELF64_R_SYM(relocation->r_info);
		word = (void **)(own->base + relocation->r_offset);
		if ((ELF64_R_TYPE(relocation->r_info) != FUNCTION_BY_CALL &&
		     ELF64_R_TYPE(relocation->r_info) != FUNCTION_BY_WORD) ||
		    symbol->st_shndx != SHN_UNDEF ||
		    ((uintptr_t)*word >= c->low && (uintptr_t)*word < c->high))
			continue;
		name = fxt_export_name(own->strings + symbol->st_name);
		address = fxt_loaded_find(&c->tables, &name, NULL);
		if (address)
			fill(word, address);
	}
}

void fxt_bind_imports(void)
{
	const struct link_map *object = fxt_loaded_own();
	struct c_library c = {.high = 0};
	struct fxt_loaded own;

	if (!object || !fxt_loaded_read(object, &own) || !find_c_library(&c))
		return;
	bind_all(&c, &own, own.relocations, own.relocation_bytes, own.nameless);
	bind_all(&c, &own, own.jump_slots, own.jump_slot_bytes, 0);
}
