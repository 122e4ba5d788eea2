/* See control.h. This file owns the list of snapshots that triggers have saved. Handlers of FXT_SIGNAL and
 * watched calls come here. */
#include "control.h"

#include <errno.h>
#include <string.h>

#include "agent/arrows/wait.h"
#include "agent/base/connection.h"
#include "agent/base/log.h"
#include "agent/base/parts.h"
#include "agent/descriptors/endpoint.h"
#include "agent/arrows/async.h"
#include "agent/emit/emit.h"
#include "agent/emit/filtered.h"
#include "agent/base/lazy_table.h"
#include "agent/base/output.h"
#include "agent/emit/threads.h"
#include "agent/emit/trace_file.h"
#include "fork.h"
#include "writer/decimal.h"
#include "writer/fxt_encode.h"

enum { REASON_BYTES = 120 };

static const char by_manager[] = "asked for by the manager";

/* A snapshot by a trigger that is kept, and how long the call took that it was saved for. */
struct kept {
	char path[FXT_PATH_BYTES];
	uint64_t ns;
};

/* As many as config.trigger_keep, made for the first trigger that is met. file_lock guards them. */
static _Atomic(void *) kept_table;      /* struct kept */
static unsigned kept_count;
static atomic_bool asked;               /* a signal has asked for a snapshot that is not begun yet */

/* -- Instants and reasons ---------------------------------------------------------------------- */

/* Writes an instant with a reason, to the thread's own lane: there the snapshot contains it, too. */
static void put_instant(uint64_t name, const char *reason)
{
	struct fxt_thread *thread = fxt_self ? fxt_self : fxt_thread_attach();
	uint64_t record[32];
	struct fxt_arg arg = {FXT_ARG_STRING, FXT_INDEXED(FXT_STR_reason),
			      .string = FXT_INLINE(reason, strlen(reason))};
	size_t words;

	if (!thread || !fxt_thread_ready(thread))
		return;
	if (name == FXT_STR_snapshot || name == FXT_STR_stopped)
		fxt_filtered_tell(thread);
	words = fxt_encode_event(record, 32, FXT_EVENT_INSTANT, fxt_now(thread),
				 (struct fxt_thread_ref){thread->index, thread->pid, thread->tid},
				 FXT_INDEXED(FXT_STR_CATEGORIES + FXT_BIT_agent), FXT_INDEXED(name),
				 (struct fxt_args){1, &arg}, 0);
	if (words)
		fxt_thread_put_extra(thread, record, words);
}

static size_t add_text(char *out, size_t used, const char *text, size_t bytes)
{
	if (bytes > REASON_BYTES - 1 - used)
		bytes = REASON_BYTES - 1 - used;
	memcpy(out + used, text, bytes);
	out[used + bytes] = '\0';
	return used + bytes;
}

static size_t add_number(char *out, size_t used, uint64_t value)
{
	char digits[FXT_DECIMAL_BYTES];
	size_t bytes = fxt_decimal(digits, value);

	return add_text(out, used, digits, bytes);
}

/* Writes to `out` why a snapshot is saved: "CALL took N us and failed: ERROR". */
static void describe(char *out, const char *name, size_t bytes, uint64_t ns, int error)
{
	const char *text;
	size_t used = add_text(out, 0, name, bytes);

	used = add_text(out, used, " took ", 6);
	used = add_number(out, used, ns / 1000);
	used = add_text(out, used, " us", 3);
	if (!error)
		return;
	used = add_text(out, used, " and failed: ", 13);
	text = fxt_error_name(error);
	add_text(out, used, text, strlen(text));
}

/* -- Snapshots --------------------------------------------------------------------------------- */

/* Makes a snapshot's path from that of the trace: .snapshot.fxt takes the place of .fxt. Returns false if it
 * is too long. */
static bool snapshot_path(char *path)
{
	static const char suffix[] = ".snapshot.fxt";
	size_t length = strlen(fxt_agent.buffer.path);

	if (length >= 4 && !memcmp(fxt_agent.buffer.path + length - 4, ".fxt", 4))
		length -= 4;
	if (length + sizeof(suffix) > FXT_PATH_BYTES)
		return false;
	memcpy(path, fxt_agent.buffer.path, length);
	memcpy(path + length, suffix, sizeof(suffix));
	return true;
}

/* Saves a snapshot and says so on standard error; `path` gets its path. The caller holds file_lock. */
static bool save(char *path, const char *reason)
{
	int error;

	path[0] = '\0';
	error = snapshot_path(path) ? fxt_buffer_snapshot(&fxt_agent.buffer, path) : -ENAMETOOLONG;
	if (error)
		fxt_log("no snapshot (%s): %s: %s", reason, path, fxt_error_name(error));
	else
		fxt_log("snapshot saved: %s (%s)", path, reason);
	return !error;
}

/* Takes file_lock, with signals blocked. Returns false if another thread is saving, or if there is no
 * file. */
static bool begin_saving(uint64_t *mask)
{
	return atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire) &&
	       fxt_trylock(&fxt_agent.file_lock, mask);
}

