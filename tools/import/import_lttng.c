/* See import_lttng.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_BABELTRACE2

#include "import_lttng.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import_losses.h"
#include "import_modules.h"
#include "tools/common/message.h"
#include "tools/reading/reader.h"

enum kind {
	INSTANT,
	MALLOC,
	CALLOC,
	REALLOC,
	FREE,
	MEMALIGN,
	POSIX_MEMALIGN,
	LOCK_REQ,
	LOCK_ACQ,
	TRYLOCK,
	UNLOCK,
	ENTRY,
	EXIT,
	START,
	PROCNAME,
	BIN_INFO,
	LOAD,
	UNLOAD,
	BUILD_ID,
};

static const struct {
	const char *name;
	enum kind kind;
} kinds[] = {
	{"lttng_ust_libc:malloc", MALLOC},
	{"lttng_ust_libc:calloc", CALLOC},
	{"lttng_ust_libc:realloc", REALLOC},
	{"lttng_ust_libc:free", FREE},
	{"lttng_ust_libc:memalign", MEMALIGN},
	{"lttng_ust_libc:posix_memalign", POSIX_MEMALIGN},
	{"lttng_ust_pthread:pthread_mutex_lock_req", LOCK_REQ},
	{"lttng_ust_pthread:pthread_mutex_lock_acq", LOCK_ACQ},
	{"lttng_ust_pthread:pthread_mutex_trylock", TRYLOCK},
	{"lttng_ust_pthread:pthread_mutex_unlock", UNLOCK},
	{"lttng_ust_cyg_profile:func_entry", ENTRY},
	{"lttng_ust_cyg_profile:func_exit", EXIT},
	{"lttng_ust_cyg_profile_fast:func_entry", ENTRY},
	{"lttng_ust_cyg_profile_fast:func_exit", EXIT},
	{"lttng_ust_statedump:start", START},
	{"lttng_ust_statedump:procname", PROCNAME},
	{"lttng_ust_statedump:bin_info", BIN_INFO},
	{"lttng_ust_statedump:build_id", BUILD_ID},
	{"lttng_ust_lib:load", LOAD},
	{"lttng_ust_lib:unload", UNLOAD},
	{"lttng_ust_lib:build_id", BUILD_ID},
	{"lttng_ust_dl:dlopen", LOAD},
	{"lttng_ust_dl:dlmopen", LOAD},
	{"lttng_ust_dl:build_id", BUILD_ID},
};

struct fxt_import_class {
	enum kind kind;
	char *category, *name;
};

/* -- Who it was ------------------------------------------------------------------------------------ */

/* Processors have tracks of their own, for events that do not say which thread they are of. */
enum { FIRST_TRACK = 1 << 22, MOST_CPUS = 1 << 16 };

struct who {
	struct fxt_import_program *program;
	struct fxt_import_thread *thread;
	bool has_process, has_thread;
};

static bool context_u64(const bt_event *event, const char *name, uint64_t *value)
{
	return fxt_import_u64(bt_event_borrow_common_context_field_const(event), name, value) ||
	       fxt_import_u64(bt_event_borrow_specific_context_field_const(event), name, value);
}

static struct fxt_import_thread *track_of(struct fxt_import_events *e, const bt_event *event,
					  struct fxt_import_program *program)
{
	const bt_packet *packet = bt_event_borrow_packet_const(event);
	uint64_t cpu = 0;
	struct fxt_import_thread *t;
	char *name;

	if (!packet || !fxt_import_u64(bt_packet_borrow_context_field_const(packet), "cpu_id", &cpu))
		cpu = bt_stream_get_id(bt_event_borrow_stream_const(event));
	cpu %= MOST_CPUS;
	t = fxt_import_thread(&e->out, program, FIRST_TRACK + cpu);
	name = t->name ? NULL : fxt_format("cpu %" PRIu64, cpu);
	if (name)
		fxt_import_thread_name(&e->out, t, name, true);
	free(name);
	return t;
}

