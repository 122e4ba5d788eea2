/* fxt check: the command. It walks the file, has its events examined in the order of time, and prints
 * what was found. See check.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/command.h"
#include "tools/common/message.h"
#include "tools/narrow/cut.h"
#include "tools/printing/print.h"
#include "tools/reading/mapped_trace.h"

const char *const fxt_noted_text[FXT_NOTED_COUNT] = {
	[FXT_NOTED_OPEN_SLICES] = "calls still open at the end",
	[FXT_NOTED_OPEN_ASYNCS] = "asyncs still open at the end",
	[FXT_NOTED_OPEN_FLOWS] = "flows still open at the end",
	[FXT_NOTED_OPEN_AND_COMPLETE] = "calls both open and complete",
	[FXT_NOTED_ORPHANS] = "async and flow events whose begin is gone",
	[FXT_NOTED_NOT_FOLLOWED] = "async and flow events not followed, as too many were open",
	[FXT_NOTED_FORGOTTEN] = "ended asyncs and flows whose ids were not compared with later ones",
	[FXT_NOTED_NOT_COMPARED] = "events not examined, as too many have the same time",
	[FXT_NOTED_APPENDED_ZEROS] = "events with appended zero words",
	[FXT_NOTED_UNKNOWN_RECORDS] = "records of unknown types",
	[FXT_NOTED_BUFFER_FULL] = "notices that a buffer was full",
	[FXT_NOTED_PROVIDER_EVENTS] = "provider events of other kinds",
	[FXT_NOTED_TORN_BYTES] = "bytes of a torn last record",
};

bool fxt_check_counts(const struct fxt_check *c, enum fxt_fault fault)
{
	return !c->options.format || fxt_fault_severity[fault] != FXT_PROFILE;
}

static void note_violation(struct fxt_check *c, enum fxt_fault fault, uint64_t offset, const char *detail)
{
	struct fxt_violation *v = &c->violations[fault];

	c->violation_count += fxt_check_counts(c, fault);
	if (v->count++ && offset >= v->offset)
		return;
	v->offset = offset;
	snprintf(v->detail, sizeof(v->detail), "%s", detail);
}

void fxt_check_bad(struct fxt_check *c, enum fxt_fault fault, uint64_t offset, const char *format, ...)
{
	char detail[sizeof(c->violations[0].detail)];
	va_list ap;

	va_start(ap, format);
	vsnprintf(detail, sizeof(detail), format, ap);
	va_end(ap);
	note_violation(c, fault, offset, detail);
}

static void on_fault(void *context, enum fxt_fault fault, uint64_t offset, const char *detail)
{
	note_violation(context, fault, offset, detail);
}

/* -- The pass -------------------------------------------------------------------------------------- */

struct fxt_track *fxt_check_track(struct fxt_check *c, uint32_t thread)
{
	c->tracks = fxt_reach(c->tracks, &c->track_capacity, &c->track_count, thread, sizeof(*c->tracks));
	return &c->tracks[thread];
}

static void take_event(struct fxt_check *c, const struct fxt_record *rec)
{
	c->events++;
	c->noted[FXT_NOTED_APPENDED_ZEROS] += rec->appended_zeros;
	/* The program left this open; the join made the end. */
	if (fxt_is_made_end(rec))
		c->noted[rec->subtype == FXT_EVENT_DURATION_END ? FXT_NOTED_OPEN_SLICES
								: FXT_NOTED_OPEN_ASYNCS]++;
	fxt_check_track(c, rec->thread);
	fxt_check_note(c, rec);
}

