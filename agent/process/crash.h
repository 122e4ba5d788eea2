/* Records that the process is about to die by a signal: an instant `crash` of category agent, in the thread
 * that the signal came to, with the number of the signal, the kernel's reason (`code`), the registers `ip`
 * and `sp`, and the call stack. A fault has the address that it is about, and whether the program has read,
 * written or executed there; a signal that was sent has the sender's process number. See docs/crashes.md.
 */
#ifndef FXT_CRASH_H
#define FXT_CRASH_H

#include <signal.h>
#include <ucontext.h>

/* Called by a handler of the agent, with what the kernel has given to it. Records nothing where the process
 * records nothing, in the child of a vfork, and where the stack has no room. */
void fxt_crash_record(const siginfo_t *info, const ucontext_t *context);

#endif
