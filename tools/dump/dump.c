/* fxt dump: the command. It prints a line for every record, in the order of the file. See dump.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "dump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/command.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"
#include "tools/reading/mapped_trace.h"

const char *fxt_record_word(const struct fxt_record *rec)
{
	static const char *const metadata[] = {"metadata", "provider", "section", "provider-event", "magic"};
	static const char *const events[] = {"instant",	   "counter",	  "begin",   "end",
					     "complete",   "async-begin", "async",   "async-end",
					     "flow-begin", "flow-step",	  "flow-end"};

	switch (rec->type) {
	case FXT_RECORD_METADATA:
		if (rec->subtype == FXT_METADATA_FILLER)
			return "filler";
		if (rec->subtype == FXT_METADATA_TRACE_INFO && rec->header != FXT_MAGIC_RECORD)
			return "trace-info";
		return rec->subtype <= FXT_METADATA_TRACE_INFO ? metadata[rec->subtype] : "metadata";
	case FXT_RECORD_INITIALIZATION: return "init";
	case FXT_RECORD_STRING: return "string";
	case FXT_RECORD_THREAD: return "thread";
	case FXT_RECORD_EVENT: return rec->subtype <= FXT_EVENT_FLOW_END ? events[rec->subtype] : "event";
	case FXT_RECORD_BLOB: return "blob";
	case FXT_RECORD_USERSPACE_OBJECT: return "object";
	case FXT_RECORD_KERNEL_OBJECT:
		return rec->subtype == FXT_OBJECT_CLOCK    ? "clock"
		       : rec->subtype == FXT_OBJECT_PROCESS ? "process"
		       : rec->subtype == FXT_OBJECT_THREAD ? "thread-name"
							   : "kernel-object";
	case FXT_RECORD_SCHEDULING: return rec->subtype == FXT_SCHEDULING_WAKEUP ? "wakeup" : "switch";
	case FXT_RECORD_LOG: return "log";
	case FXT_RECORD_LARGE: return "large-blob";
	}
	return "unknown";
}

static void put_quoted(FILE *out, const struct fxt_text *t)
{
	putc_unlocked('"', out);
	fxt_put_text(out, t);
	putc_unlocked('"', out);
}

static void put_arguments(FILE *out, const struct fxt_record *rec)
{
	for (unsigned i = 0; i < rec->arg_count; i++) {
		fputs(i ? " " : "  ", out);
		fxt_put_argument(out, &rec->args[i]);
	}
}

/* What times are printed by. */
struct times {
	const struct fxt_dump_options *options;
	uint64_t first_ns;
	struct fxt_wall_clock wall_clock;
};

static void put_time(FILE *out, const struct fxt_record *rec, const struct times *times)
{
	uint64_t ns = fxt_ns(rec->provider, rec->ticks);
	struct fxt_short seconds;
	size_t bytes;

	if (times->wall_clock.is_known)
		fputs(fxt_utc(&times->wall_clock, ns).text, out);
	else if (times->options->absolute)
		fxt_put_number(out, ns, 17);
	if (times->wall_clock.is_known || times->options->absolute)
		return;
	seconds = fxt_seconds(ns, times->first_ns);
	bytes = strlen(seconds.text);
	for (size_t i = bytes; i < 14; i++)
		putc_unlocked(' ', out);
	fwrite_unlocked(seconds.text, 1, bytes, out);
}

static void put_thread(const struct fxt_reader *r, uint32_t thread, FILE *out)
{
	char *label = fxt_thread_label(r, thread, true);

	fputs("  ", out);
	fxt_put_padded(out, label, 24);
	free(label);
}

/* Most calls take less than a microsecond. */
static void put_duration(FILE *out, uint64_t ns)
{
	fputs_unlocked("  ", out);
	if (ns < 1000) {
		fxt_put_number(out, ns, 0);
		fputs_unlocked(" ns", out);
	} else {
		fputs_unlocked(fxt_duration(ns).text, out);
	}
}

