/* The process's trace from start to end: see agent.h. Called from the constructor, from the first call that is
 * seen, from slow paths and when the process ends. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include "agent/emit/clock.h"
#include "agent/process/config.h"
#include "agent/process/control.h"
#include "agent/emit/counter.h"
#include "agent/descriptors/endpoint.h"
#include "agent/descriptors/fd_slots.h"
#include "agent/descriptors/fds.h"
#include "agent/process/follow.h"
#include "agent/process/fork.h"
#include "agent/emit/function.h"
#include "agent/objects/label.h"
#include "log.h"
#include "agent/emit/output.h"
#include "agent/arrows/shared.h"
#include "writer/apart.h"
#include "writer/fxt_encode.h"

enum {
	REWRITE_MAX_BYTES = 4 << 20,    /* rewriting takes some 1 ms for each MiB, at the very end of the process */
	PROLOGUE_WORDS = FXT_RECORD_MAX_WORDS,
	MADVISE_WIPE_ON_FORK = 18,
};

struct fxt_gate fxt_gate __attribute__((aligned(FXT_PAGE_BYTES)));
struct fxt_agent fxt_agent = {
	.storage = &fxt_agent.buffer.storage, .buffer.storage.ops = &fxt_buffer_ops, .buffer.fd = -1,
};

static_assert(sizeof(struct fxt_gate) == FXT_PAGE_BYTES, "nothing else may be wiped on fork");

/* -- The file ---------------------------------------------------------------------------------- */

static size_t add_string(uint64_t *out, size_t capacity, unsigned index, const char *text)
{
	return fxt_encode_string(out, capacity, (uint16_t)index, text, strlen(text));
}

static size_t add_stream(uint64_t *out, size_t capacity, const FILE *stream, const char *label)
{
	struct fxt_arg type = {FXT_ARG_STRING, FXT_INDEXED(FXT_STR_type), .string = FXT_INDEXED(FXT_STR_kind_FILE)};

	return fxt_encode_userspace_object(out, capacity, (uintptr_t)stream, (struct fxt_thread_ref){0, fxt_agent.koid, 0},
					   FXT_INLINE(label, strlen(label)), (struct fxt_args){1, &type});
}

/* What a trace begins with: who and how, every string of the tables, this process's name, slots for counts. */
static size_t write_prologue(uint64_t *out)
{
	static const char *const fixed[] = {
#define CATEGORY(name, on, what) #name,
#include "categories.def"
#undef CATEGORY
#define STRING(id, text) text,
#include "strings.def"
#undef STRING
	};
	const char *program = fxt_agent.program;
	struct fxt_arg pid = {FXT_ARG_UINT32, FXT_INDEXED(FXT_STR_pid), .u32 = fxt_agent.pid};
	size_t used = 0, bytes = strlen(program), room = PROLOGUE_WORDS - FXT_LOSS_COUNT * FXT_COUNTER_WORDS;
	unsigned i;

	static_assert(FXT_STR_CATEGORIES == 1 && sizeof(fixed) / sizeof(*fixed) == FXT_STR_CALLS - 1, "indices");
	used += fxt_encode_magic(out, room);
	used += fxt_encode_provider_info(out + used, room - used, fxt_agent.koid, program, bytes);
	used += fxt_encode_provider_section(out + used, room - used, fxt_agent.koid);
	used += fxt_encode_initialization(out + used, room - used, 1000000000);
	for (i = 1; i < FXT_STR_CALLS; i++)
		used += add_string(out + used, room - used, i, fixed[i - 1]);
	for (i = 0; i < fxt_agent.calls.count; i++)
		used += add_string(out + used, room - used, FXT_STR_CALLS + i, fxt_agent.calls.list[i]);
	used += fxt_encode_kernel_object(out + used, room - used, FXT_OBJECT_PROCESS, fxt_agent.koid,
					 FXT_INLINE(program, bytes), (struct fxt_args){fxt_koid_differs() ? 1 : 0, &pid});
	/* Streams nobody opens: their names say more than their addresses. */
	used += add_stream(out + used, room - used, stdin, "stdin");
	used += add_stream(out + used, room - used, stdout, "stdout");
	used += add_stream(out + used, room - used, stderr, "stderr");
	for (i = 0; i < FXT_LOSS_COUNT; i++, used += FXT_COUNTER_WORDS)
		fxt_counter_clear(out + used);
	return used;
}

