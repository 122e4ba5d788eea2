/* Where debug information is looked for besides the places that the system has: the directories that the
 * option --debug-dir names, and the servers of DEBUGINFOD_URLS. Report, record and merge take the option, so
 * that the names of a program can be found on another machine, or for a program that was stripped.
 *
 * What these functions set holds for the whole of fxt, and is set before the first file is opened.
 */
#ifndef FXT_TOOLS_DEBUG_DIRS_H
#define FXT_TOOLS_DEBUG_DIRS_H

#include <stdbool.h>

/* The key of the option; subcommands use smaller ones. */
enum { FXT_KEY_DEBUG_DIR = 0x1000 };
#define FXT_DEBUG_DIR_OPTION                                                                          \
	{"debug-dir", FXT_KEY_DEBUG_DIR, "DIR", 0,                                                    \
	 "Look for debug information and unstripped files in DIR too; may be given several times", 0}

/* Adds a directory. The text has to last. Ends the program after a message if it is none. */
void fxt_debug_dirs_add(const char *directory);

/* Lets the servers be asked that the user has named in DEBUGINFOD_URLS. Without this call none is: an answer
 * may take long, and fxt record would make the user wait. */
void fxt_debug_dirs_ask_servers(void);

/* Returns whether servers may be asked. If not, DEBUGINFOD_URLS is not in the environment afterwards, because
 * libdwfl looks there. */
bool fxt_debug_dirs_may_ask(void);

/* Opens the file that has the build id, given in hexadecimal digits, in one of the directories. It may be a
 * file with debug information alone, or the whole file of that path. If it is only `for_debug`, a stripped
 * file will not do; otherwise the place where the system keeps debug information is searched too. Sets *found
 * to the path, which the caller frees. Returns -1 if there is none. */
int fxt_debug_dirs_open(const char *path, const char *build_id, bool for_debug, char **found);

/* Opens a regular file without waiting for anybody. Returns -1 if it is not one to look into: the kernel
 * makes up files that are regular too, and one of them is an image of all memory. */
int fxt_debug_dirs_open_file(const char *path);

/* Returns whether the file is of ELF and has this build id. */
bool fxt_debug_dirs_has_id(int fd, const char *build_id);

#endif
