/* A file that processes have mapped to run it: its functions, and how to leave them. Each file is opened
 * once, however many processes map it. Addresses are those of the file's own program headers.
 */
#ifndef FXT_TOOLS_MAPPED_MODULE_H
#define FXT_TOOLS_MAPPED_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind_stack.h"

struct fxt_module;

/* All files, in the order in which they came. All members are zero at first. */
struct fxt_modules {
	struct fxt_module **list;
	size_t count, capacity;
};

/* Returns the file with this path as a process saw it, and inode number (0: any). It is opened when something
 * is asked of it. The result lives as long as `modules`. */
struct fxt_module *fxt_module_at(struct fxt_modules *modules, const char *path, uint64_t inode);

/* Returns the number of the file in the list, from 1 up, and its path. */
size_t fxt_module_number(const struct fxt_module *module);
const char *fxt_module_path(const struct fxt_module *module);

/* Returns the file's build id in hexadecimal digits, or NULL if it has none or cannot be opened. */
const char *fxt_module_build_id(struct fxt_module *module);

/* Turns an offset in the file into an address; returns 0 if no code lies there. */
uint64_t fxt_module_address(struct fxt_module *module, uint64_t offset);

/* Returns the name of the function that has the address, as its symbol has it: by .symtab, .dynsym, mini
 * debug info or a separate debug file. It is NULL if no symbol covers the address. *start is where the
 * function begins then, or where the unwind tables say that code without a symbol begins; or else the
 * address. */
const char *fxt_module_function(struct fxt_module *module, uint64_t address, uint64_t *start);

/* Leaves the function at the address: turns the registers of a frame into those of its caller. Returns false
 * if the file does not say how; *is_outermost tells that there is no caller. */
bool fxt_module_leave(struct fxt_module *module, uint64_t address, struct fxt_unwind *unwind,
		      bool *is_outermost);

void fxt_modules_free(struct fxt_modules *modules);

#endif
