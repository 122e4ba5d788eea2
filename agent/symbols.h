/* Names of code addresses, from the symbol tables of the files that are mapped there.
 *
 * Modules are found in /proc/self/maps and not with dl_iterate_phdr(), which takes the loader's lock: a thread in a
 * constructor run by dlopen() may wait for the very thread that asks.
 */
#ifndef FXT_SYMBOLS_H
#define FXT_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

/* The name of the function at `address`, as its symbol table has it; "module+0x123" without a symbol, "0x123" outside of any
 * file. UTF-8 and valid for the life of the process. The caller holds the lock of the function table. */
const char *fxt_symbol_name(uintptr_t address, size_t *bytes);

/* The name of the global variable at `address`, or that `address` lies in, if it is one of the file whose code is at `place`; NULL. As
 * above. */
const char *fxt_symbol_object_name(uintptr_t address, uintptr_t place, size_t *bytes);

#endif
