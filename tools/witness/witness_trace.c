/* See witness_trace.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "witness_trace.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "tools/common/hash.h"
#include "tools/common/host_clock.h"
#include "tools/common/kernel_clock.h"
#include "tools/common/message.h"
#include "tools/reading/reader.h"
#include "unseen_rings.h"
#include "witness_blocked.h"
#include "witness.h"
#include "witness_stacks.h"
#include "witness_switches.h"
#include "writer/fxt_encode.h"

/* -- Records ----------------------------------------------------------------------------------- */

struct fxt_witness_string {
	uint16_t index;
	uint64_t file;                  /* the last file that says it */
	char *text;
	UT_hash_handle hh;
};

void fxt_witness_put(struct fxt_witness_trace *w, const uint64_t *words, size_t count)
{
	fxt_archive_append(w->out, FXT_KERNEL_PROVIDER_ID, words, count, true);
}

/* Writes a string record. Names of files and functions may be any bytes. */
static void put_string(struct fxt_witness_trace *w, uint16_t index, const char *text, size_t bytes)
{
	static uint64_t words[FXT_RECORD_MAX_WORDS];
	static char clean[FXT_STRING_MAX_BYTES];

	bytes = fxt_utf8_clean(clean, text, bytes, sizeof(clean));
	fxt_witness_put(w, words, fxt_encode_string(words, FXT_RECORD_MAX_WORDS, index, clean, bytes));
}

struct fxt_string fxt_witness_string(struct fxt_witness_trace *w, const char *text)
{
	size_t bytes = strnlen(text, FXT_STRING_MAX_BYTES);
	struct fxt_witness_string *found;

	if (!bytes)
		return FXT_INLINE(NULL, 0);
	HASH_FIND(hh, w->strings, text, bytes, found);
	if (found) {
		if (found->file != w->file)
			put_string(w, found->index, text, bytes);
		found->file = w->file;
		return FXT_INDEXED(found->index);
	}
	if (w->string_count == FXT_STRING_MAX_INDEX) {
		static char inlined[4][FXT_WITNESS_INLINE];
		static unsigned turn;
		char *clean = inlined[turn++ % 4];

		return FXT_INLINE(clean, fxt_utf8_clean(clean, text, bytes, FXT_WITNESS_INLINE));
	}
	found = fxt_alloc(1, sizeof(*found));
	found->index = (uint16_t)++w->string_count;
	found->file = w->file;
	found->text = fxt_alloc(bytes, 1);
	memcpy(found->text, text, bytes);
	HASH_ADD_KEYPTR(hh, w->strings, found->text, bytes, found);
	put_string(w, found->index, text, bytes);
	return FXT_INDEXED(found->index);
}

/* Returns the thread that stands for a processor: what the kernel tells is none of the program's own threads'
 * events, because viewers would take an instant for the call that an arrow leads to. */
static struct fxt_thread_ref processor(struct fxt_witness_trace *w, uint32_t cpu)
{
	struct fxt_thread_ref ref = {0, FXT_KERNEL_PROVIDER_ID, FXT_KERNEL_PROVIDER_ID - 1 - cpu};
	uint64_t words[3];
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&w->processors, cpu, 0, &fresh);

	if (fresh && w->processors.count <= FXT_THREAD_MAX_INDEX)
		slot->value[0] = w->processors.count;
	if (slot->value[0] && slot->value[1] != w->file) {
		slot->value[1] = w->file;
		fxt_witness_put(
			w, words,
			fxt_encode_thread(words, 3, (uint8_t)slot->value[0], ref.process, ref.thread));
	}
	ref.index = (uint8_t)slot->value[0];
	return ref;
}

void fxt_witness_instant(struct fxt_witness_trace *w, const struct fxt_perf_record *record,
			 struct fxt_string category, struct fxt_string name, struct fxt_args more)
{
	uint64_t words[FXT_RECORD_MAX_WORDS / 8];
	struct fxt_thread_ref ref = processor(w, record->cpu);
	struct fxt_arg list[2 + FXT_WITNESS_MORE_ARGS] = {
		{FXT_ARG_KOID, fxt_witness_string(w, "process"), .u64 = record->pid},
		{FXT_ARG_KOID, fxt_witness_string(w, "thread"), .u64 = record->tid}};

	for (size_t i = 0; i < more.count; i++)
		list[2 + i] = more.list[i];
	fxt_witness_put(w, words,
			fxt_encode_event(words, sizeof(words) / sizeof(*words), FXT_EVENT_INSTANT,
					 record->time_ns, ref, category, name,
					 (struct fxt_args){2 + more.count, list}, 0));
}

