/* See report_blocked.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "report_blocked.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tools/analysis/circles.h"
#include "tools/analysis/processor_time.h"
#include "tools/common/message.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"

void fxt_blocked_threads_take(struct fxt_blocked_threads *b, struct fxt_reader *r,
			      struct fxt_call_stacks *stacks, const struct fxt_record *rec)
{
	uint64_t at_ns = fxt_ns(rec->provider, rec->ticks);
	const struct fxt_text *state, *in;
	uint64_t awaited;
	uint32_t thread;
	bool fresh;

	if (rec->type == FXT_RECORD_SCHEDULING && rec->subtype == FXT_SCHEDULING_SWITCH && rec->id)
		fxt_map_put(&b->left, rec->id, 0, &fresh)->value[0] = at_ns;
	if (rec->type != FXT_RECORD_EVENT || rec->subtype != FXT_EVENT_INSTANT ||
	    !fxt_text_is(&rec->category, "kernel") || !fxt_text_is(&rec->name, "blocked"))
		return;
	state = fxt_argument_text(rec, "state");
	in = fxt_argument_text(rec, "in");
	thread = fxt_told_thread(r, rec);
	awaited = fxt_argument_or(rec, "waits_for", 0);
	b->list = fxt_grow(b->list, &b->capacity, b->count + 1, sizeof(*b->list));
	b->list[b->count++] = (struct fxt_blocked_thread){
		.thread = thread,
		.state = state ? fxt_symbol(r, state) : 0,
		.in = in ? fxt_symbol(r, in) : 0,
		.innermost = fxt_call_stack_of(stacks, rec),
		.lock = fxt_argument_or(rec, "lock", 0),
		.awaited = awaited ? fxt_thread_of(r, r->threads[thread].pid, awaited) : FXT_NO_THREAD,
		.at_ns = at_ns,
	};
}

static int by_time(const void *a, const void *b)
{
	const struct fxt_blocked_thread *x = a, *y = b;

	if (x->is_in_circle != y->is_in_circle)
		return x->is_in_circle ? -1 : 1;
	if (x->since_ns != y->since_ns)
		return x->since_ns > y->since_ns ? 1 : -1;
	if (x->innermost != y->innermost)
		return x->innermost > y->innermost ? 1 : -1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

/* Finds the threads that wait for each other. */
static void find_circles(struct fxt_blocked_threads *b)
{
	size_t *awaited = fxt_alloc(b->count ? b->count : 1, sizeof(*awaited));
	bool *is_in_circle = fxt_alloc(b->count ? b->count : 1, sizeof(*is_in_circle)), fresh;
	struct fxt_map places = {0};

	for (size_t i = 0; i < b->count; i++)
		fxt_map_put(&places, b->list[i].thread, 0, &fresh)->value[0] = i;
	for (size_t i = 0; i < b->count; i++) {
		const struct fxt_slot *s = fxt_map_find(&places, b->list[i].awaited, 0);

		awaited[i] = s ? s->value[0] : b->count;
	}
	fxt_find_circles(awaited, b->count, is_in_circle);
	for (size_t i = 0; i < b->count; i++)
		b->list[i].is_in_circle = is_in_circle[i];
	fxt_map_free(&places);
	free(is_in_circle);
	free(awaited);
}

/* Puts threads together that are blocked in one place: for one lock or thread, if it is known. */
static void group(struct fxt_blocked_threads *b, const struct fxt_reader *r)
{
	struct fxt_map groups = {0};

	for (size_t i = 0; i < b->count; i++) {
		struct fxt_blocked_thread *one = &b->list[i];
		uint64_t what = one->lock			? one->lock
				: one->awaited != FXT_NO_THREAD ? UINT64_MAX - one->awaited
								: r->threads[one->thread].pid;
		struct fxt_slot *s;

		if (one->is_in_circle)
			continue;
		s = fxt_map_put(&groups, what, (uint64_t)one->innermost << 32 | one->in, &one->is_first);
		if (one->is_first)
			s->value[0] = i;
		else
			b->list[s->value[0]].more++;
	}
	fxt_map_free(&groups);
}

