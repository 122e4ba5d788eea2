/* The kernel's directory: what processors did, as LTTng's modules write it, so that control flow, resources
 * and the use of processors can be shown. There is a stream for each processor. See ctf.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "ctf.h"
#include "ctf_running.h"

/* States of Linux, and priorities; the trace has no priorities, so all are the usual one. */
enum { TASK_RUNNING = 0, TASK_INTERRUPTIBLE = 1, TASK_STOPPED = 4, EXIT_ZOMBIE = 16, TASK_DEAD = 64 };
enum { PRIORITY = 20, STATUS_WAIT = 5 };

/* The late fields of a switch or a wakeup, as ctf_kernel.c itself hands them on. */
struct switch_fields {
	uint64_t out, in;
	uint32_t out_thread, in_thread; /* places plus 1; 0: by number */
	uint32_t state;
	int32_t out_priority, in_priority;      /* as Linux's events have them */
};

void fxt_ctf_kernel_declare(struct fxt_ctf *c)
{
	static const struct {
		const char *name, *fields[8];
	} events[FXT_CTF_LINUX_COUNT] = {
		[FXT_CTF_SCHED_FORK] = {"sched_process_fork",
					{"Sparent_comm", "Iparent_tid", "Iparent_pid", "Schild_comm",
					 "Ichild_tid", "Ichild_pid"}},
		[FXT_CTF_SCHED_EXIT] = {"sched_process_exit", {"Scomm", "Itid", "Iprio"}},
		[FXT_CTF_SCHED_FREE] = {"sched_process_free", {"Scomm", "Itid", "Iprio"}},
		[FXT_CTF_SCHED_EXEC] = {"sched_process_exec", {"Sfilename", "Itid", "Iold_tid"}},
		[FXT_CTF_SCHED_WAKING] = {"sched_waking", {"Scomm", "Itid", "Iprio", "Itarget_cpu"}},
		[FXT_CTF_SCHED_WAKEUP] = {"sched_wakeup", {"Scomm", "Itid", "Iprio", "Itarget_cpu"}},
		[FXT_CTF_SCHED_SWITCH] = {"sched_switch",
					  {"Sprev_comm", "Iprev_tid", "Iprev_prio", "Lprev_state",
					   "Snext_comm", "Inext_tid", "Inext_prio", "Ufxt_state"}},
		[FXT_CTF_PROCESS_STATE] = {"lttng_statedump_process_state",
					   {"Itid", "Ipid", "Ippid", "Sname", "Itype", "Imode", "Istatus"}},
	};

	for (int i = 0; i < FXT_CTF_LINUX_COUNT; i++) {
		struct fxt_ctf_fields f = {0};
		struct fxt_text name = fxt_text_of(events[i].name);

		for (int k = 0; k < 8 && events[i].fields[k]; k++) {
			char type = events[i].fields[k][0];

			fxt_ctf_field(&f,
				      type == 'S'   ? "string"
				      : type == 'L' ? "int64_t"
				      : type == 'U' ? "uint8_t"
						    : "int32_t",
				      events[i].fields[k] + 1);
		}
		c->linux_classes[i] = fxt_ctf_class_add(&c->kernel.classes, &name, "", NULL, &f);
	}
}

uint32_t fxt_ctf_kernel_stream(struct fxt_ctf *c, unsigned cpu)
{
	c->kernel.is_used = true;
	return FXT_CTF_KERNEL + (cpu < FXT_CTF_MOST_PROCESSORS ? cpu : FXT_CTF_MOST_PROCESSORS - 1);
}

/* Adds an event whose names of threads are put when all are known. */
static void add_late(struct fxt_ctf *c, const struct fxt_visit *v, enum fxt_ctf_linux what,
		     enum fxt_ctf_late late, enum fxt_ctf_rank rank, const struct switch_fields *fields)
{
	fxt_ctf_begin_item(c, c->linux_classes[what], 0);
	fxt_ctf_item(c)->late = late;
	fxt_ctf_put(&c->item, fields, sizeof(*fields));
	fxt_ctf_end_item(c, fxt_ctf_kernel_stream(c, v->cpu), v->at_ns, rank, v->rec->offset);
}

/* -- What the kernel's instants tell of -------------------------------------------------------------- */

