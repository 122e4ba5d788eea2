/* fxt report: the sections on processor time. See report_processor.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "report_processor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/demangle.h"
#include "tools/analysis/made_names.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* -- Names and places ------------------------------------------------------------------------------ */

char *fxt_sampled_function_label(const struct fxt_reader *r, const struct fxt_tree_function *f,
				 size_t columns)
{
	struct fxt_text text = fxt_symbol_text(r, f->name);
	char *name, *label;
	struct fxt_made_name made;

	if (!f->module && fxt_split_made_name(&text, &made))
		return fxt_printable(&made.function, columns, true);
	name = fxt_demangle_short(&text, columns);
	if (!name)
		name = fxt_shorten_demangled(&text, columns);
	text = fxt_text_of(name);
	label = fxt_printable(&text, columns, true);
	free(name);
	return label;
}

struct fxt_handle fxt_sampled_function_handle(const struct fxt_reader *r, const struct fxt_tree_function *f)
{
	char *name = fxt_sampled_function_label(r, f, SIZE_MAX);
	struct fxt_text text = fxt_text_of(name);
	struct fxt_handle handle = fxt_handle_of_function(&text);

	free(name);
	return handle;
}

struct fxt_text fxt_sampled_module(const struct fxt_reader *r, const struct fxt_tree_function *f)
{
	return f->module ? fxt_symbol_text(r, f->module) : fxt_text_of("");
}

/* Returns the name of the function's file without folders. If there is no room for all of it, the name of a
 * library loses its version first. */
static char *module_label(const struct fxt_reader *r, const struct fxt_tree_function *f, size_t columns)
{
	struct fxt_text path = fxt_sampled_module(r, f);
	const char *slash = memrchr(path.text, '/', path.bytes), *version;

	if (slash && slash + 1 < path.text + path.bytes) {
		path.bytes -= (uint32_t)(slash + 1 - path.text);
		path.text = slash + 1;
	}
	version = memmem(path.text, path.bytes, ".so.", 4);
	if (path.bytes > columns && version)
		path.bytes = (uint32_t)(version - path.text);
	return fxt_printable(&path, columns, false);
}

/* A loop has several addresses on one line, and lines are compared by all of them. The hottest ones decide,
 * so others are not looked up. */
enum { EXAMINED = 32 };

struct candidate {
	struct fxt_source_place place;
	uint64_t samples;
};

static bool is_same_place(const struct fxt_source_place *a, const struct fxt_source_place *b)
{
	return a->line == b->line && strcmp(a->file, b->file) == 0 && strcmp(a->function, b->function) == 0;
}

bool fxt_sampled_place(const struct fxt_call_tree *t, const struct fxt_reader *r,
		       const struct fxt_tree_function *f, struct fxt_frame_names *source,
		       struct fxt_source_place *place)
{
	struct fxt_frame_at at = {.path = fxt_sampled_module(r, f), .build_id.text = ""};
	struct candidate list[EXAMINED];
	size_t count = 0, best = 0, k;

	if (!source || !at.path.bytes)
		return false;
	if (f->build_id)
		at.build_id = fxt_symbol_text(r, f->build_id);
	for (size_t i = 0; i < f->address_count && i < EXAMINED; i++) {
		const struct fxt_tree_address *a = &t->addresses[f->addresses + i];
		struct fxt_source_place one;

		at.offset = a->offset;
		if ((f->self && !a->self) || !fxt_source_line(source, &at, &one))
			continue;
		for (k = 0; k < count && !is_same_place(&list[k].place, &one); k++)
			;
		if (k == count)
			list[count++] = (struct candidate){one, 0};
		list[k].samples += f->self ? a->self : a->total;
		if (list[k].samples > list[best].samples)
			best = k;
	}
	if (count)
		*place = list[best].place;
	return count > 0;
}

/* -- Functions ------------------------------------------------------------------------------------- */

enum { LABEL = 34, WHERE = 34 };
/* A function with a twentieth of the samples is worth another line about what was inlined in it. */
enum { WORTH_A_LINE = 20 };
#define FIGURES " %6s %9s %6s  "