void fxt_blocked_threads_finish(struct fxt_blocked_threads *b, const struct fxt_reader *r, uint64_t begin_ns)
{
	for (size_t i = 0; i < b->count; i++) {
		struct fxt_blocked_thread *one = &b->list[i];
		const struct fxt_slot *s = fxt_map_find(&b->left, r->threads[one->thread].tid, 0);

		one->is_whole = !s;
		one->since_ns = s ? s->value[0] : begin_ns;
	}
	fxt_map_free(&b->left);
	find_circles(b);
	if (b->count)
		qsort(b->list, b->count, sizeof(*b->list), by_time);
	group(b, r);
}

/* Returns the function by which the culprit waits, such as pthread_cond_wait; NULL: it is not known. */
static char *call_of(struct fxt_who *who, uint32_t innermost)
{
	enum { EXAMINED = 64 };
	struct fxt_who_function list[EXAMINED];
	uint32_t culprit = fxt_culprit_of(&who->culprits, FXT_FOR_LOCK, innermost);
	size_t count = fxt_who_functions(who, FXT_FOR_LOCK, innermost, true, list, EXAMINED), i;
	char *name;

	for (i = 0; i < count && list[i].frame != culprit; i++)
		;
	/* If all of the stack is of libraries that do their callers' work, the innermost tells most. */
	if (i == count)
		i = 1;
	name = count && i ? fxt_strdup(list[i - 1].name) : NULL;
	fxt_who_free_functions(list, count);
	return name;
}

enum { LABEL = 34 };
#define FIGURES " %10s "

static char *symbol_label(const struct fxt_reader *r, uint32_t symbol)
{
	struct fxt_text text = symbol ? fxt_symbol_text(r, symbol) : fxt_text_of("");

	return fxt_printable(&text, 40, false);
}

/* Prints a thread, and says how many more are blocked in the same place. */
static void print_row(const struct fxt_blocked_thread *one, const struct fxt_reader *r, struct fxt_who *who,
		      bool with_process, FILE *out)
{
	char *thread = fxt_thread_label(r, one->thread, with_process), *call = call_of(who, one->innermost);
	char *label = one->more ? fxt_format("%s and %zu more", thread, one->more) : fxt_strdup(thread);
	char *kernel = symbol_label(r, one->in), *state = symbol_label(r, one->state), *text;
	char *length = fxt_format("%s%s", one->is_whole ? "> " : "",
				  fxt_duration(fxt_ns_between(one->since_ns, one->at_ns)).text);
	size_t bytes;
	FILE *row = fxt_text_stream(&text, &bytes);

	fxt_put_label(row, label, LABEL);
	fprintf(row, FIGURES, length);
	if (call)
		fprintf(row, " %s", call);
	if (*kernel)
		fprintf(row, "%s in the kernel %s", call ? "," : "", kernel);
	if (*state && strcmp(state, "sleeping") != 0)
		fprintf(row, " (%s)", state);
	fclose(row);
	fxt_put_line(out, text);
	free(length);
	free(state);
	free(kernel);
	free(label);
	free(call);
	free(thread);
}

/* Returns what a thread waits for, "mutex 0x55d0 that app 12 holds" or "the end of app 12"; NULL: that is not
 * known. */
static char *awaited_label(const struct fxt_blocked_thread *one, const struct fxt_reader *r,
			   bool with_process)
{
	char *thread = one->awaited == FXT_NO_THREAD ? NULL : fxt_thread_label(r, one->awaited, with_process);
	const char *who = one->awaited == one->thread ? "it" : thread;
	char *label = NULL;

	if (one->lock && thread)
		label = fxt_format("mutex 0x%" PRIx64 " that %s holds%s", one->lock, who,
				   one->awaited == one->thread ? " itself" : "");
	else if (one->lock)
		label = fxt_format("mutex 0x%" PRIx64, one->lock);
	else if (thread)
		label = fxt_format("the end of %s", thread);
	free(thread);
	return label;
}

