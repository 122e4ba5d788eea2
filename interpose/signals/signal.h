/* Takes the agent's own signal, FXT_SIGNAL: see agent/process/control.h. */
#ifndef FXT_SIGNAL_H
#define FXT_SIGNAL_H

/* Takes the signal if the configuration wants one and its action is the default. Called once, at start. */
void fxt_signal_start(void);

/* Calls the C library's sigaction(). */
struct sigaction;
int fxt_signal_action(int signum, const struct sigaction *act, struct sigaction *oldact);

#endif
