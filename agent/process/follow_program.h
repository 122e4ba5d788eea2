/* Tells whether the library can be preloaded into a program that is about to be run: by its class, machine
 * and loader, which are read from its file as the kernel will read it. The wrappers of exec and posix_spawn
 * call this by way of complete.h, in any context, also in the child of a vfork. See docs/following.md. */
#ifndef FXT_FOLLOW_PROGRAM_H
#define FXT_FOLLOW_PROGRAM_H

#include <stdbool.h>

/* How a call finds the program that it runs. */
struct fxt_followed {
	int directory;                  /* relative paths begin there; AT_FDCWD as a rule */
	const char *path;               /* NULL or empty: the file is open as `directory` */
	bool searches;                  /* a name without a slash is looked for along PATH */
	bool by_shell;                  /* a file of no known format is run by /bin/sh */
	const void *actions;            /* what posix_spawn() does first, a posix_spawn_file_actions_t */
};

/* Returns why the library must not be preloaded into the program, as a clause without a subject. Returns NULL
 * if it can be, or if nothing is known: the file cannot be read, or the call is going to fail. *is_sanitized
 * becomes whether it is known that the program has the address sanitizer's shared runtime. */
const char *fxt_followed_refusal(const struct fxt_followed *program, bool *is_sanitized);

/* Returns why the loader could not load the library, at this path, into any program that this process runs,
 * or NULL. It would complain to the user then, or have no memory left for the program's own libraries. */
const char *fxt_followed_library(const char *library);

/* Says the same of /bin/sh, at the start of the process, before anything else is known of it. */
const char *fxt_followed_shell(void);

#endif