static void take(struct fxt_check *c, const struct fxt_record *rec)
{
	c->records++;
	if (!rec->known)
		c->noted[FXT_NOTED_UNKNOWN_RECORDS] += rec->type != FXT_RECORD_METADATA;
	else if (rec->type == FXT_RECORD_EVENT)
		take_event(c, rec);
	else if (rec->type == FXT_RECORD_METADATA && rec->subtype == FXT_METADATA_PROVIDER_EVENT)
		c->noted[rec->extra == FXT_PROVIDER_EVENT_BUFFER_FULL ? FXT_NOTED_BUFFER_FULL
								      : FXT_NOTED_PROVIDER_EVENTS]++;
	if (rec->timed && rec->known) {
		uint64_t from = fxt_ns(rec->provider, rec->ticks), to = from;

		if (rec->type == FXT_RECORD_EVENT)
			to = fxt_ns(rec->provider, fxt_commit_ticks(rec));
		c->first_ns = from < c->first_ns ? from : c->first_ns;
		c->last_ns = to > c->last_ns ? to : c->last_ns;
	}
}

/* Returns whether only zeros follow. A part of the file that was reserved and never filled is all zeros,
 * which counts as a torn tail with --allow-tail. */
static bool zeros_follow(const struct fxt_reader *r)
{
	for (uint64_t i = 0; i < 4096 && i < r->size - r->at; i++) {
		if (r->data[r->at + i])
			return false;
	}
	return true;
}

static void take_end(struct fxt_check *c)
{
	const struct fxt_reader *r = c->r;

	if (r->stop == FXT_STOP_END)
		return;
	if (c->options.allow_tail && (r->stop == FXT_STOP_TORN || zeros_follow(r)))
		c->noted[FXT_NOTED_TORN_BYTES] = r->tail_bytes;
	else
		fxt_check_bad(c, r->stop == FXT_STOP_TORN ? FXT_FAULT_PAST_END : FXT_FAULT_SIZE_ZERO, r->at,
			      "%" PRIu64 " bytes left", r->tail_bytes);
}

void fxt_check(struct fxt_check *c, struct fxt_reader *r, const struct fxt_check_options *options)
{
	struct fxt_record rec;

	*c = (struct fxt_check){.options = *options, .r = r, .first_ns = UINT64_MAX};
	if (r->size > FXT_MOMENT_BYTES) {
		fxt_error(NULL, "larger than 512 GiB: too large to check");
		exit(1);
	}
	r->strict = true;
	r->on_fault = on_fault;
	r->fault_context = c;
	if (fxt_trace_refusal(r->data, r->size))
		fxt_check_bad(c, FXT_FAULT_NO_MAGIC, 0, "%s", "");
	fxt_check_begin_block(c);
	while (fxt_reader_next(r, &rec)) {
		take(c, &rec);
		if (r->at >= c->blocks[c->block_count - 1].at + FXT_BLOCK_BYTES)
			fxt_check_begin_block(c);
	}
	take_end(c);
	fxt_check_in_order(c);
}

static void free_links(struct fxt_links *links)
{
	free(links->list);
	fxt_map_free(&links->live);
	fxt_map_free(&links->past);
}

void fxt_check_free(struct fxt_check *c)
{
	for (size_t i = 0; i < c->track_count; i++) {
		free(c->tracks[i].list);
		free(c->tracks[i].open);
	}
	free(c->tracks);
	free_links(&c->asyncs);
	free_links(&c->flows);
	free(c->blocks);
}

/* -- What is said ---------------------------------------------------------------------------------- */

static void print_violations(const struct fxt_check *c, FILE *out)
{
	for (int i = 0; i < FXT_FAULT_COUNT; i++) {
		const struct fxt_violation *v = &c->violations[i];
		struct fxt_text raw = fxt_text_of(v->detail);
		char *detail;

		if (v->count == 0)
			continue;
		detail = fxt_printable(&raw, 60, false);
		fprintf(out, "  %10s x %s, first at byte %" PRIu64 "%s%s%s\n", fxt_count(v->count).text,
			fxt_fault_text[i], v->offset, *detail ? ": " : "", detail,
			fxt_check_counts(c, (enum fxt_fault)i) ? "" : " (no violation of the format)");
		free(detail);
	}
}

