/* See fresh_tasks.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fresh_tasks.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "writer/apart.h"

/* A helper names itself within its first microsecond of running. On a busy machine it may lose its processor
 * some times before. */
enum { MOST_HELD = 64, MOST_HELD_BYTES = 256 << 10 };

struct fxt_fresh_task {
	uint32_t pid, maker_pid, maker_tid;
	bool is_helper;
	size_t count, capacity, bytes;
	struct fxt_perf_record *held;   /* each has a copy of its own of what it points to */
};

static struct fxt_slot *slot_of(const struct fxt_fresh_tasks *t, uint32_t pid)
{
	return fxt_map_find(&t->by_pid, pid, 0);
}

static struct fxt_fresh_task *task_at(const struct fxt_slot *slot)
{
	return (struct fxt_fresh_task *)(uintptr_t)slot->value[0];
}

/* Returns a pointer into the copy of a record that points to the same place as `at` does in the record. */
static const void *moved(const struct fxt_perf_record *from, const void *copy, const void *at)
{
	return at ? (const unsigned char *)copy +
			    ((const unsigned char *)at - (const unsigned char *)from->header)
		  : NULL;
}

static void hold(struct fxt_fresh_task *task, const struct fxt_perf_record *record)
{
	struct fxt_perf_record *held;
	void *copy = fxt_alloc(record->header->size, 1);

	memcpy(copy, record->header, record->header->size);
	task->held = fxt_grow(task->held, &task->capacity, task->count + 1, sizeof(*task->held));
	held = &task->held[task->count++];
	*held = *record;
	held->registers = moved(record, copy, record->registers);
	held->stack = moved(record, copy, record->stack);
	held->header = copy;
	task->bytes += record->header->size;
}

/* Delivers a sample of a helper as one of its maker. */
static void deliver_to_maker(const struct fxt_fresh_task *task, const struct fxt_perf_record *record,
			     fxt_perf_handler *handler, void *context)
{
	struct fxt_perf_record makers = *record;

	if (record->header->type != PERF_RECORD_SAMPLE)
		return;
	makers.pid = task->maker_pid;
	makers.tid = task->maker_tid;
	handler(context, &makers);
}

/* Delivers what is held back: all of it, or of a helper the samples. */
static void deliver(struct fxt_fresh_task *task, fxt_perf_handler *handler, void *context)
{
	for (size_t i = 0; i < task->count; i++) {
		if (task->is_helper)
			deliver_to_maker(task, &task->held[i], handler, context);
		else
			handler(context, &task->held[i]);
		free((void *)task->held[i].header);
	}
	free(task->held);
	task->held = NULL;
	task->count = task->capacity = task->bytes = 0;
}

/* The process is one of the program, or has ended. */
static void forget(struct fxt_fresh_tasks *t, struct fxt_slot *slot, fxt_perf_handler *handler, void *context)
{
	struct fxt_fresh_task *task = task_at(slot);

	fxt_map_remove(&t->by_pid, slot);
	deliver(task, handler, context);
	free(task);
}

void fxt_fresh_task_begin(struct fxt_fresh_tasks *t, uint32_t pid, uint32_t maker_pid, uint32_t maker_tid)
{
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&t->by_pid, pid, 0, &fresh);
	struct fxt_fresh_task *task = fresh ? fxt_alloc(1, sizeof(*task)) : task_at(slot);

	/* If the record of its end found no room, another process has had the number. */
	for (size_t i = 0; i < task->count; i++)
		free((void *)task->held[i].header);
	free(task->held);
	*task = (struct fxt_fresh_task){.pid = pid, .maker_pid = maker_pid, .maker_tid = maker_tid};
	slot->value[0] = (uintptr_t)task;
}

static bool is_helpers_name(const struct perf_event_header *header)
{
	static const char name[] = FXT_HELPER_NAME;
	const struct comm {
		struct perf_event_header header;
		uint32_t pid, tid;
		char name[];
	} *m = (const struct comm *)header;

	return header->size >= sizeof(*m) + sizeof(name) && !(header->misc & PERF_RECORD_MISC_COMM_EXEC) &&
	       !memcmp(m->name, name, sizeof(name));
}

bool fxt_fresh_tasks_take(struct fxt_fresh_tasks *t, const struct fxt_perf_record *record,
			  fxt_perf_handler *handler, void *context)
{
	struct fxt_slot *slot = record->pid == record->tid ? slot_of(t, record->pid) : NULL;
	struct fxt_fresh_task *task;

	if (!slot)
		return false;
	task = task_at(slot);
	switch (record->header->type) {
	case PERF_RECORD_SAMPLE:
	case PERF_RECORD_SWITCH:
		if (task->is_helper) {
			deliver_to_maker(task, record, handler, context);
			return true;
		}
		if (task->count < MOST_HELD && task->bytes < MOST_HELD_BYTES) {
			hold(task, record);
			return true;
		}
		break;
	case PERF_RECORD_COMM:
		if (task->is_helper || is_helpers_name(record->header)) {
			task->is_helper = true;
			deliver(task, handler, context);
			return true;
		}
		break;
	case PERF_RECORD_EXIT: {
		bool is_helper = task->is_helper;

		forget(t, slot, handler, context);
		return is_helper;
	}
	default: return false;
	}
	forget(t, slot, handler, context);
	return false;
}

/* A helper waits for nothing before it has its name, but the kernel may wait for a page on its behalf. */
static bool has_waited(const struct fxt_fresh_task *task, uint64_t before_ns)
{
	const struct fxt_perf_record *last = task->count ? &task->held[task->count - 1] : NULL;

	return last && !task->is_helper && last->time_ns < before_ns &&
	       last->header->type == PERF_RECORD_SWITCH &&
	       (last->header->misc & PERF_RECORD_MISC_SWITCH_OUT) &&
	       !(last->header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
}

void fxt_fresh_tasks_settle(struct fxt_fresh_tasks *t, uint64_t before_ns, fxt_perf_handler *handler,
			    void *context)
{
	for (struct fxt_slot *slot = fxt_map_next(&t->by_pid, NULL); slot;
	     slot = fxt_map_next(&t->by_pid, slot))
		if (has_waited(task_at(slot), before_ns))
			forget(t, slot, handler, context);
}

void fxt_fresh_tasks_end(struct fxt_fresh_tasks *t, fxt_perf_handler *handler, void *context)
{
	struct fxt_slot *slot;

	while ((slot = fxt_map_next(&t->by_pid, NULL)))
		forget(t, slot, handler, context);
	fxt_map_free(&t->by_pid);
}