void fxt_witness_fact(struct fxt_witness_trace *w, const struct fxt_perf_record *record, const char *name,
		      struct fxt_args more)
{
	struct fxt_string called = fxt_witness_string(w, name);

	fxt_witness_instant(w, record, fxt_witness_string(w, "kernel"), called, more);
}

/* Says once how samples are taken, in the first thread of which there is something. */
static void tell(struct fxt_witness_trace *w, const struct fxt_perf_record *record)
{
	const char *kernel = w->perf->samples_kernel ? "sampled" : "not sampled";
	struct fxt_arg list[] = {
		{FXT_ARG_UINT32, fxt_witness_string(w, "hz"), .u32 = w->wish->hz},
		{FXT_ARG_STRING, fxt_witness_string(w, "kernel"), .string = fxt_witness_string(w, kernel)},
		{FXT_ARG_UINT64, fxt_witness_string(w, "ring_bytes"), .u64 = w->perf->ring_bytes},
		{FXT_ARG_UINT64, fxt_witness_string(w, "stack_bytes"), .u64 = w->perf->stack_bytes}};

	if (!w->is_told)
		fxt_witness_fact(w, record, "sampling", (struct fxt_args){4, list});
	w->is_told = true;
}

/* Begins the present file. */
static void begin_file(struct fxt_witness_trace *w)
{
	static const char provider[] = FXT_KERNEL_PROVIDER;
	uint64_t words[8];

	w->file++;
	fxt_archive_name(w->out, FXT_KERNEL_PROVIDER_ID, provider, strlen(provider));
	fxt_witness_put(w, words, fxt_encode_initialization(words, 8, 1000000000));
}

/* Begins another file if the present one has its size or its age. */
static void turn(struct fxt_witness_trace *w)
{
	if (fxt_archive_keep_turn(w->out, fxt_clock_ns(CLOCK_MONOTONIC)))
		begin_file(w);
}

void fxt_witness_trace_begin(struct fxt_witness_trace *w, struct fxt_archive *out,
			     const struct fxt_witness_wish *wish, const struct fxt_perf *perf)
{
	*w = (struct fxt_witness_trace){
		.out = out, .wish = wish, .is_on = !wish->waits, .perf = perf};
	/* A program that runs already may have written all of them. */
	if (!wish->pid)
		w->since_ns = fxt_clock_ns(CLOCK_REALTIME_COARSE);
	begin_file(w);
}

/* -- Names ------------------------------------------------------------------------------------- */

static void set_name(struct fxt_witness_trace *w, uint32_t tid, const char *name, size_t bytes)
{
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&w->names, tid, 0, &fresh);

	if (fresh) {
		slot->value[0] = w->comm_count;
		w->comms = fxt_grow(w->comms, &w->comm_capacity, w->comm_count + 1, sizeof(*w->comms));
		w->comm_count++;
	}
	memset(w->comms[slot->value[0]], 0, sizeof(*w->comms));
	memcpy(w->comms[slot->value[0]], name, bytes < sizeof(*w->comms) ? bytes : sizeof(*w->comms) - 1);
}

static const char *name_of(const struct fxt_witness_trace *w, uint32_t tid)
{
	const struct fxt_slot *slot = fxt_map_find(&w->names, tid, 0);

	return slot ? w->comms[slot->value[0]] : "";
}

void fxt_witness_trace_know(struct fxt_witness_trace *w, uint32_t pid)
{
	char *path = fxt_format("/proc/%" PRIu32 "/task", pid);
	DIR *tasks = opendir(path);
	const struct dirent *task;

	fxt_space_read(&w->spaces, fxt_space_of(&w->spaces, pid), pid);
	while (tasks && (task = readdir(tasks))) {
		char *comm = fxt_format("%s/%s/comm", path, task->d_name), name[32] = "";
		uint32_t tid = (uint32_t)strtoul(task->d_name, NULL, 10);
		FILE *file = tid ? fopen(comm, "re") : NULL;

		if (file && fgets(name, sizeof(name), file))
			set_name(w, tid, name, strcspn(name, "\n"));
		if (file)
			fclose(file);
		free(comm);
	}
	if (tasks)
		closedir(tasks);
	free(path);
	/* If none of its threads runs, this tells how long that was so. */
	tell(w, &(struct fxt_perf_record){
			.pid = pid, .tid = pid, .time_ns = fxt_host_now_ns()});
}