static void put_event(const struct fxt_reader *r, const struct fxt_record *rec,
		      const struct fxt_objects *objects, const char *demangled, FILE *out)
{
	put_thread(r, rec->thread, out);
	fputs("  ", out);
	fxt_put_text(out, &rec->category);
	fputc(':', out);
	if (demangled) {
		struct fxt_text name = fxt_text_of(demangled);

		fxt_put_text(out, &name);
	} else {
		fxt_put_text(out, &rec->name);
	}
	if (rec->subtype == FXT_EVENT_DURATION_COMPLETE && rec->extra < rec->ticks)
		fprintf(out, "  ends %s before it starts",
			fxt_duration(fxt_ns(rec->provider, rec->ticks) -
				     fxt_ns(rec->provider, rec->extra)).text);
	else if (rec->subtype == FXT_EVENT_DURATION_COMPLETE)
		put_duration(out, fxt_duration_ns(rec));
	else if (rec->has_extra)
		fprintf(out, "  id %" PRIu64, rec->extra);
	if (rec->arg_count)
		fputc(' ', out);
	fxt_objects_put_arguments(objects, r, rec, out);
}

static void put_scheduling(const struct fxt_reader *r, const struct fxt_record *rec, FILE *out)
{
	static const char *const states[] = {"new", "running", "suspended", "blocked", "dying", "dead"};
	const char *state = rec->state < sizeof(states) / sizeof(states[0]) ? states[rec->state] : "?";

	fprintf(out, "  cpu %u", rec->cpu);
	if (rec->subtype == FXT_SCHEDULING_LEGACY_SWITCH) {
		put_thread(r, rec->thread, out);
		fprintf(out, " %s ->", state);
		put_thread(r, rec->incoming, out);
	} else if (rec->subtype == FXT_SCHEDULING_SWITCH) {
		fprintf(out, "  %" PRIu64 " %s -> %" PRIu64, rec->id, state, rec->extra);
	} else {
		fprintf(out, "  %" PRIu64, rec->id);
	}
	put_arguments(out, rec);
}

static void put_metadata(const struct fxt_record *rec, FILE *out)
{
	if (rec->subtype == FXT_METADATA_TRACE_INFO) {
		if (rec->header != FXT_MAGIC_RECORD)
			fprintf(out, "type %" PRIu64, fxt_get_trace_info_type(rec->header));
		return;
	}
	if (!rec->known) {
		fprintf(out, "type %u, %" PRIu64 " bytes", rec->subtype, rec->words * FXT_WORD_BYTES);
		return;
	}
	fprintf(out, "%" PRIu64, rec->id);
	if (rec->subtype == FXT_METADATA_PROVIDER_INFO) {
		fputc(' ', out);
		put_quoted(out, &rec->name);
	} else if (rec->subtype == FXT_METADATA_PROVIDER_EVENT) {
		if (rec->extra == FXT_PROVIDER_EVENT_BUFFER_FULL)
			fputs(" buffer full", out);
		else
			fprintf(out, " unknown event %" PRIu64, rec->extra);
	}
}

static void put_object(const struct fxt_reader *r, const struct fxt_record *rec, FILE *out)
{
	if (rec->type == FXT_RECORD_KERNEL_OBJECT)
		fprintf(out, "%" PRIu64 " ", rec->id);
	else
		fprintf(out, "0x%" PRIx64 " of %" PRIu64 " ", rec->id, r->threads[rec->thread].pid);
	put_quoted(out, &rec->name);
	put_arguments(out, rec);
}