static int make_file(void)
{
	const struct fxt_config *config = &fxt_agent.config;
	size_t bytes = FXT_PATH_BYTES + PROLOGUE_WORDS * FXT_WORD_BYTES;
	char *path = fxt_sys_memory(bytes);
	uint64_t *prologue = path ? (uint64_t *)(path + FXT_PATH_BYTES) : NULL;
	struct fxt_buffer_config buffer;
	unsigned i;
	int error;

	if (!path)
		return -ENOMEM;
	if (!fxt_output_path(path, config, fxt_agent.program, fxt_agent.koid, fxt_agent.start_seconds)) {
		fxt_sys_munmap(path, bytes);
		return -ENAMETOOLONG;
	}
	buffer = (struct fxt_buffer_config){
		.mode = config->mode,
		.bytes = config->mode == FXT_STREAMING ? config->max_bytes : config->buffer_bytes,
		.path = path,
		.prologue = prologue,
		.in_memory = config->in_memory,
		/* A child that does not execute a program is short, as a rule, or one of many. */
		.is_reserved = !fxt_agent.is_forked,
		.prologue_words = write_prologue(prologue),
	};
	error = fxt_buffer_create(&fxt_agent.buffer, &buffer);
	if (error) {
		fxt_log("FXT_OUTPUT: cannot write %s: %s; the program runs untraced", path, fxt_error_name(error));
	} else {
		for (i = 0; i < FXT_LOSS_COUNT; i++)
			fxt_agent.losses[i] = fxt_agent.buffer.storage.prologue + buffer.prologue_words -
					      (size_t)(FXT_LOSS_COUNT - i) * FXT_COUNTER_WORDS;
	}
	fxt_sys_munmap(path, bytes);
	return error;
}

bool fxt_agent_file(void)
{
	uint64_t mask;

	if (atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire))
		return true;
	if (fxt_may_not_lock())
		return false;
	mask = fxt_lock(&fxt_agent.file_lock);
	if (!atomic_load_explicit(&fxt_agent.file_made, memory_order_relaxed) && !fxt_agent.file_failed) {
		/* In the child of a fork what is left here is the parent's. */
		fxt_buffer_forget(&fxt_agent.buffer);
		if (make_file()) {
			fxt_agent.file_failed = true;
			atomic_store_explicit(&fxt_gate.mask, 0, memory_order_relaxed);
			atomic_store_explicit(&fxt_agent.state, FXT_OFF, memory_order_release);
		} else {
			atomic_store_explicit(&fxt_agent.file_made, true, memory_order_release);
		}
	}
	fxt_unlock(&fxt_agent.file_lock, mask);
	return !fxt_agent.file_failed;
}

/* -- Losses ------------------------------------------------------------------------------------ */

void fxt_agent_count(enum fxt_loss why, uint64_t records, uint64_t last_ns)
{
	static const uint64_t names[FXT_LOSS_COUNT] = {
		[FXT_LOSS_ROOM] = FXT_STR_dropped, [FXT_LOSS_DEPTH] = FXT_STR_dropped_depth,
		[FXT_LOSS_SIGNALS] = FXT_STR_dropped_signals, [FXT_LOSS_SIZE] = FXT_STR_dropped_size,
		[FXT_LOSS_FILTERED] = FXT_STR_filtered, [FXT_LOSS_OVERWRITTEN] = FXT_STR_overwritten,
		[FXT_LOSS_UNNAMED] = FXT_STR_unnamed,
	};
	uint64_t *slot = fxt_agent.losses[why];

	if (records && slot)
		fxt_counter_add(slot, names[why], fxt_agent.koid, records, last_ns);
}

void fxt_agent_count_short(uint64_t now_ns)
{
	if (atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire))
		fxt_agent_count(FXT_LOSS_SIGNALS, 1, now_ns);
}

static uint64_t own_koid(void)
{
	return fxt_self ? fxt_self->tid : fxt_koid_of_thread((uint32_t)fxt_sys_gettid());
}

/* An instant in the durable area, with why and, where there is one, the limit that was met. */
static void tell_trace(uint64_t name, const char *reason, uint64_t limit_bytes, uint64_t now_ns)
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

