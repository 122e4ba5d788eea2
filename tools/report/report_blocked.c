/* fxt report: the sections on threads that are blocked when fxt record -p ends, with their stacks. See
 * report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tools/common/message.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"

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

enum { LABEL = 30 };
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

	fxt_put_label(row, fxt_handle_of_thread(r, one->thread).text, label, LABEL);
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

	fxt_put_line(out, fxt_format("%s %s has waited %s%s", fxt_handle_of_thread(r, one->thread).text,
				     thread, one->is_whole ? "> " : "",
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
	line = fxt_who_line(who, FXT_FOR_LOCK, one->innermost, fxt_width() - 9);
	if (line)
		fxt_put_line(out, fxt_format("      in %s", line));
	free(line);
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
			fxt_json_u64(j, "waits_for", fxt_number(r, r->threads[one->awaited].tid));
		else
			fxt_json_null(j, "waits_for");
		fxt_json_bool(j, "deadlock", one->is_in_circle);
		fxt_json_u64(j, "since_ns", one->since_ns);
		fxt_json_u64(j, "at_ns", one->at_ns);
		fxt_json_bool(j, "since_begin", one->is_whole);
		fxt_who_json(who, j, "stack", FXT_FOR_LOCK, one->innermost);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}