/* Saves a snapshot if a signal has asked for one. If another thread is saving, this is left to that thread,
 * which looks here when it is done: so each signal is followed by a snapshot that begins after the signal. */
static void save_as_asked(void)
{
	static const char reason[] = "asked for by a signal";
	static FXT_LARGE char path[FXT_PATH_BYTES];
	uint64_t mask;

	while (atomic_load(&asked) && begin_saving(&mask)) {
		if (atomic_exchange(&asked, false)) {
			put_instant(FXT_STR_snapshot, reason);
			save(path, reason);
		}
		fxt_unlock(&fxt_agent.file_lock, mask);
	}
}

/* Raises an alert: the manager saves what all its programs have of this moment. A name longer than 14
 * bytes is cut. */
static void alert(const char *name, size_t bytes)
{
	struct fxt_packet packet = {.request = FXT_PROVIDER_ALERT};
	char *to = (char *)&packet + sizeof(packet.request);

	memcpy(to, name, bytes < FXT_ALERT_NAME_BYTES ? bytes : FXT_ALERT_NAME_BYTES);
	fxt_buffer_tell(&fxt_agent.buffer, packet);
}

static void snapshot_for_signal(void)
{
	if (fxt_agent.buffer.managed) {
		alert("signal", sizeof("signal") - 1);
		return;
	}
	/* Another thread may be making the file: then this one waits for it, because nobody would look
	 * whether a snapshot is asked for. */
	if (fxt_agent.config.mode == FXT_STREAMING || !fxt_agent_file())
		return;
	atomic_store(&asked, true);
	save_as_asked();
}

/* Saves a snapshot if there is room for one more, or if the call took longer than the shortest that has one:
 * then that one's snapshot is removed. */
static void snapshot_for_trigger(uint64_t ns, const char *reason)
{
	unsigned slot = 0, i;
	struct kept *kept;
	uint64_t mask;

	if (!begin_saving(&mask))
		return;
	kept = fxt_lazy_table(&kept_table, fxt_agent.config.trigger_keep * sizeof(*kept));
	if (kept_count < fxt_agent.config.trigger_keep) {
		slot = kept_count;
	} else {
		for (i = 1; i < kept_count; i++)
			if (kept[i].ns < kept[slot].ns)
				slot = i;
	}
	if (kept && (slot == kept_count || ns > kept[slot].ns)) {
		static FXT_LARGE char path[FXT_PATH_BYTES];

		put_instant(FXT_STR_snapshot, reason);
		if (save(path, reason)) {
			if (slot == kept_count)
				kept_count++;
			else
				fxt_sys_unlink(kept[slot].path);
			memcpy(kept[slot].path, path, strlen(path) + 1);
			kept[slot].ns = ns;
		}
	}
	fxt_unlock(&fxt_agent.file_lock, mask);
	save_as_asked();
}

/* -- Beginning and ending ---------------------------------------------------------------------- */

/* Begins recording in a dormant process. */
static void wake(void)
{
	int dormant = FXT_DORMANT;

	if (atomic_compare_exchange_strong(&fxt_agent.recording, &dormant, FXT_RECORDING) && fxt_agent_file())
		put_instant(FXT_STR_started, "asked for by a signal");
}

/* Ends recording for good. Streams have no arrows from here on, because this process's calls are not counted
 * any more. The child of a vfork may do this too, without a lock: whoever opens the gate looks afterwards
 * whether recording has ended (fxt_agent_open()). */
static bool stop(const char *reason)
{
	int recording = FXT_RECORDING;

	if (!atomic_compare_exchange_strong(&fxt_agent.recording, &recording, FXT_STOPPED))
		return false;
	put_instant(FXT_STR_stopped, reason);
	fxt_endpoints_unseen();
	fxt_gate_set(0);
	return true;
}

/* Ends recording until the manager starts again. Threads turn to other chunks then, because the next session
 * begins a new trace. The caller holds file_lock. */
static void wait_for_start(void)
{
	int recording = FXT_RECORDING;
	bool can_wait;

	if (!atomic_compare_exchange_strong(&fxt_agent.recording, &recording, FXT_WAITING))
		return;
	put_instant(FXT_STR_stopped, by_manager);
	fxt_endpoints_unseen();
	can_wait = !fxt_is_filtered() && fxt_gate_prepare();
	if (!can_wait) {
		atomic_store(&fxt_agent.recording, FXT_STOPPED);
		fxt_gate_set(0);
	}
	fxt_threads_expire();
	atomic_store_explicit(&fxt_agent.stopped_ns, fxt_clock_kernel_ns(), memory_order_relaxed);
	fxt_buffer_tell_dropped(&fxt_agent.buffer, fxt_threads_lost(FXT_LOSS_ROOM));
	fxt_buffer_tell(&fxt_agent.buffer, (struct fxt_packet){.request = FXT_PROVIDER_STOPPED});
	if (can_wait)
		fxt_gate_lend();
}

/* Begins recording in a process that waits for the manager. `has_recorded` says that it has recorded
 * before; then what was known of the program may be wrong. The caller holds file_lock. */
