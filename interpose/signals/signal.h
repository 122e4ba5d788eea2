/* Takes the agent's own signal, FXT_SIGNAL: see agent/process/control.h. */
#ifndef FXT_SIGNAL_H
#define FXT_SIGNAL_H

#include <stdint.h>

/* The kernel's structure of an action, which begins with the handler like the C library's. */
struct fxt_kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/* Takes the signal if the configuration wants one and its action is the default. Called once, at start. */
void fxt_signal_start(void);

/* Calls the C library's sigaction(). */
struct sigaction;
int fxt_signal_action(int signum, const struct sigaction *act, struct sigaction *oldact);

#endif
