/* Keeps the descriptor of the trace file, or of the connection to a manager, out of the program's way: the
 * program neither sees it nor closes it, and may use its number. The wrappers of close, dup2 and their kind
 * call this, whether or not their category is on, in any context. See docs/own-files.md. */
#ifndef FXT_DESCRIPTOR_H
#define FXT_DESCRIPTOR_H

#include "agent/base/agent.h"
#include "agent/emit/sample.h"

/* Returns whether a number is that of the trace file, and not the program's. For every other number this
 * costs one comparison. */
static inline bool fxt_descriptor_is_ours(int fd)
{
	return FXT_UNLIKELY(fd == fxt_agent.buffer.fd) && fd >= 0 && fxt_file_is_ours(&fxt_agent.buffer, fd);
}

/* Returns whether a number may be that of the trace file, or of the file that the counters are read from. */
static inline bool fxt_descriptor_may_be_ours(int fd)
{
	return FXT_UNLIKELY(fd == fxt_agent.buffer.fd) ||
	       FXT_UNLIKELY(fd == atomic_load_explicit(&fxt_agent.statm_fd, memory_order_relaxed));
}

/* Returns a number that is never open, if `fd` is one of ours; otherwise `fd`. */
FXT_COLD int fxt_descriptor_hidden(int fd);

/* Returns the number that the real function is given for `fd`: the program has nothing open at the trace's
 * number. For every other number this costs two comparisons. */
static inline int fxt_descriptor_given(int fd)
{
	return fxt_descriptor_may_be_ours(fd) ? fxt_descriptor_hidden(fd) : fd;
}

/* Returns whether an entry of the directory that is open as `directory` is the trace's descriptor: the
 * program reads /proc/self/fd, /proc/self/fdinfo, or another name of these. For every other entry this costs
 * a comparison of numbers. */
bool fxt_descriptor_is_listed(int directory, const char *name);

/* Takes the trace's descriptor out of a list of struct dirent64 with `bytes` bytes. Returns how many bytes
 * are left. */
ssize_t fxt_descriptor_unlist(int directory, void *entries, ssize_t bytes);

/* Moves the trace's descriptor to another number, if it is `fd`: the program is about to put something else
 * there. Until then `fd` still leads to the file. Returns false if nothing was moved. In the child of a vfork
 * nothing is: it would change what the parent knows, and the child's own descriptor ends with the exec. */
FXT_COLD bool fxt_descriptor_yield(int fd);

/* Closes `fd` if it still leads to the trace file: after fxt_descriptor_yield() nothing else came there. */
FXT_COLD void fxt_descriptor_clear(int fd);

/* Moves the trace's descriptor away from `fd` and closes `fd`. */
FXT_COLD void fxt_descriptor_vacate(int fd);

/* Gives up a descriptor of the agent's that lies below the program's limit, if errno says that a call of the
 * program's found no number (EMFILE): that of the counters, or else that of the trace. Returns whether a
 * number is free now, so that the call can be made again. Nothing is given up in the child of a vfork,
 * and where nothing is recorded. Any context. */
FXT_COLD bool fxt_descriptor_give_up(void);

/* The calling thread is about to have a table of descriptors of its own. What would become of ours in one
 * table would not become of them in the other, so both are given up. It does nothing where the process has no
 * other thread, in the child of a vfork, and where nothing is recorded. Any context. */
FXT_COLD void fxt_descriptor_part(void);

/* So many numbers below one of the agent's are free as a rule. The kernel gives the lowest number that is
 * free, and a call takes two at most, so the program gets one of these before it would miss ours. */
enum { FXT_DESCRIPTOR_ROOM = 8 };

/* Moves descriptors of the agent's that are a few above `number`, or gives them up where no number above is
 * free. It does nothing in the child of a vfork, and where nothing is recorded. Any context. */
FXT_COLD void fxt_descriptor_make_room(int number);

/* The program is about to get up to `count` descriptors at once, by a message: moves ours away where the
 * kernel might pass over them. */
FXT_COLD void fxt_descriptor_expect(size_t count);

static inline bool fxt_descriptor_is_near(int number, int ours)
{
	return (unsigned)ours - (unsigned)number - 1 < FXT_DESCRIPTOR_ROOM;
}

/* The program has got the descriptor `number`. Ours moves on if it is near: so a program that takes numbers
 * in turn gets those that it gets without us. For every other number this costs two comparisons. */
static inline void fxt_descriptor_came(int number)
{
	if (FXT_UNLIKELY(fxt_descriptor_is_near(number, fxt_agent.buffer.fd)) ||
	    FXT_UNLIKELY(fxt_descriptor_is_near(
		    number, atomic_load_explicit(&fxt_agent.statm_fd, memory_order_relaxed))))
		fxt_descriptor_make_room(number);
}

/* Calls fxt_descriptor_vacate() if `fd` is the trace's number. This is for a number that a call finds in
 * memory (a control block of aio, a message), so that no other number can be given in its place. */
static inline void fxt_descriptor_leave(int fd)
{
	if (fxt_descriptor_may_be_ours(fd) && fd >= 0)
		fxt_descriptor_vacate(fd);
}

#endif
