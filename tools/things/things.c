/* Finds the things of a report by their handles. See things.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "things.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/analysis/demangle.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* What goes over all things of a report: it looks for one of them, or counts them. */
struct search {
	const struct fxt_report *report;
	const char *handle;             /* NULL: they are counted */
	struct fxt_things *found;
	struct fxt_map met;             /* handles that were counted */
	uint64_t counts[128];           /* by kind */
};

static uint64_t key_of(const struct fxt_handle *handle)
{
	uint64_t key = 0;

	memcpy(&key, handle->text, FXT_HANDLE_COLUMNS);
	return key;
}

/* Returns what stands behind the name in the label of a lock: its address and process. */
static const char *behind(const char *label)
{
	const char *comma = strrchr(label, ',');

	return comma ? comma : label;
}

/* Counts the thing, or returns one to fill in if it has the handle that is looked for. Returns NULL if it has
 * not, or if it was found already. The label is freed. */
static struct fxt_thing *met(struct search *s, struct fxt_handle handle, char *label)
{
	bool fresh = false, is_wanted = s->handle && strcasecmp(handle.text, s->handle) == 0;
	struct fxt_things *t = s->found;

	if (!s->handle && *handle.text) {
		fxt_map_put(&s->met, key_of(&handle), 0, &fresh);
		s->counts[(unsigned char)*handle.text] += fresh;
	}
	/* A lock is met in several tables, by its kind and name and by its name alone. */
	for (size_t i = 0; is_wanted && i < t->count; i++)
		is_wanted = *handle.text == FXT_HANDLE_LOCK
				    ? strcmp(behind(t->list[i].label), behind(label)) != 0
				    : strcmp(t->list[i].label, label) != 0;
	if (!is_wanted) {
		free(label);
		return NULL;
	}
	t->list = fxt_grow(t->list, &t->capacity, t->count + 1, sizeof(*t->list));
	t->list[t->count] = (struct fxt_thing){.handle = handle, .label = label};
	return &t->list[t->count++];
}

static void add_number(struct fxt_narrow *n, enum fxt_narrow_by by, const struct fxt_reader *r, uint64_t koid)
{
	char *number = fxt_format("%" PRIu64, fxt_number(r, koid));

	fxt_narrow_add(n, by, number);
	free(number);
}

/* Returns "app 1234". */
static char *process_label(const struct fxt_reader *r, uint64_t pid)
{
	struct fxt_text text = fxt_process_name(r, pid);
	char *name = fxt_printable(&text, SIZE_MAX, false);
	char *label = fxt_format("%s%s%" PRIu64, name, *name ? " " : "", fxt_number(r, pid));

	free(name);
	return label;
}

static void meet_process(struct search *s, uint64_t pid)
{
	const struct fxt_reader *r = s->report->r;
	struct fxt_text name = fxt_process_name(r, pid);
	char *label = process_label(r, pid), *text;
	struct fxt_thing *thing = met(s, fxt_handle_of_process(r, pid), fxt_format("process %s", label));

	free(label);
	if (thing)
		add_number(&thing->narrow, FXT_BY_PROCESS, r, pid);
	if (!name.bytes)
		return;
	text = fxt_format("%.*s", (int)name.bytes, name.text);
	label = fxt_printable(&name, SIZE_MAX, false);
	thing = met(s, fxt_handle_of_program(&name), fxt_format("all processes of %s", label));
	if (thing)
		fxt_narrow_add(&thing->narrow, FXT_BY_PROCESS, text);
	free(label);
	free(text);
}

static void meet_thread(struct search *s, uint32_t thread)
{
	const struct fxt_reader *r = s->report->r;
	char *label = fxt_thread_label(r, thread, true);
	struct fxt_thing *thing = met(s, fxt_handle_of_thread(r, thread), fxt_format("thread %s", label));

	free(label);
	if (!thing)
		return;
	add_number(&thing->narrow, FXT_BY_PROCESS, r, r->threads[thread].pid);
	add_number(&thing->narrow, FXT_BY_THREAD, r, r->threads[thread].tid);
}

static void add_object(struct fxt_narrow *n, const struct fxt_reader *r, uint64_t pid, uint64_t object)
{
	char *address = fxt_format("0x%" PRIx64, object);

	if (!n->by[FXT_BY_PROCESS].count)
		add_number(n, FXT_BY_PROCESS, r, pid);
	fxt_narrow_add(n, FXT_BY_OBJECT, address);
	free(address);
}

/* `name` is freed. */
static void meet_lock(struct search *s, uint64_t pid, uint64_t object, char *name)
{
	const struct fxt_reader *r = s->report->r;
	char *process = process_label(r, pid);
	struct fxt_thing *thing = met(s, fxt_handle_of_lock(r, pid, object),
				      fxt_format("%s, 0x%" PRIx64 " of %s", name, object, process));

	if (thing)
		add_object(&thing->narrow, r, pid, object);
	free(process);
	free(name);
}