/* Names the process by its first thread, until a statedump has its name. LTTng's own threads have the name
 * of the program, and "-ust" behind it. */
static void name_process(struct fxt_import_events *e, struct fxt_import_program *p, uint64_t tid,
			 const char *name)
{
	size_t bytes = strlen(name);
	char *own;

	if (p->is_named || (*p->name && tid != p->pid))
		return;
	if (tid != p->pid && bytes > 4 && strcmp(name + bytes - 4, "-ust") == 0)
		bytes -= 4;
	own = fxt_format("%.*s", (int)bytes, name);
	fxt_import_program_name(&e->out, p, own);
	free(own);
}

/* Finds the process and thread of an event. A process that executes another program tells anew what is
 * loaded, by another thread of LTTng's than before. */
static struct who who_of(struct fxt_import_events *e, const bt_event *event, uint64_t ns, enum kind kind)
{
	const bt_field *context = bt_event_borrow_common_context_field_const(event);
	const bt_trace *trace = bt_stream_borrow_trace_const(bt_event_borrow_stream_const(event));
	const char *name = fxt_import_string(context, "procname");
	struct who who = {0};
	uint64_t pid = 0, tid = 0;

	who.has_process = (context_u64(event, "vpid", &pid) || context_u64(event, "pid", &pid) ||
			   fxt_import_process_of(trace, &pid)) &&
			  (pid = (uint32_t)pid) != 0;
	who.has_thread = who.has_process &&
			 (context_u64(event, "vtid", &tid) || context_u64(event, "tid", &tid)) &&
			 (tid = (uint32_t)tid) != 0;
	if (!who.has_process) {
		e->without_process++;
		pid = FXT_OTHERS_ID;
	}
	who.program = fxt_import_program(&e->out, pid, ns);
	if (kind == START && who.has_thread) {
		if (who.program->statedump_by && who.program->statedump_by != tid) {
			fxt_import_executed(&e->out, &e->locks, who.program, ns);
			who.program = fxt_import_program_new(&e->out, pid, ns);
		}
		who.program->statedump_by = tid;
	}
	who.program->has_event = true;
	if (!who.has_process)
		fxt_import_program_name(&e->out, who.program, FXT_IMPORT_ANY_PROCESS);
	if (!who.has_thread) {
		who.thread = track_of(e, event, who.program);
		return who;
	}
	who.thread = fxt_import_thread(&e->out, who.program, tid);
	if (name) {
		fxt_import_thread_name(&e->out, who.thread, name, false);
		name_process(e, who.program, tid, name);
	}
	return who;
}

/* -- Events ---------------------------------------------------------------------------------------- */

static void put_call(struct fxt_import_events *e, const struct who *who, uint64_t ns, const char *category,
		     const char *name, const struct fxt_import_arg *args, size_t count)
{
	fxt_import_event(&e->out, who->thread, FXT_EVENT_DURATION_COMPLETE, ns, category, name, args, count,
			 ns);
}

/* Writes a call about the heap. Its arguments are those that the agent writes. Returns false if the event has
 * not the fields that LTTng gives it. */
