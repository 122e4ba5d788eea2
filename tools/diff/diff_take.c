/* Takes the figures of a run from its report. See diff.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "diff.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/demangle.h"
#include "tools/common/message.h"
#include "tools/figures/figures.h"
#include "tools/findings/rules.h"
#include "tools/printing/print.h"

struct take {
	struct fxt_diff *d;
	size_t run;
	const struct fxt_report *report;
};

static void add(const struct take *t, uint32_t thing, enum fxt_diff_quantity quantity, double value)
{
	fxt_diff_add(t->d, thing, quantity, t->run, value);
}

/* Adds a figure that chance has a part in. */
static void add_noisy(const struct take *t, uint32_t thing, enum fxt_diff_quantity quantity, double value)
{
	add(t, thing, quantity, value);
	fxt_diff_noisy(t->d, thing, quantity);
}

static uint32_t thing(const struct take *t, enum fxt_diff_kind kind, const char *name)
{
	return fxt_diff_thing(t->d, kind, name, FXT_DIFF_NONE);
}

static struct fxt_diff_thing *at(const struct take *t, uint32_t place)
{
	return &t->d->things[place];
}

/* Says of which category a thing is, which need not be recorded in all runs. */
static void set_category(const struct take *t, uint32_t place, const char *category)
{
	uint32_t of = thing(t, FXT_DIFF_CATEGORY, category);

	at(t, place)->category = of;
}

/* Returns the category of a symbol as text, which the caller frees. */
static char *category_text(const struct take *t, uint32_t category)
{
	struct fxt_text text = fxt_symbol_text(t->report->r, category);

	return fxt_printable(&text, SIZE_MAX, false);
}

static bool is_process(const struct fxt_reader *r, uint64_t number)
{
	for (size_t i = 0; i < r->thread_count; i++)
		if (fxt_number(r, r->threads[i].pid) == number)
			return true;
	return false;
}

/* Returns the name without what differs from run to run: numbers of processes, of pipes and sockets in
 * brackets, and ports that the kernel has chosen. A star takes their place. The caller frees it. */
static char *stable_name(const struct take *t, const char *name)
{
	enum { FIRST_CHOSEN_PORT = 32768 };
	char *text;
	size_t bytes;
	FILE *out = fxt_text_stream(&text, &bytes);

	for (const char *from = name; *from;) {
		size_t digits = strspn(from, "0123456789");
		uint64_t number;
		char before;

		if (!digits) {
			fputc(*from++, out);
			continue;
		}
		number = strtoull(from, NULL, 10);
		before = from > name ? from[-1] : ' ';
		if ((before == '[' && from[digits] == ']') ||
		    (before == ':' && number >= FIRST_CHOSEN_PORT) ||
		    (number > 1 && is_process(t->report->r, number)))
			fputc('*', out);
		else
			fprintf(out, "%.*s", (int)digits, from);
		from += digits;
	}
	fclose(out);
	return text;
}

/* -- Groups of things ------------------------------------------------------------------------------ */

static void take_run(const struct take *t)
{
	const struct fxt_processor_time *p = &t->report->processor;
	uint32_t whole = thing(t, FXT_DIFF_RUN, "the run");
	uint64_t ns = 0;

	add_noisy(t, whole, FXT_DIFF_TIME, (double)fxt_rule_run_ns(t->report));
	for (size_t i = 0; i < p->thread_count; i++)
		ns += p->threads[i].times.running_ns;
	if (p->switches.switches)
		add_noisy(t, whole, FXT_DIFF_CPU, (double)ns);
	add(t, thing(t, FXT_DIFF_RUN, "threads"), FXT_DIFF_COUNT,
	    (double)fxt_overview_threads(&t->report->overview, t->report->r));
	add(t, thing(t, FXT_DIFF_RUN, "processes"), FXT_DIFF_COUNT,
	    (double)fxt_overview_processes(&t->report->overview, t->report->r));
}

