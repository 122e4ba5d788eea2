/* Work that opens files where the program's other threads do not see it. The kernel gives a file that is
 * opened the lowest free number: for that moment another thread that closes 0 and opens something does not
 * get 0, and a child that is forked inherits the file. So where a process has several threads the work is
 * done by a task of its own in the program's memory and with a table of descriptors of its own. Any context;
 * any stack with some 600 bytes.
 */
#ifndef FXT_APART_H
#define FXT_APART_H

#include <stdbool.h>
#include <stddef.h>

typedef long (*fxt_work)(void *argument);

/* Whether the calling thread is the only one of its process, as far as the kernel knows. The child of a vfork
 * is. */
bool fxt_is_alone(void);

/* Whether files may be opened in the program's own table: nobody sees them there, or no tasks can be made. */
bool fxt_opens_here(void);

/* No tasks can be made, as valgrind stops a program that makes one: the work is done where it is asked for.
 * Once, at start. */
void fxt_apart_never(void);

/* Does the work, with all signals blocked, and returns its result; -1 (EPERM) and other errors of the kernel:
 * it was not done. It may leave descriptors open only if the thread is alone. What it works with has to be in
 * memory. /proc/self/fd is still that of the program's first thread; the work's own is
 * /proc/thread-self/fd. */
long fxt_apart(fxt_work work, void *argument);

/* The same by another task in any case: what is left open is closed. */
long fxt_apart_always(fxt_work work, void *argument);

/* What one read() of a file gives: how many bytes, or a negative errno. */
long fxt_read_file(const char *path, void *out, size_t bytes);

#endif
