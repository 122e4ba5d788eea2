/* Makes the wrappers of calls that end a process: exit.def. The trace is whole also without them, and
 * fxt_agent_exit() makes it small.
 *
 * exit() is in progress while the program's handlers and destructors run, and ends with a handler of ours
 * that comes after them; abort() is in progress at the trace's end. The other calls end the process at once,
 * and are instants. The last event of a process is an instant `exit` with its status, and what the thread is
 * in ends there.
 *
 * A forked child that has recorded nothing has no file, and gets none for an _exit(): its parent's trace has
 * its end and status.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/arrows/parent_links.h"
#include "agent/descriptors/fds.h"
#include "agent/descriptors/transfer.h"
#include "agent/emit/in_progress.h"
#include "agent/emit/program_text.h"
#include "agent/fibers/fiber.h"
#include "agent/process/lifecycle.h"
#include "exit.h"
#include "interpose/engine/interpose.h"
#include "interpose/signals/fatal.h"

FXT_REAL(void, exit, (int status), (status))
FXT_REAL(void, abort, (void), ())
FXT_REAL(void, _exit, (int status), (status))
FXT_REAL(void, _Exit, (int status), (status))

/* These note the exit() in progress, and the thread that called it. Another thread's exit() waits for it to
 * be over. */
static struct fxt_thread *exiting;
static struct fxt_in_progress *exit_in_progress;
static uint64_t exit_start_ns;
static int exit_status;

FXT_EXPORT void exit(int status)
{
	struct fxt_thread *thread_ = fxt_enter(FXT_CAT_process);

	if (thread_ && !exiting) {
		const uint64_t names_ = FXT_NAMES(process, exit);
		uint64_t start_ns_ = fxt_now(thread_);

		exit_status = status;
		exit_in_progress = BLOCKS(status);
		exit_start_ns = start_ns_;
		exiting = thread_;
	}
	real_exit(status);
	__builtin_unreachable();
}

static void exit_done(void)
{
	struct fxt_thread *thread = exiting;
	uint64_t end_ns, *at;

	/* A handler may have left exit(), by longjmp or for an exit of another kind. */
	if (!thread || thread != fxt_self ||
	    (exit_in_progress && exit_in_progress->start_ns != exit_start_ns))
		return;
	exiting = NULL;
	end_ns = fxt_end(thread, exit_in_progress);
	at = fxt_room(thread, exit_start_ns, end_ns, 1, FXT_BIT_process);
	if (at) {
		at = fxt_put_int(at, FXT_STR_status, exit_status);
		fxt_complete(thread, at, end_ns, FXT_NAMES(process, exit), 1);
	}
}

FXT_EXPORT void abort(void)
{
	struct fxt_thread *thread_ = fxt_enter(FXT_CAT_process);

	if (thread_) {
		const uint64_t names_ = FXT_NAMES(process, abort);
		uint64_t start_ns_ = fxt_now(thread_);

		fxt_in_progress_ready(thread_);
		fxt_in_progress_push(thread_, (uintptr_t)__builtin_frame_address(0), 0, 0, start_ns_, names_,
			      fxt_arg_header(FXT_ARG_INT64, 2, FXT_STR_tid), (uint64_t)thread_->tid);
		if ((uint32_t)fxt_sys_getpid() == fxt_agent.pid)
			fxt_program_text_rest(thread_);
	}
	fxt_fatal_sends(SIGABRT);
	real_abort();
	__builtin_unreachable();
}

/* Records the end of the process: `name` is that of the call that ends it, a string index. The child of a
 * vfork ends alone: only what it was in itself is over. */
static void process_ends(uint64_t name, int status)
{
	struct fxt_thread *thread =
		atomic_load_explicit(&fxt_gate.mask, memory_order_relaxed) ? fxt_self : NULL;
	uint64_t now_ns, *at;

	if (!thread)
		return;
	fxt_parent_leave(thread);
	if (!fxt_agent_has_file())
		return;
	now_ns = fxt_now(thread);
	if (!fxt_fds_ask(thread)) {
		thread->vfork.left_ns = now_ns;
		return;
	}
	fxt_in_progress_end(thread, now_ns, name);
	fxt_fibers_end(now_ns, name);
	at = fxt_is_on(FXT_CAT_process) ? fxt_reserve_extra(thread, now_ns, 1) : NULL;
	if (!at)
		return;
	at = fxt_put_int(at, FXT_STR_status, status & 0xff);
	fxt_commit_extra(thread, at,
			 fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(FXT_EVENT_INSTANT) |
				 fxt_event_args(1) | FXT_NAMES(process, exit));
}

/* Ends the trace. exit() calls this last, behind all handlers and destructors, because it was registered
 * first. */
static void exits(int status, void *unused)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_process);

	(void)unused;
	/* The end that is written down lies within the call of exit(). */
	if (thread)
		fxt_parent_leave(thread);
	exit_done();
	process_ends(FXT_STR_CALLS + FXT_CALL_exit, status);
	fxt_files_flushed();
	fxt_agent_exit();
}

static int quick_status;

void fxt_exit_quick(int status)
{
	quick_status = status;
}

static void exits_quickly(void)
{
	process_ends(FXT_STR_CALLS + FXT_CALL_quick_exit, quick_status);
}

void fxt_exit_start(void)
{
	/* If the C library has no room for these, the trace is left as it is. */
	(void)at_quick_exit(exits_quickly);
	(void)on_exit(exits, NULL);
}

static void ends_at_once(int status)
{
	struct fxt_thread *thread = fxt_enter(FXT_CAT_process);
	uint64_t *at;

	if (thread && fxt_agent_has_file() && (at = fxt_reserve(thread, fxt_now(thread), 1)) != NULL) {
		at = fxt_put_int(at, FXT_STR_status, status);
		fxt_instant(thread, at, FXT_NAMES(process, _exit), 1);
	}
	process_ends(FXT_STR_CALLS + FXT_CALL__exit, status);
	fxt_agent_exit();
}

FXT_EXPORT void _exit(int status)
{
	ends_at_once(status);
	real__exit(status);
	__builtin_unreachable();
}

FXT_EXPORT void _Exit(int status)
{
	ends_at_once(status);
	real__Exit(status);
	__builtin_unreachable();
}

FXT_BY_HAND_NUMBER(exit_group)
{
	ends_at_once((int)call->args[0]);
	fxt_by_number_make(call);
}

#define FXT_TABLE "interpose/tables/exit.def"
#define FXT_REALS fxt_reals_exit
#include "interpose/engine/reals.inc"
