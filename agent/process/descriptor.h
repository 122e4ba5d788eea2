/* The trace file's descriptor, kept out of the program's way. Used by the wrappers of close, dup2 and their
 * kind, whether or not their category is on; any context. */
#ifndef FXT_DESCRIPTOR_H
#define FXT_DESCRIPTOR_H

#include "agent/base/agent.h"

/* Whether the number is in use by us and not by the program. Costs a comparison for every other number. */
static inline bool fxt_descriptor_is_ours(int fd)
{
	return FXT_UNLIKELY(fd == fxt_agent.buffer.fd) && fd >= 0 && fxt_file_is_ours(&fxt_agent.buffer, fd);
}

/* What a call gets that is given the number `fd`: the program has nothing open at ours. Costs a comparison
 * for every other number. */
FXT_COLD int fxt_descriptor_hidden(int fd);
static inline int fxt_descriptor_given(int fd)
{
	return FXT_UNLIKELY(fd == fxt_agent.buffer.fd) ? fxt_descriptor_hidden(fd) : fd;
}

/* Whether an entry of the directory open as `directory` is our descriptor: the program reads /proc/self/fd,
 * its fdinfo, or another name for these. Costs a comparison of numbers for every other entry. */
bool fxt_descriptor_is_listed(int directory, const char *name);

/* Takes it out of `bytes` of struct dirent64; how many are left. */
ssize_t fxt_descriptor_unlist(int directory, void *entries, ssize_t bytes);

/* The program is about to put something else at our number: ours moves elsewhere, and the number leads to the
 * file until then. False in the child of a vfork: there it is the parent's bookkeeping that would change, and
 * the child's own copy ends with exec. */
FXT_COLD bool fxt_descriptor_yield(int fd);
/* Nothing came in its place after all. */
FXT_COLD void fxt_descriptor_clear(int fd);

/* A call finds the number `fd` in memory, now or later, where nothing else can be put for it: ours leaves it,
 * and so it is closed. */
FXT_COLD void fxt_descriptor_vacate(int fd);
static inline void fxt_descriptor_leave(int fd)
{
	if (FXT_UNLIKELY(fd == fxt_agent.buffer.fd) && fd >= 0)
		fxt_descriptor_vacate(fd);
}

#endif