/* Adds who made the calls that have a stack. Which do depends on how long they took, so chance has a part. */
static void take_callers(const struct take *t, const struct fxt_call *call, uint32_t parent)
{
	const struct fxt_stack_sums *sums = &t->report->call_stacks;
	enum fxt_purpose purpose = fxt_call_purpose(t->report->r, call->category);
	uint64_t key = fxt_call_key(call->category, call->name);

	for (size_t i = fxt_stack_sums_first(sums, key); i < sums->count && sums->list[i].key == key; i++) {
		struct fxt_who_function one;
		uint32_t by;

		if (!fxt_who_functions(t->report->who, purpose, sums->list[i].innermost, false, &one, 1))
			continue;
		by = fxt_diff_thing(t->d, FXT_DIFF_CALL, one.name, parent);
		add_noisy(t, by, FXT_DIFF_TIME, (double)sums->list[i].total_ns);
		add_noisy(t, by, FXT_DIFF_COUNT, (double)sums->list[i].count);
		fxt_who_free_functions(&one, 1);
	}
}

static void take_calls(const struct take *t)
{
	for (size_t i = 0; i < t->report->calls.count; i++) {
		const struct fxt_call *call = &t->report->calls.list[i];
		char *name = fxt_call_label(t->report->r, call->category, call->name, SIZE_MAX);
		char *category = category_text(t, call->category);
		uint32_t place = thing(t, FXT_DIFF_CALL, name);

		at(t, place)->handle = fxt_call_handle(t->report->r, call);
		set_category(t, place, category);
		add_noisy(t, place, FXT_DIFF_TIME, (double)call->total_ns);
		add(t, place, FXT_DIFF_COUNT, (double)call->count);
		add_noisy(t, at(t, place)->category, FXT_DIFF_TIME, (double)call->total_ns);
		add(t, at(t, place)->category, FXT_DIFF_COUNT, (double)call->count);
		take_callers(t, call, place);
		free(category);
		free(name);
	}
}

static void take_failures(const struct take *t)
{
	for (size_t i = 0; i < t->report->failures.count; i++) {
		const struct fxt_failure *one = &t->report->failures.list[i];
		char *call = fxt_call_label(t->report->r, one->category, one->name, SIZE_MAX);
		char *category = category_text(t, one->category);
		const char *error = strerrorname_np(one->error);
		char *name = error ? fxt_format("%s: %s", call, error)
				   : fxt_format("%s: error %d", call, one->error);
		struct fxt_text text = fxt_symbol_text(t->report->r, one->name);
		uint32_t place = thing(t, FXT_DIFF_FAILURE, name);

		at(t, place)->handle = fxt_handle_of_function(&text);
		set_category(t, place, category);
		add(t, place, FXT_DIFF_COUNT, (double)one->count);
		free(name);
		free(category);
		free(call);
	}
}

