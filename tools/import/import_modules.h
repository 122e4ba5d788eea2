/* The files with code that a program has loaded, as the trace tells, and names of functions by address. A
 * name is looked up in the file, if it is here and has the build id of the trace. */
#ifndef FXT_TOOLS_IMPORT_MODULES_H
#define FXT_TOOLS_IMPORT_MODULES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct fxt_import_program;

/* A file whose build id the trace does not have is used if it was not changed after this time. */
void fxt_import_modules_begin(time_t not_after);

/* The program has the file at `base`. `is_pic` is false for an executable with fixed addresses. What was
 * there before is gone. */
void fxt_import_module_load(struct fxt_import_program *p, uint64_t base, uint64_t bytes, const char *path,
			    bool is_pic);
/* Sets the build id of the file at `base`. */
void fxt_import_module_build_id(struct fxt_import_program *p, uint64_t base, const uint8_t *id,
				uint64_t bytes);
void fxt_import_module_unload(struct fxt_import_program *p, uint64_t base);
/* Forgets all files of the program, and the names that were found in them. */
void fxt_import_modules_forget(struct fxt_import_program *p);

/* Returns the name of the function: as the source has it, or "file+0xoffset", or the address. It lives as
 * long as the program, and at least until the program's files change. */
const char *fxt_import_function(struct fxt_import_program *p, uint64_t address);

/* Closes all files. */
void fxt_import_modules_end(void);

#endif
