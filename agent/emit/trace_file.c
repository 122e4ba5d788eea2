/* See trace_file.h. Writes the prologue, too. */
#include "trace_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/connection.h"
#include "agent/base/koid.h"
#include "agent/base/log.h"
#include "agent/base/output.h"
#include "agent/clock/wall_clock.h"
#include "clock.h"
#include "counter.h"
#include "losses.h"
#include "writer/apart.h"
#include "writer/fxt_encode.h"

/* The names of the categories, and the strings of the agent itself. */
static const struct {
#define CATEGORY(name, on, what) FXT_STRING_RECORD(category_##name, #name)
#include "writer/categories.def"
#undef CATEGORY
#define STRING(id, text) FXT_STRING_RECORD(string_##id, text)
#include "agent/base/strings.def"
#undef STRING
} fixed = {
#define CATEGORY(name, on, what) FXT_STRING_RECORD_VALUE(FXT_STR_CATEGORIES + FXT_BIT_##name, #name)
#include "writer/categories.def"
#undef CATEGORY
#define STRING(id, text) FXT_STRING_RECORD_VALUE(FXT_STR_##id, text)
#include "agent/base/strings.def"
#undef STRING
};

/* Copies records to `out`, where there is room for so many words. Returns how many words they have. */
static size_t add_records(uint64_t *out, size_t capacity, struct fxt_string_records records)
{
	if (records.words > capacity)
		return 0;
	memcpy(out, records.at, records.words * FXT_WORD_BYTES);
	return records.words;
}

static size_t add_stream(uint64_t *out, size_t capacity, const FILE *stream, const char *label)
{
	struct fxt_arg type = {
		FXT_ARG_STRING, FXT_INDEXED(FXT_STR_type), .string = FXT_INDEXED(FXT_STR_kind_FILE)};

	return fxt_encode_userspace_object(out, capacity, (uintptr_t)stream,
					   (struct fxt_thread_ref){0, fxt_agent.koid, 0},
					   FXT_INLINE(label, strlen(label)), (struct fxt_args){1, &type});
}

/* Behind a count for each cause of losses are those of what a ring overwrites, which have the place of its
 * only one. */
enum { COUNTERS = FXT_LOSS_COUNT + FXT_OVERWRITTEN_ROWS };

/* Writes the records that a trace begins with: the provider, all strings of the tables, the names of this
 * process and of the standard streams, the time of day, and places for what was lost before and for the
 * counts of losses. Returns their size in words. */
static size_t write_prologue(uint64_t *out)
{
	const struct fxt_string_records own = {(const uint64_t *)&fixed, sizeof(fixed) / FXT_WORD_BYTES};
	const char *program = fxt_agent.program;
	struct fxt_arg pid = {FXT_ARG_UINT32, FXT_INDEXED(FXT_STR_pid), .u32 = fxt_agent.pid};
	const size_t room = FXT_RECORD_MAX_WORDS - FXT_LOST_BEFORE_WORDS - COUNTERS * FXT_COUNTER_WORDS;
	size_t used = 0, bytes = strlen(program);
	unsigned i;

	used += fxt_encode_magic(out, room);
	used += fxt_encode_provider_info(out + used, room - used, fxt_agent.koid, program, bytes);
	used += fxt_encode_provider_section(out + used, room - used, fxt_agent.koid);
	used += fxt_encode_initialization(out + used, room - used, 1000000000);
	used += add_records(out + used, room - used, own);
	used += add_records(out + used, room - used, fxt_agent.calls.records);
	used += fxt_encode_kernel_object(out + used, room - used, FXT_OBJECT_PROCESS, fxt_agent.koid,
					 FXT_INLINE(program, bytes),
					 (struct fxt_args){fxt_koid_differs() ? 1 : 0, &pid});
	used += fxt_wall_clock_put(out + used, room - used, fxt_clock_kernel_ns());
	/* No call opens these streams, so nothing else would tell their names. */
	used += add_stream(out + used, room - used, stdin, "stdin");
	used += add_stream(out + used, room - used, stdout, "stdout");
	used += add_stream(out + used, room - used, stderr, "stderr");
	out[used] = fxt_filler(FXT_LOST_BEFORE_WORDS);
	used += FXT_LOST_BEFORE_WORDS;
	for (i = 0; i < COUNTERS; i++, used += FXT_COUNTER_WORDS)
		fxt_counter_clear(out + used, fxt_clock_kernel_ns());
	return used;
}