/* Meets an object that was waited for, and all that share its name. */
static void meet_wait(struct search *s, const struct fxt_wait *wait)
{
	const struct fxt_reader *r = s->report->r;
	struct fxt_handle handle = fxt_waits_handle(r, wait);
	char *name = wait->label ? fxt_wait_name(wait->kind, wait->label) : fxt_strdup(wait->kind);
	char *process = process_label(r, wait->pid), *label = fxt_format("all %s of %s", name, process);
	struct fxt_things *t = s->found;
	struct fxt_thing *thing;

	meet_lock(s, wait->pid, wait->object, fxt_strdup(name));
	free(process);
	if (!wait->label) {
		free(name);
		free(label);
		return;
	}
	free(name);
	thing = met(s, handle, fxt_strdup(label));
	for (size_t i = 0; !thing && t && i < t->count; i++)
		thing = strcmp(t->list[i].label, label) == 0 ? &t->list[i] : NULL;
	if (thing)
		add_object(&thing->narrow, r, wait->pid, wait->object);
	free(label);
}

static void meet_file(struct search *s, const char *label)
{
	struct fxt_text text = fxt_text_of(label);
	char *shown = fxt_printable(&text, SIZE_MAX, false);
	struct fxt_thing *thing = met(s, fxt_handle_of_name(FXT_HANDLE_FILE, label), shown);

	if (thing)
		fxt_narrow_add(&thing->narrow, FXT_BY_PATH, label);
}

/* `name` is a symbol or a name of a function. */
static void meet_function(struct search *s, const struct fxt_text *name)
{
	char *label = fxt_function_label(name, SIZE_MAX);
	struct fxt_text text = fxt_text_of(label);
	char *shown = fxt_shorten_demangled(&text, SIZE_MAX), *raw, *prefix;
	struct fxt_thing *thing = met(s, fxt_handle_of_function(name), fxt_format("function %s", shown));

	if (thing) {
		raw = fxt_format("%.*s", (int)name->bytes, name->text);
		prefix = fxt_demangle(name);
		fxt_narrow_add(&thing->narrow, FXT_BY_CALL, raw);
		fxt_narrow_add(&thing->otherwise, FXT_BY_STACK, prefix ? prefix : raw);
		if (strcmp(prefix ? prefix : raw, shown) != 0)
			fxt_narrow_add(&thing->otherwise, FXT_BY_STACK, shown);
		free(prefix);
		free(raw);
	}
	free(shown);
	free(label);
}

static void meet_symbol(struct search *s, uint32_t symbol)
{
	struct fxt_text name = fxt_symbol_text(s->report->r, symbol);

	if (symbol)
		meet_function(s, &name);
}

/* Meets who is to blame for what a stack tells of. */
static void meet_culprit(struct search *s, enum fxt_purpose purpose, uint32_t innermost)
{
	struct fxt_who_function f;
	struct fxt_text name;

	if (!fxt_who_functions(s->report->who, purpose, innermost, false, &f, 1))
		return;
	name = fxt_text_of(f.name);
	meet_function(s, &name);
	fxt_who_free_functions(&f, 1);
}

static void meet_threads(struct search *s)
{
	const struct fxt_report *report = s->report;

	for (size_t i = 0; i < report->threads.count; i++) {
		meet_process(s, report->r->threads[report->threads.list[i].thread].pid);
		meet_thread(s, report->threads.list[i].thread);
	}
	for (size_t i = 0; i < report->processor.process_count; i++)
		meet_process(s, report->processor.processes[i].pid);
	for (size_t i = 0; i < report->processor.thread_count; i++)
		meet_thread(s, report->processor.threads[i].thread);
	for (size_t i = 0; i < report->blocked.count; i++)
		meet_thread(s, report->blocked.list[i].thread);
	for (size_t i = 0; i < report->open.count; i++)
		if (report->open.threads[i].count)
			meet_thread(s, (uint32_t)i);
	for (size_t i = 0; i < report->log.count; i++)
		meet_thread(s, report->log.list[i].thread);
	for (size_t i = 0; i < report->heaps.count; i++)
		meet_process(s, report->heaps.list[i].pid);
}