static void tell_full(uint64_t now_ns)
{
	bool streaming = fxt_agent.config.mode == FXT_STREAMING;
	uint64_t limit = streaming ? fxt_agent.config.max_bytes : fxt_agent.config.buffer_bytes, record[2];
	int error = fxt_storage_failure(fxt_agent.storage);

	fxt_storage_durable(fxt_agent.storage, record,
			   fxt_encode_provider_event(record, 2, fxt_agent.koid, FXT_PROVIDER_EVENT_BUFFER_FULL), 0);
	if (!error) {
		tell_trace(FXT_STR_buffer_full, "the allowed size is used up", limit, now_ns);
		fxt_log("%s is full at %lu MiB; what follows is dropped and counted (%s allows more)",
			fxt_agent.buffer.path, (unsigned long)(limit >> 20),
			streaming ? "FXT_MAX_SIZE_MB" : "FXT_BUFFER_SIZE_MB");
	} else {
		tell_trace(FXT_STR_buffer_full, fxt_error_name(error), 0, now_ns);
		/* Of a file that somebody has cut, fxt_agent_exit() says what is lost: by then all of it is known. */
		if (!fxt_buffer_is_cut(&fxt_agent.buffer))
			fxt_log("%s cannot grow: %s; what follows %s", fxt_agent.buffer.path, fxt_error_name(error),
				fxt_agent.config.wait_on_full ? "waits for room" : "is dropped and counted");
	}
}

static void tell_overwritten(const char *reason, uint64_t now_ns)
{
	int error = fxt_storage_failure(fxt_agent.storage);

	tell_trace(FXT_STR_overwritten, error ? fxt_error_name(error) : reason, error ? 0 : fxt_agent.config.buffer_bytes, now_ns);
	if (error)
		fxt_log("%s cannot grow: %s; its oldest part is overwritten and counted", fxt_agent.buffer.path, fxt_error_name(error));
}

void fxt_agent_lost(enum fxt_loss why, uint64_t now_ns)
{
	static const char *const reasons[FXT_LOSS_TOLD] = {
		[FXT_LOSS_DEPTH] = "functions nest deeper than 500",
		[FXT_LOSS_SIGNALS] = "signal handlers nest deeper than 6",
		[FXT_LOSS_SIZE] = "a record is larger than a chunk",
		[FXT_LOSS_OVERWRITTEN] = "the ring keeps the newest",
		[FXT_LOSS_SHARED] = "clone() without CLONE_SETTLS: neither thread nor child records any more",
	};
	static atomic_uint told_for_pid[FXT_LOSS_TOLD];

	static_assert(FXT_FUNCTION_DEPTH == 500 && FXT_LANES == 6, "as the reasons have it");
	if (fxt_may_not_lock())
		return;
	if (atomic_load_explicit(&told_for_pid[why], memory_order_relaxed) == fxt_agent.pid ||
	    !atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire) ||
	    atomic_exchange_explicit(&told_for_pid[why], fxt_agent.pid, memory_order_relaxed) == fxt_agent.pid)
		return;
	if (why == FXT_LOSS_ROOM)
		tell_full(now_ns);
	else if (why == FXT_LOSS_OVERWRITTEN)
		tell_overwritten(reasons[why], now_ns);
	else
		tell_trace(FXT_STR_dropped, reasons[why], 0, now_ns);
	if (why == FXT_LOSS_SHARED)
		fxt_log("%s", reasons[why]);
}

void fxt_agent_overwritten(const struct fxt_chunk *chunk, uint64_t now_ns)
{
	if (!chunk->overwritten)
		return;
	fxt_agent_count(FXT_LOSS_OVERWRITTEN, chunk->overwritten, chunk->overwritten_ns);
	fxt_agent_lost(FXT_LOSS_OVERWRITTEN, now_ns);
}

/* -- Start, fork, exit ------------------------------------------------------------------------- */

