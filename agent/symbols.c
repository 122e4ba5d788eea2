/* See symbols.h. Called by function.c, under its lock and with signals blocked. */
#include "symbols.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "writer/fxt_encode.h"
#include "writer/sys.h"

enum {
	MAX_MODULES = 512,
	MAPS_BYTES = 8192,              /* a line of /proc/self/maps is at most some 4200 */
	TEXT_BYTES = 16 << 20,          /* room for names that stand in no file; touched as far as used */
};

struct symbol {
	uint64_t address;
	uint32_t bytes;
	uint32_t name;                  /* offset in the string table */
};

struct module {
	uintptr_t low, high;            /* the executable mapping */
	uintptr_t bias;                 /* to add to addresses in the file */
	struct symbol *symbols;         /* by address */
	size_t count;
	const char *strings;
	size_t strings_bytes;
	char name[64];
};

static struct module modules[MAX_MODULES];
static unsigned module_count;
static struct {
	char *text;
	size_t used;
} arena;

/* -- A file's symbol table --------------------------------------------------------------------- */

/* Heapsort by address: in place, without the heap, and never quadratic. */
static void sift(struct symbol *s, size_t root, size_t count)
{
	struct symbol moved = s[root];
	size_t child;

	while ((child = 2 * root + 1) < count) {
		if (child + 1 < count && s[child + 1].address > s[child].address)
			child++;
		if (moved.address >= s[child].address)
			break;
		s[root] = s[child];
		root = child;
	}
	s[root] = moved;
}

static void sort(struct symbol *s, size_t count)
{
	size_t i;

	for (i = count / 2; i-- > 0;)
		sift(s, i, count);
	for (i = count; i-- > 1;) {
		struct symbol last = s[i];

		s[i] = s[0];
		s[0] = last;
		sift(s, 0, i);
	}
}

struct image {
	const char *base;
	size_t bytes;
};

static const void *inside(const struct image *file, uint64_t offset, uint64_t bytes)
{
	return offset <= file->bytes && bytes <= file->bytes - offset ? file->base + offset : NULL;
}

static const Elf64_Shdr *find_table(const struct image *file, const Elf64_Ehdr *header, uint32_t type)
{
	const Elf64_Shdr *sections = inside(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr));
	unsigned i;

	for (i = 0; sections && i < header->e_shnum; i++)
		if (sections[i].sh_type == type && sections[i].sh_link < header->e_shnum)
			return &sections[i];
	return NULL;
}

static void take_symbols(struct module *module, const struct image *file, const Elf64_Ehdr *header,
			 const Elf64_Shdr *table)
{
	const Elf64_Shdr *strings = (const Elf64_Shdr *)(file->base + header->e_shoff) + table->sh_link;
	const Elf64_Sym *list = inside(file, table->sh_offset, table->sh_size);
	size_t count = table->sh_size / sizeof(*list), i, n = 0;

	module->strings = inside(file, strings->sh_offset, strings->sh_size);
	module->strings_bytes = strings->sh_size;
	if (!list || !module->strings || !count)
		return;
	module->symbols = fxt_sys_memory(count * sizeof(*module->symbols));
	if (!module->symbols)
		return;
	for (i = 0; i < count; i++) {
		unsigned type = ELF64_ST_TYPE(list[i].st_info);

		/* Functions, and variables of which it is known where they end. */
		if ((type == STT_FUNC || (type == STT_OBJECT && list[i].st_size)) && list[i].st_shndx != SHN_UNDEF &&
		    list[i].st_name < strings->sh_size)
			module->symbols[n++] = (struct symbol){list[i].st_value, (uint32_t)list[i].st_size,
							       list[i].st_name};
	}
	module->count = n;
	sort(module->symbols, n);
}

/* The file stays mapped: names point into it, and survive dlclose and an upgrade of the file. */
static void read_file(struct module *module, const char *path, uint64_t mapped_offset)
{
	int fd = fxt_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0), error;
	const Elf64_Phdr *segments;
	const Elf64_Ehdr *header;
	const Elf64_Shdr *table;
	struct image file = {0};
	struct stat status;
	unsigned i;

	if (fd < 0)
		return;
	if (!fxt_sys_fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size > (off_t)sizeof(*header)) {
		file.bytes = (size_t)status.st_size;
		file.base = fxt_sys_mmap(NULL, file.bytes, PROT_READ, MAP_PRIVATE, fd, 0, &error);
	}
	fxt_sys_close(fd);
	if (!file.base)
		return;
	header = (const Elf64_Ehdr *)file.base;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64)
		return;
	segments = inside(&file, header->e_phoff, (uint64_t)header->e_phnum * sizeof(*segments));
	for (i = 0; segments && i < header->e_phnum; i++) {
		uint64_t start = segments[i].p_offset & ~UINT64_C(4095);

		if (segments[i].p_type == PT_LOAD && mapped_offset >= start &&
		    mapped_offset < segments[i].p_offset + segments[i].p_filesz)
			module->bias = module->low - mapped_offset + segments[i].p_offset - segments[i].p_vaddr;
	}
	table = find_table(&file, header, SHT_SYMTAB);
	if (!table)
		table = find_table(&file, header, SHT_DYNSYM);
	if (table)
		take_symbols(module, &file, header, table);
}

