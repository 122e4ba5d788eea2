/* fxt report: the two passes over the file, the first lines of the report, and the command. See report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "message.h"
#include "print.h"
#include "trace_file.h"

/* -- The passes ------------------------------------------------------------------------------------ */

static bool in_list(const char *list, const struct fxt_text *name)
{
	while (*list) {
		size_t bytes = strcspn(list, ", ");

		if (bytes == name->bytes && memcmp(list, name->text, bytes) == 0)
			return true;
		list += bytes + (list[bytes] != '\0');
	}
	return false;
}

static bool is_chosen(struct fxt_report *report, const struct fxt_record *rec)
{
	uint32_t symbol;

	if (!report->options.categories)
		return true;
	symbol = fxt_symbol(report->r, &rec->category);
	while (report->chosen_count <= symbol) {
		report->chosen =
			fxt_grow(report->chosen, &report->chosen_capacity, report->chosen_count + 1, 1);
		report->chosen[report->chosen_count++] = 0;
	}
	if (!report->chosen[symbol])
		report->chosen[symbol] = 1 + in_list(report->options.categories, &rec->category);
	return report->chosen[symbol] == 2;
}

/* Only finished calls of the heap and of files count in the second pass: see fxt_heaps_take(),
 * fxt_files_take(). */
static bool key_of(void *context, const struct fxt_record *rec, uint64_t *key_ns)
{
	struct fxt_report *report = context;
	const struct fxt_role *role;
	bool at_start;

	if (!rec->known || rec->damaged || rec->subtype != FXT_EVENT_DURATION_COMPLETE ||
	    rec->extra < rec->ticks || !is_chosen(report, rec))
		return false;
	role = fxt_role_of(&report->roles, report->r, rec);
	if (!role || role->family == FXT_FAMILY_WAIT)
		return false;
	at_start = role->effect == FXT_EFFECT_FREE || role->effect >= FXT_EFFECT_CLOSE;
	*key_ns = fxt_ns(rec->provider, at_start ? rec->ticks : rec->extra);
	return true;
}

static void take_call(struct fxt_report *report, const struct fxt_record *rec)
{
	uint64_t duration_ns = fxt_ns(rec->provider, rec->extra) - fxt_ns(rec->provider, rec->ticks);
	const struct fxt_role *role;
	uint64_t key_ns;

	if (rec->extra < rec->ticks)
		return;
	fxt_calls_take(&report->calls, fxt_symbol(report->r, &rec->category),
		       fxt_symbol(report->r, &rec->name), duration_ns);
	role = fxt_role_of(&report->roles, report->r, rec);
	if (role && role->family == FXT_FAMILY_WAIT) {
		fxt_waits_take(&report->waits, report->r, rec, role, duration_ns);
		fxt_contention_take(&report->contention, report->r, rec, role->kind, duration_ns);
	}
	if (key_of(report, rec, &key_ns))
		fxt_order_add(&report->order, rec, key_ns);
}

static void take_event(struct fxt_report *report, const struct fxt_record *rec)
{
	struct fxt_open_call begun;

	if (!is_chosen(report, rec))
		return;
	switch (rec->subtype) {
	case FXT_EVENT_DURATION_BEGIN: fxt_open_begin(&report->open, report->r, rec); break;
	case FXT_EVENT_DURATION_END:
		if (fxt_open_end(&report->open, rec, &begun))
			fxt_calls_take(&report->calls, begun.category, begun.name,
				       fxt_ns(rec->provider, rec->ticks) - begun.start_ns);
		break;
	case FXT_EVENT_DURATION_COMPLETE:
		fxt_open_complete(&report->open, report->r, rec);
		take_call(report, rec);
		break;
	case FXT_EVENT_INSTANT:
		/* Calls of which only the beginning is seen, as dlopen and vfork. What the agent says itself is none. */
		if (!fxt_text_is(&rec->category, "agent"))
			fxt_calls_take(&report->calls, fxt_symbol(report->r, &rec->category),
				       fxt_symbol(report->r, &rec->name), 0);
		else if (fxt_text_is(&rec->name, "contended"))
			fxt_contention_blocked(&report->contention, report->r, rec);
		break;
	case FXT_EVENT_ASYNC_BEGIN:
	case FXT_EVENT_ASYNC_END: fxt_descriptors_take(&report->descriptors, rec); break;
	default: break;
	}
}

static void replay(struct fxt_report *report)
{
	struct fxt_record rec;

	fxt_order_begin(&report->order, report->r, key_of, report);
	while (fxt_order_next(&report->order, &rec)) {
		const struct fxt_role *role = fxt_role_of(&report->roles, report->r, &rec);

		if (role->family == FXT_FAMILY_HEAP)
			fxt_heaps_take(&report->heaps, report->r, &rec, role);
		else
			fxt_files_take(&report->files, report->r, &rec, role);
	}
	fxt_order_free(&report->order);
}

