/* fxt check: walks the file, has its events examined in the order of time, and prints what was found. See
 * check.h; the command is in tools/limits/check_command.c. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
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
