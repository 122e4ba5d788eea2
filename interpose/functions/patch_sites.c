/* See patch_sites.h. Only files say how functions are called and where they begin, so each module's file is
 * mapped for a moment. Nothing is read of a file that is not the one in memory, and no more than it has.
 */
#include "patch_sites.h"

#if defined(__x86_64__)

#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "agent/names/function_filter.h"
#include "writer/sys.h"

enum {
	LANDING_BYTES = 4,              /* of endbr64 */
	INSTRUCTION_BYTES = 15,         /* the longest instruction */
	HEADER_BYTES = 4096,            /* the file's headers are in a module's first page */
};

/* -- The file ---------------------------------------------------------------------------------------- */

/* Returns the part of the file, or NULL if it is not inside. */
static const void *part(const struct fxt_patch_module *module, uint64_t offset, uint64_t bytes)
{
	return offset <= module->bytes && bytes <= module->bytes - offset ? module->file + offset : NULL;
}

/* Returns a table of the file, or NULL if it is not inside or not aligned. */
static const void *table(const struct fxt_patch_module *module, uint64_t offset, uint64_t bytes)
{
	return offset % sizeof(uint64_t) ? NULL : part(module, offset, bytes);
}

const Elf64_Phdr *fxt_patch_segment(const struct fxt_patch_module *module, uintptr_t address, uint64_t bytes,
				    unsigned flags)
{
	uint64_t at = address - module->bias;
	unsigned i;

	for (i = 0; i < module->header->e_phnum; i++) {
		const Elf64_Phdr *segment = &module->segments[i];

		if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags &&
		    at >= segment->p_vaddr && at - segment->p_vaddr < segment->p_filesz &&
		    bytes <= segment->p_filesz - (at - segment->p_vaddr))
			return segment;
	}
	return NULL;
}

/* Finds the headers of the file. Returns false if it is not a module of this architecture. */
static bool has_headers(struct fxt_patch_module *module)
{
	const Elf64_Ehdr *header = part(module, 0, sizeof(*header));

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64 ||
	    header->e_phentsize != sizeof(Elf64_Phdr) || header->e_shentsize != sizeof(Elf64_Shdr) ||
	    header->e_phoff > HEADER_BYTES ||
	    header->e_phnum > (HEADER_BYTES - header->e_phoff) / sizeof(Elf64_Phdr))
		return false;
	module->header = header;
	module->segments = table(module, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr));
	return module->segments;
}

/* Returns whether the file is the one in memory: both have the same headers and notes. One of the notes is
 * usually a build id. */
static bool is_in_memory(const struct fxt_patch_module *module)
{
	const Elf64_Ehdr *header = module->header;
	size_t bytes = header->e_phoff + header->e_phnum * sizeof(Elf64_Phdr);
	const Elf64_Phdr *first = NULL;
	uintptr_t start;
	unsigned i;

	for (i = 0; i < header->e_phnum && !first; i++)
		if (module->segments[i].p_type == PT_LOAD && !module->segments[i].p_offset &&
		    module->segments[i].p_filesz >= bytes)
			first = &module->segments[i];
	if (!first)
		return false;
	start = module->bias + first->p_vaddr;
	if (start % getauxval(AT_PAGESZ) || !fxt_sys_can_read(start) ||
	    memcmp((const void *)start, module->file, bytes))
		return false;
	for (i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *note = &module->segments[i];
		uintptr_t at = module->bias + note->p_vaddr;
		const void *text = part(module, note->p_offset, note->p_filesz);

		if (note->p_type == PT_NOTE && fxt_patch_segment(module, at, note->p_filesz, PF_R) &&
		    (!text || memcmp((const void *)at, text, note->p_filesz)))
			return false;
	}
	return true;
}

bool fxt_patch_open(struct fxt_patch_module *module)
{
	/* If the loader was run as a command, it is the executable file, and tells what it has loaded. */
	const char *program = getauxval(AT_BASE) ? "/proc/self/exe" : (const char *)getauxval(AT_EXECFN);
	const char *path = *module->object->l_name ? module->object->l_name : program;
	int fd = fxt_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0), error;
	struct stat status;

	if (fd < 0)
		return false;
	if (!fxt_sys_fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size > 0) {
		module->bytes = (size_t)status.st_size;
		module->file = fxt_sys_mmap(NULL, module->bytes, PROT_READ, MAP_PRIVATE, fd, 0, &error);
	}
	fxt_sys_close(fd);
	return module->file;
}

/* -- Instructions ------------------------------------------------------------------------------------ */