void fxt_report_make(struct fxt_report *report, struct fxt_reader *r,
		     const struct fxt_report_options *options)
{
	struct fxt_record rec;

	*report = (struct fxt_report){.options = *options, .r = r};
	report->files.objects = &report->waits.labels;
	while (fxt_reader_next(r, &rec)) {
		fxt_overview_take(&report->overview, r, &rec);
		if (!rec.known || rec.damaged)
			continue;
		if (rec.type == FXT_RECORD_EVENT) {
			fxt_open_seen(&report->open, r, &rec);
			take_event(report, &rec);
		}
		else if (rec.type == FXT_RECORD_USERSPACE_OBJECT)
			fxt_waits_object(&report->waits, r, &rec);
	}
	replay(report);
	fxt_overview_rank(&report->overview);
	fxt_calls_sort(&report->calls);
	fxt_waits_sort(&report->waits, r);
	fxt_open_finish(&report->open, r);
	fxt_contention_finish(&report->contention, r, &report->open);
	fxt_heaps_sort(&report->heaps);
	fxt_files_sort(&report->files);
	fxt_descriptors_finish(&report->descriptors, r, &report->open.programs);
}

void fxt_report_free(struct fxt_report *report)
{
	fxt_roles_free(&report->roles);
	fxt_overview_free(&report->overview);
	fxt_calls_free(&report->calls);
	fxt_waits_free(&report->waits);
	fxt_contention_free(&report->contention);
	fxt_heaps_free(&report->heaps);
	fxt_files_free(&report->files);
	fxt_open_free(&report->open);
	fxt_descriptors_free(&report->descriptors);
	fxt_order_free(&report->order);
	free(report->chosen);
}

/* -- The first lines ------------------------------------------------------------------------------- */

/* A process is a provider for each program it was, so names repeat. True if it is the first of its name. */
static bool is_new_program(const struct fxt_reader *r, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (r->providers[i]->announced &&
		    fxt_text_equal(&r->providers[i]->name, &r->providers[index]->name))
			return false;
	}
	return r->providers[index]->announced;
}

/* With the process id where there is but one. */
static void print_programs(const struct fxt_reader *r, size_t processes, FILE *out)
{
	enum { SHOWN = 5, EXAMINED = 1000 };
	size_t different = 0;
	uint32_t id = 0;

	for (size_t i = 0; i < r->provider_count && i < EXAMINED; i++) {
		char *name;

		if (!is_new_program(r, i) || different++ >= SHOWN)
			continue;
		name = fxt_printable(&r->providers[i]->name, 16, false);
		fprintf(out, "%s%s", different > 1 ? ", " : "", name);
		free(name);
		id = r->providers[i]->id;
	}
	if (different > SHOWN)
		fprintf(out, " and %zu more", different - SHOWN);
	if (processes == 1 && different == 1)
		fprintf(out, " %" PRIu32, id);
	fputs(different == 0 ? "" : different == 1 ? ": " : "\n", out);
}

static void print_shares(const struct fxt_overview *o, const struct fxt_reader *r, FILE *out)
{
	enum { SHOWN = 5 };

	fprintf(out, "%s of trace: ", fxt_bytes(r->size).text);
	for (size_t i = 0; i < o->category_count && i < SHOWN; i++) {
		struct fxt_text text = fxt_symbol_text(r, o->categories[i].category);
		double percent = 100.0 * (double)o->categories[i].bytes / (double)r->size;
		char *name;

		if (i && percent < 0.5)
			break;
		name = fxt_printable(&text, 24, false);
		fprintf(out, "%s%s %.0f%%", i ? ", " : "", *name ? name : "(no category)", percent);
		free(name);
	}
	fputs(o->category_count ? "\n" : "no events\n", out);
}

/* Since the first event of the trace. */
static uint64_t since_start(const struct fxt_overview *o, enum fxt_loss loss)
{
	uint64_t last_ns = fxt_overview_lost_last_ns(o, loss);

	return last_ns > o->first_ns ? last_ns - o->first_ns : 0;
}

/* The account: every call the program made is one of these. */
static void print_account(const struct fxt_overview *o, const uint64_t lost[FXT_LOSS_COUNT], FILE *out)
{
	uint64_t dropped = fxt_lost_dropped(lost);
	const char *separator = " (";

	fprintf(out, "attempted %s = written %s",
		fxt_count(o->written + dropped + lost[FXT_LOSS_FILTERED] + lost[FXT_LOSS_OVERWRITTEN]).text,
		fxt_count(o->written).text);
	if (lost[FXT_LOSS_OVERWRITTEN])
		fprintf(out, " + overwritten %s (before %s)", fxt_count(lost[FXT_LOSS_OVERWRITTEN]).text,
			fxt_duration(since_start(o, FXT_LOSS_OVERWRITTEN)).text);
	if (dropped)
		fprintf(out, " + dropped %s", fxt_count(dropped).text);
	for (unsigned i = 0; i < FXT_DROP_COUNT; i++) {
		if (!lost[i])
			continue;
		fprintf(out, "%s%s %s until %s", separator, fxt_drop_causes[i], fxt_count(lost[i]).text,
			fxt_duration(since_start(o, (enum fxt_loss)i)).text);
		separator = ", ";
	}
	fprintf(out, "%s", dropped ? ")" : "");
	if (lost[FXT_LOSS_FILTERED])
		fprintf(out, " + filtered %s", fxt_count(lost[FXT_LOSS_FILTERED]).text);
	fputc('\n', out);
}

