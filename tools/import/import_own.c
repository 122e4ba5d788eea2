/* See import_own.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_BABELTRACE2

#include "import_own.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import_calls.h"
#include "tools/common/message.h"
#include "tools/reading/reader.h"

/* Kinds of records by the label that an event has; the first are those of events of the format. */
enum kind {
	LOG = FXT_EVENT_FLOW_END + 1,
	BLOB,
	OBJECT,
	PROCESS,
	THREAD,
	OTHER_OBJECT,
	PROVIDER,
	FULL,
	SWITCH,
	WOKEN,
	NONE
};

static const struct {
	const char *label;
	int kind;
} kinds[] = {
	{"instant", FXT_EVENT_INSTANT},
	{"counter", FXT_EVENT_COUNTER},
	{"begin", FXT_EVENT_DURATION_BEGIN},
	{"end", FXT_EVENT_DURATION_END},
	{"complete", FXT_EVENT_DURATION_COMPLETE},
	{"async_begin", FXT_EVENT_ASYNC_BEGIN},
	{"async_instant", FXT_EVENT_ASYNC_INSTANT},
	{"async_end", FXT_EVENT_ASYNC_END},
	{"flow_begin", FXT_EVENT_FLOW_BEGIN},
	{"flow_step", FXT_EVENT_FLOW_STEP},
	{"flow_end", FXT_EVENT_FLOW_END},
	{"log", LOG},
	{"blob", BLOB},
	{"object", OBJECT},
	{"process", PROCESS},
	{"thread", THREAD},
	{"kernel_object", OTHER_OBJECT},
	{"provider", PROVIDER},
	{"provider_event", FULL},
	{"switch", SWITCH},
	{"wakeup", WOKEN},
};

/* A switch whose arguments may follow, in an event of their own. */
struct waiting {
	struct fxt_import_scheduling record;
	bool is_there;
};

struct fxt_import_own {
	const bt_trace *trace;          /* the last that was asked about */
	bool is_own;
	struct fxt_import_calls calls;
	struct fxt_map koids;           /* number in a context -> the koid that it stands for */
	struct waiting *waiting;        /* by processor */
	size_t cpus, cpu_capacity;
	uint64_t waiting_ns;            /* the time of all that wait */
};

static struct fxt_import_own *own_of(struct fxt_import_events *e)
{
	if (!e->own) {
		e->own = fxt_alloc(1, sizeof(*e->own));
		e->own->waiting_ns = UINT64_MAX;
	}
	return e->own;
}

bool fxt_import_is_own(struct fxt_import_events *e, const bt_trace *trace)
{
	struct fxt_import_own *own = own_of(e);
	const bt_value *product;

	if (own->trace == trace)
		return own->is_own;
	product = bt_trace_borrow_environment_entry_value_by_name_const(trace, "product");
	own->trace = trace;
	own->is_own = product && bt_value_get_type(product) == BT_VALUE_TYPE_STRING &&
		      strcmp(bt_value_string_get(product), "fxtagent") == 0;
	return own->is_own;
}

/* -- Numbers --------------------------------------------------------------------------------------- */

/* A koid that is no number of 31 bits has another number in contexts. The name of its process or thread says
 * both. */
static void note_koid(struct fxt_import_own *own, uint64_t number, const bt_field *payload)
{
	uint64_t koid;
	bool fresh;

	if (fxt_import_u64(payload, "fxt_id", &koid) && koid != number)
		fxt_map_put(&own->koids, number, 0, &fresh)->value[0] = koid;
}

static uint64_t koid_of(const struct fxt_import_own *own, uint64_t number)
{
	const struct fxt_slot *s = own->koids.used ? fxt_map_find(&own->koids, number, 0) : NULL;

	return s ? s->value[0] : number;
}

/* -- The kernel ------------------------------------------------------------------------------------ */

static struct fxt_import_program *kernel_of(struct fxt_import_events *e, uint64_t ns)
{
	struct fxt_import_program *p =
		fxt_import_provider(&e->out, FXT_KERNEL_PROVIDER_ID, FXT_KERNEL_PROVIDER_ID, ns);