static bool take_heap(struct fxt_import_events *e, const struct fxt_import_class *class,
		      const struct who *who, uint64_t ns, const bt_field *payload)
{
	static const struct {
		const char *field, *name;
		enum fxt_arg_type type;
	} members[][3] = {
		[MALLOC] = {{"size", "size", FXT_ARG_UINT64}, {"ptr", "ret", FXT_ARG_POINTER}},
		[CALLOC] = {{"nmemb", "nmemb", FXT_ARG_UINT64},
			    {"size", "size", FXT_ARG_UINT64},
			    {"ptr", "ret", FXT_ARG_POINTER}},
		[REALLOC] = {{"in_ptr", "ptr", FXT_ARG_POINTER},
			     {"size", "size", FXT_ARG_UINT64},
			     {"ptr", "ret", FXT_ARG_POINTER}},
		[FREE] = {{"ptr", "ptr", FXT_ARG_POINTER}},
		[MEMALIGN] = {{"alignment", "alignment", FXT_ARG_UINT64},
			      {"size", "size", FXT_ARG_UINT64},
			      {"ptr", "ret", FXT_ARG_POINTER}},
		[POSIX_MEMALIGN] = {{"alignment", "alignment", FXT_ARG_UINT64},
				    {"size", "size", FXT_ARG_UINT64},
				    {"out_ptr", "ret", FXT_ARG_POINTER}},
	};
	struct fxt_import_arg list[3];
	size_t count = 0;
	int64_t error;

	for (; count < 3 && members[class->kind][count].field; count++) {
		list[count].type = members[class->kind][count].type;
		list[count].name = members[class->kind][count].name;
		if (!fxt_import_u64(payload, members[class->kind][count].field, &list[count].u))
			return false;
	}
	if (class->kind == POSIX_MEMALIGN && fxt_import_i64(payload, "result", &error) && error)
		list[2] = (struct fxt_import_arg){FXT_ARG_INT32, "errno", .i = error};
	put_call(e, who, ns, "malloc", class->name, list, count);
	return true;
}

static bool take_mutex(struct fxt_import_events *e, enum kind kind, const struct who *who, uint64_t ns,
		       const bt_field *payload)
{
	uint64_t mutex;
	int64_t status = 0;

	if (!fxt_import_u64(payload, "mutex", &mutex) ||
	    (kind != LOCK_REQ && !fxt_import_i64(payload, "status", &status)))
		return false;
	switch (kind) {
	case LOCK_REQ:
		fxt_import_lock_begin(&e->out, &e->locks, who->thread, ns, mutex);
		break;
	case LOCK_ACQ:
		fxt_import_lock_end(&e->out, &e->locks, who->thread, ns, mutex, status);
		break;
	case TRYLOCK:
		fxt_import_trylock(&e->out, &e->locks, who->thread, ns, mutex, status);
		break;
	default:
		fxt_import_unlock(&e->out, &e->locks, who->thread, ns, mutex, status);
	}
	return true;
}

/* Takes an entry to a function or its end. The fast variant of LTTng's library does not say which function
 * ends. */
static bool take_function(struct fxt_import_events *e, enum kind kind, const struct who *who, uint64_t ns,
			  const bt_field *payload)
{
	uint64_t address = 0, site = 0;

	fxt_import_u64(payload, "call_site", &site);
	if (!fxt_import_u64(payload, "addr", &address) && kind == ENTRY)
		return false;
	if (kind == ENTRY)
		fxt_import_enter(&e->out, who->thread, ns, address, site);
	else
		fxt_import_leave(&e->out, who->thread, ns, address, site);
	return true;
}

