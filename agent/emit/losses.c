/* See losses.h. Counts losses for the whole process, and says why they happen. */
#include "losses.h"

#include <errno.h>
#include <string.h>

#include "agent/base/koid.h"
#include "agent/base/log.h"
#include "agent/base/stack.h"
#include "clock.h"
#include "counter.h"
#include "thread.h"
#include "trace_file.h"
#include "writer/fxt_encode.h"

static const uint64_t names[FXT_LOSS_COUNT] = {
	[FXT_LOSS_ROOM] = FXT_STR_dropped, [FXT_LOSS_DEPTH] = FXT_STR_dropped_depth,
	[FXT_LOSS_SIGNALS] = FXT_STR_dropped_signals, [FXT_LOSS_SIZE] = FXT_STR_dropped_size,
	[FXT_LOSS_FILTERED] = FXT_STR_filtered, [FXT_LOSS_OVERWRITTEN] = FXT_STR_overwritten,
	[FXT_LOSS_UNNAMED] = FXT_STR_unnamed, [FXT_LOSS_BLOCKS] = FXT_STR_blocks_not_kept,
	[FXT_LOSS_STACKS] = FXT_STR_stacks_not_kept,
};

/* Of each cause: which process has told why. A process tells it again in another session. */
static atomic_uint told_for_pid[FXT_LOSS_TOLD];

void fxt_agent_count(enum fxt_loss why, uint64_t records, uint64_t last_ns)
{
	uint64_t *slot = fxt_agent.losses[why];

	if (records && slot)
		fxt_counter_add(slot, names[why], fxt_agent.koid, records, last_ns);
}

void fxt_thread_lacks(struct fxt_thread *thread, enum fxt_loss why)
{
	/* Counters are in the storage: see fxt_is_interrupted(). */
	struct fxt_lane *lane = fxt_lane_raise(thread, FXT_LANE_EXTRA);

	/* A short stack has no room for making the file. */
	if (fxt_stack_is_short() ? atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire)
				 : fxt_agent_file())
		fxt_agent_count(why, 1, thread->last_ns);
	fxt_lane_lower(lane);
}

void fxt_agent_count_short(uint64_t now_ns)
{
	struct fxt_thread *thread = fxt_self;
	struct fxt_lane *lane = NULL;

	if (!atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire))
		return;
	/* If it is taken, the thread passes for interrupted anyway: see fxt_is_interrupted(). */
	if (thread && fxt_lane_raise_first(thread, FXT_LANE_CALL))
		lane = thread->lanes;
	fxt_agent_count(FXT_LOSS_SIGNALS, 1, now_ns);
	if (lane)
		fxt_lane_lower(lane);
}

static uint64_t own_koid(void)
{
	return fxt_self ? fxt_self->tid : fxt_koid_of_thread((uint32_t)fxt_sys_gettid());
}

void fxt_losses_tell(uint64_t name, const char *reason, uint64_t limit_bytes, uint64_t now_ns)
{
	uint64_t record[32];
	struct fxt_arg args[] = {
		{FXT_ARG_STRING, FXT_INDEXED(FXT_STR_reason), .string = FXT_INLINE(reason, strlen(reason))},
		{FXT_ARG_UINT64, FXT_INDEXED(FXT_STR_limit_bytes), .u64 = limit_bytes},
	};
	size_t words = fxt_encode_event(record, 32, FXT_EVENT_INSTANT, now_ns,
					(struct fxt_thread_ref){0, fxt_agent.koid, own_koid()},
					FXT_INDEXED(FXT_STR_CATEGORIES + FXT_BIT_agent), FXT_INDEXED(name),
					(struct fxt_args){limit_bytes ? 2 : 1, args}, 0);

	if (words)
		fxt_storage_durable(fxt_agent.storage, record, words, 0);
}

/* Returns whether a file can have no chunk more. */
static bool is_used_up(void)
{
	return fxt_storage_none_before(fxt_agent.storage) == FXT_NEVER || !fxt_agent.config.manager[0];
}

static void tell_full(uint64_t now_ns)
{
	bool streaming = fxt_agent.config.mode == FXT_STREAMING, managed = fxt_agent.buffer.managed;
	uint64_t limit = streaming && !managed ? fxt_agent.config.max_bytes : fxt_agent.config.buffer_bytes,
		 full_bytes = atomic_load_explicit(&fxt_agent.buffer.full_bytes, memory_order_relaxed);
	uint64_t record[2];
	int error = fxt_storage_failure(fxt_agent.storage);

	fxt_storage_durable(fxt_agent.storage, record,
			    fxt_encode_provider_event(record, 2, fxt_agent.koid,
						      FXT_PROVIDER_EVENT_BUFFER_FULL),
			    0);
	if (managed && full_bytes)
		limit = full_bytes;
	if (error == -EPIPE || (!error && !managed && !is_used_up())) {
		/* Another thread leaves the manager, or has left it since. */
		fxt_losses_tell(FXT_STR_buffer_full, "the manager is gone", 0, now_ns);
	} else if (!error) {
		fxt_losses_tell(FXT_STR_buffer_full, "the allowed size is used up", limit, now_ns);
		fxt_log("%s is full at %lu MiB; what follows is dropped and counted (%s allows more)",
			fxt_agent.buffer.path, (unsigned long)(limit >> 20),
			streaming ? "FXT_MAX_SIZE_MB or --max-size" : "FXT_BUFFER_SIZE_MB");
	} else if (error == -EAGAIN) {
		fxt_losses_tell(FXT_STR_buffer_full, "the manager does not save as fast", limit, now_ns);
		fxt_log("the manager does not save as fast as this program records; what has no room is "
			"dropped and counted");
	} else {
		fxt_losses_tell(FXT_STR_buffer_full, fxt_error_name(error), 0, now_ns);
		/* If somebody has cut the file, fxt_agent_exit() says what is lost, because all of it is
		 * known by then. */
		if (!fxt_buffer_is_cut(&fxt_agent.buffer))
			fxt_log("%s cannot grow: %s; what follows %s", fxt_agent.buffer.path,
				fxt_error_name(error),
				fxt_agent.config.wait_on_full ? "waits for room" : "is dropped and counted");
	}
}

