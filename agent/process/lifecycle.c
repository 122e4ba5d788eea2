/* See lifecycle.h. Starts, suspends and ends the trace of this process. */
#include "lifecycle.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include "agent/base/connection.h"
#include "agent/base/log.h"
#include "agent/base/parts.h"
#include "agent/descriptors/endpoint.h"
#include "agent/descriptors/fd_slots.h"
#include "agent/emit/clock.h"
#include "agent/emit/losses.h"
#include "agent/emit/thread.h"
#include "agent/emit/trace_file.h"
#include "agent/fibers/fiber.h"
#include "config.h"
#include "control.h"
#include "follow.h"
#include "locked_memory.h"
#include "part_table.h"
#include "writer/apart.h"
#include "writer/fxt_encode.h"

enum { REWRITE_MAX_BYTES = 4 << 20 };   /* rewriting takes 1 ms for each MiB, at the end of the process */

static void find_program(void)
{
	/* The name that was executed counts, and not what a symbolic link leads to: redis-server would be
	 * redis-check-rdb. */
	const char *path = (const char *)getauxval(AT_EXECFN), *name;
	char target[256];
	int length;

	if (!path || !strncmp(path, "/dev/fd/", 8) || !strncmp(path, "/proc/", 6)) {
		length = fxt_sys_readlink("/proc/self/exe", target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = '\0';
		path = target;
	}
	for (name = path; *path; path++)
		if (*path == '/')
			name = path + 1;
	fxt_utf8_clean(fxt_agent.program, name, strlen(name), sizeof(fxt_agent.program) - 1);
}

bool fxt_agent_start(const struct fxt_call_names *calls)
{
	/* This is the C library's variable: a program may define another one that is called environ. */
	char **environment = __environ;
	int unborn = FXT_UNBORN;
	struct timespec now;
	bool accepted;

	/* The C library may not have the environment yet. Then nothing is started, and a later call tries
	 * again. */
	if (!environment ||
	    !atomic_compare_exchange_strong(&fxt_agent.state, &unborn, FXT_STARTING))
		return false;
	fxt_follow_forbid(environment);
	fxt_log_start();
	fxt_run_key_read(environment);
	/* A privileged program is not traced, even if the loader has loaded this library into it. */
	accepted = !getauxval(AT_SECURE) && fxt_config_read(&fxt_agent.config, environment);
	find_program();
	if (!accepted || !fxt_follow_begin(environment, fxt_agent.program)) {
		atomic_store(&fxt_agent.state, FXT_OFF);
		return false;
	}
	fxt_agent.calls = *calls;
	fxt_agent.pid = (uint32_t)fxt_sys_getpid();
	clock_gettime(CLOCK_REALTIME, &now);
	fxt_agent.start_seconds = (uint64_t)now.tv_sec;
	fxt_agent.config.own_categories = fxt_agent.config.categories;
	fxt_gate_own(fxt_agent.pid);
	fxt_part_table_use();
	if (!fxt_has_handlers())
		fxt_apart_start_begins();
	fxt_parts_start();
	fxt_parts_mode();
	atomic_store(&fxt_agent.recording, fxt_agent.config.dormant ? FXT_DORMANT : FXT_RECORDING);
	atomic_store(&fxt_agent.state, FXT_ON);
	if (!fxt_agent.config.dormant)
		fxt_agent_file();
	fxt_apart_start_ends();
	fxt_may_be_real_time(0);
	return true;
}

bool fxt_agent_suspend(enum fxt_suspension what, const char *unseen)
{
	bool was_open = atomic_load_explicit(&fxt_gate.mask, memory_order_relaxed) && !fxt_gate_is_lent();
	uint64_t now_ns = fxt_clock_kernel_ns();
	bool is_new = fxt_gate_suspend(what);

	if (what == FXT_SUSPENDED_TSC && fxt_self)
		fxt_clock_expire(fxt_self);
	fxt_endpoints_unseen();
	if (was_open && fxt_agent_has_file())
		fxt_losses_tell(FXT_STR_unseen, unseen, 0, now_ns);
	return is_new;
}

void fxt_agent_save_memory(void)
{
	int error;

	if (!atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire))
		return;
	/* If there still is a manager, it saves its memory itself. */
	fxt_buffer_hear(&fxt_agent.buffer, UINT64_MAX);
	if (fxt_agent.buffer.managed && fxt_storage_failure(fxt_agent.storage) == -EPIPE)
		fxt_control_storage_ends(-EPIPE);
	if (fxt_agent.buffer.managed)
		return;
	if (fxt_is_forbidden(FXT_NO_LOCKS) || fxt_agent.pid != (uint32_t)fxt_sys_getpid() ||
	    fxt_agent.buffer.tail_offset)
		return;
	error = fxt_buffer_save(&fxt_agent.buffer);
	if (error && !fxt_buffer_is_cut(&fxt_agent.buffer))
		fxt_log("%s: what was recorded last cannot be saved: %s", fxt_agent.buffer.path,
			fxt_error_name(error));
}

