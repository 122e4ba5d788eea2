/* The table of the agent's parts (agent/base/parts.h): what each part does at the start, in the child of a
 * fork, when a thread has time or ends, and at exit. The rows are in the order in which that is done. What
 * FXT_WIPED marks is empty in the child before the first of them. */
#include "part_table.h"

#include <string.h>

#include "agent/arrows/flow.h"
#include "agent/arrows/parent_links.h"
#include "agent/arrows/shared.h"
#include "agent/arrows/task_life.h"
#include "agent/base/parts.h"
#include "agent/clock/wall_clock.h"
#include "agent/descriptors/endpoint.h"
#include "agent/descriptors/fds.h"
#include "agent/descriptors/rings.h"
#include "agent/arrows/async.h"
#include "agent/emit/call_stack.h"
#include "agent/emit/explain.h"
#include "agent/emit/filtered.h"
#include "agent/emit/function.h"
#include "agent/emit/held_locks.h"
#include "agent/emit/in_progress.h"
#include "agent/base/koid.h"
#include "agent/emit/lanes.h"
#include "agent/emit/program_text.h"
#include "agent/emit/sample.h"
#include "agent/emit/thread.h"
#include "agent/fibers/fiber.h"
#include "agent/objects/block_table.h"
#include "agent/objects/blocks.h"
#include "agent/objects/label.h"
#include "agent/objects/label_table.h"
#include "agent/objects/mappings.h"
#include "agent/objects/requests.h"
#include "control.h"
#include "fork.h"
#include "writer/apart.h"

/* This is the C library's variable, because a program may define another one that is called environ. */
static void start_shared(void)
{
	fxt_shared_start(__environ);
}

static void start_wall_clock(void)
{
	fxt_wall_clock_start(__environ);
}

static void start_koids(void)
{
	fxt_koid_start(__environ);
}

static void child_storage(void)
{
	fxt_storage_after_fork(fxt_agent.storage,
			       fxt_fork_returns() && fxt_self && fxt_is_interrupted(fxt_self));
}

static void child_file(void)
{
	atomic_store_explicit(&fxt_agent.file_made, false, memory_order_relaxed);
	fxt_agent.is_forked = true;
	fxt_lock_reset(&fxt_agent.file_lock);
	fxt_lock_reset(&fxt_agent.fatal_lock);
	memset(fxt_agent.losses, 0, sizeof(fxt_agent.losses));
}

static void child_threads(void)
{
	fxt_threads_after_fork(fxt_fork_returns());
	if (!fxt_fork_returns() && fxt_self)
		fxt_in_progress_forget(fxt_self);
}

static void renew_clock(struct fxt_thread *thread, uint64_t now_ns)
{
	(void)now_ns;
	fxt_clock_renew_line(thread);
}

static void draw_birth(struct fxt_thread *thread, uint64_t now_ns)
{
	(void)now_ns;
	fxt_birth_tell(thread);
}

static void read_usage(struct fxt_thread *thread, uint64_t now_ns)
{
	if (now_ns >= thread->explain_due_ns)
		fxt_explain_read(thread, fxt_now(thread));
}

static void tell_labels(struct fxt_thread *thread, uint64_t now_ns)
{
	fxt_labels_tell_owed(thread, now_ns - FXT_HELD_LONG_NS);
}

static void rest_of_text(struct fxt_thread *thread)
{
	if (thread)
		fxt_program_text_rest(thread);
}

static void tell_filtered(struct fxt_thread *thread)
{
	if (thread)
		fxt_filtered_tell(thread);
}

static void rest_of_labels(struct fxt_thread *thread)
{
	if (thread)
		fxt_labels_tell_owed(thread, UINT64_MAX);
}

/* Another thread may have called pthread_join() for this one. */
static void release_joiners(struct fxt_thread *thread)
{
	if (fxt_is_on(FXT_CAT_pthread) && fxt_is_waited_for(thread->handle))
		fxt_flow_release(thread, thread->handle, FXT_RELEASE_ONE, (struct fxt_cause){0});
}