static struct fxt_short share(uint64_t samples, uint64_t of)
{
	struct fxt_short text;

	snprintf(text.text, sizeof(text.text), "%.1f%%", 100.0 * (double)samples / (double)of);
	return text;
}

static struct fxt_short time_of(const struct fxt_processor_time *p, uint64_t samples)
{
	static const struct fxt_short unknown = {"-"};

	return p->hz ? fxt_duration(fxt_samples_ns(p, samples)) : unknown;
}

/* Returns a place as " file.c:42", in at most two thirds of the room for the last column. */
static char *line_label(const struct fxt_source_place *place)
{
	struct fxt_text text = fxt_text_of(place->file);
	char *number = fxt_format(":%d", place->line);
	char *file = fxt_printable(&text, WHERE * 2 / 3 - 1 - strlen(number), true), *label;

	label = fxt_format(" %s%s", file, number);
	free(number);
	free(file);
	return label;
}

/* Returns the same of a function that was made at run time, and has no file of code; "": it is not known. */
static char *made_label(const struct fxt_reader *r, const struct fxt_tree_function *f)
{
	struct fxt_text name = fxt_symbol_text(r, f->name);
	struct fxt_made_name made;
	char *place, *label;

	if (f->module || !fxt_split_made_name(&name, &made))
		return fxt_strdup("");
	place = fxt_printable(&made.place, WHERE - 1, true);
	label = fxt_format(" %s", place);
	free(place);
	return label;
}

/* Returns the share of the samples that a function was in. What the agent calls is what the program has
 * called, so for the agent that would say nothing of recording, and "-" stands there. */
static struct fxt_short total_of(const struct fxt_processor_time *p, const struct fxt_reader *r,
				 const struct fxt_tree_function *f)
{
	static const struct fxt_short none = {"-"};
	struct fxt_text name = fxt_symbol_text(r, f->name);

	if (name.bytes == strlen(FXT_TREE_AGENT) && !memcmp(name.text, FXT_TREE_AGENT, name.bytes))
		return none;
	return share(f->total, p->tree.samples);
}

static void print_function(const struct fxt_processor_time *p, const struct fxt_reader *r,
			   const struct fxt_tree_function *f, struct fxt_frame_names *source, FILE *out)
{
	struct fxt_source_place place;
	bool has_place = fxt_sampled_place(&p->tree, r, f, source, &place);
	char *name = fxt_sampled_function_label(r, f, LABEL);
	char *line = has_place ? line_label(&place) : made_label(r, f);
	char *module = module_label(r, f, WHERE - fxt_columns(line));

	fxt_put_label(out, fxt_sampled_function_handle(r, f).text, name, LABEL);
	fprintf(out, FIGURES, f->self ? share(f->self, p->tree.samples).text : "-",
		f->self ? time_of(p, f->self).text : "-", total_of(p, r, f).text);
	fprintf(out, "%s%s\n", module, line);
	if (has_place && *place.function &&
	    (f->self ? f->self : f->total) >= p->tree.samples / WORTH_A_LINE) {
		struct fxt_text inlined = fxt_text_of(place.function);
		char *cut = fxt_printable(&inlined, fxt_width() - 40, true);

		fprintf(out, "      mostly in %s, which was inlined\n", cut);
		free(cut);
	}
	free(module);
	free(line);
	free(name);
}

/* Prints "name 1234 60%, other 1235 40%". */
static void print_processes(const struct fxt_processor_time *p, const struct fxt_reader *r, FILE *out)
{
	enum { SHOWN = 4 };
	char *line = fxt_strdup("  by process: "), *longer;

	if (p->process_count <= 1) {
		free(line);
		return;
	}
	for (size_t i = 0; i < p->process_count && i < SHOWN; i++) {
		struct fxt_text text = fxt_process_name(r, p->processes[i].pid);
		char *name = fxt_printable(&text, 16, false);

		longer = fxt_format("%s%s%s%s%" PRIu64 " %s", line, i ? ", " : "", name, *name ? " " : "",
				    fxt_number(r, p->processes[i].pid),
				    share(p->processes[i].samples, p->tree.samples).text);
		free(name);
		free(line);
		line = longer;
	}
	if (p->process_count > SHOWN) {
		longer = fxt_format("%s, and %zu more", line, p->process_count - SHOWN);
		free(line);
		line = longer;
	}
	fxt_put_line(out, line);
}