/* Linux says that a thread exits before its last switch, and that it is freed after that: at once, or, if it
 * is the first of its process, when somebody has waited for that. */
static void take_end(struct fxt_ctf *c, const struct fxt_visit *v, const struct switch_fields *ended)
{
	uint64_t pid;
	bool fresh;

	add_late(c, v, FXT_CTF_SCHED_EXIT, FXT_CTF_EXIT, FXT_CTF_ENDS_WITHIN, ended);
	if (fxt_argument_u64(fxt_argument(v->rec, "process"), &pid) && pid != ended->out)
		add_late(c, v, FXT_CTF_SCHED_FREE, FXT_CTF_EXIT, FXT_CTF_AT, ended);
	else
		fxt_map_put(&c->ends, ended->out, 0, &fresh)->value[0] = v->at_ns;
}

void fxt_ctf_kernel_moment(struct fxt_ctf *c, const struct fxt_visit *v)
{
	const struct fxt_text *program = fxt_argument_text(v->rec, "program");
	struct fxt_text none = {.text = ""};
	struct switch_fields ended = {.out = fxt_argument_or(v->rec, "thread", 0), .out_priority = PRIORITY};

	if (v->rec->subtype != FXT_EVENT_INSTANT || !fxt_text_is(&v->rec->category, "kernel"))
		return;
	if (fxt_text_is(&v->rec->name, "ended")) {
		take_end(c, v, &ended);
		return;
	}
	if (!fxt_text_is(&v->rec->name, "executed"))
		return;
	fxt_ctf_begin_item(c, c->linux_classes[FXT_CTF_SCHED_EXEC], v->rec->thread);
	fxt_ctf_put_name(&c->item, program ? program : &none);
	fxt_ctf_put_u32(&c->item, (uint32_t)fxt_ctf_number(c, ended.out));
	fxt_ctf_put_u32(&c->item, (uint32_t)fxt_ctf_number(c, ended.out));
	fxt_ctf_end_item(c, fxt_ctf_kernel_stream(c, v->cpu), v->at_ns, FXT_CTF_AT, v->rec->offset);
}

/* -- Switches and wakeups ---------------------------------------------------------------------------- */

/* The event of Linux has the states and the numbers, the other one all arguments of the record. */
static void add_arguments(struct fxt_ctf *c, const struct fxt_visit *v, enum fxt_ctf_kind kind)
{
	const struct fxt_ctf_shape *shape;

	if (!v->rec->arg_count)
		return;
	shape = fxt_ctf_shape_of(c, kind, v);
	fxt_ctf_begin_item(c, shape->whole.class, 0);
	fxt_ctf_put_part(c, kind, v, &shape->whole);
	fxt_ctf_end_item(c, fxt_ctf_kernel_stream(c, v->cpu), v->at_ns, FXT_CTF_AT, v->rec->offset);
}

/* Returns a priority, of which the record says the kernel's own number: LTTng counts from the first that is
 * none of real time. An idle processor, and a thread of which nothing is said, have the usual one. */
static int32_t priority_of(const struct fxt_record *rec, const char *name)
{
	enum { FIRST_ORDINARY = 100 };
	const struct fxt_argument *weight = fxt_argument(rec, name);

	return weight && weight->type == FXT_ARG_INT32 && weight->i != INT32_MIN
		       ? (int32_t)weight->i - FIRST_ORDINARY
		       : PRIORITY;
}

void fxt_ctf_kernel_switch(struct fxt_ctf *c, const struct fxt_visit *v)
{
	const struct fxt_record *rec = v->rec;
	bool is_legacy = rec->subtype == FXT_SCHEDULING_LEGACY_SWITCH;
	struct switch_fields fields = {
		.out = is_legacy ? c->reader->threads[rec->thread].tid : rec->id,
		.in = is_legacy ? c->reader->threads[rec->incoming].tid : rec->extra,
		.out_thread = is_legacy ? rec->thread + 1 : 0,
		.in_thread = is_legacy ? rec->incoming + 1 : 0,
		.state = rec->state,
		.out_priority = priority_of(rec, "outgoing_weight"),
		.in_priority = priority_of(rec, "incoming_weight"),
	};

	add_late(c, v, FXT_CTF_SCHED_SWITCH, FXT_CTF_SWITCH, FXT_CTF_AT, &fields);
	add_arguments(c, v, FXT_CTF_CONTEXT_SWITCH);
}