/* The order of some rows matters. The storage comes first, because all other parts may write. Functions come
 * before threads, whose tables they empty. A thread's text is recorded before the thread's lifetime ends, and
 * the lifetime ends before a thread that joins this one goes on. */
static const struct fxt_part table[] = {
	{"the parent's chunks: private memory where an interrupted emission goes on, "
	 "otherwise unmapped with the first record",
	 .child = child_storage},
	{"the trace file: made anew, with the first record", .child = child_file},
	{"the clock goes on: time is the same; the lock is free",
	 .start = fxt_clock_start, .child = fxt_clock_after_fork, .deferred = renew_clock},
	{"the time of day: the zone is the same", .start = start_wall_clock},
	{"memory that processes share: the child's too", .start = start_shared},
	{"numbers of processes and threads: fork.c finds the child's first of all", .start = start_koids},
	{"functions: no name is in the child's file yet",
	 .start = fxt_functions_start, .child = fxt_functions_after_fork, .again = fxt_filtered_forget,
	 .exits = tell_filtered},
	{"threads: one is left, a new one, in the calls its parent's was in if it returns to them",
	 .mode = fxt_threads_mode, .child = child_threads},
	{"losses: none was before, in a memory that is made anew", .mode = fxt_losses_session},
	{"fibers: they go on, in the tracks of another process", .child = fxt_fibers_after_fork},
	{"snapshots: none is being taken",
	 .child = fxt_control_after_fork, .triggered = fxt_control_trigger,
	 .storage_ends = fxt_control_storage_ends, .deferred = fxt_control_hear, .woken = fxt_control_woken},
	{"what the program says: the parent's thread has the unfinished line",
	 .thread_ends = rest_of_text, .exits = rest_of_text},
	{"begins of lifetimes that may be moved: none is in the child's file", .again = fxt_async_again},
	{"lifetimes of children and threads: no children",
	 .child = fxt_task_after_fork, .thread_ends = fxt_task_thread_ends},
	{"links between parent and child: a process of its own, whose parent expects it",
	 .child = fxt_parent_after_fork, .deferred = draw_birth, .thread_ends = fxt_parent_forget},
	{"waits: nobody waits",
	 .prepare = fxt_wait_prepare, .child = fxt_wait_after_fork, .thread_ends = release_joiners,
	 .thread_is_gone = fxt_wait_abandon},
	{"explanations: the thread's readings are those of a new thread", .deferred = read_usage},
	{"tasks that open files: none is at work", .child = fxt_apart_after_fork},
	{"counters: due after 10 ms",
	 .child = fxt_sample_after_fork, .again = fxt_sample_again, .deferred = fxt_sample},
	{"call stacks: the trace has none of their records yet",
	 .start = fxt_call_stacks_start, .child = fxt_call_stacks_again, .again = fxt_call_stacks_again},
	{"failures: each call site may fail for the first time (wiped)", .again = fxt_failures_again},
	{"names of objects: no object has been told of",
	 .prepare = fxt_label_table_prepare, .child = fxt_labels_after_fork, .again = fxt_labels_again,
	 .deferred = tell_labels, .exits = rest_of_labels},
	{"descriptors: the parent's are open, and belong to it",
	 .start = fxt_fds_start, .mode = fxt_fds_mode, .child = fxt_fds_after_fork, .again = fxt_fds_again},
	{"rings of io_uring: the parent's", .child = fxt_rings_forget, .exits = fxt_rings_tell},
	{"streams: the child's ends are its parent's", .start = fxt_endpoints_start},
	{"asynchronous requests: none is under way (wiped)", .again = fxt_requests_again},
	{"blocks: the parent's are there, without lifetimes",
	 .child = fxt_block_table_after_fork, .again = fxt_blocks_again},
	{"mappings: the same (wiped)", .again = fxt_mappings_again},
};

void fxt_part_table_use(void)
{
	fxt_parts_use(table, sizeof(table) / sizeof(*table));
}