/* Returns whether only calls of category pthread wait for objects of the kind. */
static bool is_of_threads(const char *kind)
{
	static const char *const kinds[] = {"mutex", "rwlock", "spinlock", "cond", "barrier", "join"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			return true;
	return false;
}

static void take_waits(const struct take *t)
{
	for (size_t i = 0; i < t->report->waits.count; i++) {
		const struct fxt_wait *wait = &t->report->waits.list[i];
		char *label = wait->label ? fxt_wait_name(wait->kind, wait->label)
					  : fxt_format("%s without a name", wait->kind);
		char *name = stable_name(t, label);
		uint32_t place = thing(t, FXT_DIFF_WAIT, name);

		if (is_of_threads(wait->kind))
			set_category(t, place, "pthread");
		add_noisy(t, place, FXT_DIFF_TIME, (double)wait->total_ns);
		add_noisy(t, place, FXT_DIFF_COUNT, (double)wait->count);
		free(name);
		free(label);
	}
}

static void take_functions(const struct take *t)
{
	const struct fxt_processor_time *p = &t->report->processor;

	/* How many there are is left to chance, but for whether there are any. */
	add_noisy(t, thing(t, FXT_DIFF_CATEGORY, FXT_DIFF_SAMPLES), FXT_DIFF_COUNT, (double)p->tree.samples);
	for (size_t i = 0; i < p->tree.function_count; i++) {
		const struct fxt_tree_function *f = &p->tree.functions[i];
		char *name = fxt_sampled_function_label(t->report->r, f, SIZE_MAX);
		uint32_t place = thing(t, FXT_DIFF_FUNCTION, name);

		at(t, place)->handle = fxt_sampled_function_handle(t->report->r, f);
		set_category(t, place, FXT_DIFF_SAMPLES);
		add_noisy(t, place, FXT_DIFF_CPU, (double)fxt_samples_ns(p, f->self));
		free(name);
	}
}

/* Returns what is left of a stack's. What samples stand for is an estimate, and cannot be more than what its
 * process has left. */
static double left_of(const struct fxt_report *report, const struct fxt_heap_stack *one)
{
	const struct fxt_heap_process *p = &report->heap_stacks.processes[one->process];
	double left = (double)one->left.bytes;

	for (size_t i = 0; one->is_estimate && i < report->heaps.count; i++) {
		const struct fxt_process_heap *heap = &report->heaps.list[i];

		if (heap->provider == p->provider && heap->pid == p->pid && left > (double)heap->in_use_bytes)
			left = (double)heap->in_use_bytes;
	}
	return left;
}

static void take_heap(const struct take *t)
{
	const struct fxt_heap_stacks *h = &t->report->heap_stacks;

	for (size_t i = 0; i < h->count; i++) {
		const struct fxt_heap_stack *one = &h->list[i];
		struct fxt_who_function who;
		struct fxt_text text;
		uint32_t place;

		if (one->is_mapping ||
		    !fxt_who_functions(t->report->who, FXT_FOR_HEAP, one->innermost, false, &who, 1))
			continue;
		place = thing(t, FXT_DIFF_HEAP, who.name);
		text = fxt_text_of(who.name);
		at(t, place)->handle = fxt_handle_of_function(&text);
		set_category(t, place, "malloc");
		add(t, place, FXT_DIFF_BYTES_LEFT, left_of(t->report, one));
		add(t, place, FXT_DIFF_BYTES_ASKED, (double)one->all.bytes);
		if (!fxt_heap_is_exact(&h->processes[one->process])) {
			fxt_diff_noisy(t->d, place, FXT_DIFF_BYTES_LEFT);
			fxt_diff_noisy(t->d, place, FXT_DIFF_BYTES_ASKED);
		}
		fxt_who_free_functions(&who, 1);
	}
	for (size_t i = 0; i < t->report->heaps.count; i++) {
		const struct fxt_process_heap *heap = &t->report->heaps.list[i];
		char *name = fxt_printable(&heap->provider->name, SIZE_MAX, false);
		uint32_t place = thing(t, FXT_DIFF_PROGRAM, name);

		at(t, place)->handle = fxt_handle_of_program(&heap->provider->name);
		set_category(t, place, "malloc");
		/* The most of several processes, or of threads, depends on which of them come together. */
		add_noisy(t, place, FXT_DIFF_BYTES_PEAK, (double)heap->peak_bytes);
		add(t, place, FXT_DIFF_BYTES_LEFT, (double)fxt_heap_left(heap));
		add(t, place, FXT_DIFF_BYTES_ASKED, (double)heap->allocated_bytes);
		free(name);
	}
}

static void take_files(const struct take *t)
{
	const struct fxt_files *files = &t->report->files;

	for (size_t i = 0; i < files->count; i++) {
		char *name = stable_name(t, files->list[i].label);
		uint32_t place = thing(t, FXT_DIFF_FILE, name);

		at(t, place)->handle = fxt_handle_of_name(FXT_HANDLE_FILE, files->list[i].label);
		set_category(t, place, "io");
		add_noisy(t, place, FXT_DIFF_TIME, (double)files->list[i].total_ns);
		add(t, place, FXT_DIFF_COUNT, (double)files->list[i].calls);
		add(t, place, FXT_DIFF_BYTES_READ, (double)files->list[i].in_bytes);
		add(t, place, FXT_DIFF_BYTES_WRITTEN, (double)files->list[i].out_bytes);
		free(name);
	}
	for (size_t i = 0; i < t->report->descriptors.count; i++) {
		const struct fxt_left *left = &t->report->descriptors.list[i];
		char *name = stable_name(t, left->label);
		uint32_t place = thing(t, FXT_DIFF_LEFT_OPEN, name);

		at(t, place)->handle = fxt_handle_of_name(FXT_HANDLE_FILE, left->label);
		set_category(t, place, "io");
		add(t, place, FXT_DIFF_COUNT, (double)left->count);
		free(name);
	}
}

/* Takes who made threads and children. */
static void take_made(const struct take *t)
{
	static const struct {
		const char *category, *name;
	} kinds[] = {{"pthread", "thread"}, {"process", "child"}};

	for (size_t i = 0; i < t->report->made.count; i++) {
		const struct fxt_maker *m = &t->report->made.list[i];
		enum fxt_purpose purpose = fxt_maker_purpose(m, t->report->r);

		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
			struct fxt_who_function who;
			struct fxt_text text;
			uint32_t place;
			char *name;

			if (!fxt_maker_is(m, t->report->r, kinds[k].category, kinds[k].name) ||
			    !fxt_who_functions(t->report->who, purpose, m->innermost, false, &who, 1))
				continue;
			name = fxt_format("%s by %s", kinds[k].name, who.name);
			text = fxt_text_of(who.name);
			place = thing(t, FXT_DIFF_MADE, name);
			at(t, place)->handle = fxt_handle_of_function(&text);
			set_category(t, place, kinds[k].category);
			add(t, place, FXT_DIFF_COUNT, (double)m->count);
			free(name);
			fxt_who_free_functions(&who, 1);
		}
	}
}

