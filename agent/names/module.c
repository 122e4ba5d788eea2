/* See module.h. Called by symbols.c, with signals blocked and under the lock of the function table. So what
 * would take much of a stack, which may be short, is static. */
#include "module.h"

#include <string.h>
#include <sys/auxv.h>

#include "agent/base/reach.h"
#include "writer/apart.h"
#include "writer/sys.h"

/* Sorts `*list` by address, from the lowest digits to the highest. That takes another list as long; the two
 * change places. The program waits for this, and large libraries have some 300 000 symbols. */
static void sort(struct fxt_symbol **list, struct fxt_symbol **other, size_t count)
{
	enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };
	static FXT_LARGE size_t places[DIGITS + 1];       /* where the next symbol with each digit goes */
	uint64_t used_bits = 0;
	unsigned shift;
	size_t i;

	for (i = 0; i < count; i++)
		used_bits |= (*list)[i].address;
	for (shift = 0; shift < 64 && used_bits >> shift; shift += DIGIT_BITS) {
		struct fxt_symbol *from = *list, *to = *other;

		memset(places, 0, sizeof(places));
		for (i = 0; i < count; i++)
			places[(from[i].address >> shift) % DIGITS + 1]++;
		for (i = 0; i < DIGITS; i++)
			places[i + 1] += places[i];
		for (i = 0; i < count; i++)
			to[places[(from[i].address >> shift) % DIGITS]++] = from[i];
		*list = to;
		*other = from;
	}
}

static const void *inside(const struct fxt_image *file, uint64_t offset, uint64_t bytes)
{
	return offset <= file->bytes && bytes <= file->bytes - offset ? file->base + offset : NULL;
}

/* This says what can be read of the file: somebody may be cutting it off meanwhile. */
static struct fxt_reach reach;

/* Takes the entry with this number out of a table of the file, whose entries may lie at any address. Returns
 * false if the file ends before it. */
static bool take_entry(const struct fxt_image *file, uint64_t table, uint64_t number, void *entry,
		       size_t bytes)
{
	const char *from = table <= file->bytes ? inside(file, table + number * bytes, bytes) : NULL;

	if (!from || !fxt_reaches_all(&reach, from, bytes))
		return false;
	memcpy(entry, from, bytes);
	return true;
}

static bool take_section(const struct fxt_image *file, const Elf64_Ehdr *header, uint32_t number,
			 Elf64_Shdr *section)
{
	return number < header->e_shnum &&
	       take_entry(file, header->e_shoff, number, section, sizeof(*section));
}

static bool find_table(const struct fxt_image *file, const Elf64_Ehdr *header, uint32_t type,
		       Elf64_Shdr *table)
{
	unsigned i;

	for (i = 0; take_section(file, header, i, table); i++)
		if (table->sh_type == type && table->sh_link < header->e_shnum)
			return true;
	return false;
}

static void take_symbols(struct fxt_module *module, const struct fxt_image *file, const Elf64_Ehdr *header,
			 const Elf64_Shdr *table)
{
	static Elf64_Shdr strings;
	static Elf64_Sym symbol;
	size_t count = table->sh_size / sizeof(symbol), bytes = count * sizeof(*module->symbols), i, n = 0;
	struct fxt_symbol *symbols, *other;

	if (!count || !inside(file, table->sh_offset, table->sh_size) ||
	    !take_section(file, header, table->sh_link, &strings))
		return;
	module->strings = inside(file, strings.sh_offset, strings.sh_size);
	module->strings_bytes = strings.sh_size;
	if (!module->strings)
		return;
	symbols = fxt_sys_memory(bytes);
	other = fxt_sys_memory(bytes);
	for (i = 0; symbols && other && i < count &&
		    take_entry(file, table->sh_offset, i, &symbol, sizeof(symbol)); i++) {
		unsigned type;

		type = ELF64_ST_TYPE(symbol.st_info);
		/* Functions are taken, and variables whose end is known. */
		if ((type == STT_FUNC || (type == STT_OBJECT && symbol.st_size)) &&
		    symbol.st_shndx != SHN_UNDEF && symbol.st_name < strings.sh_size)
			symbols[n++] = (struct fxt_symbol){symbol.st_value, (uint32_t)symbol.st_size,
							   symbol.st_name};
	}
	if (symbols && other) {
		sort(&symbols, &other, n);
		module->symbols = symbols;
		module->count = n;
	} else if (symbols) {
		fxt_sys_munmap(symbols, bytes);
	}
	if (other)
		fxt_sys_munmap(other, bytes);
}