void fxt_check_print(const struct fxt_check *c, const char *path, FILE *out)
{
	size_t threads = 0;

	for (size_t i = 0; i < c->track_count; i++)
		threads += c->tracks[i].any;
	fprintf(out, "%s: %s, %s records, %s events of %zu thread%s over %s: ", path,
		fxt_bytes(c->r->size).text, fxt_count(c->records).text, fxt_count(c->events).text, threads,
		threads == 1 ? "" : "s",
		fxt_duration(c->first_ns <= c->last_ns ? c->last_ns - c->first_ns : 0).text);
	if (c->violation_count)
		fprintf(out, "%s violation%s\n", fxt_count(c->violation_count).text,
			c->violation_count == 1 ? "" : "s");
	else
		fprintf(out, "ok\n");
	print_violations(c, out);
	for (int i = 0; i < FXT_NOTED_COUNT; i++) {
		if (c->noted[i])
			fprintf(out, "  %10s   %s (no violation)\n", fxt_count(c->noted[i]).text,
				fxt_noted_text[i]);
	}
}

/* -- The command ----------------------------------------------------------------------------------- */

struct input {
	struct fxt_check_options options;
	struct fxt_narrow narrow;
	char **paths;
	size_t count, capacity;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct input *in = state->input;

	switch (key) {
	case 't': in->options.allow_tail = true; return 0;
	case 'r': in->options.ring = true; return 0;
	case 'c': in->options.copy = true; return 0;
	case 'f': in->options.format = true; return 0;
	case 'j': in->options.json = true; return 0;
	case ARGP_KEY_ARG:
		in->paths = fxt_grow(in->paths, &in->capacity, in->count + 1, sizeof(char *));
		in->paths[in->count++] = arg;
		return 0;
	case ARGP_KEY_NO_ARGS: argp_error(state, "no FILE was given: name one trace or more"); return EINVAL;
	default: return fxt_narrow_parse(&in->narrow, key, arg, state);
	}
}

/* Checks the trace that is in the file `in`, which is that of `path` or a part of it. */
static int check_file(const char *path, const char *in, const struct fxt_check_options *options)
{
	struct fxt_trace_file file;
	struct fxt_reader r;
	struct fxt_check c;
	int status;

	if (!fxt_trace_open(&file, in))
		return 1;
	fxt_reader_init(&r, file.data, file.size);
	fxt_check(&c, &r, options);
	if (options->json)
		fxt_check_json(&c, path, stdout);
	else
		fxt_check_print(&c, path, stdout);
	status = c.violation_count != 0;
	fxt_check_free(&c);
	fxt_reader_free(&r);
	fxt_trace_close(&file);
	return status;
}

int fxt_command_check(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"allow-tail", 't', 0, 0, "A torn last record (a killed writer) is noted, not a violation",
		 0},
		{"ring", 'r', 0, 0, "Async and flow ends whose begin a ring overwrote are noted", 0},
		{"copy", 'c', 0, 0,
		 "The file was copied while the program ran: a call may be in it both as still "
		 "open and as complete",
		 0},
		{"format", 'f', 0, 0,
		 "What the format allows and some viewer draws wrongly is noted, not a violation: for traces "
		 "of other writers",
		 0},
		FXT_JSON_OPTION,
		FXT_NARROW_OPTIONS,
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE...",
		.doc = "Whether traces are what the format and the viewers of it require. The exit status is "
		       "1 when anything is violated.",
	};
	struct input in = {0};
	int status = 0;

	fxt_parse(&argp, argc, argv, 0, &in);
	for (size_t i = 0; i < in.count; i++) {
		char *part = fxt_narrow_is_any(&in.narrow) ? fxt_cut_nameless(in.paths[i], &in.narrow)
							   : fxt_strdup(in.paths[i]);

		status |= part ? check_file(in.paths[i], part, &in.options) : 1;
		free(part);
	}
	fxt_narrow_free(&in.narrow);
	free(in.paths);
	return status;
}
