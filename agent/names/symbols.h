/* Names of code addresses, from the symbol tables of the files that are mapped there.
 *
 * Modules are found in /proc/self/maps and not with dl_iterate_phdr(), which takes the loader's lock: a
 * thread in a constructor run by dlopen() may wait for the very thread that asks.
 */
#ifndef FXT_SYMBOLS_H
#define FXT_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name of the function at `address`, as its symbol table has it; "module+0x123" without a symbol, "0x123"
 * outside of any file. UTF-8 and valid for the life of the process. The caller holds the lock of the function
 * table. */
const char *fxt_symbol_name(uintptr_t address, size_t *bytes);

/* The name of the function at `address` if the symbols of its file have been read already, otherwise NULL: as
 * above, but without the lock, and without a system call. Some 300 nanoseconds. Any context. */
const char *fxt_symbol_known_name(uintptr_t address, size_t *bytes);

/* The name of the global variable that `address` lies in, and how far behind its beginning, if it is one of a
 * file that is loaded; NULL: then `*offset` is 1 if the address is in one all the same, otherwise 0. `place`
 * is the code that uses it: files are looked for when code of theirs is first met. As above. */
const char *fxt_symbol_object_name(uintptr_t address, uintptr_t place, size_t *bytes, uint32_t *offset);

/* Forgets the files that are loaded no more. False: there is none. As above. */
bool fxt_symbols_unloaded(void);
/* Whether the address is in a file that is loaded. As above. */
bool fxt_symbol_is_mapped(uintptr_t address);

#endif