/* -- Modules ----------------------------------------------------------------------------------- */

static uint64_t hex(const char **text)
{
	uint64_t value = 0;

	for (;; ++*text) {
		char c = **text;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			return value;
	}
}

/* One line: "low-high perms offset device inode   path". True when it is the mapping of `address`. */
static bool take_line(const char *line, uintptr_t address)
{
	struct module *module = &modules[module_count];
	uintptr_t low, high;
	const char *path, *p;
	uint64_t offset;

	low = hex(&line);
	line++;
	high = hex(&line);
	if (address < low || address >= high)
		return false;
	line += 6;
	offset = hex(&line);
	path = strchr(line, '/');
	memset(module, 0, sizeof(*module));
	module->low = low;
	module->high = high;
	if (path) {
		for (p = path; *p; p++)
			if (*p == '/')
				line = p + 1;
		module->name[fxt_utf8_clean(module->name, line, strlen(line), sizeof(module->name) - 1)] = '\0';
		read_file(module, path, offset);
	}
	module_count++;
	return true;
}

static struct module *find_module(uintptr_t address)
{
	static char text[MAPS_BYTES];
	size_t used = 0;
	unsigned i;
	ssize_t n;
	int fd;

	for (i = 0; i < module_count; i++)
		if (address >= modules[i].low && address < modules[i].high)
			return &modules[i];
	if (module_count == MAX_MODULES)
		return NULL;
	fd = fxt_sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return NULL;
	while ((n = fxt_sys_read(fd, text + used, sizeof(text) - 1 - used)) > 0) {
		char *line = text, *end;

		used += (size_t)n;
		text[used] = '\0';
		while ((end = memchr(line, '\n', used - (size_t)(line - text)))) {
			*end = '\0';
			if (take_line(line, address)) {
				fxt_sys_close(fd);
				return &modules[module_count - 1];
			}
			line = end + 1;
		}
		used -= (size_t)(line - text);
		if (used == sizeof(text) - 1)
			used = 0;
		memmove(text, line, used);
	}
	fxt_sys_close(fd);
	return NULL;
}

/* -- Names ------------------------------------------------------------------------------------- */

static const struct symbol *find_symbol(const struct module *module, uint64_t address)
{
	size_t low = 0, high = module->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (module->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* The last that begins at or before the address; of several at one address the first will do. */
	for (; low > 0; low--) {
		const struct symbol *s = &module->symbols[low - 1];

		if (address - s->address < (s->bytes ? s->bytes : 1))
			return s;
		if (address - s->address > 1 << 20)
			break;
	}
	return NULL;
}

static const char *made_name(const char *module, uintptr_t offset, size_t *bytes)
{
	static const char digits[] = "0123456789abcdef";
	char number[16], *out;
	size_t n = 0, length = strlen(module);

	*bytes = 1;
	if (!arena.text)
		arena.text = fxt_sys_memory(TEXT_BYTES);
	if (!arena.text || arena.used + length + 20 > TEXT_BYTES)
		return "?";
	out = arena.text + arena.used;
	memcpy(out, module, length);
	if (length)
		out[length++] = '+';
	out[length++] = '0';
	out[length++] = 'x';
	do
		number[n++] = digits[offset % 16];
	while (offset /= 16);
	while (n)
		out[length++] = number[--n];
	arena.used += length;
	*bytes = length;
	return out;
}

/* Symbol names are any bytes in principle; the trace takes UTF-8. */
static const char *clean(const char *text, size_t *bytes)
{
	size_t i;

	for (i = 0; i < *bytes && !(text[i] & 0x80); i++)
		;
	if (i == *bytes)
		return text;
	if (!arena.text)
		arena.text = fxt_sys_memory(TEXT_BYTES);
	if (!arena.text || arena.used + *bytes > TEXT_BYTES)
		return made_name("", 0, bytes);
	*bytes = fxt_utf8_clean(arena.text + arena.used, text, *bytes, *bytes);
	arena.used += *bytes;
	return arena.text + arena.used - *bytes;
}

const char *fxt_symbol_name(uintptr_t address, size_t *bytes)
{
	const struct module *module = find_module(address);
	const struct symbol *symbol;
	const char *text;

	if (!module)
		return made_name("", address, bytes);
	symbol = find_symbol(module, address - module->bias);
	if (!symbol)
		return made_name(module->name, module->name[0] ? address - module->bias : address, bytes);
	text = module->strings + symbol->name;
	*bytes = strnlen(text, module->strings_bytes - symbol->name);
	return clean(text, bytes);
}

const char *fxt_symbol_object_name(uintptr_t address, uintptr_t place, size_t *bytes)
{
	const struct module *module = find_module(place);
	const struct symbol *symbol = module ? find_symbol(module, address - module->bias) : NULL;
	const char *text;

	/* Code is not an object, and what lies within one is a member of it. */
	if (!symbol || (address >= module->low && address < module->high))
		return NULL;
	text = module->strings + symbol->name;
	*bytes = strnlen(text, module->strings_bytes - symbol->name);
	return clean(text, bytes);
}
