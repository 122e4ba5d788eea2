/* The gate says which categories are on. Every wrapper reads it first, in every context.
 *
 * It has a page of its own, which the kernel wipes in the child of any kind of fork. So a child that has not
 * been through our handler records nothing, and cannot write to its parent's buffer. Behind it lie the tables
 * that such a child has to find empty (writer/place.h), and are wiped with it.
 *
 * While a manager has no use for this process's records, the process waits: its gate is lent to the manager.
 * A page of the manager's memory, which can only be read here, is mapped in the gate's place. The manager
 * opens all of the gate there, and the next call of the program finds the gate open, takes it back, and asks
 * the manager what it wants (fxt_parts_woken()). Until then a call costs what it costs if its category is
 * off. A child shares the lent page with its parent, whatever kind of fork made it. So nothing is recorded
 * while the gate is lent, and fxt_gate_is_inherited() tells such a child that it is one.
 */
#ifndef FXT_GATE_H
#define FXT_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "writer/storage.h"
#include "writer/sys.h"

struct fxt_gate {
	_Atomic uint32_t mask;          /* enum fxt_category */
	char rest[FXT_PAGE_BYTES - sizeof(uint32_t)];
};

extern struct fxt_gate fxt_gate __attribute__((visibility("hidden")));

/* True while the gate is lent to the manager, or is about to be: fxt_gate_is_lent(). */
extern atomic_bool fxt_gate_lent __attribute__((visibility("hidden")));

/* Makes the gate this process's, closed. Called once at start, and in the child of a fork, where it empties
 * the wiped tables if the kernel did not. */
void fxt_gate_own(uint32_t pid);

/* Returns whether fxt_gate_own() was called for this process; `pid` is the result of getpid(). */
bool fxt_gate_is_owned(uint32_t pid);

/* Returns whether this process has inherited the gate by a kind of fork that no handler of ours has seen. */
bool fxt_gate_is_inherited(void);

/* Opens the gate for these categories, or closes it (0), and takes it back if it was lent. While recording is
 * suspended it stays closed, and is opened when that is over. Any context. */
void fxt_gate_set(uint32_t categories);

/* Why the gate is not what it would be otherwise. The child of a fork inherits these, as it inherits what the
 * program has done. */
enum fxt_suspension {
	/* the calling thread may not read the processor's counter; others may */
	FXT_SUSPENDED_TSC = 1,
	FXT_SUSPENDED_STRICT = 2,       /* strict seccomp mode */
	FXT_SUSPENDED_ALL = FXT_SUSPENDED_TSC | FXT_SUSPENDED_STRICT,
	/* the gate is not lent, because a filter of system calls would not let it be taken back; otherwise
	 * it is as before */
	FXT_SUSPENDED_LENDING = 4,
};

/* Closes the gate whatever else is asked for, until fxt_gate_resume() is called for the same reason: for
 * FXT_SUSPENDED_TSC by each thread that has called this. Other threads may begin, end and suspend recording
 * meanwhile. Returns false if it was suspended for this reason already, or by this thread. Any context. */
bool fxt_gate_suspend(enum fxt_suspension what);
void fxt_gate_resume(unsigned what);

/* A thread that may not read the processor's counter makes threads that may not either. It calls this before
 * it makes one, and the new one calls fxt_gate_inherits() first of all, if this has returned true. */
bool fxt_gate_hands_on(void);
void fxt_gate_inherits(void);

/* Returns whether the calling thread may not read the processor's counter. The C library's clock_gettime()
 * reads it. */
bool fxt_gate_is_counterless(void);

/* Keeps page number `page` of the manager's memory `fd`, to be lent the gate, and the page of the manager. A
 * forked child has both, too. The caller may close `fd`. Returns 0, or a negative errno: -EPERM if an access
 * to the memory could fail. */
int fxt_gate_keep_page(int fd, uint32_t page);

/* Gives up these pages. No other thread uses the gate. */
void fxt_gate_forget_page(void);

/* Returns the first word of the manager's page (provider.h); NULL if there is no such page. */
const _Atomic uint32_t *fxt_gate_manager_word(void);

/* Returns what that page says of the host's clock (FXT_MANAGER_REAL); 0 if there is no such page. */
int64_t fxt_gate_host_real_ns(void);

/* Closes the gate and says that it will be lent: from now on fxt_gate_is_lent(). Returns false if there is no
 * page to lend it to. */
bool fxt_gate_prepare(void);

/* Lends the gate, after fxt_gate_prepare(), unless another thread has taken it back since. If the kernel
 * refuses, or recording is suspended, the gate stays closed. */
void fxt_gate_lend(void);

/* Returns whether the gate is lent. */
static inline bool fxt_gate_is_lent(void)
{
	return __builtin_expect(atomic_load_explicit(&fxt_gate_lent, memory_order_seq_cst), 0);
}

#endif