static void begin(bool has_recorded)
{
	atomic_fetch_add(&fxt_agent.starts, 1);
	if (has_recorded) {
		fxt_parts_again();
		if (fxt_agent.begins_anew)
			fxt_async_begin_anew(fxt_flow_id());
	}
	atomic_store(&fxt_agent.recording, FXT_RECORDING);
	fxt_agent_open();
}

/* Gives the process a file of its own, because the manager is gone. What other threads record meanwhile has
 * no room. The caller holds file_lock. */
static void leave_manager(void)
{
	const struct fxt_config *config = &fxt_agent.config;
	static FXT_LARGE char path[FXT_PATH_BYTES];
	int error;

	if (fxt_agent.buffer.managed) {
		error = fxt_output_path(path, config, fxt_agent.program, fxt_agent.koid,
					fxt_agent.start_seconds)
				? fxt_buffer_leave_manager(&fxt_agent.buffer, path)
				: -ENAMETOOLONG;
		if (!error)
			fxt_log("the manager is gone: the trace goes on in %s", fxt_agent.buffer.path);
		else if (fxt_agent.buffer.is_kept)
			fxt_log("the manager is gone, and there can be no file: %s: %s; what memory has room "
				"for is saved when the program ends", path, fxt_error_name(error));
		else if (stop("the manager is gone"))
			fxt_log("the manager is gone, and what it had not saved cannot be written: %s: %s",
				path, fxt_error_name(error));
	}
}

void fxt_control_storage_ends(int why)
{
	uint64_t mask;

	/* One thread does this, from the first step to the last. The others go on: they find no room, and
	 * come here again. A process that may take no locks any more can neither talk nor make a file. */
	if (!begin_saving(&mask)) {
		if (fxt_is_forbidden(FXT_NO_LOCKS))
			stop("the manager wants no more");
		return;
	}
	/* Another thread may have done it. */
	if (fxt_storage_failure(fxt_agent.storage) == why) {
		if (why == -EPIPE)
			leave_manager();
		else
			wait_for_start();
	}
	fxt_unlock(&fxt_agent.file_lock, mask);
}

void fxt_control_hear(struct fxt_thread *thread, uint64_t now_ns)
{
	int failure;

	(void)thread;
	/* Without a file the buffer is the one that a parent had at a fork. */
	if (!fxt_agent.buffer.managed || !atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire))
		return;
	fxt_buffer_hear(&fxt_agent.buffer, now_ns);
	failure = fxt_storage_failure(fxt_agent.storage);
	if (failure == -ESHUTDOWN || failure == -EPIPE)
		fxt_control_storage_ends(failure);
}

void fxt_control_woken(void)
{
	bool begins = false, has_recorded;
	uint64_t mask;
	int error;

	/* This child has not been through our handler. */
	if (fxt_gate_is_inherited()) {
		fxt_fork_in_child(true, fxt_fork_has_shared());
		return;
	}
	/* If another thread holds the lock, it may be asking the manager. */
	if (fxt_may_not_lock() || fxt_is_forbidden(FXT_NO_CALLS) || !fxt_trylock(&fxt_agent.file_lock, &mask))
		return;
	if (fxt_gate_is_lent()) {
		has_recorded = fxt_agent_has_file();
		error = fxt_agent_go_on();
		begins = !error;
		if (begins) {
			begin(has_recorded);
		} else if (error != -EAGAIN) {
			atomic_store(&fxt_agent.recording, FXT_STOPPED);
			fxt_gate_set(0);
		}
	}
	fxt_unlock(&fxt_agent.file_lock, mask);
	if (begins)
		put_instant(FXT_STR_started, by_manager);
}

bool fxt_control_signal(void)
{
	if (atomic_load_explicit(&fxt_agent.state, memory_order_acquire) != FXT_ON)
		return false;
	/* A filter forbids what a request needs, and to ask whose process this is. The kernel may refuse the
	 * filter in a moment, so the handler has to stay. */
	if (fxt_is_forbidden(FXT_NO_LOCKS))
		return true;
	if (fxt_agent.pid != (uint32_t)fxt_sys_getpid())
		return false;
	if (atomic_load_explicit(&fxt_agent.recording, memory_order_relaxed) == FXT_DORMANT)
		wake();
	else
		snapshot_for_signal();
	return true;
}

void fxt_control_trigger(struct fxt_thread *thread, const struct fxt_trigger *trigger, const char *name,
			 size_t bytes, uint64_t ns, int error)
{
	char reason[REASON_BYTES];

	(void)thread;
	describe(reason, name, bytes, ns, error);
	if (trigger->stops) {
		if (stop(reason))
			fxt_log("recording has stopped: %s", reason);
	} else if (fxt_agent.buffer.managed) {
		put_instant(FXT_STR_snapshot, reason);
		alert(name, bytes);
	} else if (fxt_agent.config.mode != FXT_STREAMING) {
		snapshot_for_trigger(ns, reason);
	}
}

void fxt_control_after_fork(void)
{
	kept_count = 0;
	atomic_store(&asked, false);
}