	fxt_import_provider_name(&e->out, p, FXT_KERNEL_PROVIDER);
	return p;
}

static void put_waiting(struct fxt_import_events *e, struct waiting *w, const struct fxt_import_fields *more)
{
	if (w->is_there)
		fxt_import_scheduling(&e->out, kernel_of(e, w->record.ns), &w->record,
				      more ? more->list : NULL, more ? more->count : 0);
	w->is_there = false;
}

/* Writes the switches that wait when time goes on: those of one thread, on several processors, stay in their
 * order. */
static void put_all_waiting(struct fxt_import_events *e, uint64_t ns)
{
	struct fxt_import_own *own = e->own;

	if (ns <= own->waiting_ns)
		return;
	for (size_t i = 0; i < own->cpus; i++)
		put_waiting(e, &own->waiting[i], NULL);
	own->waiting_ns = UINT64_MAX;
}

/* Takes an event of a processor: Linux's own, of which the switch or the wakeup is made, or the arguments
 * that its record had. */
static void take_scheduling(struct fxt_import_events *e, const bt_field *payload, enum kind kind,
			    const char *name, uint64_t cpu, uint64_t ns)
{
	struct fxt_import_own *own = e->own;
	struct fxt_import_scheduling record = {.ns = ns, .cpu = (uint16_t)cpu};
	uint64_t state = FXT_THREAD_RUNNING, target = cpu;
	struct waiting *w;

	own->waiting = fxt_reach(own->waiting, &own->cpu_capacity, &own->cpus, cpu, sizeof(*own->waiting));
	w = &own->waiting[cpu];
	if ((kind == SWITCH || kind == WOKEN) && w->is_there) {
		put_waiting(e, w, &e->fields);
		return;
	}
	put_waiting(e, w, NULL);
	record.is_wakeup = strcmp(name, "sched_wakeup") == 0;
	if (record.is_wakeup) {
		if (!fxt_import_u64(payload, "tid", &record.thread))
			return;
		fxt_import_u64(payload, "target_cpu", &target);
		record.cpu = (uint16_t)target;
	} else if (strcmp(name, "sched_switch") != 0 ||
		   !fxt_import_u64(payload, "prev_tid", &record.thread) ||
		   !fxt_import_u64(payload, "next_tid", &record.incoming)) {
		return;
	}
	fxt_import_u64(payload, "fxt_state", &state);
	record.state = (enum fxt_thread_state)(state & 15);
	record.thread = koid_of(own, (uint32_t)record.thread);
	record.incoming = koid_of(own, (uint32_t)record.incoming);
	*w = (struct waiting){record, true};
	own->waiting_ns = ns;
}

/* -- Other records --------------------------------------------------------------------------------- */