static void tell_cut(void)
{
	uint64_t bytes;

	if (fxt_buffer_find_cut(&fxt_agent.buffer, &bytes))
		fxt_log("%s was cut to %lu bytes while it was written: what was behind them is lost, "
			"and at least %lu records after that",
			fxt_agent.buffer.path, (unsigned long)bytes,
			(unsigned long)fxt_threads_lost(FXT_LOSS_ROOM));
}

void fxt_agent_leaves(bool leaves)
{
	if (atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire) &&
	    !fxt_is_forbidden(FXT_NO_LOCKS) && fxt_agent.pid == (uint32_t)fxt_sys_getpid())
		fxt_buffer_leaves(&fxt_agent.buffer, leaves);
}

void fxt_agent_trim(void)
{
	if (atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire) &&
	    !fxt_is_forbidden(FXT_NO_CALLS) && fxt_agent.pid == (uint32_t)fxt_sys_getpid() && fxt_is_alone())
		fxt_buffer_trim(&fxt_agent.buffer);
}

void fxt_agent_reserve(void)
{
	if (atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire) &&
	    !fxt_is_forbidden(FXT_NO_GROWTH | FXT_NO_LOCKS) && fxt_agent.pid == (uint32_t)fxt_sys_getpid())
		fxt_buffer_reserve(&fxt_agent.buffer);
}

void fxt_agent_exit(void)
{
	struct fxt_thread *thread = fxt_self;
	uint64_t mask;

	if (!atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire) ||
	    fxt_is_forbidden(FXT_NO_LOCKS) || fxt_agent.pid != (uint32_t)fxt_sys_getpid())
		return;
	fxt_parts_exit(thread);
	fxt_buffer_tell_dropped(&fxt_agent.buffer, fxt_threads_lost(FXT_LOSS_ROOM));
	/* A forked child may be one of many, and waits for nothing. */
	if (!fxt_agent.is_forked && (fxt_agent.config.wait_on_full || fxt_agent.config.waits_for_manager))
		fxt_buffer_hand_over(&fxt_agent.buffer);
	fxt_agent_save();
	tell_cut();
	/* A manager has what there is, and where it is to stay. */
	if (fxt_agent.buffer.managed)
		return;
	if (fxt_is_filtered() || fxt_is_forbidden(FXT_NO_CALLS) || !fxt_is_alone())
		return;
	mask = fxt_sys_block_signals();
	if (fxt_buffer_rewrite(&fxt_agent.buffer, REWRITE_MAX_BYTES)) {
		fxt_fd_slots_stop();
		fxt_fibers_after_rewrite();
		if (thread)
			fxt_thread_after_rewrite(thread);
	}
	fxt_file_settle(&fxt_agent.buffer);
	fxt_sys_restore_signals(mask);
}