/* Returns the length of the NOP at `at`, or 0 if there is none. */
static size_t nop_bytes(const uint8_t *at, const uint8_t *end)
{
	enum { OPERAND_SIZE = 0x66, SEGMENT = 0x2e, ESCAPE = 0x0f, LONG_NOP = 0x1f };
	const uint8_t *start = at;
	size_t bytes;

	while (at < end && at - start < INSTRUCTION_BYTES && (*at == OPERAND_SIZE || *at == SEGMENT))
		at++;
	if (at < end && *at == FXT_PATCH_NOP)
		return (size_t)(at + 1 - start);
	if (end - at < 3 || at[0] != ESCAPE || at[1] != LONG_NOP)
		return 0;
	switch (at[2]) {
	case 0x00: bytes = 3; break;    /* (%rax) */
	case 0x40: bytes = 4; break;    /* with a displacement of one byte */
	case 0x44: bytes = 5; break;    /* and with an index register */
	case 0x80: bytes = 7; break;    /* the same with four bytes */
	case 0x84: bytes = 8; break;
	default: return 0;
	}
	bytes += (size_t)(at - start);
	return bytes <= INSTRUCTION_BYTES && bytes <= (size_t)(end - start) ? bytes : 0;
}

/* Returns how many bytes the NOPs at `at` have, of which no more are counted once there are `wanted`. */
static size_t nops_bytes(const uint8_t *at, const uint8_t *end, size_t wanted)
{
	size_t bytes = 0, more;

	while (bytes < wanted && (more = nop_bytes(at + bytes, end)) != 0)
		bytes += more;
	return bytes;
}

/* Returns whether an endbr64 is at `at`, which begins functions that are called by their address. */
static bool is_landing(const uint8_t *at, const uint8_t *end)
{
	static const uint8_t endbr64[LANDING_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa};

	return end - at >= LANDING_BYTES && !memcmp(at, endbr64, LANDING_BYTES);
}

/* Returns whether the function may have a jump into the middle of the call. A function with too little room
 * can begin with a loop whose first instructions are NOPs too. Every byte is taken for the beginning of an
 * instruction, so this is true for some functions without such a jump. */
static bool may_have_jump(const struct fxt_patch_site *site)
{
	enum { JUMP = 0xeb, IF = 0x70, LOOP = 0xe0 };
	const size_t inner_bytes = FXT_PATCH_CALL_BYTES - 1;
	const uint8_t *at = (const uint8_t *)site->call + FXT_PATCH_CALL_BYTES,
		      *end = (const uint8_t *)site->call + site->bytes;
	intptr_t middle = (intptr_t)site->call + 1;
	int32_t distance;

	for (; at < end; at++) {
		if ((*at == JUMP || (*at & 0xf0) == IF || (*at & 0xfc) == LOOP) && end - at >= 2 &&
		    (uintptr_t)((intptr_t)(at + 2) + (int8_t)at[1] - middle) < inner_bytes)
			return true;
		if (end - at < (ptrdiff_t)sizeof(distance))
			continue;
		memcpy(&distance, at, sizeof(distance));
		if ((uintptr_t)((intptr_t)(at + sizeof(distance)) + distance - middle) < inner_bytes)
			return true;
	}
	return false;
}

/* -- Functions that are listed ----------------------------------------------------------------------- */

/* Sorts by listed addresses with Shellsort, which allocates nothing. Most functions are listed in order. */
static void sort(struct fxt_patch_site *s, size_t count)
{
	size_t gap = 1, i, k;
	struct fxt_patch_site moved;

	while (gap < count / 3)
		gap = gap * 3 + 1;
	for (; gap; gap /= 3) {
		for (i = gap; i < count; i++) {
			moved = s[i];
			for (k = i; k >= gap && s[k - gap].listed > moved.listed; k -= gap)
				s[k] = s[k - gap];
			s[k] = moved;
		}
	}
}

/* Returns the sections of the file, or NULL. */
static const Elf64_Shdr *sections_of(const struct fxt_patch_module *module)
{
	return table(module, module->header->e_shoff, module->header->e_shnum * sizeof(Elf64_Shdr));
}

/* Returns the addresses in a section that lists functions, and their number in *count. Returns NULL if it is
 * another one. The loader has made the addresses right in memory. */
static const uintptr_t *list_in(const struct fxt_patch_module *module, const Elf64_Shdr *section,
				size_t *count)
{
	static const char wanted[] = "__patchable_function_entries";
	const Elf64_Ehdr *header = module->header;
	const Elf64_Shdr *names = &sections_of(module)[header->e_shstrndx];
	uintptr_t at = module->bias + section->sh_addr;
	const char *name;

	if (header->e_shstrndx >= header->e_shnum || !(section->sh_flags & SHF_ALLOC) ||
	    section->sh_name >= names->sh_size || names->sh_size - section->sh_name < sizeof(wanted) ||
	    names->sh_offset > UINT64_MAX - section->sh_name)
		return NULL;
	name = part(module, names->sh_offset + section->sh_name, sizeof(wanted));
	if (!name || memcmp(name, wanted, sizeof(wanted)) || at % sizeof(uintptr_t) ||
	    !fxt_patch_segment(module, at, section->sh_size, PF_R))
		return NULL;
	*count = section->sh_size / sizeof(uintptr_t);
	return (const uintptr_t *)at;
}

