/* See witness_stacks.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "witness_stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/programs/code_file.h"
#include "unwind_call.h"
#include "unwind_stack.h"
#include "writer/fxt_encode.h"

enum {
	MOST_FRAMES = 256,
	MOST_LATE = 20000,
};

/* No program has memory at these addresses, so nobody takes a node for an object of the program. */
static const uint64_t FIRST_NODE = UINT64_C(0x7ff0000000000000);

/* Where a frame is. */
struct frame {
	struct fxt_module *module; /* NULL: in no file that is known */
	uint64_t address; /* in the module; or else in the process */
};

/* A sample whose frames are found, the innermost first. */
struct fxt_late_sample {
	struct fxt_perf_record record; /* whose and when it was; it points to nothing */
	bool is_kernel;
	size_t count;
	struct frame frames[];
};

/* Returns whether the program has made the code while it ran. */
static bool is_made(const struct frame *frame)
{
	const char *path = frame->module ? fxt_module_path(frame->module) : "";

	if (!frame->module)
		return frame->address != 0;
	return strcmp(path, "[heap]") == 0 || (*path != '/' && *path != '[') ||
	       strncmp(path, "//anon", 6) == 0;
}

/* Returns the name that the program has given to code that it has made, or NULL. */
static const char *made_name(struct fxt_witness_trace *w, uint32_t pid, const struct frame *frame)
{
	return fxt_perf_map_find(&fxt_space_of(&w->spaces, pid)->made, pid, w->since_ns, frame->address);
}

/* Returns the name of the function that a frame of the process is in. *freed has to be freed. */
static const char *function_of(struct fxt_witness_trace *w, uint32_t pid, const struct frame *frame,
			       char **freed)
{
	const char *path = frame->module ? fxt_module_path(frame->module) : "", *slash = strrchr(path, '/');
	const char *base = slash && slash[1] ? slash + 1 : path, *name;
	uint64_t start = frame->address;

	*freed = NULL;
	if (!frame->module && !frame->address)
		return "[further callers]";
	if (is_made(frame)) {
		name = made_name(w, pid, frame);
		return name ? name : "[code in no file]";
	}
	if (*path == '[')
		return path;
	name = fxt_module_function(frame->module, frame->address, &start);
	*freed = name ? fxt_code_name(name) : fxt_format("%s+0x%" PRIx64, base, start);
	return *freed;
}

/* Returns the node of a frame with this caller (0: none), which is written if it is new. */
static uint64_t node_of(struct fxt_witness_trace *w, uint64_t parent, const struct frame *frame, uint32_t pid)
{
	uint64_t words[8 * FXT_WITNESS_INLINE / FXT_WORD_BYTES],
		number = frame->module ? fxt_module_number(frame->module) : 0;
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&w->nodes, parent, number << 48 ^ frame->address, &fresh);
	const char *build_id = frame->module ? fxt_module_build_id(frame->module) : NULL;
	struct fxt_arg list[5];
	size_t count = 0;
	char *freed;
	struct fxt_string name;

	if (!fresh)
		return slot->value[0];
	slot->value[0] = FIRST_NODE + w->node_count++;
	name = fxt_witness_string(w, function_of(w, pid, frame, &freed));
	free(freed);
	list[count++] = (struct fxt_arg){FXT_ARG_STRING, fxt_witness_string(w, "type"),
					 .string = fxt_witness_string(w, "frame")};
	if (parent)
		list[count++] =
			(struct fxt_arg){FXT_ARG_POINTER, fxt_witness_string(w, "parent"), .u64 = parent};
	if (frame->module)
		list[count++] =
			(struct fxt_arg){FXT_ARG_STRING, fxt_witness_string(w, "module"),
					 .string = fxt_witness_string(w, fxt_module_path(frame->module))};
	list[count++] =
		(struct fxt_arg){FXT_ARG_UINT64, fxt_witness_string(w, "offset"), .u64 = frame->address};
	if (build_id)
		list[count++] = (struct fxt_arg){FXT_ARG_STRING, fxt_witness_string(w, "build_id"),
						 .string = fxt_witness_string(w, build_id)};
	fxt_witness_put(w, words,
			fxt_encode_userspace_object(words, sizeof(words) / sizeof(*words), slot->value[0],
						    (struct fxt_thread_ref){0, pid, 0}, name,
						    (struct fxt_args){count, list}));
	return slot->value[0];
}