static void take_blob(struct fxt_import_events *e, const bt_field *payload)
{
	const bt_field *data = fxt_import_member(payload, "fxt_data");
	const char *name = fxt_import_string(payload, "fxt_name");
	uint64_t type = FXT_BLOB_DATA, bytes;
	unsigned char *copy;

	if (!data || !bt_field_class_type_is(bt_field_get_class_type(data), BT_FIELD_CLASS_TYPE_ARRAY))
		return;
	bytes = bt_field_array_get_length(data);
	if (bytes > FXT_BLOB_MAX_BYTES - FXT_STRING_MAX_BYTES / 32)
		return;
	fxt_import_u64(payload, "fxt_type", &type);
	copy = fxt_alloc(bytes, 1);
	for (uint64_t i = 0; i < bytes; i++) {
		const bt_field *byte = bt_field_array_borrow_element_field_by_index_const(data, i);

		if (bt_field_class_type_is(bt_field_get_class_type(byte),
					   BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
			copy[i] = (unsigned char)bt_field_integer_unsigned_get_value(byte);
	}
	fxt_import_blob(&e->out, e->out.current, (enum fxt_blob_type)type, name ? name : "", copy, bytes);
	free(copy);
}

static void take_provider(struct fxt_import_events *e, const bt_field *payload, uint64_t ns)
{
	const char *name = fxt_import_string(payload, "fxt_name");
	uint64_t id;

	/* Its process is known when it tells of one, and has its number as a rule. */
	if (fxt_import_u64(payload, "fxt_id", &id))
		fxt_import_provider_name(&e->out,
					 fxt_import_provider(&e->out, (uint32_t)id, (uint32_t)id, ns),
					 name ? name : "");
}

/* Arguments that are koids in all records of the agent: CTF does not tell them from other numbers. */
static void restore_koids(struct fxt_import_fields *f)
{
	for (size_t i = 0; i < f->count; i++) {
		if (f->list[i].type == FXT_ARG_UINT64 &&
		    (strcmp(f->list[i].name, "process") == 0 || strcmp(f->list[i].name, "thread") == 0))
			f->list[i].type = FXT_ARG_KOID;
	}
}

static void take_record(struct fxt_import_events *e, enum kind kind, struct fxt_import_program *p,
			struct fxt_import_thread *t, const bt_field *payload, uint64_t ns)
{
	const char *name = fxt_import_string(payload, "fxt_name");
	const char *message = fxt_import_string(payload, "fxt_message");
	uint64_t id = 0, type = 0;

	name = name ? name : "";
	fxt_import_u64(payload, "fxt_id", &id);
	fxt_import_u64(payload, "fxt_type", &type);
	switch (kind) {
	case LOG:
		fxt_import_log(&e->out, t, ns, message ? message : "");
		break;
	case BLOB:
		take_blob(e, payload);
		break;
	case OBJECT:
		fxt_import_object(&e->out, p, t->pid, id, name, e->fields.list, e->fields.count);
		break;
	case PROCESS:
		if (!*p->name && p->pid == id)
			fxt_import_provider_name(&e->out, p, name);
		/* fallthrough */
	case THREAD:
		restore_koids(&e->fields);
		fxt_import_kernel_object(&e->out, p, kind == PROCESS ? FXT_OBJECT_PROCESS : FXT_OBJECT_THREAD,
					 id, name, e->fields.list, e->fields.count);
		break;
	case OTHER_OBJECT:
		/* The trace that is made has a clock already. */
		if (type != FXT_OBJECT_CLOCK)
			fxt_import_kernel_object(&e->out, p, (enum fxt_kernel_object_type)type, id, name,
						 e->fields.list, e->fields.count);
		break;
	case FULL:
		fxt_import_buffer_full(&e->out, p);
		break;
	default:
		break;
	}
}

/* -- Events ---------------------------------------------------------------------------------------- */

static int kind_of(const bt_field *payload, const char **category)
{
	const char *label = fxt_import_label(payload, "fxt_kind");
	const char *found = fxt_import_label(payload, "fxt_category");

	*category = found ? found : "";
	for (size_t i = 0; label && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].label, label) == 0)
			return kinds[i].kind;
	}
	return NONE;
}

/* Returns the name of the call that an event is the entry or the end of, which the caller frees. */
static char *call_name(const char *name, bool *is_entry)
{
	static const char entry[] = "_entry", leave[] = "_exit";
	size_t bytes = strlen(name), suffix;

	*is_entry = bytes >= strlen(entry) && strcmp(name + bytes - strlen(entry), entry) == 0;
	suffix = *is_entry ? strlen(entry) : strlen(leave);
	return fxt_format("%.*s", (int)(bytes >= suffix ? bytes - suffix : bytes), name);
}

static void take(struct fxt_import_events *e, int kind, struct fxt_import_thread *t, const bt_field *payload,
		 const char *category, const char *event_name, uint64_t ns)
{
	bool is_entry = false,
	     is_call = fxt_event_bounds_call((uint64_t)kind) || kind == FXT_EVENT_DURATION_COMPLETE;
	char *name = is_call ? call_name(event_name, &is_entry) : fxt_strdup(event_name);
	/* A class of many names has it in a field. */
	const char *own = fxt_import_string(payload, "fxt_name");
	uint64_t id = 0;

	if (own) {
		free(name);
		name = fxt_strdup(own);
	}
	fxt_import_u64(payload, "fxt_id", &id);
	fxt_import_calls_at(&e->own->calls, &e->out, t, ns);
	if (kind == FXT_EVENT_DURATION_COMPLETE && is_entry)
		fxt_import_call_begin(&e->own->calls, t, ns, category, name, &e->fields);
	else if (kind == FXT_EVENT_DURATION_COMPLETE)
		fxt_import_call_end(&e->own->calls, &e->out, t, ns, category, name, &e->fields);
	else if (kind >= FXT_EVENT_FLOW_BEGIN)
		fxt_import_call_flow(&e->own->calls, &e->out, t, (enum fxt_event_type)kind, ns, category,
				     name, id);
	else
		fxt_import_event(&e->out, t, (enum fxt_event_type)kind, ns, category, name, e->fields.list,
				 e->fields.count, id);
	free(name);
}

