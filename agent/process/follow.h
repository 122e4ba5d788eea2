/* Into which children tracing goes on: FXT_FOLLOW, and the environment that takes it there.
 *
 * A child is traced because LD_PRELOAD names the library and FXT_* say how. Programs hand other environments
 * to what they execute, and clear their own; so both are remembered at start, and put into an environment
 * that lacks them.
 */
#ifndef FXT_FOLLOW_H
#define FXT_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>

/* Whether FXT_FOLLOW is accepted. Where it is not the user has been told. Once, at start. */
bool fxt_follow_read(char **environment);

/* Remembers what children need, and takes out of the environment, in place, what they are not to have. False:
 * this process is a descendant that is not to be recorded; its children still are looked at. Once, at
 * start. */
bool fxt_follow_begin(char **environment, const char *program);

/* Whether what this process forks is recorded; it has the same name. */
bool fxt_follow_fork(const char *program);

/* Bytes that fxt_follow_complete() needs for this environment; 0: it is handed on as it is. Any context, also
 * in the child of a vfork, and whatever `environment` points to: the kernel may be about to refuse it. */
size_t fxt_follow_room(char *const *environment);

/* The environment with what it lacks, built in `memory`: the caller knows where the child of a vfork may have
 * some. NULL: there is none, and the environment stays as it is. */
char *const *fxt_follow_complete(char *const *environment, void *memory, size_t bytes);

#endif
