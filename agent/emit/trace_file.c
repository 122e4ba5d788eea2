/* See trace_file.h. Writes the prologue, too. */
#include "trace_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/log.h"
#include "connection.h"
#include "counter.h"
#include "koid.h"
#include "output.h"
#include "writer/apart.h"
#include "writer/fxt_encode.h"

enum { PROLOGUE_WORDS = FXT_RECORD_MAX_WORDS };

static size_t add_string(uint64_t *out, size_t capacity, unsigned index, const char *text)
{
	return fxt_encode_string(out, capacity, (uint16_t)index, text, strlen(text));
}

static size_t add_stream(uint64_t *out, size_t capacity, const FILE *stream, const char *label)
{
	struct fxt_arg type = {
		FXT_ARG_STRING, FXT_INDEXED(FXT_STR_type), .string = FXT_INDEXED(FXT_STR_kind_FILE)};

	return fxt_encode_userspace_object(out, capacity, (uintptr_t)stream,
					   (struct fxt_thread_ref){0, fxt_agent.koid, 0},
					   FXT_INLINE(label, strlen(label)), (struct fxt_args){1, &type});
}

/* Writes the records that a trace begins with: the provider, all strings of the tables, the names of this
 * process and of the standard streams, and slots for the counts of losses. Returns their size in words. */
static size_t write_prologue(uint64_t *out)
{
	static const char *const fixed[] = {
#define CATEGORY(name, on, what) #name,
#include "agent/base/categories.def"
#undef CATEGORY
#define STRING(id, text) text,
#include "agent/base/strings.def"
#undef STRING
	};
	const char *program = fxt_agent.program;
	struct fxt_arg pid = {FXT_ARG_UINT32, FXT_INDEXED(FXT_STR_pid), .u32 = fxt_agent.pid};
	size_t used = 0, bytes = strlen(program), room = PROLOGUE_WORDS - FXT_LOSS_COUNT * FXT_COUNTER_WORDS;
	unsigned i;

	static_assert(FXT_STR_CATEGORIES == 1 && sizeof(fixed) / sizeof(*fixed) == FXT_STR_CALLS - 1,
		      "indices");
	used += fxt_encode_magic(out, room);
	used += fxt_encode_provider_info(out + used, room - used, fxt_agent.koid, program, bytes);
	used += fxt_encode_provider_section(out + used, room - used, fxt_agent.koid);
	used += fxt_encode_initialization(out + used, room - used, 1000000000);
	for (i = 1; i < FXT_STR_CALLS; i++)
		used += add_string(out + used, room - used, i, fixed[i - 1]);
	for (i = 0; i < fxt_agent.calls.count; i++)
		used += add_string(out + used, room - used, FXT_STR_CALLS + i, fxt_agent.calls.list[i]);
	used += fxt_encode_kernel_object(out + used, room - used, FXT_OBJECT_PROCESS, fxt_agent.koid,
					 FXT_INLINE(program, bytes),
					 (struct fxt_args){fxt_koid_differs() ? 1 : 0, &pid});
	/* No call opens these streams, so nothing else would tell their names. */
	used += add_stream(out + used, room - used, stdin, "stdin");
	used += add_stream(out + used, room - used, stdout, "stdout");
	used += add_stream(out + used, room - used, stderr, "stderr");
	for (i = 0; i < FXT_LOSS_COUNT; i++, used += FXT_COUNTER_WORDS)
		fxt_counter_clear(out + used);
	return used;
}

/* Makes a buffer that a manager saves. Returns 0 or a negative errno; then the process gets a file. */
static int make_managed(const struct fxt_buffer_config *file)
{
	struct fxt_buffer_config managed = *file;
	int error;

	managed.path = "the memory that the manager saves";
	managed.file_bytes = fxt_agent.config.max_bytes;
	error = fxt_connection_make_buffer(&fxt_agent.buffer, &managed);
	if (error)
		fxt_log("FXT_MANAGER: no answer at %s: %s; the trace goes to %s", fxt_agent.config.manager,
			fxt_error_name(error), file->path);
	return error;
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
		/* A child that executes no program is usually short, or one of many, so it gets no more space
		 * than it uses. */
		.is_reserved = !fxt_agent.is_forked,
		.prologue_words = write_prologue(prologue),
	};
	buffer.counters_words = FXT_LOSS_COUNT * FXT_COUNTER_WORDS;
	error = config->manager[0] ? make_managed(&buffer) : -ENOENT;
	if (error)
		error = fxt_buffer_create(&fxt_agent.buffer, &buffer);
	if (error) {
		fxt_log("FXT_OUTPUT: cannot write %s: %s; the program runs untraced", path,
			fxt_error_name(error));
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
		/* In the child of a fork, this is still the parent's buffer. */
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