/* Prints a thread that waits for itself, through any number of others. */
static void print_in_circle(const struct fxt_blocked_thread *one, const struct fxt_reader *r,
			    struct fxt_who *who, bool with_process, size_t top, FILE *out)
{
	char *thread = fxt_thread_label(r, one->thread, with_process);
	char *awaited = awaited_label(one, r, with_process);

	fxt_put_line(out, fxt_format("  %s has waited %s%s", thread, one->is_whole ? "> " : "",
				     fxt_duration(fxt_ns_between(one->since_ns, one->at_ns)).text));
	fxt_put_line(out, fxt_format("      for %s", awaited));
	fxt_who_print(who, FXT_FOR_LOCK, one->innermost, top, out);
	free(awaited);
	free(thread);
}

/* Prints the stack. That of a first thread is worth lines, because its program hangs. */
static void print_stack(const struct fxt_blocked_thread *one, const struct fxt_reader *r, struct fxt_who *who,
			size_t top, FILE *out)
{
	char *line;

	if (r->threads[one->thread].pid == r->threads[one->thread].tid) {
		fxt_who_print(who, FXT_FOR_LOCK, one->innermost, top, out);
		return;
	}
	line = fxt_who_line(who, FXT_FOR_LOCK, one->innermost, FXT_COLUMNS - 9);
	if (line)
		fxt_put_line(out, fxt_format("      in %s", line));
	free(line);
}

bool fxt_blocked_threads_is_deadlock(const struct fxt_blocked_threads *b)
{
	return b->count && b->list[0].is_in_circle;
}

void fxt_blocked_threads_print(const struct fxt_blocked_threads *b, const struct fxt_reader *r,
			       struct fxt_who *who, bool with_process, size_t top, FILE *out)
{
	size_t shown = 0, circles = 0;
	char *awaited;

	if (fxt_blocked_threads_is_deadlock(b))
		fputs("\nDEADLOCK\n", out);
	for (; circles < b->count && b->list[circles].is_in_circle; circles++)
		if (circles < top)
			print_in_circle(&b->list[circles], r, who, with_process, top, out);
	fxt_put_more(out, circles, top);
	if (circles == b->count)
		return;
	fxt_put_title(out, "BLOCKED AT THE END", LABEL);
	fprintf(out, FIGURES " in\n", "for");
	for (size_t i = circles; i < b->count; i++) {
		if (!b->list[i].is_first || shown++ >= top)
			continue;
		print_row(&b->list[i], r, who, with_process, out);
		awaited = awaited_label(&b->list[i], r, with_process);
		if (awaited)
			fxt_put_line(out, fxt_format("      for %s", awaited));
		free(awaited);
		print_stack(&b->list[i], r, who, top, out);
	}
	fxt_put_more(out, shown, top);
}

void fxt_blocked_threads_json(const struct fxt_blocked_threads *b, struct fxt_json *j,
			      const struct fxt_reader *r, struct fxt_who *who)
{
	fxt_json_array(j, "blocked_at_end");
	for (size_t i = 0; i < b->count; i++) {
		const struct fxt_blocked_thread *one = &b->list[i];
		char lock[24];

		fxt_report_json_thread(j, NULL, r, one->thread);
		fxt_json_symbol(j, "state", r, one->state);
		fxt_json_symbol(j, "kernel_function", r, one->in);
		snprintf(lock, sizeof(lock), "0x%" PRIx64, one->lock);
		fxt_json_string(j, "lock", one->lock ? lock : NULL);
		if (one->awaited != FXT_NO_THREAD)
			fxt_json_u64(j, "waits_for", r->threads[one->awaited].tid);
		fxt_json_bool(j, "deadlock", one->is_in_circle);
		fxt_json_u64(j, "since_ns", one->since_ns);
		fxt_json_u64(j, "at_ns", one->at_ns);
		fxt_json_bool(j, "since_begin", one->is_whole);
		fxt_who_json(who, j, "stack", FXT_FOR_LOCK, one->innermost);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

void fxt_blocked_threads_free(struct fxt_blocked_threads *b)
{
	free(b->list);
	fxt_map_free(&b->left);
	*b = (struct fxt_blocked_threads){0};
}
