/* Decides which children are traced (FXT_FOLLOW), and completes the environment that takes tracing to them.
 * See docs/following.md.
 *
 * A child is traced because LD_PRELOAD names the library and FXT_* say how. Some programs give another
 * environment to the programs that they execute, or clear their own. So LD_PRELOAD and FXT_* are remembered
 * at start, and put into an environment that lacks them.
 */
#ifndef FXT_FOLLOW_H
#define FXT_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "follow_program.h"

/* Reads FXT_FOLLOW. Returns false if it is not accepted; then the user has been told. Called once, at
 * start. */
bool fxt_follow_read(char **environment);

/* Forbids the system calls that filters of the process forbid, as far as the programs that it executed before
 * knew of these: FXT_FORBIDDEN in the environment. Called before any other call is made. */
void fxt_follow_forbid(char *const *environment);

/* Keeps memory for one completed environment, while memory may still be mapped; and gives it out, or NULL if
 * somebody has it, or it is too small. It is not given out again after an exec in the child of a vfork. */
void fxt_follow_keep_room(void);
void *fxt_follow_take_room(size_t bytes);
void fxt_follow_give_room_back(const void *memory);

/* Remembers the variables that children need, and takes those out of the environment, in place, that they are
 * not to have.
 * `program` is this program's name. Returns false if this process is a descendant that is not to be recorded;
 * whether its children are is decided for each of them. Called once, at start. */
bool fxt_follow_begin(char **environment, const char *program);

/* Returns whether forked children of this process are recorded. They have the name of this program. */
bool fxt_follow_fork(const char *program);

/* Returns how many bytes fxt_follow_complete() needs for an environment in which `program` is run; 0: the
 * environment may stay as it is. *refusal becomes why the program cannot be traced, as a clause without a
 * subject, or NULL, and *is_sanitized whether it has the address sanitizer. May be called in any context,
 * also in the child of a vfork, and wherever `environment` points to: the pointer may be one that the kernel
 * is going to refuse. */
size_t fxt_follow_room(char *const *environment, const struct fxt_followed *program, const char **refusal,
		       bool *is_sanitized);

/* Returns the completed environment, which it builds in `memory`, of `bytes` bytes; if the program
 * `is_refused`, it is the environment without the library, and if it `is_sanitized`, ASAN_OPTIONS lets it run
 * behind the library. The caller provides the memory, because it knows
 * where the child of a vfork may have some. If `memory` is NULL, the environment stays as it is. */
char *const *fxt_follow_complete(char *const *environment, void *memory, size_t bytes, bool is_refused,
				 bool is_sanitized);

/* Returns why a shell that this process runs in its own environment would not be traced, as a clause without
 * a subject, or NULL. */
const char *fxt_follow_shell_refusal(void);

/* Called when system() or popen() has run a shell: says in the trace, once, why that is not traced, if it is
 * not. */
void fxt_follow_tell_shell(void);

/* Called in the parent of a forked child: says in the trace, once, that the child cannot be traced, if it
 * cannot make its file. The child itself has nowhere to say so. */
void fxt_follow_tell_forked(void);

#endif