static void take_build_id(struct fxt_import_program *p, uint64_t base, const bt_field *payload)
{
	const bt_field *field = fxt_import_member(payload, "build_id");
	uint64_t count;
	uint8_t id[64];

	if (!field || !bt_field_class_type_is(bt_field_get_class_type(field), BT_FIELD_CLASS_TYPE_ARRAY))
		return;
	count = bt_field_array_get_length(field);
	if (count > sizeof(id))
		return;
	for (uint64_t i = 0; i < count; i++) {
		const bt_field *byte = bt_field_array_borrow_element_field_by_index_const(field, i);

		if (!bt_field_class_type_is(bt_field_get_class_type(byte),
					    BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
			return;
		id[i] = (uint8_t)bt_field_integer_unsigned_get_value(byte);
	}
	fxt_import_module_build_id(p, base, id, count);
}

/* Takes what an event says of a program and its files. */
static void take_state(struct fxt_import_events *e, enum kind kind, struct fxt_import_program *p,
		       const bt_field *payload)
{
	const char *path = fxt_import_string(payload, "path"), *name = fxt_import_string(payload, "procname");
	uint64_t base, bytes, is_pic = 1;

	if (kind == PROCNAME && name) {
		fxt_import_program_name(&e->out, p, name);
		p->is_named = true;
	}
	if (!fxt_import_u64(payload, "baddr", &base))
		return;
	fxt_import_u64(payload, "is_pic", &is_pic);
	if (kind == UNLOAD)
		fxt_import_module_unload(p, base);
	else if (kind == BUILD_ID)
		take_build_id(p, base, payload);
	else if (path && fxt_import_u64(payload, "memsz", &bytes))
		fxt_import_module_load(p, base, bytes, path, is_pic);
}

static void put_instant(struct fxt_import_events *e, const struct fxt_import_class *class,
			const struct who *who, uint64_t ns, const bt_event *event)
{
	static const char *const known[] = {"vpid", "vtid", "procname", "pid", "tid"};

	fxt_import_fields_clear(&e->fields);
	fxt_import_fields_add(&e->fields, bt_event_borrow_payload_field_const(event), NULL, 0);
	fxt_import_fields_add(&e->fields, bt_event_borrow_specific_context_field_const(event), NULL, 0);
	fxt_import_fields_add(&e->fields, bt_event_borrow_common_context_field_const(event), known,
			      sizeof(known) / sizeof(known[0]));
	fxt_import_event(&e->out, who->thread, FXT_EVENT_INSTANT, ns, class->category, class->name,
			 e->fields.list, e->fields.count, 0);
}

static struct fxt_import_class *class_of(struct fxt_import_events *e, const bt_event_class *class)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&e->by_class, (uintptr_t) class, 0, &fresh);
	const char *name = bt_event_class_get_name(class), *colon;
	struct fxt_import_class *c;

	if (!fresh)
		return &e->classes[s->value[0]];
	s->value[0] = e->class_count;
	e->classes = fxt_grow(e->classes, &e->class_capacity, e->class_count + 1, sizeof(*e->classes));
	c = &e->classes[e->class_count++];
	name = name && *name ? name : "event";
	colon = strchr(name, ':');
	*c = (struct fxt_import_class){.kind = INSTANT,
				       .category = colon ? fxt_format("%.*s", (int)(colon - name), name)
							 : fxt_strdup("ctf"),
				       .name = fxt_strdup(colon ? colon + 1 : name)};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, name) == 0)
			c->kind = kinds[i].kind;
	}
	return c;
}

void fxt_import_lttng_take(struct fxt_import_events *e, const bt_event *event, uint64_t ns)
{
	const bt_field *payload = bt_event_borrow_payload_field_const(event);
	const struct fxt_import_class *class = class_of(e, bt_event_borrow_class_const(event));
	struct who who = who_of(e, event, ns, class->kind);
	bool is_done = false;

	if (class->kind >= MALLOC && class->kind <= POSIX_MEMALIGN && who.has_process)
		is_done = take_heap(e, class, &who, ns, payload);
	else if (class->kind >= LOCK_REQ && class->kind <= UNLOCK && who.has_thread)
		is_done = take_mutex(e, class->kind, &who, ns, payload);
	else if ((class->kind == ENTRY || class->kind == EXIT) && who.has_thread)
		is_done = take_function(e, class->kind, &who, ns, payload);
	else if (class->kind >= PROCNAME && who.has_process)
		take_state(e, class->kind, who.program, payload);
	if (!is_done)
		put_instant(e, class, &who, ns, event);
}

void fxt_import_lttng_free(struct fxt_import_events *e)
{
	for (size_t i = 0; i < e->class_count; i++) {
		free(e->classes[i].category);
		free(e->classes[i].name);
	}
	free(e->classes);
	fxt_map_free(&e->by_class);
}

#endif
