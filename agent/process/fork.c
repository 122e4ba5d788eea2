/* A table says what becomes of each part of the agent in the child of a fork, in the order in which it is
 * done. It is called by the C library's fork handlers and by the wrappers of calls that run none; any
 * context, as programs fork in signal handlers too.
 *
 * The rule for an emission that the handler interrupted, and which goes on in the child when that returns: it
 * may store to what its thread had reserved, and to nothing else. That is the rest of its lane's chunk, the
 * slot of an entry that is changing, and counters (fxt_is_interrupted()). The storage makes private memory of
 * these places, and the lane has no chunk: so what goes on ends in memory that nobody reads, the next record
 * takes a chunk of the child's own, and the parent's trace alone has the interrupted call. Nothing that takes
 * longer is ever interrupted: a turn to another chunk, a thread's first record and whatever takes a lock
 * block all signals.
 *
 * Tables in the agent's own memory may be looked at by what was interrupted: in the child they are emptied
 * (MADV_DONTNEED, as they are private) and not unmapped.
 */
#include <pthread.h>
#include <string.h>

#include "agent/objects/blocks.h"
#include "agent/emit/clock.h"
#include "control.h"
#include "agent/descriptors/endpoint.h"
#include "agent/descriptors/fds.h"
#include "follow.h"
#include "fork.h"
#include "agent/emit/function.h"
#include "agent/arrows/parent_links.h"
#include "agent/objects/label.h"
#include "agent/arrows/task_life.h"
#include "agent/objects/mappings.h"
#include "agent/emit/in_progress.h"
#include "agent/objects/requests.h"
#include "agent/emit/sample.h"
#include "agent/arrows/wait.h"

/* Whether the child goes on where its parent was. It has one thread. */
static bool child_returns;

static void child_file(void)
{
	atomic_store_explicit(&fxt_agent.file_made, false, memory_order_relaxed);
	fxt_agent.is_forked = true;
	fxt_lock_reset(&fxt_agent.file_lock);
	fxt_lock_reset(&fxt_agent.bus_lock);
	memset(fxt_agent.losses, 0, sizeof(fxt_agent.losses));
}

static void child_storage(void)
{
	fxt_storage_after_fork(fxt_agent.storage, child_returns && fxt_self && fxt_is_interrupted(fxt_self));
}

static void child_threads(void)
{
	fxt_threads_after_fork(child_returns);
	if (!child_returns && fxt_self)
		fxt_open_forget(fxt_self);
}

static const struct part {
	void (*child)(void);
	const char *what;
} parts[] = {
	{child_storage, "the parent's chunks: private memory where an interrupted emission goes on, otherwise unmapped with the first record"},
	{child_file, "made anew, with the first record"},
	{fxt_clock_after_fork, "goes on: time is the same; the lock is free"},
	{fxt_functions_after_fork, "no name is in the child's file yet"},
	{child_threads, "one is left: a new thread, in the calls its parent's was in if it returns to them"},
	{fxt_control_after_fork, "no snapshot is being taken"},
	{fxt_sample_after_fork, "counters are due at once"},
	{fxt_wait_after_fork, "nobody waits"},
	{fxt_life_after_fork, "no children"},
	{fxt_kin_after_fork, "a process of its own, whose parent expects it"},
	{fxt_labels_after_fork, "no object has been told of"},
	{fxt_fds_after_fork, "the parent's descriptors are open, and belong to it"},
	{fxt_requests_after_fork, "none is under way"},
	{fxt_blocks_after_fork, "the parent's blocks are there, without lifetimes"},
	{fxt_mappings_after_fork, "the same of mappings"},
};

/* The agent records nothing in this process. */
static void be_off(void)
{
	atomic_store_explicit(&fxt_gate.mask, 0, memory_order_relaxed);
	atomic_store_explicit(&fxt_agent.state, FXT_OFF, memory_order_release);
}

void fxt_fork_in_child(bool returns)
{
	uint32_t pid;
	unsigned i;

	/* It may not ask who it is, and could not make a file. */
	if (fxt_is_forbidden(FXT_NO_LOCKS)) {
		child_returns = returns;
		child_storage();
		be_off();
		return;
	}
	pid = (uint32_t)fxt_sys_getpid();
	if (atomic_load_explicit(&fxt_agent.state, memory_order_relaxed) != FXT_ON ||
	    atomic_load_explicit(&fxt_gate.owner, memory_order_relaxed) == pid)
		return;
	fxt_agent.pid = pid;
	fxt_lender = 0;
	fxt_koid_after_fork();
	atomic_store_explicit(&fxt_gate.owner, pid, memory_order_relaxed);
	child_returns = returns;
	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		parts[i].child();
	if (!fxt_follow_fork(fxt_agent.program)) {
		fxt_endpoints_unseen();
		/* A wrapper that is in the middle of a call finds that there is nothing to write to. */
		fxt_agent.file_failed = true;
		be_off();
	} else if (atomic_load_explicit(&fxt_agent.recording, memory_order_relaxed) == FXT_RECORDING) {
		atomic_store_explicit(&fxt_gate.mask, fxt_agent.config.categories, memory_order_release);
	}
}

static void by_handler(void)
{
	fxt_fork_in_child(true);
}

void fxt_fork_start(void)
{
	static atomic_flag has_started = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&has_started))
		pthread_atfork(NULL, NULL, by_handler);
}
