/* Modules: the program, its libraries, and the kernel's page of code, as far as stacks lead through them.
 *
 * A module is found by _dl_find_object(), which the C library (2.35 and later) has for unwinders: it takes
 * no lock and may be called in a signal handler. What is asked for is an address that the calling thread will
 * return to, so the module stays loaded meanwhile, and its headers and unwind tables are read in memory. No
 * file is opened.
 *
 * Libraries come and go, and the agent does not see all of that: a library that was loaded with RTLD_DEEPBIND
 * calls the C library's own dlclose(). So a module that can be unloaded is looked at again in each walk. It
 * is the one that is known if it lies at the same addresses and was loaded by the same load, which the loader
 * numbers. After another load it has to have the same path and the same build id; if it has no build id, its
 * headers have to be the same. Any context, with 1 KiB of stack.
 */
#ifndef FXT_CODE_MODULE_H
#define FXT_CODE_MODULE_H

#include "unwind.h"

struct link_map;

enum {
	FXT_CODE_MODULES = 65534,       /* there are at most so many modules; their numbers begin at 1 */
	FXT_CODE_NO_ROOM = 65535,       /* the number of all further modules, of which nothing is known */
	FXT_BUILD_ID_MOST = 32,
};

/* A module at its place in memory. It stands in the table for good, and is always the same; another module at
 * the same address is another entry. One that is loaded again at the same place is the same entry. */
struct fxt_code_module {
	uintptr_t low, high;
	uintptr_t bias;                 /* how far the module lies in memory from its own addresses */
	/* the loader's entry, as it was at first. It is compared only: the program may have unloaded it */
	const struct link_map *map;
	const char *path;               /* the loader's, which may be relative; empty: the program */
	size_t path_bytes;
	/* where its unwind tables are (struct fxt_unwind_tables); NULL: it has none */
	const uint8_t *table_header, *table_low, *table_high;
	struct fxt_unwind_known table_known;
	bool is_lasting;                /* the program began with it, so it stays loaded */
	uint8_t build_id_bytes;         /* 0: it has none */
	uint16_t next;                  /* the next module of the same list; 0: none */
	uint8_t build_id[FXT_BUILD_ID_MOST];
	const uint8_t *build_id_at;     /* where it stands in memory */
	uint64_t headers;               /* a hash of its headers, if it has no build id */
	_Atomic uint64_t load;          /* the number of the load that it was last known by; 0: none */
	_Atomic uint64_t told;          /* which record the trace has of it: agent/emit/call_stack.c */
};

/* What a walk has found last. A thread that is going to return to a module keeps it loaded, so it need not be
 * looked at twice in a walk; and what could be read in a walk can be read until its end. At the beginning all
 * members are zero. */
struct fxt_code_latest {
	uintptr_t low, high;            /* the module, and its number */
	unsigned number;
	struct fxt_reach reach;         /* of its and of other modules' unwind tables */
};

/* Returns the number of the module that has the code at an address; 0: none has. `latest` is the walk's. */
unsigned fxt_code_module_of(uintptr_t address, struct fxt_code_latest *latest);

/* Returns the module with this number, which is not FXT_CODE_NO_ROOM. */
struct fxt_code_module *fxt_code_module(unsigned number);

/* Says in *tables where the unwind tables of the module with this number are, which has the code at
 * `address`. Returns false if it has none. */
bool fxt_code_module_tables(unsigned number, uintptr_t address, struct fxt_unwind_tables *tables);

/* Returns the program headers of an object of the loader's, which stand in memory, and sets their number;
 * NULL if they cannot be read. An object's own addresses need not begin with its headers. */
const Elf64_Phdr *fxt_code_segments(const struct link_map *object, size_t *count);

/* Returns the number of this library's own module; 0: it is not known. */
unsigned fxt_code_own(void);

#endif
