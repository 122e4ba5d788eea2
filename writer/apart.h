/* This does work that opens files where the program's other threads do not see it.
 *
 * The kernel gives a file that is opened the lowest free number. For that moment another thread that closes
 * 0 and opens something would not get 0, and a child that is forked would inherit the file. So where a
 * process has several threads, the work is done by a helper: a process of its own, in the program's memory
 * and with a table of descriptors of its own. docs/own-files.md describes this. Any context may call these
 * functions, on any stack with some 700 bytes left.
 */
#ifndef FXT_APART_H
#define FXT_APART_H

#include <stdbool.h>
#include <stddef.h>

/* The name that a helper gives itself before it does anything else. The kernel keeps 15 bytes of a name. */
#define FXT_HELPER_NAME "fxtagent-helper"

typedef long (*fxt_work)(void *argument);

/* Returns whether the calling thread is the only one of its process, as far as the kernel knows or, without
 * /proc, the C library. The child of a vfork is the only one of its own process. */
bool fxt_is_alone(void);

/* Returns whether files may be opened in the program's own table of descriptors: because nobody can see
 * them there, or because no helpers can be made. */
bool fxt_opens_here(void);

/* Says that no helpers can be made, because valgrind stops a program that makes one. All work is then done in
 * the calling thread. This is called once, at start. */
void fxt_apart_never(void);

/* These stand around the start of the agent. The caller knows that no handler comes meanwhile: so nobody
 * makes a thread, and the kernel is asked once. */
void fxt_apart_start_begins(void);
void fxt_apart_start_ends(void);

/* Does the work, with all signals blocked, and returns its result. If the work could not be done, returns
 * -1 (EPERM) or another negative errno of the kernel. The work may leave descriptors open only if the
 * thread is alone. Everything it works with has to be in memory. Within the work, getpid() and /proc/self
 * may be those of the helper; /proc/self/maps lists the same memory. */
long fxt_apart(fxt_work work, void *argument);

/* Does the work as fxt_apart() does, but always by a helper. Descriptors that the work leaves open are closed
 * when the helper ends. */
long fxt_apart_always(fxt_work work, void *argument);

/* Does the work as fxt_apart_always() does, if helpers can be made at all. This is for work that opens files
 * of the program: closing one takes away all locks (fcntl) that the process has on the file. */
long fxt_apart_from_locks(fxt_work work, void *argument);

/* These stand around a call of the program that waits for children of the kind that a helper is (__WALL and
 * __WCLONE): meanwhile there are no helpers. */
void fxt_apart_wait_begins(void);
void fxt_apart_wait_ends(void);

/* Forgets, in the child of a fork, the helpers that were at work for the parent's other threads. */
void fxt_apart_after_fork(void);

/* Reads a file with one read(). A path below /proc/self is that of the program. Returns how many bytes that
 * gave, or a negative errno. */
long fxt_read_file(const char *path, void *out, size_t bytes);

#endif
