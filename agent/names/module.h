/* Files that are mapped into the process, and their symbols: shared by symbols.c, which finds them, and
 * module.c, which reads them. */
#ifndef FXT_MODULE_H
#define FXT_MODULE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct fxt_symbol {
	uint64_t address;
	uint32_t bytes;
	uint32_t name;                  /* offset in the string table */
};

struct fxt_image {
	const char *base;
	size_t bytes;
};

struct fxt_module {
	uintptr_t low, high;            /* all of its mappings, and the memory behind them for what is zero at first */
	uintptr_t code_low, code_high;  /* those that are executable */
	const char *path;               /* NULL: memory that is no file's */
	uint64_t offset;                /* in the file, of `low` */
	dev_t device;                   /* the file whose symbols were read */
	ino_t inode;
	struct timespec changed;
	struct fxt_image file;
	const Elf64_Ehdr *header;
	uintptr_t bias;                 /* to add to addresses in the file */
	struct fxt_symbol *symbols;     /* by address */
	size_t count;
	const char *strings;
	size_t strings_bytes;
	bool is_read;                   /* as far as it can be, in this place */
	bool is_there;                  /* found by the scan that is under way */
	char name[64];
};

/* Reads the symbols of the file at `path`, and how far its addresses are from those in memory. Of a file that
 * was read before only the latter. Nothing where that is impossible. */
void fxt_module_read(struct fxt_module *module);

#endif