static void print_losses(const struct fxt_overview *o, FILE *out)
{
	uint64_t lost[FXT_LOSS_COUNT], dropped;

	for (unsigned i = 0; i < FXT_LOSS_COUNT; i++)
		lost[i] = fxt_overview_lost(o, (enum fxt_loss)i);
	dropped = fxt_lost_dropped(lost);
	if (dropped)
		fprintf(out, "LOST: %s records%s%s%s\n", fxt_count(dropped).text, o->reason ? " (" : "",
			o->reason ? o->reason : "", o->reason ? ")" : "");
	else if (o->buffer_full)
		fputs("LOST: records, at least once, as a buffer was full\n", out);
	else if (!lost[FXT_LOSS_OVERWRITTEN])
		fputs("nothing lost\n", out);
	if (lost[FXT_LOSS_OVERWRITTEN])
		fprintf(out, "%s earlier events overwritten by the ring\n", fxt_count(lost[FXT_LOSS_OVERWRITTEN]).text);
	if (lost[FXT_LOSS_FILTERED])
		fprintf(out,
			"left out: %s calls shorter than the threshold; figures below are lower bounds\n",
			fxt_count(lost[FXT_LOSS_FILTERED]).text);
	if (dropped || lost[FXT_LOSS_OVERWRITTEN] || lost[FXT_LOSS_FILTERED])
		print_account(o, lost, out);
}

static void print_head(const struct fxt_report *report, FILE *out)
{
	const struct fxt_overview *o = &report->overview;
	size_t threads = fxt_overview_threads(o), processes = fxt_overview_processes(o, report->r);

	print_programs(report->r, processes, out);
	fprintf(out, "%zu process%s, %zu thread%s, %s events in %s\n", processes, processes == 1 ? "" : "es",
		threads, threads == 1 ? "" : "s", fxt_count(o->events).text,
		fxt_duration(o->events ? o->last_ns - o->first_ns : 0).text);
	print_shares(o, report->r, out);
	print_losses(o, out);
}

void fxt_report_print(const struct fxt_report *report, FILE *out)
{
	size_t top = report->options.top;

	print_head(report, out);
	fxt_calls_print(&report->calls, report->r, top, out);
	fxt_waits_print(&report->waits, report->r, top, out);
	fxt_contention_print(&report->contention, &report->waits, report->r, report->overview.last_ns, top, out);
	fxt_heaps_print(&report->heaps, &report->overview, top, out);
	fxt_files_print(&report->files, top, out);
	fxt_descriptors_print(&report->descriptors, report->r, &report->overview, top, out);
	fxt_open_print(&report->open, report->r, report->overview.last_ns, top, out);
}

/* -- The command ----------------------------------------------------------------------------------- */

struct input {
	struct fxt_report_options options;
	const char *path;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct input *in = state->input;
	char *end;

	switch (key) {
	case 'n':
		in->options.top = strtoul(arg, &end, 10);
		if (*end || end == arg || *arg == '-' || in->options.top == 0 || in->options.top > UINT32_MAX)
			argp_error(state, "'%s' is no number of lines", arg);
		return 0;
	case 'c': in->options.categories = arg; return 0;
	case 'j': in->options.json = true; return 0;
	case ARGP_KEY_ARG:
		if (in->path)
			argp_error(state, "one FILE at a time");
		in->path = arg;
		return 0;
	case ARGP_KEY_NO_ARGS: argp_error(state, "which FILE?"); return EINVAL;
	default: return ARGP_ERR_UNKNOWN;
	}
}

int fxt_command_report(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"top", 'n', "N", 0, "Lines of each list (default 10)", 0},
		{"category", 'c', "LIST", 0, "Only events of these categories", 0},
		FXT_JSON_OPTION,
		{0},
	};
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "FILE",
		.doc = "Where the time, the waiting, the memory and the bytes went, most costly first.",
	};
	struct input in = {.options.top = 10};
	struct fxt_trace_file file;
	struct fxt_report report;
	struct fxt_reader r;
	int status;

	fxt_parse(&argp, argc, argv, 0, &in);
	if (in.options.json)
		fxt_want_json();
	if (!fxt_trace_open(&file, in.path))
		return 1;
	fxt_reader_init(&r, file.data, file.size);
	fxt_report_make(&report, &r, &in.options);
#ifdef HAVE_JANSSON
	if (in.options.json)
		fxt_report_json(&report, stdout);
	else
#endif
		fxt_report_print(&report, stdout);
	fxt_flush_stdout();
	status = fxt_trace_verdict(&file, &r);
	fxt_report_free(&report);
	fxt_reader_free(&r);
	fxt_trace_close(&file);
	return status;
}