static void print_notes(const struct fxt_processor_time *p, FILE *out)
{
	if (p->kernel_not_sampled)
		fputs("  time in the kernel was not sampled, and is missing here\n", out);
	if (p->lost_records)
		fprintf(out, "  %s of the kernel's records are missing, so the figures are too low\n",
			fxt_count(p->lost_records).text);
}

static void print_sum(const struct fxt_processor_time *p, FILE *out)
{
	fprintf(out, "  %s samples", fxt_count(p->tree.samples).text);
	if (p->hz)
		fprintf(out, " of %s: %s of processor time", fxt_duration(fxt_samples_ns(p, 1)).text,
			time_of(p, p->tree.samples).text);
	if (!p->kernel_not_sampled)
		fprintf(out, ", %s of it in the kernel", share(p->kernel_samples, p->tree.samples).text);
	fputc('\n', out);
}

void fxt_processor_print(const struct fxt_processor_time *p, const struct fxt_reader *r,
			 struct fxt_frame_names *source, size_t top, FILE *out)
{
	const struct fxt_call_tree *t = &p->tree;
	size_t shown = 0, count = 0;

	if (!t->samples)
		return;
	if (!fxt_processor_is_telling(p) && top != FXT_TOP_WHOLE) {
		fprintf(out, "\nPROCESSOR TIME BY FUNCTION\n  %s sample%s", fxt_count(t->samples).text,
			t->samples == 1 ? "" : "s");
		if (p->hz)
			fprintf(out, ", about %s of processor time,", time_of(p, t->samples).text);
		fprintf(out, " cannot say which functions took it\n");
		print_notes(p, out);
		return;
	}
	fxt_put_title(out, "PROCESSOR TIME BY FUNCTION", LABEL);
	fprintf(out, FIGURES "in\n", "self", "time", "total");
	for (size_t i = 0; i < t->function_count; i++) {
		const struct fxt_tree_function *f = &t->functions[t->ranked[i]];

		/* Functions that only call others would be the last lines, or have no samples at all. */
		if (!(t->is_by_total || top == FXT_TOP_WHOLE ? f->total : f->self))
			continue;
		count++;
		if (shown < top) {
			shown++;
			print_function(p, r, f, source, out);
		}
	}
	fxt_put_more(out, count, top);
	print_sum(p, out);
	print_processes(p, r, out);
	print_notes(p, out);
}

/* -- The head -------------------------------------------------------------------------------------- */

static void print_hottest(const struct fxt_processor_time *p, const struct fxt_reader *r, FILE *out)
{
	enum { SHOWN = 3, LEAST = 20 /* a twentieth of the samples is worth to be told here */ };
	char *line = p->hz ? fxt_format("computed for %s", time_of(p, p->tree.samples).text)
			   : fxt_strdup("computed");
	const char *separator = ": ";

	for (size_t i = 0; i < p->tree.function_count && i < SHOWN; i++) {
		const struct fxt_tree_function *f = &p->tree.functions[p->tree.ranked[i]];
		char *name, *longer;

		if (f->self < p->tree.samples / LEAST)
			break;
		name = fxt_sampled_function_label(r, f, 32);
		longer = fxt_format("%s%s%.0f%% in %s", line, separator,
				    100.0 * (double)f->self / (double)p->tree.samples, name);
		free(name);
		free(line);
		line = longer;
		separator = ", ";
	}
	fxt_put_line(out, line);
}

void fxt_processor_print_head(const struct fxt_processor_time *p, const struct fxt_reader *r, bool is_next,
			      FILE *out)
{
	const struct fxt_switch_sums *times = p->thread_count ? &p->threads[0].times : NULL;

	if (fxt_processor_is_telling(p) && !is_next)
		print_hottest(p, r, out);
	if (p->thread_count != 1 || !p->switches.switches)
		return;
	fprintf(out, "on a processor for %s, ready for one for %s, blocked for %s; preempted %s time%s\n",
		fxt_duration(times->running_ns).text, fxt_duration(times->ready_ns).text,
		fxt_duration(times->blocked_ns).text, fxt_count(times->preemptions).text,
		times->preemptions == 1 ? "" : "s");
}