static void find_program(void)
{
	/* What was executed, and not what a symbolic link leads to: redis-server is redis-check-rdb then. */
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
	/* The C library's own: a program may have a variable `environ`. */
	char **environment = __environ;
	int unborn = FXT_UNBORN;
	struct timespec now;
	bool accepted;

	/* Before the C library has its environment there is none to read: an early caller tries again later. */
	if (!environment ||
	    !atomic_compare_exchange_strong(&fxt_agent.state, &unborn, FXT_STARTING))
		return false;
	fxt_log_start();
	/* A privileged program is not traced even where the loader lets us in. */
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
	fxt_clock_start();
	fxt_shared_start(environment);
	fxt_koid_start(environment);
	/* Where the kernel has no such advice our fork handler alone keeps children out of this buffer. */
	fxt_sys_madvise(&fxt_gate, sizeof(fxt_gate), MADVISE_WIPE_ON_FORK);
	atomic_store_explicit(&fxt_gate.owner, fxt_agent.pid, memory_order_relaxed);
	fxt_threads_start();
	fxt_functions_start();
	fxt_fds_start();
	fxt_endpoints_start();
	atomic_store(&fxt_agent.recording, fxt_agent.config.dormant ? FXT_DORMANT : FXT_RECORDING);
	atomic_store(&fxt_agent.state, FXT_ON);
	if (!fxt_agent.config.dormant && fxt_agent_file())
		atomic_store_explicit(&fxt_gate.mask, fxt_agent.config.categories, memory_order_release);
	return true;
}

static void say(uint64_t name, const char *reason)
{
	if (atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire))
		tell_trace(name, reason, 0, fxt_clock_kernel_ns());
}

void fxt_agent_suspend(const char *reason)
{
	uint32_t mask = atomic_exchange_explicit(&fxt_gate.mask, 0, memory_order_relaxed);

	fxt_endpoints_unseen();
	if (mask)
		say(FXT_STR_dropped, reason);
}

void fxt_agent_unseen(const char *what)
{
	say(FXT_STR_unseen, what);
}

void fxt_agent_resume(void)
{
	if (atomic_load_explicit(&fxt_agent.state, memory_order_acquire) == FXT_ON &&
	    atomic_load_explicit(&fxt_agent.recording, memory_order_relaxed) == FXT_RECORDING &&
	    atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire))
		atomic_store_explicit(&fxt_gate.mask, fxt_agent.config.categories, memory_order_relaxed);
}

void fxt_agent_save_memory(void)
{
	int error;

	if (!atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire) || fxt_is_forbidden(FXT_NO_LOCKS) ||
	    fxt_agent.pid != (uint32_t)fxt_sys_getpid() || fxt_agent.buffer.tail_offset)
		return;
	error = fxt_buffer_save(&fxt_agent.buffer);
	if (error && !fxt_buffer_is_cut(&fxt_agent.buffer))
		fxt_log("%s: what was recorded last cannot be saved: %s", fxt_agent.buffer.path, fxt_error_name(error));
}

static void tell_cut(void)
{
	uint64_t bytes;

	if (fxt_buffer_find_cut(&fxt_agent.buffer, &bytes))
		fxt_log("%s was cut to %lu bytes while it was written: what was behind them is lost, and at least %lu records after that",
			fxt_agent.buffer.path, (unsigned long)bytes, (unsigned long)fxt_threads_dropped());
}

void fxt_agent_trim(void)
{
	if (atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire) && !fxt_is_forbidden(FXT_NO_CALLS) &&
	    fxt_agent.pid == (uint32_t)fxt_sys_getpid() && fxt_is_alone())
		fxt_buffer_trim(&fxt_agent.buffer);
}

void fxt_agent_reserve(void)
{
	if (atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire) && !fxt_is_forbidden(FXT_NO_GROWTH | FXT_NO_LOCKS) &&
	    fxt_agent.pid == (uint32_t)fxt_sys_getpid())
		fxt_buffer_reserve(&fxt_agent.buffer);
}

void fxt_agent_exit(void)
{
	struct fxt_thread *thread = fxt_self;
	uint64_t mask;

	if (!atomic_load_explicit(&fxt_agent.file_made, memory_order_acquire) || fxt_is_forbidden(FXT_NO_LOCKS) ||
	    fxt_agent.pid != (uint32_t)fxt_sys_getpid())
		return;
	if (thread)
		fxt_said_rest(thread);
	if (thread)
		fxt_labels_tell_owed(thread, UINT64_MAX);
	fxt_agent_save();
	tell_cut();
	if (fxt_is_filtered() || fxt_is_forbidden(FXT_NO_CALLS) || !fxt_is_alone())
		return;
	mask = fxt_sys_block_signals();
	if (fxt_buffer_rewrite(&fxt_agent.buffer, REWRITE_MAX_BYTES)) {
		fxt_fd_slots_stop();
		if (thread)
			fxt_thread_after_rewrite(thread);
	}
	fxt_file_settle(&fxt_agent.buffer);
	fxt_sys_restore_signals(mask);
}