/* Names a process or thread. `pid` is that of a thread's process. */
static void put_name(struct fxt_witness_trace *w, enum fxt_kernel_object_type type, uint64_t id, uint64_t pid,
		     const char *text)
{
	uint64_t words[16];
	const struct fxt_arg process = {FXT_ARG_KOID, fxt_witness_string(w, "process"), .u64 = pid};
	struct fxt_string name = fxt_witness_string(w, text);
	struct fxt_args args = {type == FXT_OBJECT_THREAD, &process};

	fxt_witness_put(w, words, fxt_encode_kernel_object(words, 16, type, id, name, args));
}

/* Names the processors, and programs that have no agent which would do it. */
static void put_names(struct fxt_witness_trace *w)
{
	const struct fxt_slot *slot;
	struct fxt_map named = {0};
	char cpu[32];
	bool fresh;

	put_name(w, FXT_OBJECT_PROCESS, FXT_KERNEL_PROVIDER_ID, 0, FXT_KERNEL_PROVIDER);
	for (slot = fxt_map_next(&w->processors, NULL); slot; slot = fxt_map_next(&w->processors, slot)) {
		snprintf(cpu, sizeof(cpu), "cpu %u", (unsigned)slot->a);
		put_name(w, FXT_OBJECT_THREAD, FXT_KERNEL_PROVIDER_ID - 1 - slot->a, FXT_KERNEL_PROVIDER_ID,
			 cpu);
	}
	for (slot = fxt_map_next(&w->seen, NULL); slot; slot = fxt_map_next(&w->seen, slot)) {
		uint32_t pid = (uint32_t)slot->a, tid = (uint32_t)slot->b;

		if (!w->wish->pid && fxt_space_of(&w->spaces, pid)->is_traced)
			continue;
		fxt_map_put(&named, pid, 0, &fresh);
		if (fresh)
			put_name(w, FXT_OBJECT_PROCESS, pid, 0, name_of(w, pid));
		put_name(w, FXT_OBJECT_THREAD, tid, pid, name_of(w, tid));
	}
	fxt_map_free(&named);
}

/* -- Taking records ---------------------------------------------------------------------------- */

static void take_mapping(struct fxt_witness_trace *w, const struct fxt_perf_record *record)
{
	struct mapping {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, bytes, offset;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t protection, flags;
		char path[];
	} const *m = (const struct mapping *)record->header;

	if (m->header.size <= sizeof(*m) + 24)
		return;
	fxt_space_map(&w->spaces, fxt_space_of(&w->spaces, m->pid), m->start, m->bytes, m->offset, m->path,
		      m->inode);
	fxt_unseen_rings_mapped(w, record, m->path);
}

bool fxt_witness_keeps(struct fxt_witness_trace *w, const struct fxt_perf_record *record)
{
	bool fresh;

	if (!w->is_on || !record->pid || !record->tid ||
	    (w->wish->is_for_traced && !fxt_space_of(&w->spaces, record->pid)->is_traced))
		return false;
	tell(w, record);
	fxt_map_put(&w->seen, record->pid, record->tid, &fresh);
	return true;
}

static void take_name(struct fxt_witness_trace *w, const struct fxt_perf_record *record)
{
	struct comm {
		struct perf_event_header header;
		uint32_t pid, tid;
		char name[];
	} const *m = (const struct comm *)record->header;
	struct fxt_arg program;

	if (m->header.size <= sizeof(*m) + 24)
		return;
	set_name(w, m->tid, m->name, strnlen(m->name, m->header.size - sizeof(*m) - 24));
	fxt_unseen_rings_named(w, record, name_of(w, m->tid));
	if (!(m->header.misc & PERF_RECORD_MISC_COMM_EXEC))
		return;
	fxt_witness_late(w, m->pid);
	fxt_space_clear(fxt_space_of(&w->spaces, m->pid));
	if (!fxt_witness_keeps(w, record))
		return;
	program = (struct fxt_arg){FXT_ARG_STRING, fxt_witness_string(w, "program"),
				   .string = fxt_witness_string(w, name_of(w, m->tid))};
	fxt_witness_fact(w, record, "executed", (struct fxt_args){1, &program});
	fxt_witness_runs(w, record);
}