/* -- Threads --------------------------------------------------------------------------------------- */

enum { THREAD = 22 };
#define TIMES " %8s %8s %8s %9s"

static struct fxt_short time_or_none(uint64_t ns)
{
	static const struct fxt_short none = {"-"};

	return ns ? fxt_duration(ns) : none;
}

/* Where the trace has no switches, samples tell how long threads ran. */
static void print_times(const struct fxt_processor_time *p, uint64_t samples,
			const struct fxt_switch_sums *times, FILE *out)
{
	uint64_t running_ns = p->switches.switches ? times->running_ns : fxt_samples_ns(p, samples);

	fprintf(out, TIMES, time_or_none(running_ns).text, time_or_none(times->ready_ns).text,
		time_or_none(times->blocked_ns).text,
		times->preemptions ? fxt_count(times->preemptions).text : "-");
}

static void print_thread(const struct fxt_processor_time *p, const struct fxt_processor_thread *thread,
			 const struct fxt_reader *r, bool with_process, FILE *out)
{
	char *label = fxt_thread_label(r, thread->thread, with_process);
	struct fxt_text text = fxt_text_of(label);
	char *cut = fxt_printable(&text, THREAD, false);

	fxt_put_label(out, fxt_handle_of_thread(r, thread->thread).text, cut, THREAD);
	print_times(p, thread->samples, &thread->times, out);
	if (thread->samples >= FXT_FEW_SAMPLES) {
		char *name = fxt_sampled_function_label(r, &p->tree.functions[thread->function], 27);

		fprintf(out, "  %s %.0f%%", name,
			100.0 * (double)thread->function_samples / (double)thread->samples);
		free(name);
	}
	fputc('\n', out);
	free(cut);
	free(label);
}

/* Says for how long processors were missing, if that was a tenth of the time that they ran. */
static void print_shortage(const struct fxt_processor_time *p, FILE *out)
{
	enum { TENTH = 10 };
	uint64_t running_ns = 0, ready_ns = 0;

	for (size_t i = 0; i < p->thread_count; i++) {
		running_ns += p->threads[i].times.running_ns;
		ready_ns += p->threads[i].times.ready_ns;
	}
	if (ready_ns && ready_ns >= running_ns / TENTH)
		fprintf(out, "  threads were ready for %s in all, while no processor was free for them\n",
			fxt_duration(ready_ns).text);
}

/* The processes that ran one program. */
struct program {
	struct fxt_text name;
	size_t processes;
	uint64_t samples;
	struct fxt_switch_sums times;
};

static int by_name(const void *a, const void *b)
{
	const struct program *x = a, *y = b;
	uint32_t bytes = x->name.bytes < y->name.bytes ? x->name.bytes : y->name.bytes;
	int order = memcmp(x->name.text, y->name.text, bytes);

	return order ? order : (x->name.bytes > y->name.bytes) - (x->name.bytes < y->name.bytes);
}

static int by_running(const void *a, const void *b)
{
	const struct program *x = a, *y = b;

	if (x->times.running_ns != y->times.running_ns)
		return x->times.running_ns > y->times.running_ns ? -1 : 1;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return by_name(a, b);
}

static void add_times(struct fxt_switch_sums *to, const struct fxt_switch_sums *from)
{
	to->running_ns += from->running_ns;
	to->ready_ns += from->ready_ns;
	to->blocked_ns += from->blocked_ns;
	to->preemptions += from->preemptions;
}