/* Prints the part of the line that depends on the type of the record. */
static void put_content(const struct fxt_reader *r, const struct fxt_record *rec,
			const struct fxt_objects *objects, const char *demangled, FILE *out)
{
	switch (rec->type) {
	case FXT_RECORD_METADATA: put_metadata(rec, out); break;
	case FXT_RECORD_INITIALIZATION: fprintf(out, "%" PRIu64 " ticks/s", rec->id); break;
	case FXT_RECORD_STRING:
		fprintf(out, "%" PRIu64 " ", rec->id);
		put_quoted(out, &rec->name);
		break;
	case FXT_RECORD_THREAD:
		fprintf(out, "%" PRIu64 " %" PRIu64 "/%" PRIu64, rec->id, r->threads[rec->thread].pid,
			r->threads[rec->thread].tid);
		break;
	case FXT_RECORD_EVENT: put_event(r, rec, objects, demangled, out); break;
	case FXT_RECORD_BLOB:
	case FXT_RECORD_LARGE:
		fputs(rec->timed ? "  " : "", out);
		put_quoted(out, &rec->name);
		fprintf(out, " %" PRIu64 " bytes", rec->blob_bytes);
		put_arguments(out, rec);
		break;
	case FXT_RECORD_USERSPACE_OBJECT:
	case FXT_RECORD_KERNEL_OBJECT: put_object(r, rec, out); break;
	case FXT_RECORD_SCHEDULING: put_scheduling(r, rec, out); break;
	case FXT_RECORD_LOG:
		put_thread(r, rec->thread, out);
		fputs("  ", out);
		put_quoted(out, &rec->name);
		break;
	}
}

enum { WORD_COLUMNS = 11 };

static void put_line(const struct fxt_reader *r, const struct fxt_record *rec,
		     const struct fxt_objects *objects, const char *demangled, const char *fault,
		     const struct times *times, FILE *out)
{
	const char *word = fxt_record_word(rec);
	size_t bytes = strlen(word);

	fxt_put_number(out, rec->offset, 10);
	putc_unlocked(' ', out);
	fwrite_unlocked(word, 1, bytes, out);
	for (; bytes < WORD_COLUMNS; bytes++)
		putc_unlocked(' ', out);
	putc_unlocked(' ', out);
	if (rec->timed && rec->known)
		put_time(out, rec, times);
	if (rec->known || rec->type == FXT_RECORD_METADATA)
		put_content(r, rec, objects, demangled, out);
	else
		fprintf(out, "unknown type, %" PRIu64 " bytes", rec->words * FXT_WORD_BYTES);
	if (rec->damaged)
		fprintf(out, "  DAMAGED: %s", fault);
	fputc('\n', out);
}

/* Remembers the first fault of a record, because the others follow from it. */
static void remember_fault(void *context, enum fxt_fault fault, uint64_t offset, const char *detail)
{
	const char **first = context;

	(void)offset;
	(void)detail;
	if (!*first)
		*first = fxt_fault_text[fault];
}

/* Returns the earliest time. It takes a pass of its own, because the file is not in the order of time. */
static uint64_t first_time_ns(const struct fxt_reader *of)
{
	struct fxt_reader r;
	struct fxt_record rec;
	uint64_t first = UINT64_MAX;

	fxt_reader_init(&r, of->data, of->size);
	while (fxt_reader_next(&r, &rec)) {
		if (rec.timed && !rec.damaged && fxt_ns(rec.provider, rec.ticks) < first)
			first = fxt_ns(rec.provider, rec.ticks);
	}
	fxt_reader_free(&r);
	return first == UINT64_MAX ? 0 : first;
}

static bool is_asked_for(struct fxt_reader *r, const struct fxt_record *rec,
			 const struct fxt_dump_options *options)
{
	if (options->selection)
		return rec->known && rec->timed && fxt_selects(options->selection, r, rec);
	return rec->known || rec->damaged || options->all;
}

