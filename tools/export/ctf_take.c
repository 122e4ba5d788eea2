/* What becomes of each thing of a trace: the functions of the visitor. See ctf.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "ctf.h"

/* The trace begins and ends with its first and its last event; what has no time counts for nothing. */
static void note_times(struct fxt_ctf *c, const struct fxt_visit *v)
{
	if (!c->has_times || v->at_ns < c->first_ns)
		c->first_ns = v->at_ns;
	if (!c->has_times || v->end_ns > c->last_ns)
		c->last_ns = v->end_ns;
	c->has_times = true;
}

/* Notes when a program begins to record: its files were mapped by then. A provider's first process is its
 * own; it tells of others too, such as of its parent. */
static void note_provider(struct fxt_ctf *c, const struct fxt_visit *v)
{
	const struct fxt_slot *own = fxt_map_find(&c->provider_processes, v->rec->provider->index, 0);
	bool fresh;
	struct fxt_slot *s;

	if (v->is_kernels || (own && own->value[0] != c->reader->threads[v->rec->thread].pid))
		return;
	s = fxt_map_put(&c->provider_begins, v->rec->provider->index, 0, &fresh);
	if (fresh || v->at_ns < s->value[0]) {
		s->value[0] = v->at_ns;
		s->value[1] = v->rec->thread;
	}
}

static uint32_t stream_of(struct fxt_ctf *c, const struct fxt_visit *v)
{
	return v->is_kernels ? fxt_ctf_kernel_stream(c, v->cpu) : fxt_ctf_stream_of(c, v->rec->thread);
}

/* Adds the event of a part of a record. */
static void add(struct fxt_ctf *c, enum fxt_ctf_kind kind, const struct fxt_visit *v,
		const struct fxt_ctf_part *part, uint64_t at_ns, enum fxt_ctf_rank rank, uint64_t tie)
{
	fxt_ctf_begin_item(c, part->class, v->rec->thread);
	if (part->has_stack) {
		fxt_ctf_item(c)->late = FXT_CTF_STACK;
		fxt_ctf_item(c)->node = fxt_ctf_node_of(c, v);
	}
	fxt_ctf_put_part(c, kind, v, part);
	fxt_ctf_end_item(c, stream_of(c, v), at_ns, rank, tie);
}

/* The events are added in the order that they will have if the call made no others, which costs the sorter
 * least. */
static void take_call(void *context, const struct fxt_visit *v)
{
	struct fxt_ctf *c = context;
	const struct fxt_ctf_shape *shape = fxt_ctf_shape_of(c, FXT_CTF_CALL, v);
	bool is_moment = v->end_ns == v->at_ns;

	note_times(c, v);
	note_provider(c, v);
	add(c, FXT_CTF_CALL, v, &shape->whole, v->at_ns, is_moment ? FXT_CTF_AT : FXT_CTF_BEGINS,
	    fxt_ctf_tie_of_begin(v));
	if (shape->lttng)
		fxt_ctf_lttng_call(c, v, shape);
	add(c, FXT_CTF_CALL, v, &shape->exit, v->end_ns, is_moment ? FXT_CTF_AT : FXT_CTF_ENDS,
	    fxt_ctf_tie_of_end(v));
	fxt_ctf_losses_take(c, v);
}

/* Begins and ends that are records of their own: some writers have several of them at one time. An end at the
 * time of the last begin belongs to that, and what follows at that time comes behind it. */
static void take_call_begin(void *context, const struct fxt_visit *v)
{
	struct fxt_ctf *c = context;
	const struct fxt_ctf_shape *shape = fxt_ctf_shape_of(c, FXT_CTF_CALL_BEGIN, v);
	enum fxt_ctf_rank rank = FXT_CTF_BEGINS;
	struct fxt_slot *s;
	bool fresh;

	note_times(c, v);
	note_provider(c, v);
	s = fxt_map_put(&c->begins, v->rec->thread, 0, &fresh);
	if (!fresh && s->value[1] == v->at_ns + 1)
		rank = FXT_CTF_AT;
	s->value[0] = v->at_ns + 1;
	add(c, FXT_CTF_CALL_BEGIN, v, &shape->whole, v->at_ns, rank, v->rec->offset);
	if (shape->lttng)
		fxt_ctf_lttng_begin(c, v, shape);
}

static void take_call_end(void *context, const struct fxt_visit *v)
{
	struct fxt_ctf *c = context;
	const struct fxt_ctf_shape *shape = fxt_ctf_shape_of(c, FXT_CTF_CALL_END, v);
	enum fxt_ctf_rank rank = FXT_CTF_ENDS;
	struct fxt_slot *s = fxt_map_find(&c->begins, v->rec->thread, 0);

	note_times(c, v);
	if (s && s->value[0] == v->at_ns + 1) {
		s->value[1] = v->at_ns + 1;
		rank = FXT_CTF_AT;
	}
	add(c, FXT_CTF_CALL_END, v, &shape->whole, v->at_ns, rank,
	    rank == FXT_CTF_AT ? v->rec->offset : FXT_CTF_TIE_OF_RECORD + v->rec->offset);
	if (shape->lttng)
		fxt_ctf_lttng_end(c, v, shape, rank);
}