void fxt_import_own_take(struct fxt_import_events *e, const bt_event *event, uint64_t ns)
{
	static const char *const heads[] = {
		"fxt_kind", "fxt_provider", "fxt_category",	 "fxt_id",
		"fxt_name", "fxt_message",  "fxt_type",		 "fxt_event",
		"fxt_data", "fxt_stack",    "_fxt_stack_length", "_fxt_data_length",
	};
	const bt_field *payload = bt_event_borrow_payload_field_const(event);
	const bt_field *context = bt_event_borrow_common_context_field_const(event);
	const bt_packet *packet = bt_event_borrow_packet_const(event);
	const char *name = bt_event_class_get_name(bt_event_borrow_class_const(event)), *category;
	int kind = kind_of(payload, &category);
	uint64_t pid = FXT_KERNEL_PROVIDER_ID, tid, id, cpu = 0;
	struct fxt_import_program *p;
	struct fxt_import_thread *t;

	fxt_import_fields_clear(&e->fields);
	fxt_import_fields_add(&e->fields, payload, heads, sizeof(heads) / sizeof(heads[0]));
	if (packet)
		fxt_import_u64(bt_packet_borrow_context_field_const(packet), "cpu_id", &cpu);
	cpu %= UINT16_MAX;
	tid = FXT_KERNEL_PROVIDER_ID - 1 - cpu;
	put_all_waiting(e, ns);
	if (!fxt_import_u64(context, "vpid", &pid) || !fxt_import_u64(context, "vtid", &tid)) {
		if (kind == NONE || kind == SWITCH || kind == WOKEN) {
			take_scheduling(e, payload, kind, name ? name : "", cpu, ns);
			return;
		}
		if (cpu < e->own->cpus)
			put_waiting(e, &e->own->waiting[cpu], NULL);
		p = kernel_of(e, ns);
	} else if (kind == PROVIDER) {
		take_provider(e, payload, ns);
		return;
	} else if (!(pid = (uint32_t)pid)) {
		if (kind == BLOB)
			take_blob(e, payload);
		return;
	} else if (kind == NONE) {
		return;
	} else {
		if (kind == PROCESS || kind == THREAD)
			note_koid(e->own, kind == PROCESS ? pid : (uint32_t)tid, payload);
		p = fxt_import_u64(payload, "fxt_provider", &id)
			    ? fxt_import_provider(&e->out, (uint32_t)id, koid_of(e->own, pid), ns)
			    : fxt_import_program(&e->out, koid_of(e->own, pid), ns);
	}
	t = fxt_import_thread_of(&e->out, p, koid_of(e->own, pid), koid_of(e->own, (uint32_t)tid));
	if (kind > FXT_EVENT_FLOW_END) {
		take_record(e, (enum kind)kind, p, t, payload, ns);
	} else {
		if (p->id == FXT_KERNEL_PROVIDER_ID)
			restore_koids(&e->fields);
		take(e, kind, t, payload, category, name ? name : "", ns);
	}
}

void fxt_import_own_end(struct fxt_import_events *e)
{
	struct fxt_import_own *own = own_of(e);

	put_all_waiting(e, own->waiting_ns == UINT64_MAX ? 0 : UINT64_MAX);
	fxt_import_calls_end(&own->calls, &e->out);
}

void fxt_import_own_free(struct fxt_import_events *e)
{
	struct fxt_import_own *own = e->own;

	if (!own)
		return;
	free(own->waiting);
	fxt_import_calls_free(&own->calls);
	fxt_map_free(&own->koids);
	free(own);
}

#endif