/* Finds where a program counter is. A call returns behind itself, so what lies in front of the return is
 * looked up, unless the frame `was_interrupted`. */
static struct frame frame_at(struct fxt_space *space, uint64_t pc, bool was_interrupted)
{
	const struct fxt_mapping *mapping = fxt_space_find(space, pc - !was_interrupted);
	struct frame frame = {.address = pc - !was_interrupted};

	if (!mapping)
		return frame;
	frame.module = mapping->module;
	pc = fxt_module_address(mapping->module, pc - !was_interrupted - mapping->start + mapping->offset);
	if (pc)
		frame.address = pc;
	return frame;
}

/* Returns whether the frame is a return thunk of the agent's: agent/stacks/return_thunk.h. */
static bool is_thunk(const struct frame *frame)
{
	const char *path = frame->module ? fxt_module_path(frame->module) : "", *base = strrchr(path, '/');
	const char *name;
	uint64_t start;

	if (strcmp(base ? base + 1 : path, "libfxtagent.so"))
		return false;
	name = fxt_module_function(frame->module, frame->address, &start);
	return name && !strcmp(name, "fxt_return_thunks");
}

/* Leaves a function of a thread that does not run, whose frame pointer nobody tells. */
static bool leave_by_call(struct fxt_unwind *state, const struct fxt_space *space, const struct frame *frame,
			  uint64_t pc)
{
	uint64_t start;

	if (!frame->module || state->registers[FXT_UNWIND_FRAME])
		return false;
	fxt_module_function(frame->module, frame->address, &start);
	return fxt_unwind_by_call(state, space, pc - (frame->address - start));
}

/* Finds the frames of a sample in user code, the innermost first, or those of a thread that does not run:
 * `is_blocked`. Returns how many there are. */
static size_t unwind(struct fxt_space *space, const struct fxt_perf_record *sample, bool is_blocked,
		     struct frame frames[MOST_FRAMES])
{
	struct fxt_unwind state;
	bool is_outermost = false, was_interrupted = true, left;
	size_t count = 0;

	fxt_unwind_begin(&state, sample);
	state.pid = sample->pid;
	while (count < MOST_FRAMES - 1) {
		uint64_t pc = state.registers[FXT_UNWIND_PC];
		struct frame *frame = &frames[count];

		is_outermost = !pc;
		if (!pc)
			break;
		*frame = frame_at(space, pc, was_interrupted);
		/* Beyond the first frame, code is where something is mapped. */
		if (!frame->module && count)
			break;
		count++;
		state.was_signal = false;
		/* The thunk that a function returns to knows where it goes on; it is no function itself. */
		state.words = is_thunk(frame) ? &space->words : NULL;
		count -= state.words != NULL;
		left = frame->module &&
		       fxt_module_leave(frame->module, frame->address, &state, &is_outermost);
		if (!left && !is_outermost)
			left = fxt_unwind_by_frame_pointer(&state) ||
			       (is_blocked && leave_by_call(&state, space, frame, pc - !was_interrupted));
		if (!left)
			break;
		was_interrupted = state.was_signal;
	}
	if (!is_outermost && count)
		frames[count++] = (struct frame){NULL, 0};
	return count;
}

/* Writes the nodes of these frames, the innermost first. Returns the innermost one's, or 0. */
static uint64_t put_nodes(struct fxt_witness_trace *w, uint32_t pid, const struct frame *frames, size_t count)
{
	uint64_t node = 0;

	while (count > 0)
		node = node_of(w, node, &frames[--count], pid);
	return node;
}