static void meet_locks(struct search *s)
{
	const struct fxt_report *report = s->report;

	for (size_t i = 0; i < report->waits.count; i++)
		meet_wait(s, &report->waits.list[i]);
	for (size_t i = 0; i < report->contention.count; i++) {
		const struct fxt_contended *c = &report->contention.list[i];
		char *lock = fxt_contention_lock(c->known, c->lock);

		meet_lock(s, c->pid, c->lock, fxt_wait_name(c->kind, lock));
		free(lock);
	}
	for (size_t i = 0; i < report->lock_orders.circles.count; i++) {
		const struct fxt_lock_circle *circle = &report->lock_orders.circles.list[i];

		for (size_t k = 0; k < circle->count; k++) {
			const struct fxt_lock *lock =
				&report->lock_orders.replay.places.locks[circle->orders[k].first];

			meet_lock(s, lock->pid, lock->address,
				  fxt_lock_orders_name(&report->lock_orders, circle, k));
		}
	}
	for (size_t i = 0; i < report->critical.count; i++)
		if (report->critical.things[i].kind == FXT_CRITICAL_LOCK)
			meet_lock(s, report->critical.things[i].pid, report->critical.things[i].object,
				  fxt_strdup(report->critical.things[i].label));
}

static void meet_files(struct search *s)
{
	for (size_t i = 0; i < s->report->files.count; i++)
		meet_file(s, s->report->files.list[i].label);
	for (size_t i = 0; i < s->report->descriptors.count; i++)
		meet_file(s, s->report->descriptors.list[i].label);
}

static void meet_critical(struct search *s, const struct fxt_critical_thing *x)
{
	struct fxt_text label = fxt_text_of(x->label ? x->label : "");

	if (x->kind != FXT_CRITICAL_FUNCTION && x->kind != FXT_CRITICAL_CALL)
		return;
	if (x->kind == FXT_CRITICAL_FUNCTION)
		meet_culprit(s, FXT_FOR_CALL, x->frame);
	if (x->label)
		meet_function(s, &label);
	else
		meet_symbol(s, (uint32_t)x->key);
}

static void meet_functions(struct search *s)
{
	const struct fxt_report *report = s->report;

	for (size_t i = 0; i < report->calls.count; i++)
		meet_symbol(s, report->calls.list[i].name);
	for (size_t i = 0; i < report->processor.tree.function_count; i++) {
		char *name = fxt_sampled_function_label(report->r, &report->processor.tree.functions[i],
							SIZE_MAX);
		struct fxt_text text = fxt_text_of(name);

		meet_function(s, &text);
		free(name);
	}
	for (size_t i = 0; i < report->critical.count; i++)
		meet_critical(s, &report->critical.things[i]);
	for (size_t i = 0; i < report->failures.count; i++)
		meet_symbol(s, report->failures.list[i].name);
	for (size_t i = 0; i < report->leaks.count; i++)
		if (report->leaks.list[i].function != FXT_NO_FUNCTION)
			meet_symbol(s, report->leaks.list[i].function);
	for (size_t i = 0; i < report->heap_stacks.count; i++)
		meet_culprit(s, FXT_FOR_HEAP, report->heap_stacks.list[i].innermost);
}

static void meet_all(struct search *s)
{
	meet_threads(s);
	meet_locks(s);
	meet_files(s);
	meet_functions(s);
}

void fxt_things_find(struct fxt_things *t, const struct fxt_report *report, const char *handle)
{
	struct search s = {.report = report, .handle = handle, .found = t};

	*t = (struct fxt_things){0};
	meet_all(&s);
}

void fxt_things_free(struct fxt_things *t)
{
	for (size_t i = 0; i < t->count; i++) {
		free(t->list[i].label);
		fxt_narrow_free(&t->list[i].narrow);
		fxt_narrow_free(&t->list[i].otherwise);
	}
	free(t->list);
	*t = (struct fxt_things){0};
}

char *fxt_things_there_are(const struct fxt_report *report)
{
	static const struct {
		enum fxt_handle_kind kind;
		const char *one, *more;
	} kinds[] = {
		{FXT_HANDLE_PROCESS, "process", "processes"}, {FXT_HANDLE_THREAD, "thread", "threads"},
		{FXT_HANDLE_LOCK, "lock", "locks"},           {FXT_HANDLE_FILE, "file", "files"},
		{FXT_HANDLE_FUNCTION, "function", "functions"},
	};
	enum { KINDS = sizeof(kinds) / sizeof(*kinds) };
	struct search s = {.report = report};
	size_t bytes, left = 0;
	char *text;
	FILE *out = fxt_text_stream(&text, &bytes);

	meet_all(&s);
	for (size_t i = 0; i < KINDS; i++)
		left += s.counts[kinds[i].kind] > 0;
	for (size_t i = 0; i < KINDS; i++) {
		uint64_t n = s.counts[kinds[i].kind];

		if (!n)
			continue;
		fprintf(out, "%" PRIu64 " %s (%c...)%s", n, n == 1 ? kinds[i].one : kinds[i].more,
			kinds[i].kind, left > 2 ? ", " : left == 2 ? " and " : "");
		left--;
	}
	fclose(out);
	fxt_map_free(&s.met);
	return text;
}
