/* This tests agent/names/module.h. Files with symbols of random number, address, type and size are read, and
 * the list is compared with a model's: whole files, and files with random bytes in their tables. FXT_SEED
 * names the numbers. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/names/module.h"
#include "apps/random.h"
#include "suite.h"

enum { ROUNDS = 300, MOST = 5000, MANY = 300000, NAMES_BYTES = 4096 };

struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[4];
	char names[NAMES_BYTES];
	Elf64_Sym symbols[MANY];
};

static struct file *file;
static struct fxt_symbol *model;
static char path[] = "/tmp/fxt-module.XXXXXX";

static void begin(void)
{
	int fd = mkstemp(strcpy(path, "/tmp/fxt-module.XXXXXX"));

	ck_assert_int_ge(fd, 0);
	close(fd);
	file = calloc(1, sizeof(*file));
	model = calloc(MANY, sizeof(*model));
	random_seed(0);
}

static void end(void)
{
	unlink(path);
	free(file);
	free(model);
}

/* Draws a file with so many symbols, whose addresses have up to `bits` bits. */
static void draw_file(size_t count, unsigned bits)
{
	static const unsigned char types[] = {STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_SECTION, STT_TLS};
	bool is_dynamic = random_below(2);
	size_t i;

	memset(file, 0, offsetof(struct file, symbols));
	memcpy(file->header.e_ident, ELFMAG, SELFMAG);
	file->header.e_ident[EI_CLASS] = ELFCLASS64;
	file->header.e_phoff = offsetof(struct file, segment);
	file->header.e_phnum = 1;
	file->header.e_shoff = offsetof(struct file, sections);
	file->header.e_shnum = 4;
	file->segment = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = 4096};
	/* A library without a table of all symbols has one of those that others may use. Where there are
	 * both, the second is empty here. */
	file->sections[1] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB, .sh_offset = offsetof(struct file, names), .sh_size = NAMES_BYTES};
	file->sections[2] = (Elf64_Shdr){.sh_type = SHT_DYNSYM, .sh_link = 1};
	file->sections[is_dynamic ? 2 : 3] = (Elf64_Shdr){.sh_type = is_dynamic ? SHT_DYNSYM : SHT_SYMTAB,
							  .sh_link = 1,
							  .sh_offset = offsetof(struct file, symbols),
							  .sh_size = count * sizeof(Elf64_Sym)};
	for (i = 0; i < NAMES_BYTES; i++)
		file->names[i] = (char)random_below(128);
	for (i = 0; i < count; i++)
		file->symbols[i] = (Elf64_Sym){.st_name = (uint32_t)random_below(NAMES_BYTES + 20),
					       .st_info = types[random_below(sizeof(types))],
					       .st_shndx = (uint16_t)random_below(4),
					       .st_value = random_number(bits),
					       .st_size = random_below(3) * random_below(1000)};
}

static void write_file(size_t count)
{
	size_t bytes = offsetof(struct file, symbols) + count * sizeof(Elf64_Sym);
	FILE *out = fopen(path, "we");

	ck_assert_ptr_nonnull(out);
	ck_assert_uint_eq(fwrite(file, 1, bytes, out), bytes);
	ck_assert_int_eq(fclose(out), 0);
}

static struct fxt_module read_file(void)
{
	struct fxt_module module = {.path = path, .low = 0x400000};

	fxt_module_read(&module);
	return module;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_address(const void *a, const void *b)
{
	const struct fxt_symbol *first = a, *second = b;
	int address = compare(first->address, second->address), name = compare(first->name, second->name);

	return address ? address : name ? name : compare(first->bytes, second->bytes);
}

static size_t fill_model(size_t count)
{
	size_t i, n = 0;

	for (i = 0; i < count; i++) {
		const Elf64_Sym *s = &file->symbols[i];
		bool is_function = ELF64_ST_TYPE(s->st_info) == STT_FUNC;
		bool is_variable = ELF64_ST_TYPE(s->st_info) == STT_OBJECT && s->st_size;

		if ((is_function || is_variable) && s->st_shndx != SHN_UNDEF && s->st_name < NAMES_BYTES)
			model[n++] = (struct fxt_symbol){s->st_value, (uint32_t)s->st_size, s->st_name};
	}
	qsort(model, n, sizeof(*model), by_address);
	return n;
}

static void check_file(size_t count, unsigned bits)
{
	struct fxt_module module;
	size_t n, i;

	draw_file(count, bits);
	write_file(count);
	module = read_file();
	n = fill_model(count);
	ck_assert_msg(module.count == n, "%zu symbols for %zu", module.count, n);
	for (i = 1; i < n; i++)
		ck_assert_msg(module.symbols[i - 1].address <= module.symbols[i].address, "order at %zu", i);
	/* Symbols at one address may come in any order. */
	if (n)
		qsort(module.symbols, n, sizeof(*model), by_address);
	for (i = 0; i < n; i++)
		ck_assert_msg(!by_address(&module.symbols[i], &model[i]), "symbol %zu of %zu", i, n);
	ck_assert_uint_eq(module.bias, 0x400000 - 0x1000);
}

START_TEST(symbols_are_sorted)
{
	unsigned round;

	check_file(0, 1);
	check_file(1, 64);
	check_file(MANY, 28);
	for (round = 0; round < ROUNDS; round++)
		check_file(random_below(random_below(2) ? 4 : MOST), 1 + (unsigned)random_below(64));
}
END_TEST

START_TEST(damaged_files_are_read)
{
	const size_t tables = offsetof(struct file, names);
	struct fxt_module module;
	size_t count, i;
	unsigned round, hit;

	for (round = 0; round < 4 * ROUNDS; round++) {
		count = random_below(100);
		draw_file(count, 32);
		for (hit = 1 + (unsigned)random_below(4); hit; hit--)
			((unsigned char *)file)[random_below(tables)] = (unsigned char)random_below(256);
		/* The end may be missing. */
		write_file(random_below(4) ? count : random_below(count + 1));
		module = read_file();
		for (i = 0; i < module.count; i++) {
			ck_assert(module.symbols[i].name < module.strings_bytes);
			ck_assert(!i || module.symbols[i - 1].address <= module.symbols[i].address);
		}
		ck_assert(!module.count ||
			  (module.strings >= module.file.base &&
			   module.strings + module.strings_bytes <= module.file.base + module.file.bytes));
	}
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("module");

	tcase_set_timeout(tests, 240);
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, symbols_are_sorted);
	tcase_add_test(tests, damaged_files_are_read);
	return RUN_SUITE("module", tests);
}