/* Writes a sample with these frames, the innermost first. */
static void put_sample(struct fxt_witness_trace *w, const struct fxt_perf_record *sample, bool is_kernel,
		       const struct frame *frames, size_t count)
{
	struct frame innermost = count ? frames[0] : (struct frame){NULL, 0};
	uint64_t node = put_nodes(w, sample->pid, frames, count);
	struct fxt_string name;
	struct fxt_arg stack;
	char *freed;

	if (is_kernel) {
		innermost = (struct frame){fxt_module_at(&w->spaces.modules, "[kernel]", 0), 0};
		node = node_of(w, node, &innermost, sample->pid);
	}
	name = fxt_witness_string(w, function_of(w, sample->pid, &innermost, &freed));
	free(freed);
	stack = (struct fxt_arg){FXT_ARG_POINTER, fxt_witness_string(w, "stack"), .u64 = node};
	fxt_witness_instant(w, sample, fxt_witness_string(w, "sample"), name, (struct fxt_args){1, &stack});
}

/* Returns whether a frame is in code that the program has made, and has no name yet. Programs write the names
 * when they like, many at their end. */
static bool may_be_named(struct fxt_witness_trace *w, uint32_t pid, const struct frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_made(&frames[i]) && !made_name(w, pid, &frames[i]))
			return true;
	return false;
}

/* Keeps a sample for later. */
static void keep(struct fxt_witness_trace *w, const struct fxt_perf_record *sample, bool is_kernel,
		 const struct frame *frames, size_t count)
{
	struct fxt_late_sample *late = fxt_alloc(1, sizeof(*late) + count * sizeof(*frames));

	late->record = fxt_perf_record_whose(sample);
	late->is_kernel = is_kernel;
	late->count = count;
	memcpy(late->frames, frames, count * sizeof(*frames));
	w->late = fxt_grow(w->late, &w->late_capacity, w->late_count + 1, sizeof(struct fxt_late_sample *));
	w->late[w->late_count++] = late;
}

void fxt_witness_late(struct fxt_witness_trace *w, uint32_t pid)
{
	size_t left = 0;

	for (size_t i = 0; i < w->late_count; i++) {
		struct fxt_late_sample *late = w->late[i];

		if (pid && late->record.pid != pid) {
			w->late[left++] = late;
			continue;
		}
		put_sample(w, &late->record, late->is_kernel, late->frames, late->count);
		free(late);
	}
	w->late_count = left;
	if (left)
		return;
	free(w->late);
	w->late = NULL;
	w->late_capacity = 0;
}

void fxt_witness_sample(struct fxt_witness_trace *w, const struct fxt_perf_record *sample)
{
	static struct frame frames[MOST_FRAMES];
	struct fxt_space *space = fxt_space_of(&w->spaces, sample->pid);
	bool is_kernel = (sample->header->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER;
	size_t count = 0;

	if (sample->registers)
		count = unwind(space, sample, false, frames);
	else if (!is_kernel)
		frames[count++] = frame_at(space, sample->ip, true);
	if (!may_be_named(w, sample->pid, frames, count)) {
		put_sample(w, sample, is_kernel, frames, count);
		return;
	}
	if (w->late_count == MOST_LATE)
		fxt_witness_late(w, 0);
	keep(w, sample, is_kernel, frames, count);
}

static bool is_of_glibc(const struct frame *frame)
{
	const char *path = frame->module ? fxt_module_path(frame->module) : "", *base = strrchr(path, '/');

	return base && (!strcmp(base, "/libc.so.6") || !strcmp(base, "/libpthread.so.0"));
}

uint64_t fxt_witness_stack(struct fxt_witness_trace *w, const struct fxt_perf_record *thread, char **call)
{
	static struct frame frames[MOST_FRAMES];
	size_t count = unwind(fxt_space_of(&w->spaces, thread->pid), thread, true, frames), of_glibc = 0;
	uint64_t start;
	const char *name = NULL;

	while (of_glibc < count && is_of_glibc(&frames[of_glibc]))
		of_glibc++;
	if (of_glibc)
		name = fxt_module_function(frames[of_glibc - 1].module, frames[of_glibc - 1].address, &start);
	*call = name ? fxt_code_name(name) : NULL;
	return put_nodes(w, thread->pid, frames, count);
}