void fxt_ctf_kernel_wakeup(struct fxt_ctf *c, const struct fxt_visit *v)
{
	struct switch_fields fields = {.out = v->rec->id, .out_priority = PRIORITY};

	add_late(c, v, FXT_CTF_SCHED_WAKING, FXT_CTF_WAKEUP, FXT_CTF_AT, &fields);
	add_late(c, v, FXT_CTF_SCHED_WAKEUP, FXT_CTF_WAKEUP, FXT_CTF_AT, &fields);
	add_arguments(c, v, FXT_CTF_WOKEN);
}

static int64_t linux_state(uint32_t state)
{
	switch (state) {
	case FXT_THREAD_SUSPENDED:
		return TASK_STOPPED;
	case FXT_THREAD_BLOCKED:
		return TASK_INTERRUPTIBLE;
	case FXT_THREAD_DYING:
		return EXIT_ZOMBIE;
	case FXT_THREAD_DEAD:
		return TASK_DEAD;
	default:
		return TASK_RUNNING;
	}
}

/* Returns the name of a thread, or else of its process. */
static struct fxt_text name_of(const struct fxt_ctf *c, uint64_t tid, uint32_t thread, uint32_t cpu,
			       char idle[24])
{
	const struct fxt_slot *s = thread ? NULL : fxt_map_find(&c->thread_by_tid, tid, 0);
	const struct fxt_trace_thread *t = NULL;

	if (!thread && !tid) {
		snprintf(idle, 24, "swapper/%u", cpu);
		return fxt_text_of(idle);
	}
	if (thread)
		t = &c->reader->threads[thread - 1];
	else if (s)
		t = &c->reader->threads[s->value[0]];
	if (!t)
		return fxt_text_of("");
	return t->name.bytes ? t->name : fxt_process_name(c->reader, t->pid);
}

void fxt_ctf_kernel_put(struct fxt_ctf *c, struct fxt_ctf_bytes *out, const struct fxt_ctf_item *item,
			const unsigned char *data, size_t bytes, uint32_t cpu,
			struct fxt_ctf_running *running)
{
	struct switch_fields fields = {0};
	struct fxt_text name;
	char idle[24];

	memcpy(&fields, data, bytes < sizeof(fields) ? bytes : sizeof(fields));
	name = name_of(c, fields.out, fields.out_thread, cpu, idle);
	fxt_ctf_put_name(out, &name);
	fxt_ctf_put_u32(out, (uint32_t)fxt_ctf_number(c, fields.out));
	fxt_ctf_put_u32(out, (uint32_t)fields.out_priority);
	if (item->late == FXT_CTF_EXIT)
		return;
	if (item->late == FXT_CTF_WAKEUP) {
		fxt_ctf_put_u32(out, cpu);
		return;
	}
	fxt_ctf_running_switch(running, c, cpu, fields.out, fields.in);
	fxt_ctf_put_u64(out, (uint64_t)linux_state(fields.state));
	name = name_of(c, fields.in, fields.in_thread, cpu, idle);
	fxt_ctf_put_name(out, &name);
	fxt_ctf_put_u32(out, (uint32_t)fxt_ctf_number(c, fields.in));
	fxt_ctf_put_u32(out, (uint32_t)fields.in_priority);
	fxt_ctf_put_u8(out, fields.state);
}

/* -- Births and ends, and who there was -------------------------------------------------------------- */

void fxt_ctf_kernel_birth(struct fxt_ctf *c, const struct fxt_visit *v)
{
	uint64_t pid;

	if (!fxt_text_is(&v->rec->category, "process") || !fxt_text_is(&v->rec->name, "child") ||
	    !fxt_argument_u64(fxt_argument(v->rec, "pid"), &pid))
		return;
	c->births = fxt_grow(c->births, &c->birth_capacity, c->birth_count + 1, sizeof(*c->births));
	c->births[c->birth_count++] = (struct fxt_ctf_birth){v->at_ns, pid, v->rec->thread,
							     v->rec->subtype == FXT_EVENT_ASYNC_END};
}

/* Adds that a process is gone, because another one has waited for it, if the kernel has said that it ended.
 */