static void tell_overwritten(const char *reason, uint64_t now_ns)
{
	int error = fxt_storage_failure(fxt_agent.storage);

	fxt_losses_tell(FXT_STR_overwritten, error ? fxt_error_name(error) : reason,
			error ? 0 : fxt_agent.config.buffer_bytes, now_ns);
	if (error)
		fxt_log("%s cannot grow: %s; its oldest part is overwritten and counted",
			fxt_agent.buffer.path, fxt_error_name(error));
}

void fxt_agent_lost(enum fxt_loss why, uint64_t now_ns)
{
	static const char *const reasons[FXT_LOSS_TOLD] = {
		[FXT_LOSS_DEPTH] = "functions nest deeper than 500",
		[FXT_LOSS_SIGNALS] = "signal handlers nest deeper than 6, or switch between coroutines",
		[FXT_LOSS_SIZE] = "a record is larger than a chunk",
		[FXT_LOSS_OVERWRITTEN] = "the ring keeps the newest",
		[FXT_LOSS_STATE] = "there is no memory for the state of one more thread",
		[FXT_LOSS_SHARED] = "clone() without CLONE_SETTLS: neither thread nor child records any more",
	};
	static_assert(FXT_FUNCTION_DEPTH == 500 && FXT_LANES == 6, "as the reasons have it");
	if (fxt_may_not_lock())
		return;
	if (atomic_load_explicit(&told_for_pid[why], memory_order_relaxed) == fxt_agent.pid ||
	    !atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire) ||
	    atomic_exchange_explicit(&told_for_pid[why], fxt_agent.pid, memory_order_relaxed) ==
		    fxt_agent.pid)
		return;
	if (why == FXT_LOSS_ROOM)
		tell_full(now_ns);
	else if (why == FXT_LOSS_OVERWRITTEN)
		tell_overwritten(reasons[why], now_ns);
	else
		fxt_losses_tell(FXT_STR_dropped, reasons[why], 0, now_ns);
	if (why == FXT_LOSS_SHARED)
		fxt_log("%s", reasons[why]);
}

/* Puts the record of fxt_losses_session() into its place. */
static void put_lost_before(uint64_t *at, struct fxt_args args)
{
	const struct fxt_thread_ref first = {0, fxt_agent.koid, fxt_agent.koid};
	uint64_t record[FXT_LOST_BEFORE_WORDS];
	size_t words = fxt_encode_event(record, FXT_LOST_BEFORE_WORDS, FXT_EVENT_INSTANT,
					fxt_clock_kernel_ns(), first,
					FXT_INDEXED(FXT_STR_CATEGORIES + FXT_BIT_agent),
					FXT_INDEXED(FXT_STR_lost_before), args, 0);

	if (words < FXT_LOST_BEFORE_WORDS)
		record[words] = fxt_filler(FXT_LOST_BEFORE_WORDS - words);
	memcpy(at + 1, record + 1, sizeof(record) - sizeof(*record));
	atomic_store_explicit((_Atomic uint64_t *)at, record[0], memory_order_release);
}

/* Returns whether the record says why something was lost. */
static bool is_reason(const uint64_t *record)
{
	uint64_t header = record[0];

	if (fxt_get_record_type(header) == FXT_RECORD_METADATA)
		return fxt_get_metadata_type(header) == FXT_METADATA_PROVIDER_EVENT;
	return fxt_get_record_type(header) == FXT_RECORD_EVENT &&
	       fxt_get_event_type(header) == FXT_EVENT_INSTANT &&
	       fxt_get_event_category(header) == FXT_STR_CATEGORIES + FXT_BIT_agent &&
	       (fxt_get_event_name(header) == FXT_STR_buffer_full ||
		fxt_get_event_name(header) == FXT_STR_dropped ||
		fxt_get_event_name(header) == FXT_STR_overwritten);
}

void fxt_losses_session(void)
{
	struct fxt_arg args[FXT_LOSS_COUNT];
	uint32_t count = 0;

	if (!fxt_agent_has_file() || !fxt_agent.lost_before)
		return;
	fxt_loss_windows_forget();
	for (unsigned why = 0; why < FXT_LOSS_TOLD; why++)
		atomic_store_explicit(&told_for_pid[why], 0, memory_order_relaxed);
	for (unsigned why = 0; why < FXT_LOSS_COUNT; why++) {
		uint64_t lost = fxt_threads_lost((enum fxt_loss)why);

		if (why == FXT_LOSS_OVERWRITTEN)
			lost += fxt_buffer_overwritten(&fxt_agent.buffer);
		if (lost)
			args[count++] =
				(struct fxt_arg){FXT_ARG_UINT64, FXT_INDEXED(names[why]), .u64 = lost};
	}
	if (!count)
		return;
	put_lost_before(fxt_agent.lost_before, (struct fxt_args){count, args});
	fxt_buffer_durable_retract(&fxt_agent.buffer, is_reason);
}

void fxt_agent_overwritten(const struct fxt_chunk *chunk, uint64_t now_ns)
{
	if (chunk->overwritten)
		fxt_agent_lost(FXT_LOSS_OVERWRITTEN, now_ns);
}

void fxt_agent_unseen(const char *what)
{
	if (fxt_agent_has_file())
		fxt_losses_tell(FXT_STR_unseen, what, 0, fxt_clock_kernel_ns());
}
