/* Handles SIGBUS, which the kernel sends for a store to a part of the trace that the file does not have any
 * more.
 *
 * The agent has a handler for it as long as the program has one or the default action; a program that ignores
 * the signal goes on to do so. What the program has set is kept here, shown to the program, and done for
 * every fault that is not the agent's.
 */
#ifndef FXT_BUS_H
#define FXT_BUS_H

#include <signal.h>
#include <stdbool.h>

/* Takes the signal, once the trace is a file that is mapped. May be called any number of times. */
void fxt_bus_start(void);

/* Keeps the action that the program has just set for SIGBUS, and sets ours in its place. In the child of a
 * vfork, whose actions are its own, the program's stays in force. */
void fxt_bus_set(void);

/* Returns whether the handler is the agent's. */
bool fxt_bus_is_ours(void (*handler)(int));

/* Says what the program has set where the kernel has the agent's handler. */
void fxt_bus_show(void (**handler)(int), unsigned long *flags, void (**restorer)(void));

#endif