/* Reads which functions are listed. Returns false if there are none, or there is no memory. */
static bool read_sites(struct fxt_patch_module *module)
{
	const Elf64_Shdr *sections = sections_of(module);
	const uintptr_t *list;
	size_t count, i, k;

	for (i = 0; sections && i < module->header->e_shnum; i++)
		if (list_in(module, &sections[i], &count))
			module->site_bytes += count * sizeof(*module->sites);
	module->sites = module->site_bytes ? fxt_sys_memory(module->site_bytes) : NULL;
	if (!module->sites)
		return false;
	for (i = 0; i < module->header->e_shnum; i++) {
		list = list_in(module, &sections[i], &count);
		for (k = 0; list && k < count; k++)
			if (fxt_patch_segment(module, list[k], 1, PF_R | PF_X))
				module->sites[module->count++].listed = list[k];
	}
	sort(module->sites, module->count);
	return module->count;
}

/* Returns the site of the function that begins at `start`, or NULL. The NOPs are in front of the function, at
 * its beginning, or behind the endbr64 there. */
static struct fxt_patch_site *site_of(const struct fxt_patch_module *module, uintptr_t start,
				      const uint8_t *end)
{
	struct fxt_patch_site *s = module->sites;
	size_t low = 0, high = module->count, middle, before;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (s[middle].listed < start)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < module->count && (s[low].listed == start || (s[low].listed == start + LANDING_BYTES &&
							       is_landing((const uint8_t *)start, end))))
		return &s[low];
	if (!low)
		return NULL;
	before = start - s[low - 1].listed;
	return nops_bytes((const uint8_t *)s[low - 1].listed, (const uint8_t *)start, before) == before
		       ? &s[low - 1]
		       : NULL;
}

/* Chooses the function that the symbol names, if it is listed, has room and the rules keep it. */
static void choose(struct fxt_patch_module *module, const Elf64_Sym *symbol, const char *name, size_t bytes)
{
	const uintptr_t start = module->bias + symbol->st_value;
	const Elf64_Phdr *segment = fxt_patch_segment(module, start, 1, PF_R | PF_X);
	const uint8_t *at, *end;
	enum fxt_filter_verdict verdict;
	struct fxt_patch_site *site;
	size_t landing, room;

	if (!segment)
		return;
	end = (const uint8_t *)(module->bias + segment->p_vaddr + segment->p_filesz);
	site = site_of(module, start, end);
	if (!site || site->call)
		return;
	landing = is_landing((const uint8_t *)start, end) ? LANDING_BYTES : 0;
	at = (const uint8_t *)start + landing;
	room = nops_bytes(at, end, FXT_PATCH_CALL_BYTES);
	if (room < FXT_PATCH_CALL_BYTES) {
		/* A debugger may have put a trap there. */
		module->is_mixed |= *at != FXT_PATCH_TRAP;
		return;
	}
	/* Where the program begins there is no address to return to. */
	if (symbol->st_value == module->header->e_entry)
		return;
	verdict = fxt_filter_decide(&fxt_patch_rules, name, bytes, module->name);
	if (verdict != FXT_FILTER_KEEP && verdict != FXT_FILTER_KEEP_TREE)
		return;
	site->call = (uintptr_t)at;
	site->room = room;
	site->bytes = symbol->st_size > landing ? symbol->st_size - landing : 0;
	if (site->bytes > (size_t)(end - at))
		site->bytes = (size_t)(end - at);
	module->chosen++;
}

static const Elf64_Shdr *find_section(const struct fxt_patch_module *module, uint32_t type)
{
	const Elf64_Shdr *sections = sections_of(module);
	unsigned i;

	for (i = 0; i < module->header->e_shnum; i++)
		if (sections[i].sh_type == type && sections[i].sh_link < module->header->e_shnum)
			return &sections[i];
	return NULL;
}

void fxt_patch_choose(struct fxt_patch_module *module)
{
	const Elf64_Shdr *section = find_section(module, SHT_SYMTAB), *strings;
	const Elf64_Sym *symbols;
	const char *names;
	size_t i;

	if (!section)
		section = find_section(module, SHT_DYNSYM);
	if (!section)
		return;
	strings = &sections_of(module)[section->sh_link];
	symbols = table(module, section->sh_offset, section->sh_size);
	names = part(module, strings->sh_offset, strings->sh_size);
	for (i = 0; symbols && names && i < section->sh_size / sizeof(*symbols); i++)
		if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC && symbols[i].st_shndx != SHN_UNDEF &&
		    symbols[i].st_name < strings->sh_size)
			choose(module, &symbols[i], names + symbols[i].st_name,
			       strnlen(names + symbols[i].st_name, strings->sh_size - symbols[i].st_name));
	for (i = 0; module->is_mixed && i < module->count; i++) {
		struct fxt_patch_site *site = &module->sites[i];

		if (site->call && (site->bytes < site->room || may_have_jump(site))) {
			site->call = 0;
			module->chosen--;
		}
	}
}

bool fxt_patch_read(struct fxt_patch_module *module)
{
	return has_headers(module) && is_in_memory(module) && read_sites(module);
}

void fxt_patch_close(struct fxt_patch_module *module)
{
	if (module->sites)
		fxt_sys_munmap(module->sites, module->site_bytes);
	fxt_sys_munmap((void *)module->file, module->bytes);
}

#endif