/* Takes what lies on the critical path. A function's part has what it called. */
static void take_path(const struct take *t)
{
	static const enum fxt_diff_kind kinds[] = {
		[FXT_CRITICAL_CALL] = FXT_DIFF_CALL, [FXT_CRITICAL_LOCK] = FXT_DIFF_WAIT,
		[FXT_CRITICAL_FILE] = FXT_DIFF_FILE, [FXT_CRITICAL_FUNCTION] = FXT_DIFF_FUNCTION};
	const struct fxt_critical *c = &t->report->critical;

	t->d->runs[t->run].has_path = c->is_known && !c->lacks_events;
	for (size_t i = 0; c->is_known && i < c->count; i++) {
		const struct fxt_critical_thing *x = &c->things[i];
		struct fxt_who_function who;
		char *label, *name;

		if (x->kind == FXT_CRITICAL_PROGRAM)
			continue;
		if (x->kind == FXT_CRITICAL_FUNCTION &&
		    fxt_who_functions(t->report->who, FXT_FOR_CALL, x->frame, false, &who, 1)) {
			label = fxt_strdup(who.name);
			fxt_who_free_functions(&who, 1);
		} else {
			label = fxt_critical_name(x, t->report->r, t->report->who, SIZE_MAX);
		}
		name = stable_name(t, label);
		add_noisy(t, thing(t, kinds[x->kind], name), FXT_DIFF_PATH,
			  (double)(x->kind == FXT_CRITICAL_LOCK ? x->for_ns : x->in_ns));
		free(name);
		free(label);
	}
}

/* Takes faults. Those that are costs may pass a threshold of time by chance. */
static void take_findings(const struct take *t, const struct fxt_findings *f)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct fxt_finding *x = &f->list[i];
		struct fxt_who_function who;
		char *label, *name;
		uint32_t place;

		if (x->rule->gravity == FXT_IS_NOTE)
			continue;
		label = fxt_rule_label(x->rule);
		if (fxt_who_functions(t->report->who, x->purpose, x->innermost, false, &who, 1)) {
			name = fxt_format("%s, by %s", label, who.name);
			fxt_who_free_functions(&who, 1);
		} else {
			name = x->culprit ? fxt_format("%s, by %s", label, x->culprit) : fxt_strdup(label);
		}
		place = thing(t, FXT_DIFF_FINDING, name);
		if (x->rule->gravity == FXT_IS_COST) {
			add_noisy(t, place, FXT_DIFF_COUNT, 1);
			add_noisy(t, place, FXT_DIFF_TIME, (double)x->cost_ns);
		} else {
			/* It did not do what it is for. */
			add(t, place, FXT_DIFF_COUNT, 1);
			at(t, place)->weight = x->rule->gravity == FXT_IS_END ? 1 : 0.5;
		}
		free(name);
		free(label);
	}
}

void fxt_diff_take(struct fxt_diff *d, size_t run, const struct fxt_findings *f,
		   const struct fxt_report *report)
{
	struct take t = {d, run, report};

	d->runs[run].is_read = true;
	d->runs[run].lost = fxt_calls_missing(report, report->has_functions);
	take_run(&t);
	take_calls(&t);
	take_failures(&t);
	take_waits(&t);
	take_functions(&t);
	take_heap(&t);
	take_files(&t);
	take_made(&t);
	take_path(&t);
	take_findings(&t, f);
}