enum kind { A_FILE, MANAGED, FORKED };   /* FORKED: managed, in the session of the parent */

/* Makes a buffer of this kind, for `path` if it is a file. */
static int make_buffer(enum kind kind, const char *path)
{
	const struct fxt_config *config = &fxt_agent.config;
	uint64_t overwritten[FXT_COUNTER_WORDS], *counters;
	struct fxt_buffer_config buffer = {
		.mode = config->mode,
		.bytes = config->mode == FXT_STREAMING ? config->max_bytes : config->buffer_bytes,
		.path = kind ? "the memory that the manager saves" : path,
		.write_prologue = write_prologue,
		.prologue_bytes = sizeof(fixed) + fxt_agent.calls.records.words * FXT_WORD_BYTES,
		.in_memory = config->in_memory,
		.counters_words = COUNTERS * FXT_COUNTER_WORDS,
		.overwritten = overwritten,
		.file_bytes = kind ? config->max_bytes : 0,
		.waits = config->wait_on_full || config->waits_for_manager,
	};
	int error;
	unsigned i;

	fxt_counter_describe(overwritten, FXT_STR_overwritten, fxt_agent.koid);
	if (kind == FORKED)
		error = fxt_connection_fork(&fxt_agent.buffer, &buffer);
	else if (kind == MANAGED)
		error = fxt_connection_make_buffer(&fxt_agent.buffer, &buffer);
	else
		error = fxt_buffer_create(&fxt_agent.buffer, &buffer);

	if (error && !fxt_agent.buffer.managed)
		return error;
	counters = fxt_agent.buffer.storage.prologue + fxt_agent.buffer.prologue_words -
		   (size_t)COUNTERS * FXT_COUNTER_WORDS;
	fxt_agent.lost_before = counters - FXT_LOST_BEFORE_WORDS;
	for (i = 0; i < FXT_LOSS_COUNT; i++)
		fxt_agent.losses[i] = counters + (size_t)i * FXT_COUNTER_WORDS;
	return error;
}

/* Makes a file. `connected` is why there is no manager, if there was to be one. */
static int make_file(int connected)
{
	const struct fxt_config *config = &fxt_agent.config;
	char *path = fxt_sys_memory(FXT_PATH_BYTES);
	int error;

	if (!path)
		return -ENOMEM;
	error = fxt_output_path(path, config, fxt_agent.program, fxt_agent.koid, fxt_agent.start_seconds)
			? 0
			: -ENAMETOOLONG;
	if (connected && !config->may_lack_manager)
		fxt_log("FXT_MANAGER: no answer at %s: %s; the trace goes to %s", config->manager,
			fxt_error_name(connected), path);
	if (!error)
		error = make_buffer(A_FILE, path);
	/* Under fxt record that tells of the program, and what this prints may be read by another. */
	if (error && !fxt_run_is_run())
		fxt_log("FXT_OUTPUT: cannot write %s: %s; the program runs untraced", path,
			fxt_error_name(error));
	fxt_sys_munmap(path, FXT_PATH_BYTES);
	return error;
}

/* Makes the buffer, a file if there is no manager. The kind is FORKED if the process is the child of one
 * that records, and MANAGED if it is connected already. Returns 0 when records can be written. Returns
 * -EAGAIN if the process is to wait for the manager; it may have its buffer then. Returns another negative
 * errno if there is no buffer. */