/* Makes one of all processes of a name. Returns the programs, sorted, and how many there are. */
static struct program *programs_of(const struct fxt_processor_time *p, const struct fxt_reader *r,
				   size_t *count)
{
	struct program *list = fxt_alloc(p->process_count, sizeof(*list));

	*count = 0;
	for (size_t i = 0; i < p->process_count; i++)
		list[i] = (struct program){fxt_process_name(r, p->processes[i].pid), 1,
					   p->processes[i].samples, p->processes[i].times};
	qsort(list, p->process_count, sizeof(*list), by_name);
	for (size_t i = 0; i < p->process_count; i++) {
		if (!*count || by_name(&list[*count - 1], &list[i]) != 0) {
			list[(*count)++] = list[i];
			continue;
		}
		list[*count - 1].processes++;
		list[*count - 1].samples += list[i].samples;
		add_times(&list[*count - 1].times, &list[i].times);
	}
	qsort(list, *count, sizeof(*list), by_running);
	return list;
}

/* Prints a line for each program. Where many processes ran few programs, the longest of their threads say
 * little, and THREADS has them. */
static void print_programs(const struct fxt_processor_time *p, const struct fxt_reader *r, size_t top,
			   FILE *out)
{
	size_t count;
	struct program *list = programs_of(p, r, &count);

	fxt_put_title(out, "PROCESSOR TIME BY PROGRAM", THREAD);
	fprintf(out, TIMES "  processes\n", "running", "ready", "blocked", "preempted");
	for (size_t i = 0; i < count && i < top; i++) {
		char *name = fxt_printable(&list[i].name, THREAD, false);

		fxt_put_label(out, fxt_handle_of_program(&list[i].name).text, *name ? name : "(no name)",
			      THREAD);
		print_times(p, list[i].samples, &list[i].times, out);
		fprintf(out, "  %9s\n", fxt_count(list[i].processes).text);
		free(name);
	}
	fxt_put_more(out, count, top);
	free(list);
}

/* Prints a line for each process. Nobody but who asks for one wants them all. */
static void print_processes_alone(const struct fxt_processor_time *p, const struct fxt_reader *r, FILE *out)
{
	fxt_put_title(out, "PROCESSOR TIME BY PROCESS", THREAD);
	fprintf(out, TIMES "\n", "running", "ready", "blocked", "preempted");
	for (size_t i = 0; i < p->process_count; i++) {
		struct fxt_text text = fxt_process_name(r, p->processes[i].pid);
		char *name = fxt_printable(&text, THREAD - 11, false);
		char *label = fxt_format("%s%s%" PRIu64, name, *name ? " " : "",
					 fxt_number(r, p->processes[i].pid));

		fxt_put_label(out, fxt_handle_of_process(r, p->processes[i].pid).text, label, THREAD);
		print_times(p, p->processes[i].samples, &p->processes[i].times, out);
		fputc('\n', out);
		free(label);
		free(name);
	}
}

void fxt_processor_print_threads(const struct fxt_processor_time *p, const struct fxt_reader *r,
				 bool with_process, size_t top, FILE *out)
{
	enum { MANY = 12 };
	size_t shown = p->thread_count < top ? p->thread_count : top;
	struct fxt_switch_sums rest = {0};
	uint64_t rest_samples = 0;

	if (p->thread_count <= 1 && top != FXT_TOP_WHOLE)
		return;
	if (p->process_count > top && p->process_count >= MANY) {
		print_programs(p, r, top, out);
		print_shortage(p, out);
		return;
	}
	if (top == FXT_TOP_WHOLE && p->process_count) {
		print_programs(p, r, top, out);
		print_processes_alone(p, r, out);
	}
	fxt_put_title(out, "PROCESSOR TIME BY THREAD", THREAD);
	fprintf(out, TIMES "  mostly in\n", "running", "ready", "blocked", "preempted");
	for (size_t i = 0; i < shown; i++)
		print_thread(p, &p->threads[i], r, with_process, out);
	for (size_t i = shown; i < p->thread_count; i++) {
		add_times(&rest, &p->threads[i].times);
		rest_samples += p->threads[i].samples;
	}
	if (p->thread_count > shown) {
		char *more = fxt_format("and %zu more", p->thread_count - shown);

		fxt_put_label(out, "", more, THREAD);
		print_times(p, rest_samples, &rest, out);
		fputc('\n', out);
		free(more);
	}
	print_shortage(p, out);
	if (p->lost_records && !p->tree.samples)
		print_notes(p, out);
}
