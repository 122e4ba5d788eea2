/* Modules: files that are mapped into the process, with their symbols. symbols.c finds them, under the lock
 * of the function table, and module.c reads them. */
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
	/* the bounds of all its mappings, with the memory behind them that is zero at first */
	uintptr_t low, high;
	uintptr_t code_low, code_high;  /* the executable mappings */
	const char *path;               /* NULL: the memory is of no file */
	uint64_t offset;                /* offset in the file of the byte at `low` */
	dev_t device;                   /* the file whose symbols were read */
	ino_t inode;
	struct timespec changed;
	struct fxt_image file;
	Elf64_Ehdr header;              /* a copy: the file may be cut off later */
	uintptr_t bias;                 /* address in memory less address in the file */
	struct fxt_symbol *symbols;     /* sorted by address */
	size_t count;
	const char *strings;
	size_t strings_bytes;
	bool is_cut;                    /* its file ends before its section headers, which are its end */
	bool is_read;                   /* its file was read, as far as possible, for these mappings */
	bool is_there;                  /* the present scan of /proc/self/maps has found it */
	char name[64];
};

/* Reads the symbols of the module's file, and how far its addresses are from those in memory. If the file
 * was read before, only the latter is read again. Does nothing if that is impossible. */
void fxt_module_read(struct fxt_module *module);

#endif
