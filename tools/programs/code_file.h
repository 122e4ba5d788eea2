/* A file with code, an executable or a library, as it is on disk: its functions, and the lines and inlined
 * functions at an address. Everything of fxt that turns addresses into names opens files here: the kernel's
 * witness, join and report.
 *
 * Paths come from traces, and so from anywhere. Only regular files are opened. A file whose build id is not
 * the one of the trace is another program: it is not used, and its debug information may still be found by
 * the build id (debug_dirs.h). Addresses are those of the file's own program headers. Where fxt was built
 * without libdw no file can be opened.
 */
#ifndef FXT_TOOLS_CODE_FILE_H
#define FXT_TOOLS_CODE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct fxt_code_file;

/* Which file is wanted. */
struct fxt_code_wish {
	const char *path;
	const char *build_id;           /* in hexadecimal digits; empty: it is not known */
	/* These hold if the build id is not known: the latest time at which the file may have been changed,
	 * because the addresses in it may have moved; and the number of its inode (0: any). */
	time_t not_after;
	uint64_t inode;
};

/* Code that the compiler has made of a function, or of a function that was inlined. */
struct fxt_code_level {
	char *function;                 /* as the source has it, with parameters; NULL: not known */
	char *file;                     /* path of the source; NULL: not known */
	int line;                       /* 0: not known */
};

/* Returns NULL if there is no such file and no debug information of it. */
struct fxt_code_file *fxt_code_file_open(const struct fxt_code_wish *wish);
void fxt_code_file_close(struct fxt_code_file *f);

/* Returns the symbol of the function that has the address: of .symtab, .dynsym, mini debug info or a separate
 * debug file. Returns NULL if no symbol covers the address. *start is where the function begins. */
const char *fxt_code_file_function(struct fxt_code_file *f, uint64_t address, uint64_t *start);

/* Returns the file's build id in hexadecimal digits, which the caller frees; NULL: it has none. */
char *fxt_code_file_build_id(const struct fxt_code_file *f);

/* Returns whether the file has lines of source itself, and not in a separate file. */
bool fxt_code_file_has_own_lines(const struct fxt_code_file *f);

/* Finds the functions that the address is in, the innermost first: the last is the function itself, and those
 * before it were inlined into the next one. The line of a level is where it calls the one before. Returns how
 * many there are: 1 and nothing known if the file has no debug information. The caller frees the texts. */
enum { FXT_CODE_LEVELS = 64 };
size_t fxt_code_file_levels(struct fxt_code_file *f, uint64_t address,
			    struct fxt_code_level levels[FXT_CODE_LEVELS]);

/* Returns a symbol as the source has it: demangled, and without the version that the linker may have
 * appended. The caller frees it. */
char *fxt_code_name(const char *symbol);

/* Returns what libdwfl knows of the file, and sets what has to be added to addresses there. */
struct Dwfl_Module;
struct Dwfl_Module *fxt_code_file_module(const struct fxt_code_file *f, uint64_t *bias);

#endif
