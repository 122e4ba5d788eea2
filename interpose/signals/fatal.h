/* Handles the signals by which a process dies of what it did itself: SIGILL, SIGTRAP, SIGABRT, SIGBUS,
 * SIGFPE, SIGSEGV and SIGSYS, whose default action makes a core file, and SIGPIPE.
 *
 * As long as the program leaves the default action to such a signal, the agent has a handler for it. The
 * handler records where the program dies (agent/process/crash.h), and lets the default action follow at the
 * same instruction. For SIGBUS the agent has one as well if the program has a handler, because the kernel
 * sends this signal for a store to a part of the trace that the file does not have any more. A signal that
 * the program ignores is ignored. What the program has set is kept here, shown to the program, and done for
 * every fault that is not the agent's. See docs/crashes.md and docs/truncation.md.
 */
#ifndef FXT_FATAL_H
#define FXT_FATAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Takes the signals. Called at start, and again when the trace has become a file that is mapped. */
void fxt_fatal_start(void);

/* Returns whether a signal is one of these. */
bool fxt_fatal_is(int signum);

/* Keeps the action that the program has just set for a signal, and sets ours in its place if need be. In the
 * child of a vfork, whose actions are its own, the program's stays in force. */
void fxt_fatal_set(int signum);

/* Returns whether the handler is the agent's. */
bool fxt_fatal_is_ours(void (*handler)(int));

/* Says what the program has set where the kernel has the agent's handler for this signal. */
void fxt_fatal_show(int signum, void (**handler)(int), unsigned long *flags, void (**restorer)(void),
		    uint64_t *mask);

/* Gives a signal back to its default action if the calling thread, which is about to send it, may have no
 * room on its stack for our handler. */
void fxt_fatal_sends(int signum);

/* Gives signals back to their default actions for good if an alternate stack of this size may lack room for
 * a second handler. Called when the program has set such a stack. */
void fxt_fatal_on_stack(size_t bytes);

/* Returns whether this process may change actions: the child of a vfork changes its own, and what is kept
 * here is its parent's. */
bool fxt_fatal_may_set(void);
/* Gives all signals back if the program is about to forbid what our handler needs; `before` is what was
 * forbidden until now (enum fxt_forbidden). fxt_fatal_may_set() has returned true before. */
void fxt_fatal_filtered(unsigned before);

#endif
