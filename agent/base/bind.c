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
enum {
	FUNCTION_BY_CALL = R_X86_64_JUMP_SLOT,
	FUNCTION_BY_WORD = R_X86_64_GLOB_DAT,
	RELATIVE = R_X86_64_RELATIVE
};
#else
enum {
	FUNCTION_BY_CALL = R_AARCH64_JUMP_SLOT,
	FUNCTION_BY_WORD = R_AARCH64_GLOB_DAT,
	RELATIVE = R_AARCH64_RELATIVE
};
#endif

void *volatile fxt_bind_mark = (void *)&fxt_bind_mark;

/* The C library, as the loader has mapped it. */
struct c_library {
	struct fxt_loaded tables;
	uintptr_t low, high;
};

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
	if (!fxt_loaded_c_library(&c->tables))
		return false;
	measure(c);
	return true;
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

/* Binds the functions of one table of relocations, from entry `from` on. Binds the variables too, if
 * `with_variables`: the loader has not done it, and the program has no copies yet. */
static void bind_all(const struct c_library *c, const struct fxt_loaded *own, const ElfW(Rela) * relocation,
		     size_t bytes, size_t from, bool with_variables)
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
		if (!address && with_variables)
			address = fxt_loaded_find(&c->tables, &name, fxt_loaded_variable);
		if (address)
			fill(word, address);
	}
}

static void bind_imports(bool with_variables)
{
	const struct link_map *object = fxt_loaded_own();
	struct c_library c = {.high = 0};
	struct fxt_loaded own;

	if (!object || !fxt_loaded_read(object, &own) || !find_c_library(&c))
		return;
	bind_all(&c, &own, own.relocations, own.relocation_bytes, own.nameless, with_variables);
	bind_all(&c, &own, own.jump_slots, own.jump_slot_bytes, 0, with_variables);
}

void fxt_bind_imports(void)
{
	bind_imports(false);
}

/* -- Before the loader has relocated this library -------------------------------------------------- */

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* Reads what the kernel tells every process, and which the C library knows too, but cannot be asked for yet.
 * Returns how many bytes there are. There is one thread, which is in the loader. */
static long read_auxiliary(ElfW(auxv_t) *out, size_t bytes)
{
	enum { GET_AUXV = 0x41555856 };         /* PR_GET_AUXV, since Linux 6.4 */
	long count = FXT_SYSCALL5(SYS_prctl, GET_AUXV, out, bytes, 0, 0);
	int fd;

	if (count > 0)
		return count;
	fd = fxt_sys_open("/proc/self/auxv", O_RDONLY | O_CLOEXEC, 0);
	count = fd < 0 ? fd : fxt_sys_read(fd, out, bytes);
	fxt_sys_close(fd);
	return count;
}

/* Returns the address of the loader. If it was run as a command, it is what the kernel takes for the
 * program. */
static uintptr_t find_loader(void)
{
	ElfW(auxv_t) vector[48];
	long bytes = read_auxiliary(vector, sizeof(vector));
	uintptr_t base = 0, headers = 0;
	size_t i;

	for (i = 0; bytes > 0 && i < (size_t)bytes / sizeof(*vector); i++) {
		if (vector[i].a_type == AT_BASE)
			base = vector[i].a_un.a_val;
		if (vector[i].a_type == AT_PHDR)
			headers = vector[i].a_un.a_val;
	}
	return base ? base : headers - headers % 4096;
}

/* Reads the tables of the library that is mapped at `base`. */
static bool read_at(uintptr_t base, struct fxt_loaded *tables)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)base;
	const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(base + header->e_phoff);
	struct link_map object = {.l_addr = base};
	unsigned i;

	for (i = 0; i < header->e_phnum; i++)
		if (segment[i].p_type == PT_DYNAMIC)
			object.l_ld = (ElfW(Dyn) *)(base + segment[i].p_vaddr);
	return fxt_loaded_read(&object, tables);
}

/* Returns the loader's list of objects, which is where it is when everything is bound. */
static void *find_list(void)
{
	const struct fxt_export_name name = fxt_export_name("_r_debug");
	uintptr_t base = find_loader();
	struct fxt_loaded tables;

	return base && read_at(base, &tables) ? fxt_loaded_find(&tables, &name, fxt_loaded_variable) : NULL;
}

/* Relocates the words that have addresses in this library, and the one that leads to the list of objects.
 * Returns false if that list cannot be found. */
static bool relocate(const struct fxt_loaded *own, void *list)
{
	static const char name[] = "_r_debug";
	const ElfW(Rela) *relocation = own->relocations, *end;
	const char *text;
	bool found = false;
	unsigned i;

	for (end = relocation + own->relocation_bytes / sizeof(*relocation); relocation < end; relocation++) {
		void **word = (void **)(own->base + relocation->r_offset);

		if (ELF64_R_TYPE(relocation->r_info) == RELATIVE)
			*word = (void *)(own->base + (uintptr_t)relocation->r_addend);
		if (ELF64_R_TYPE(relocation->r_info) != FUNCTION_BY_WORD)
			continue;
		text = own->strings +
		       ((const ElfW(Sym) *)own->symbols + ELF64_R_SYM(relocation->r_info))->st_name;
		for (i = 0; i < sizeof(name) && text[i] == name[i]; i++)
			;
		if (i == sizeof(name)) {
			*word = list;
			found = true;
		}
	}
	return found;
}

void fxt_bind_early(void)
{
	struct fxt_loaded own;
	void *list;

	if (fxt_is_relocated())
		return;
	list = find_list();
	if (!list || !read_at((uintptr_t)&__ehdr_start, &own) || !relocate(&own, list))
		return;
	fxt_bind_mark = (char *)&fxt_bind_mark + 1;
	bind_imports(true);
}