static int make(enum kind kind, bool may_be_file)
{
	int error = 0;

	if (!kind && fxt_agent.config.manager[0]) {
		kind = MANAGED;
		error = fxt_connection_open(&fxt_agent.buffer);
		fxt_clock_compare(fxt_gate_host_real_ns());
	}
	if (error == -EINPROGRESS)
		return -EAGAIN;
	if (kind && !error)
		error = make_buffer(kind, "");
	if (kind && (!error || error == -EAGAIN || !may_be_file))
		return error;
	return make_file(error);
}

/* Makes the process wait until the manager starts, unless it has stopped for good meanwhile. The caller holds
 * file_lock. */
static void wait_for_manager(void)
{
	bool can_wait = fxt_gate_prepare();
	int was = atomic_load(&fxt_agent.recording);

	while (was != FXT_STOPPED && !atomic_compare_exchange_weak(&fxt_agent.recording, &was,
								   can_wait ? FXT_WAITING : FXT_STOPPED))
		;
	if (can_wait && was != FXT_STOPPED)
		fxt_gate_lend();
	else
		fxt_gate_set(0);
}

/* Notes what make() has returned. Returns whether records can be written. */
static bool note(int error)
{
	if (!error || fxt_agent.buffer.managed)
		atomic_store_explicit(&fxt_agent.file_made, true, memory_order_release);
	if (error == -EAGAIN)
		wait_for_manager();
	return !error;
}

void fxt_agent_open(void)
{
	if (atomic_load(&fxt_agent.recording) != FXT_STOPPED)
		fxt_gate_set(fxt_agent.config.categories);
	/* A trigger stops recording without file_lock. */
	if (atomic_load(&fxt_agent.recording) == FXT_STOPPED)
		fxt_gate_set(0);
	fxt_connection_started(&fxt_agent.buffer);
}

bool fxt_agent_file(void)
{
	uint64_t mask;
	int error;

	if (atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire))
		return true;
	if (fxt_may_not_lock())
		return false;
	mask = fxt_lock(&fxt_agent.file_lock);
	if (!atomic_load_explicit(&fxt_agent.file_made, memory_order_relaxed) && !fxt_agent.file_failed &&
	    atomic_load_explicit(&fxt_agent.recording, memory_order_relaxed) != FXT_WAITING) {
		/* In the child of a fork, this is still the parent's buffer. */
		fxt_buffer_forget(&fxt_agent.buffer);
		error = make(fxt_connection_has_parents() ? FORKED : A_FILE, true);
		if (note(error)) {
			fxt_agent_open();
		} else if (error != -EAGAIN) {
			fxt_agent.file_failed = true;
			fxt_gate_set(0);
			atomic_store_explicit(&fxt_agent.state, FXT_OFF, memory_order_release);
		}
	}
	fxt_unlock(&fxt_agent.file_lock, mask);
	/* A manager may have initialized this process and not started it yet. */
	return atomic_load_explicit(&fxt_agent.file_made, memory_order_relaxed) &&
	       atomic_load_explicit(&fxt_agent.recording, memory_order_relaxed) != FXT_WAITING;
}

void fxt_agent_join(void)
{
	uint64_t mask = fxt_lock(&fxt_agent.file_lock);

	fxt_buffer_forget(&fxt_agent.buffer);
	if (fxt_connection_has_parents() && !fxt_connection_wait_as_child(&fxt_agent.buffer)) {
		wait_for_manager();
	} else {
		atomic_store(&fxt_agent.recording, FXT_STOPPED);
		fxt_gate_set(0);
	}
	fxt_unlock(&fxt_agent.file_lock, mask);
}

int fxt_agent_go_on(void)
{
	int error = atomic_load_explicit(&fxt_agent.file_made, memory_order_relaxed)
			    ? fxt_connection_go_on(&fxt_agent.buffer)
			    : make(MANAGED, false);

	if (!error || fxt_agent.buffer.managed)
		atomic_store_explicit(&fxt_agent.file_made, true, memory_order_release);
	return error;
}