static bool was_read_before(const struct fxt_module *module, const struct stat *status)
{
	return module->symbols && module->device == status->st_dev && module->inode == status->st_ino &&
	       module->changed.tv_sec == status->st_mtim.tv_sec &&
		       module->changed.tv_nsec == status->st_mtim.tv_nsec;
}

/* Finds how far the file's addresses are from those in memory. */
static void find_bias(struct fxt_module *module)
{
	static Elf64_Phdr segment;
	unsigned i;

	for (i = 0; i < module->header.e_phnum &&
		    take_entry(&module->file, module->header.e_phoff, i, &segment, sizeof(segment)); i++) {
		uint64_t start = segment.p_offset & ~UINT64_C(4095);

		if (segment.p_type == PT_LOAD && module->offset >= start &&
		    module->offset < segment.p_offset + segment.p_filesz) {
			module->bias = module->low - module->offset + segment.p_offset - segment.p_vaddr;
			break;
		}
	}
}

/* Maps the file with a free page on either side. Directly beside the file's own mappings it would pass for
 * one of them. */
static const char *map_apart(int fd, size_t bytes)
{
	size_t page = getauxval(AT_PAGESZ), room = ((bytes + page - 1) & ~(page - 1)) + 2 * page;
	int error;
	char *reserved = fxt_sys_mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
				      0, &error);
	void *file;

	if (!reserved)
		return NULL;
	fxt_sys_madvise(reserved, room, MADV_DONTDUMP);
	file = fxt_sys_mmap(reserved + page, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0, &error);
	if (!file)
		fxt_sys_munmap(reserved, room);
	else
		fxt_sys_madvise(file, bytes, MADV_DONTDUMP);
	return file;
}

/* Reads the symbols of a module's file. The file stays mapped, because names are read there when they are
 * needed. */
static long read_module(void *argument)
{
	struct fxt_module *module = argument;
	int fd = fxt_sys_open(module->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	static Elf64_Ehdr header;
	static Elf64_Shdr table;
	struct fxt_image file = {0};
	struct stat status;

	if (fd < 0)
		return 0;
	if (!fxt_sys_fstat(fd, &status) && S_ISREG(status.st_mode) &&
	    status.st_size > (off_t)sizeof(header)) {
		if (was_read_before(module, &status)) {
			fxt_sys_close(fd);
			find_bias(module);
			return 0;
		}
		file.bytes = (size_t)status.st_size;
		file.base = map_apart(fd, file.bytes);
		module->device = status.st_dev;
		module->inode = status.st_ino;
		module->changed = status.st_mtim;
	}
	fxt_sys_close(fd);
	module->symbols = NULL;
	module->count = 0;
	reach = (struct fxt_reach){0};
	if (!file.base || !take_entry(&file, 0, 0, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64)
		return 0;
	module->file = file;
	module->header = header;
	module->is_cut = header.e_shnum &&
			 !inside(&file, header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
	find_bias(module);
	if (find_table(&file, &header, SHT_SYMTAB, &table) || find_table(&file, &header, SHT_DYNSYM, &table))
		take_symbols(module, &file, &header, &table);
	return 0;
}

void fxt_module_read(struct fxt_module *module)
{
	fxt_apart_from_locks(read_module, module);
}