char *fxt_dump(struct fxt_reader *r, const struct fxt_dump_options *options, FILE *out)
{
	struct fxt_dump_lines *lines = fxt_dump_lines_begin(options, out);
	struct times times = {
		options, options->absolute || options->utc || options->json ? 0 : first_time_ns(r), {0}};
	const char *fault = NULL;
	struct fxt_demangled names = {0};
	struct fxt_objects objects = {0};
	struct fxt_record rec;

	fxt_objects_read(&objects, r->data, r->size);
	if (options->utc) {
		fxt_wall_clock_find(&times.wall_clock, r);
		if (!times.wall_clock.is_known)
			fxt_error(NULL, "the trace does not tell the time of day");
	}
	r->on_fault = remember_fault;
	r->fault_context = &fault;
	while (fxt_reader_next(r, &rec) && !ferror(out)) {
		if (is_asked_for(r, &rec, options)) {
			FILE *line = fxt_dump_line(lines);
			const char *demangled =
				rec.type == FXT_RECORD_EVENT && rec.known
					? fxt_demangled_name(&names, r, &rec.category, &rec.name)
					: NULL;

			if (options->json)
				fxt_dump_json(r, &rec, &objects, demangled, fault, &times.wall_clock, line);
			else
				put_line(r, &rec, &objects, demangled, fault, &times, line);
			fxt_dump_line_end(lines, &rec);
		}
		fault = NULL;
	}
	r->on_fault = NULL;
	r->fault_context = NULL;
	fxt_objects_free(&objects);
	fxt_demangled_free(&names);
	return fxt_dump_lines_end(lines);
}

/* -- The command ----------------------------------------------------------------------------------- */

struct input {
	struct fxt_dump_options options;
	struct fxt_narrow narrow;
	const char *path;
	bool failed;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct input *in = state->input;
	char *end;

	switch (key) {
	case 'a': in->options.all = true; return 0;
	case 'n': in->options.absolute = true; return 0;
	case 'u': in->options.utc = true; return 0;
	case 'j': in->options.json = true; return 0;
	case 's': in->options.sorted = true; return 0;
	case 't':
		in->options.tail = strtoul(arg, &end, 10);
		if (*end || end == arg || *arg == '-' || !in->options.tail || in->options.tail > UINT32_MAX)
			argp_error(state, "--tail: '%s' is no number of lines: give a whole number from 1 on",
				   arg);
		return 0;
	default:
		return fxt_narrow_parse(&in->narrow, key, arg, state) == 0
			       ? 0
			       : fxt_parse_file(key, arg, state, &in->path);
	}
}

static void fail(struct input *in, char *wrong)
{
	if (!wrong)
		return;
	fxt_error(in->path, "%s", wrong);
	free(wrong);
	in->failed = true;
}

static void show(struct fxt_reader *r, void *context)
{
	struct fxt_selection selection;
	struct input *in = context;
	char *wrong;

	if (!fxt_narrow_is_any(&in->narrow)) {
		fail(in, fxt_dump(r, &in->options, stdout));
		return;
	}
	wrong = fxt_narrow_settle(&in->narrow, in->path, r->data, r->size);
	if (wrong) {
		fail(in, wrong);
		return;
	}
	fxt_selection_make(&selection, &in->narrow, r->data, r->size);
	in->options.selection = &selection;
	fail(in, fxt_dump(r, &in->options, stdout));
	fail(in, fxt_selection_unmatched(&selection));
	fxt_selection_free(&selection);
}

int fxt_command_dump(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"all", 'a', 0, 0, "Also the fillers and records of unknown types", 0},
		{"ns", 'n', 0, 0,
		 "Times in nanoseconds as they are in the file, not in seconds since the first", 0},
		{"utc", 'u', 0, 0, "Times of day in UTC", 0},
		{"sort", 's', 0, 0, "In the order of time, what has none first", 0},
		{"tail", 't', "N", 0, "The last N lines", 0},
		FXT_JSON_OPTION,
		FXT_NARROW_OPTIONS,
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE",
		.doc = "A line for every record of a trace, in the order of the file: the byte it is at, "
		       "what it is, when, which thread (process/thread id and name), and its content.",
	};
	struct input in = {0};
	int status;

	fxt_parse(&argp, argc, argv, 0, &in);
	status = fxt_trace_show(in.path, show, &in);
	fxt_narrow_free(&in.narrow);
	return in.failed ? 1 : status;
}