/* A thread begins or ends. */
static void take_task(struct fxt_witness_trace *w, const struct fxt_perf_record *record)
{
	struct task {
		struct perf_event_header header;
		uint32_t pid, parent_pid, tid, parent_tid;
	} const *m = (const struct task *)record->header;
	const char *name;
	char copy[16];

	if (m->header.size < sizeof(*m))
		return;
	if (m->header.type == PERF_RECORD_EXIT) {
		/* The kernel tells nothing more of it, not even that it leaves its processor. */
		if (fxt_witness_keeps(w, record)) {
			fxt_witness_dies(w, record);
			fxt_witness_is_gone(w, record);
			fxt_witness_fact(w, record, "ended", (struct fxt_args){0, NULL});
		}
		/* A process whose first thread ends is over as a rule; its other threads' code has no names
		 * if it is not. */
		if (m->pid != m->tid)
			return;
		fxt_witness_late(w, m->pid);
		fxt_space_free(fxt_space_of(&w->spaces, m->pid));
		return;
	}
	name = name_of(w, m->parent_tid);
	memcpy(copy, name, strnlen(name, 15));
	set_name(w, m->tid, copy, strnlen(name, 15));
	if (m->pid != m->parent_pid) {
		struct fxt_space *child = fxt_space_of(&w->spaces, m->pid);

		fxt_fresh_task_begin(&w->fresh, m->pid, m->parent_pid, m->parent_tid);
		fxt_space_copy(child, fxt_space_of(&w->spaces, m->parent_pid));
	}
}

static void put_lost(struct fxt_witness_trace *w, const struct fxt_perf_record *record, uint64_t count)
{
	struct fxt_arg records = {FXT_ARG_UINT64, fxt_witness_string(w, "records"), .u64 = count};

	fxt_witness_fact(w, record, "lost", (struct fxt_args){1, &records});
}

static void take_lost(struct fxt_witness_trace *w, const struct fxt_perf_record *record)
{
	const uint64_t *words = (const uint64_t *)(record->header + 1);
	uint64_t count = words[record->header->type == PERF_RECORD_LOST];

	w->lost += count;
	put_lost(w, record, count);
}

static void take(void *context, const struct fxt_perf_record *record)
{
	struct fxt_witness_trace *w = context;

	switch (record->header->type) {
	case PERF_RECORD_SAMPLE:
		if (fxt_witness_keeps(w, record))
			fxt_witness_sample(w, record);
		break;
	case PERF_RECORD_SWITCH:
		if (!fxt_witness_keeps(w, record))
			break;
		fxt_witness_switch(w, record);
		if (!(record->header->misc & PERF_RECORD_MISC_SWITCH_OUT))
			fxt_witness_goes_on(w, record);
		else if (!(record->header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT))
			fxt_witness_blocks(w, record);
		break;
	case PERF_RECORD_MMAP2:
		take_mapping(w, record);
		break;
	case PERF_RECORD_COMM:
		take_name(w, record);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		take_task(w, record);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		take_lost(w, record);
		break;
	default:
		break;
	}
}

void fxt_witness_trace_take(void *context, const struct fxt_perf_record *record)
{
	struct fxt_witness_trace *w = context;

	if (!fxt_fresh_tasks_take(&w->fresh, record, take, w))
		take(w, record);
	else if (record->header->type == PERF_RECORD_EXIT)
		fxt_space_free(fxt_space_of(&w->spaces, record->pid));
	turn(w);
}

void fxt_witness_trace_step(struct fxt_witness_trace *w)
{
	uint64_t now_ns = fxt_host_now_ns();

	fxt_fresh_tasks_settle(&w->fresh, now_ns - FXT_WITNESS_LONG_NS, take, w);
	fxt_witness_long_blocked(w, now_ns);
}

void fxt_witness_trace_flush(struct fxt_witness_trace *w)
{
	turn(w);
	fxt_archive_flush(w->out);
}

void fxt_witness_trace_lost(struct fxt_witness_trace *w, uint64_t count)
{
	struct fxt_perf_record now = {.time_ns = fxt_host_now_ns()};

	if (count > w->lost)
		put_lost(w, &now, count - w->lost);
}

void fxt_witness_trace_end(struct fxt_witness_trace *w)
{
	struct fxt_witness_string *one = w->strings, *next;

	fxt_fresh_tasks_end(&w->fresh, take, w);
	fxt_witness_late(w, 0);
	put_names(w);
	HASH_CLEAR(hh, w->strings);
	for (; one; one = next) {
		next = one->hh.next;
		free(one->text);
		free(one);
	}
	fxt_spaces_free(&w->spaces);
	fxt_map_free(&w->processors);
	fxt_map_free(&w->seen);
	fxt_map_free(&w->blocked);
	fxt_map_free(&w->nodes);
	fxt_map_free(&w->names);
	free(w->comms);
}
