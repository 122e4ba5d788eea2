/* See fork.h. The C library's fork handlers call this, and so do the wrappers of calls that run no such
 * handlers; any context, because programs fork in signal handlers too. The rows of part_table.c say what
 * becomes of each part.
 *
 * If a signal handler forks, the emission that it interrupted may go on in the child when the handler
 * returns. The rule for such an emission is that it may store to what its thread had reserved, and to nothing
 * else. That is the rest of its lane's chunk, the slot of an entry that is changing, and counters
 * (fxt_is_interrupted()). The storage makes private memory of these places, and the lane has no chunk. So
 * what the emission still stores ends in memory that nobody reads, the next record takes a chunk of the
 * child's own, and the parent's trace alone has the interrupted call. Work that takes longer is never
 * interrupted: a turn to another chunk, a thread's first record and all code that takes a lock block all
 * signals.
 *
 * The interrupted code may be looking at tables in the agent's own memory. So in the child these tables are
 * emptied (by MADV_DONTNEED, as they are private) and not unmapped.
 */
#include "fork.h"

#include <pthread.h>

#include "agent/arrows/parent_links.h"
#include "agent/base/parts.h"
#include "agent/descriptors/endpoint.h"
#include "agent/base/koid.h"
#include "agent/emit/lanes.h"
#include "agent/emit/sample.h"
#include "agent/emit/trace_file.h"
#include "control.h"
#include "follow.h"

static bool child_returns;

bool fxt_fork_returns(void)
{
	return child_returns;
}

/* Stops the agent for good in this process. */
static void be_off(void)
{
	fxt_gate_set(0);
	atomic_store_explicit(&fxt_agent.state, FXT_OFF, memory_order_release);
}

/* Has the kernel copy the pages of the library's small variables for this process, all at once. The child
 * stores to nearly all of them right now, and each that it met by itself would cost a page fault. The gate
 * lies behind these variables (agent/tables.ld). */
static void copy_variables(void)
{
	char *first = (char *)((uintptr_t)&fxt_agent & ~(uintptr_t)(FXT_PAGE_BYTES - 1));

	fxt_sys_madvise(first, (size_t)((char *)&fxt_gate - first), MADV_POPULATE_WRITE);
}

void fxt_fork_in_child(bool returns, bool shares)
{
	uint32_t pid;

	/* A filter forbids calls that locks need, so the child may not ask for its process id, and could not
	 * make a file. */
	if (fxt_is_forbidden(FXT_NO_LOCKS)) {
		child_returns = returns;
		fxt_storage_after_fork(fxt_agent.storage,
				       returns && fxt_self && fxt_is_interrupted(fxt_self));
		be_off();
		return;
	}
	pid = (uint32_t)fxt_sys_getpid();
	if (atomic_load_explicit(&fxt_agent.state, memory_order_relaxed) != FXT_ON ||
	    fxt_gate_is_owned(pid))
		return;
	copy_variables();
	fxt_agent.pid = pid;
	fxt_lender = 0;
	fxt_sys_signals_are_own();
	fxt_koid_after_fork();
	fxt_gate_own(pid);
	child_returns = returns;
	fxt_parts_child();
	if (shares)
		fxt_sample_is_shared();
	if (shares || !fxt_follow_fork(fxt_agent.program)) {
		fxt_endpoints_unseen();
		/* A wrapper that is in the middle of a call finds that there is no file to write to. */
		fxt_agent.file_failed = true;
		be_off();
	} else if (atomic_load_explicit(&fxt_agent.recording, memory_order_relaxed) == FXT_RECORDING) {
		fxt_gate_set(fxt_agent.config.categories);
	} else if (atomic_load_explicit(&fxt_agent.recording, memory_order_relaxed) == FXT_WAITING) {
		fxt_agent_join();
	}
}

bool fxt_fork_has_shared(void)
{
	enum { FILES = 2 };             /* KCMP_FILES: <linux/kcmp.h> may be absent */

	/* A kernel that does not compare makes it a child like most others. */
	return !fxt_is_filtered() &&
	       !FXT_SYSCALL5(SYS_kcmp, fxt_sys_getpid(), FXT_SYSCALL0(SYS_getppid), FILES, 0, 0);
}

static void by_handler(void)
{
	fxt_fork_in_child(true, false);
}

void fxt_fork_start(void)
{
	static atomic_flag has_started = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&has_started))
		pthread_atfork(NULL, NULL, by_handler);
}