static void add_free(struct fxt_ctf *c, const struct fxt_ctf_birth *end)
{
	struct switch_fields fields = {.out = end->pid, .out_priority = PRIORITY};
	const struct fxt_slot *ended = fxt_map_find(&c->ends, end->pid, 0);

	if (!ended || ended->value[0] > end->at_ns)
		return;
	fxt_ctf_begin_item(c, c->linux_classes[FXT_CTF_SCHED_FREE], end->thread);
	fxt_ctf_item(c)->late = FXT_CTF_EXIT;
	fxt_ctf_put(&c->item, &fields, sizeof(fields));
	fxt_ctf_end_item(c, FXT_CTF_KERNEL_OF_THREAD, end->at_ns, FXT_CTF_AT, end->pid);
}

static void add_birth(struct fxt_ctf *c, const struct fxt_ctf_birth *birth)
{
	const struct fxt_trace_thread *parent = &c->reader->threads[birth->thread];
	struct fxt_text own = fxt_process_name(c->reader, parent->pid),
			child = fxt_process_name(c->reader, birth->pid);
	uint32_t number = (uint32_t)fxt_ctf_number(c, birth->pid);

	fxt_ctf_begin_item(c, c->linux_classes[FXT_CTF_SCHED_FORK], birth->thread);
	fxt_ctf_put_name(&c->item, &own);
	fxt_ctf_put_u32(&c->item, (uint32_t)fxt_ctf_number(c, parent->tid));
	fxt_ctf_put_u32(&c->item, (uint32_t)fxt_ctf_number(c, parent->pid));
	fxt_ctf_put_name(&c->item, &child);
	fxt_ctf_put_u32(&c->item, number);
	fxt_ctf_put_u32(&c->item, number);
	fxt_ctf_end_item(c, FXT_CTF_KERNEL_OF_THREAD, birth->at_ns, FXT_CTF_AT, birth->pid);
}

/* Adds a thread's name and parent, at the begin of the trace. */
static void add_state(struct fxt_ctf *c, const struct fxt_map *parents, const struct fxt_trace_thread *t)
{
	const struct fxt_slot *parent = fxt_map_find(parents, t->pid, 0);
	struct fxt_text name = t->name.bytes ? t->name : fxt_process_name(c->reader, t->pid);

	fxt_ctf_begin_item(c, c->linux_classes[FXT_CTF_PROCESS_STATE], 0);
	fxt_ctf_put_u32(&c->item, (uint32_t)fxt_ctf_number(c, t->tid));
	fxt_ctf_put_u32(&c->item, (uint32_t)fxt_ctf_number(c, t->pid));
	fxt_ctf_put_u32(&c->item, parent ? (uint32_t)fxt_ctf_number(c, parent->value[0]) : 0);
	fxt_ctf_put_name(&c->item, &name);
	fxt_ctf_put_u32(&c->item, 0);
	fxt_ctf_put_u32(&c->item, 0);
	fxt_ctf_put_u32(&c->item, STATUS_WAIT);
	fxt_ctf_end_item(c, fxt_ctf_kernel_stream(c, 0), c->first_ns, FXT_CTF_ENDS_WITHIN, 0);
}

void fxt_ctf_kernel_finish(struct fxt_ctf *c)
{
	struct fxt_map parents = {0};
	bool fresh;

	for (size_t i = 0; i < c->reader->thread_count; i++)
		fxt_map_put(&c->thread_by_tid, c->reader->threads[i].tid, 0, &fresh)->value[0] = i;
	if (!c->kernel.is_used)
		return;
	for (size_t i = 0; i < c->birth_count; i++) {
		if (c->births[i].is_end) {
			add_free(c, &c->births[i]);
			continue;
		}
		fxt_map_put(&parents, c->births[i].pid, 0, &fresh)->value[0] =
			c->reader->threads[c->births[i].thread].pid;
		add_birth(c, &c->births[i]);
	}
	for (size_t i = 0; i < c->reader->thread_count; i++) {
		const struct fxt_trace_thread *t = &c->reader->threads[i];

		if (t->tid && t->pid != FXT_KERNEL_PROVIDER_ID && t->pid != FXT_OTHERS_ID && !t->is_track)
			add_state(c, &parents, t);
	}
	fxt_map_free(&parents);
}
