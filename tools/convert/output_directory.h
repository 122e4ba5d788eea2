/* A directory that gets its name when it is complete. It is made beside that name under another one, and is
 * gone if anything goes wrong. */
#ifndef FXT_TOOLS_OUTPUT_DIRECTORY_H
#define FXT_TOOLS_OUTPUT_DIRECTORY_H

#include <stdbool.h>

/* Returns whether a directory may get this name, after a message if not. If there is something of the name
 * already, it has to be a directory with nothing in it but `contents`, and is_forced. */
bool fxt_output_is_free(const char *path, const char *const *contents, bool is_forced);

/* Does the same for a file: there has to be nothing, or a file that is no trace and not `trace`. */
bool fxt_output_file_is_free(const char *path, const char *trace, bool is_forced);

/* Makes a directory beside `path`, and returns its name, which the caller frees; or NULL with errno. */
char *fxt_output_make(const char *path);

/* Gives the directory its name, and removes one of that name before. Returns false with errno. */
bool fxt_output_rename(const char *directory, const char *path, bool is_forced);

/* Does the same for a file. */
bool fxt_output_rename_file(const char *file, const char *path, bool is_forced);

/* Removes a directory with all that it has. */
void fxt_output_remove(const char *directory);

#endif
