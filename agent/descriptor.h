/* The trace file's descriptor, kept out of the program's way. Used by the wrappers of close, dup2 and their kind, whether or not
 * their category is on; any context. */
#ifndef FXT_DESCRIPTOR_H
#define FXT_DESCRIPTOR_H

#include "agent.h"

/* Whether the number is in use by us and not by the program. Costs a comparison for every other number. */
static inline bool fxt_descriptor_is_ours(int fd)
{
	return FXT_UNLIKELY(fd == fxt_agent.buffer.fd) && fd >= 0 && fxt_file_is_ours(&fxt_agent.buffer, fd);
}

/* Whether an entry of the directory open as `directory` is our descriptor: the program reads /proc/self/fd or another name for it. Costs a
 * comparison of numbers for every other entry. */
bool fxt_descriptor_is_listed(int directory, const char *name);

/* Takes it out of `bytes` of struct dirent64; how many are left. */
ssize_t fxt_descriptor_unlist(int directory, void *entries, ssize_t bytes);

/* The program is about to use this number, by dup2() for instance: ours moves elsewhere. */
void fxt_descriptor_yield(int fd);

#endif
