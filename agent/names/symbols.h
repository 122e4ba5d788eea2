/* Names of addresses in code and of global variables, from the symbol tables of the files that are mapped
 * there. Called by function.c, with signals blocked and under the lock of the function table, unless a
 * function says otherwise.
 *
 * Modules are found in /proc/self/maps and not by dl_iterate_phdr(), which takes the loader's lock: a
 * thread in a constructor run by dlopen() may wait for the very thread that asks.
 */
#ifndef FXT_SYMBOLS_H
#define FXT_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fxt_module;

/* Returns the name of the function at `address`, as its symbol table has it: "module+0x123" if there is no
 * symbol, "0x123" outside of any file. Sets *is_cut if there may be a symbol, which cannot be read because
 * the file was cut off. The text is UTF-8, of `*bytes` bytes, and valid for the life of the process. The
 * caller holds the lock of the function table. */
const char *fxt_symbol_name(uintptr_t address, size_t *bytes, bool *is_cut);

/* Returns the name of the function where it stands in its file, for use at once: the file may be cut off
 * later. It may be any bytes. Returns NULL if there is none. The caller holds the lock. */
const char *fxt_symbol_text(uintptr_t address, size_t *bytes);

/* Returns the name, without directories, of the file that `address` lies in; "" if it lies in none that is
 * known. The caller holds the lock. */
const char *fxt_symbol_file_name(uintptr_t address);

/* A file that has code in the process. */
struct fxt_code_file {
	bool is_program;                /* it is the program itself, and no library */
	const char *name;               /* without directories; "" if the code is of no file */
};

/* Says in *file which file the code at `address` lies in; symbols are not read. The caller holds the lock. */
void fxt_symbol_file(uintptr_t address, struct fxt_code_file *file);

/* Returns the name of the function at `address` if the symbols of its file have been read already,
 * otherwise NULL. The name is for use at once: see fxt_symbol_text(). It needs no lock, and takes less
 * than a microsecond. Any context. */
const char *fxt_symbol_known_name(uintptr_t address, size_t *bytes);

/* Returns the name of the global variable that `address` lies in, and in `*offset` how far behind its
 * beginning. Returns NULL if there is no such variable in a file that is loaded; then `*offset` is 1 if the
 * address lies in a file all the same, otherwise 0. `place` is the code that uses the variable: files are
 * looked for when code of theirs is first met. The caller holds the lock. */
const char *fxt_symbol_object_name(uintptr_t address, uintptr_t place, size_t *bytes, uint32_t *offset);

/* Returns the module that `address` lies in, with its symbols read, or NULL if there is none. Its addresses
 * hold as long as the caller holds the lock. */
const struct fxt_module *fxt_symbol_module(uintptr_t address);

/* Forgets the files that are not loaded any more. Returns false if there is none. The caller holds the
 * lock. */
bool fxt_symbols_unloaded(void);
/* Tells whether the address lies in a file that is loaded. The caller holds the lock. */
bool fxt_symbol_is_mapped(uintptr_t address);

#endif
