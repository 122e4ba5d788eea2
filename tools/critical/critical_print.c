/* Prints the critical path, as text and as JSON. See critical.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "critical.h"
#include "tools/analysis/demangle.h"
#include "tools/common/message.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"

char *fxt_critical_name(const struct fxt_critical_thing *x, const struct fxt_reader *r, struct fxt_who *who,
			size_t columns)
{
	struct fxt_text text;
	char *name, *label;

	if (x->kind == FXT_CRITICAL_FUNCTION) {
		name = fxt_who_culprit(who, FXT_FOR_CALL, x->frame, columns);
		if (name)
			return name;
	}
	text = x->label ? fxt_text_of(x->label) : fxt_symbol_text(r, (uint32_t)x->key);
	name = fxt_printable(&text, columns, true);
	if (x->kind != FXT_CRITICAL_PROGRAM)
		return name;
	label = fxt_format("program %s", name);
	free(name);
	return label;
}

struct fxt_handle fxt_critical_handle(const struct fxt_critical_thing *x, const struct fxt_reader *r,
				      struct fxt_who *who)
{
	struct fxt_handle handle = {""};
	struct fxt_text text;

	if (x->kind == FXT_CRITICAL_LOCK)
		return fxt_handle_of_lock(r, x->pid, x->object);
	if (x->kind == FXT_CRITICAL_FILE)
		return fxt_handle_of_name(FXT_HANDLE_FILE, x->label);
	if (x->kind == FXT_CRITICAL_FUNCTION)
		handle = fxt_who_handle(who, FXT_FOR_CALL, x->frame);
	text = x->label ? fxt_text_of(x->label) : fxt_symbol_text(r, (uint32_t)x->key);
	if (x->kind == FXT_CRITICAL_PROGRAM)
		return fxt_handle_of_program(&text);
	return *handle.text ? handle : fxt_handle_of_function(&text);
}

/* -- Text ----------------------------------------------------------------------------------------- */

enum { LABEL = 40 };
#define FIGURES " %6s %6s  "

/* What has less of the path than a fiftieth, or would win less, is not worth a line. */
static bool is_worth_a_line(const struct fxt_critical *c, const struct fxt_critical_thing *x, size_t top)
{
	return top == FXT_TOP_WHOLE || c->run_ns - x->run_ns >= c->run_ns / 50;
}

static struct fxt_short share(uint64_t ns, uint64_t of)
{
	struct fxt_short text = {"-"};

	if (ns)
		snprintf(text.text, sizeof(text.text), "%.1f%%", 100.0 * (double)ns / (double)of);
	return text;
}

/* Prints how long the run would have taken, and the bounds if they lie apart by a hundredth of the run. */
static void print_run(const struct fxt_critical *c, const struct fxt_critical_thing *x, FILE *out)
{
	fputs(fxt_duration(x->run_ns).text, out);
	if (x->run_most_ns - x->run_least_ns > c->run_ns / 100)
		fprintf(out, " (%s to %s)", fxt_duration(x->run_least_ns).text,
			fxt_duration(x->run_most_ns).text);
	fputc('\n', out);
}

void fxt_critical_print(const struct fxt_critical *c, const struct fxt_reader *r, struct fxt_who *who,
			size_t top, FILE *out)
{
	size_t count = 0;
	uint64_t other_ns = c->unknown_ns + c->unsampled_ns + c->wakeups_ns;

	for (size_t i = 0; i < c->count; i++)
		count += is_worth_a_line(c, &c->things[i], top);
	if (!c->is_known || !count)
		return;
	fxt_put_title(out, "CRITICAL PATH", LABEL);
	fprintf(out, FIGURES "without it the run of %s takes\n", "in", "for", fxt_duration(c->run_ns).text);
	for (size_t i = 0, shown = 0; i < c->count && shown < top; i++) {
		const struct fxt_critical_thing *x = &c->things[i];
		char *name;

		if (!is_worth_a_line(c, x, top))
			continue;
		shown++;
		name = fxt_critical_name(x, r, who, LABEL);
		fxt_put_label(out, fxt_critical_handle(x, r, who).text, name, LABEL);
		fprintf(out, FIGURES, share(x->in_ns, c->run_ns).text, share(x->for_ns, c->run_ns).text);
		print_run(c, x, out);
		free(name);
	}
	fxt_put_more(out, count, top);
	if (c->lacks_events)
		fputs("  events are missing, so threads may have waited for others than is known\n", out);
	if (other_ns >= c->run_ns / 50)
		fprintf(out,
			"  of the path: %s until woken threads ran, %s that no sample tells of,\n"
			"  %s in waits that nobody is known to have ended\n",
			share(c->wakeups_ns, c->run_ns).text,
			share(c->unsampled_ns, c->run_ns).text, share(c->unknown_ns, c->run_ns).text);
}

/* -- JSON ----------------------------------------------------------------------------------------- */

static void put_thing(struct fxt_json *j, const struct fxt_reader *r, struct fxt_who *who,
		      const struct fxt_critical_thing *x)
{
	static const char *const kinds[] = {
		[FXT_CRITICAL_CALL] = "call",         [FXT_CRITICAL_LOCK] = "lock",
		[FXT_CRITICAL_FILE] = "file",         [FXT_CRITICAL_FUNCTION] = "function",
		[FXT_CRITICAL_PROGRAM] = "program",
	};

	fxt_json_object(j, NULL);
	fxt_json_string(j, "handle", fxt_critical_handle(x, r, who).text);
	fxt_json_string(j, "kind", kinds[x->kind]);
	if (x->label)
		fxt_json_string(j, "name", x->label);
	else
		fxt_json_symbol(j, "name", r, (uint32_t)x->key);
	if (x->module)
		fxt_json_symbol(j, "module", r, x->module);
	fxt_json_u64(j, "in_ns", x->in_ns);
	fxt_json_u64(j, "for_ns", x->for_ns);
	fxt_json_u64(j, "run_without_ns", x->run_ns);
	fxt_json_u64(j, "run_without_least_ns", x->run_least_ns);
	fxt_json_u64(j, "run_without_most_ns", x->run_most_ns);
	fxt_json_end(j);
}

void fxt_critical_json(const struct fxt_critical *c, struct fxt_json *j, const struct fxt_reader *r,
		       struct fxt_who *who)
{
	if (!c->is_known) {
		fxt_json_null(j, "critical_path");
		return;
	}
	fxt_json_object(j, "critical_path");
	fxt_json_u64(j, "run_ns", c->run_ns);
	fxt_json_u64(j, "threads", c->threads);
	fxt_json_u64(j, "wakeups_ns", c->wakeups_ns);
	fxt_json_u64(j, "unsampled_ns", c->unsampled_ns);
	fxt_json_u64(j, "unknown_ns", c->unknown_ns);
	fxt_json_u64(j, "least_ns", c->least_ns);
	fxt_json_bool(j, "lacks_events", c->lacks_events);
	fxt_json_array(j, "without");
	for (size_t i = 0; i < c->count; i++)
		put_thing(j, r, who, &c->things[i]);
	fxt_json_end(j);
	fxt_json_end(j);
}