static void take_moment(void *context, const struct fxt_visit *v)
{
	struct fxt_ctf *c = context;
	enum fxt_ctf_kind kind = (enum fxt_ctf_kind)v->rec->subtype;
	const struct fxt_ctf_shape *shape = fxt_ctf_shape_of(c, kind, v);
	/* The agent's flows end at the end of a call that was let go on. */
	bool is_within = v->rec->subtype == FXT_EVENT_FLOW_END || v->rec->subtype == FXT_EVENT_FLOW_STEP;

	note_times(c, v);
	note_provider(c, v);
	add(c, kind, v, &shape->whole, v->at_ns, is_within ? FXT_CTF_ENDS_WITHIN : FXT_CTF_AT,
	    v->rec->offset);
	fxt_ctf_losses_take(c, v);
	if (v->is_kernels)
		fxt_ctf_kernel_moment(c, v);
	else if (v->rec->subtype == FXT_EVENT_ASYNC_BEGIN || v->rec->subtype == FXT_EVENT_ASYNC_END)
		fxt_ctf_kernel_birth(c, v);
	else if (v->rec->subtype == FXT_EVENT_INSTANT)
		fxt_ctf_modules_load(c, v);
}

static void take_switch(void *context, const struct fxt_visit *v)
{
	note_times(context, v);
	fxt_ctf_kernel_switch(context, v);
}

static void take_wakeup(void *context, const struct fxt_visit *v)
{
	note_times(context, v);
	fxt_ctf_kernel_wakeup(context, v);
}

/* Adds a record that has no time, or is no event. `thread` is whom it is about. */
static void take_other(struct fxt_ctf *c, enum fxt_ctf_kind kind, const struct fxt_visit *v, uint32_t thread)
{
	const struct fxt_ctf_shape *shape = fxt_ctf_shape_of(c, kind, v);

	fxt_ctf_begin_item(c, shape->whole.class, thread);
	fxt_ctf_put_part(c, kind, v, &shape->whole);
	fxt_ctf_end_item(c, fxt_ctf_stream_of(c, thread), v->at_ns, FXT_CTF_AT, v->rec->offset);
}

/* Returns the thread that stands for what is about no process. */
static uint32_t nobody(struct fxt_ctf *c)
{
	return fxt_thread_of(c->reader, 0, 0);
}

static void take_log(void *context, const struct fxt_visit *v)
{
	note_times(context, v);
	take_other(context, FXT_CTF_LOG, v, v->rec->thread);
}

static void take_blob(void *context, const struct fxt_visit *v)
{
	enum fxt_ctf_kind kind = v->rec->type == FXT_RECORD_BLOB ? FXT_CTF_BLOB : FXT_CTF_LARGE_BLOB;

	if (v->rec->timed)
		note_times(context, v);
	take_other(context, kind, v, v->rec->timed ? v->rec->thread : nobody(context));
}

static void take_object(void *context, const struct fxt_visit *v)
{
	struct fxt_ctf *c = context;
	uint64_t pid = c->reader->threads[v->rec->thread].pid;

	fxt_ctf_nodes_take(c, v);
	take_other(c, FXT_CTF_OBJECT, v, fxt_thread_of(c->reader, pid, pid));
}

static void take_process(void *context, const struct fxt_visit *v)
{
	struct fxt_ctf *c = context;
	bool fresh;
	struct fxt_slot *own = fxt_map_put(&c->provider_processes, v->rec->provider->index, 0, &fresh);

	if (fresh)
		own->value[0] = v->rec->id;
	take_other(c, FXT_CTF_PROCESS, v, fxt_thread_of(c->reader, v->rec->id, v->rec->id));
}

static void take_thread(void *context, const struct fxt_visit *v)
{
	struct fxt_ctf *c = context;
	uint64_t pid;

	take_other(c, FXT_CTF_THREAD, v,
		   fxt_argument_u64(fxt_argument(v->rec, "process"), &pid)
			   ? fxt_thread_of(c->reader, pid, v->rec->id)
			   : nobody(c));
}

/* The record that ties the clock to the time of day has the name of the host. */
static void note_host(struct fxt_ctf *c, const struct fxt_visit *v)
{
	const struct fxt_text *host = fxt_argument_text(v->rec, "host");

	if (v->rec->subtype != FXT_OBJECT_CLOCK || !host || !host->bytes)
		return;
	if (!c->hostname)
		c->hostname = fxt_format("%.*s", (int)host->bytes, host->text);
	else if (!fxt_text_is(host, c->hostname))
		c->has_hosts = true;
}

static void take_other_object(void *context, const struct fxt_visit *v)
{
	struct fxt_ctf *c = context;

	fxt_wall_clock_take(&c->clock, c->reader, v->rec);
	note_host(c, v);
	take_other(c, FXT_CTF_OTHER_OBJECT, v, nobody(c));
}

static void take_provider(void *context, const struct fxt_visit *v)
{
	take_other(context, FXT_CTF_PROVIDER, v, nobody(context));
}

static void take_initialization(void *context, const struct fxt_visit *v)
{
	struct fxt_ctf *c = context;

	fxt_wall_clock_take(&c->clock, c->reader, v->rec);
	take_other(c, FXT_CTF_INITIALIZATION, v, nobody(c));
}

static void take_provider_event(void *context, const struct fxt_visit *v)
{
	fxt_ctf_losses_take(context, v);
	take_other(context, FXT_CTF_PROVIDER_EVENT, v, nobody(context));
}

void fxt_ctf_visitor(struct fxt_ctf *c, struct fxt_visitor *visitor)
{
	*visitor = (struct fxt_visitor){
		.context = c,
		.call = take_call,
		.call_begin = take_call_begin,
		.call_end = take_call_end,
		.moment = take_moment,
		.context_switch = take_switch,
		.wakeup = take_wakeup,
		.log = take_log,
		.blob = take_blob,
		.object = take_object,
		.process = take_process,
		.thread = take_thread,
		.other_object = take_other_object,
		.provider = take_provider,
		.initialization = take_initialization,
		.provider_event = take_provider_event,
	};
}
