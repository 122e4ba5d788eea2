/* Writes the page. See page.h.
 *
 * The page is view.html with the style and the script, and four blocks in base64:
 *
 *	head     JSON: names, tracks, findings, flame graphs; where the columns of the other blocks are
 *	first    what the first picture needs: the coarsest level of each row
 *	rest     the finer levels and the slices; points of counters; arrows
 *	details  arguments
 *
 * Four columns of first and rest go through all tracks, their rows and their levels in the order of the head:
 * begins (as differences within a level), durations, names, and of a slice its arguments and whether it is
 * open, of a run how many slices it has and how long the longest is.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "unconfigured"
#endif

#include "page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "details.h"
#include "heap_track.h"
#include "levels.h"
#include "tools/common/message.h"
#include "tools/export/weighed_stacks.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"

/* The files of this folder, as text: see page_files of tools/local.mk. */
#include "tools/page/page_files.def"

/* The columns of a block with levels. */
enum { BEGINS, DURATIONS, NAMES, EXTRAS, POINTS, ARROWS, COLUMNS };

struct writer {
	const struct fxt_page *page;
	struct fxt_reader reader;       /* one of its own: that of the report has been read */
	struct fxt_timeline timeline;
	struct fxt_details details;
	struct fxt_demangled demangled;
	struct fxt_column first[COLUMNS], rest[COLUMNS];
	size_t slices, moments;
};

/* -- Rows ------------------------------------------------------------------------------------------ */

/* A page counts from the first thing that it has. */
static uint64_t since_first(const struct writer *w, uint64_t ns)
{
	return ns > w->timeline.first_ns ? ns - w->timeline.first_ns : 0;
}

static void put_slices(struct writer *w, struct fxt_column *to, uint32_t track, const struct fxt_slice *row,
		       size_t count)
{
	uint64_t last_ns = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t at_ns = since_first(w, row[i].start_ns);
		uint64_t arguments = fxt_details_take(&w->details, track, &row[i]);

		fxt_column_unsigned(&to[BEGINS], at_ns - last_ns);
		fxt_column_unsigned(&to[DURATIONS], row[i].end_ns - row[i].start_ns);
		fxt_column_unsigned(&to[NAMES], row[i].name);
		fxt_column_unsigned(&to[EXTRAS], arguments << 1 | row[i].is_open);
		last_ns = at_ns;
	}
}

static void put_runs(struct writer *w, struct fxt_column *to, const struct fxt_level *l)
{
	uint64_t last_ns = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct fxt_run *run = &l->runs[i];
		uint64_t at_ns = since_first(w, run->start_ns);

		fxt_column_unsigned(&to[BEGINS], at_ns - last_ns);
		fxt_column_unsigned(&to[DURATIONS], run->end_ns - run->start_ns);
		fxt_column_unsigned(&to[NAMES], run->name);
		fxt_column_unsigned(&to[EXTRAS], run->count - 1);
		if (run->count > 1)
			fxt_column_unsigned(&to[EXTRAS], run->longest_ns);
		last_ns = at_ns;
	}
}

/* Puts a row, and describes it: [width, count] of each level. */
static void put_row(struct writer *w, struct fxt_json *j, uint32_t track, const struct fxt_slice *row,
		    size_t count)
{
	struct fxt_levels levels;

	fxt_levels_make(&levels, row, count, w->timeline.last_ns - w->timeline.first_ns);
	fxt_json_array(j, NULL);
	for (size_t i = 0; i < levels.count; i++) {
		struct fxt_column *to = i == 0 ? w->first : w->rest;

		fxt_json_u64(j, NULL, levels.list[i].width_ns);
		fxt_json_u64(j, NULL, levels.list[i].count);
		if (levels.list[i].width_ns)
			put_runs(w, to, &levels.list[i]);
		else
			put_slices(w, to, track, row, count);
	}
	fxt_json_end(j);
	fxt_levels_free(&levels);
}

static void put_rows(struct writer *w, struct fxt_json *j, const char *key, uint32_t track,
		     const struct fxt_slices *s)
{
	fxt_json_array(j, key);
	for (size_t at = 0, end; at < s->count; at = end) {
		for (end = at + 1; end < s->count && s->list[end].row == s->list[at].row; end++)
			;
		put_row(w, j, track, &s->list[at], end - at);
	}
	fxt_json_end(j);
}

/* -- Tracks ---------------------------------------------------------------------------------------- */

static void put_points(struct writer *w, const struct fxt_track *track)
{
	uint64_t last_ns = 0;
	int64_t last = 0;

	for (size_t i = 0; i < track->point_count; i++) {
		uint64_t at_ns = since_first(w, track->points[i].at_ns);

		fxt_column_unsigned(&w->rest[POINTS], at_ns - last_ns);
		if (track->is_real) {
			fxt_column_bytes(&w->rest[POINTS], &track->points[i].f, sizeof(double));
		} else {
			fxt_column_signed(&w->rest[POINTS],
					  (int64_t)((uint64_t)track->points[i].i - (uint64_t)last));
			last = track->points[i].i;
		}
		last_ns = at_ns;
	}
}

/* Returns the name of what a label stands for. The caller frees it. */
static char *label_text(struct writer *w, const struct fxt_label *label)
{
	struct fxt_reader *r = &w->reader;
	struct fxt_text category = fxt_symbol_text(r, label->category), name;
	const char *function;

	if (!label->name)
		return label->thread != UINT32_MAX ? fxt_thread_label(r, label->thread, true)
						   : fxt_strdup("another program");
	name = fxt_symbol_text(r, label->name);
	function = fxt_demangled_name(&w->demangled, r, &category, &name);
	return function ? fxt_strdup(function) : fxt_format("%.*s", (int)name.bytes, name.text);
}

static const char *const kinds[] = {
	[FXT_TRACK_THREAD] = "thread",
	[FXT_TRACK_PROCESSOR] = "processor",
	[FXT_TRACK_LIFETIMES] = "lifetimes",
	[FXT_TRACK_COUNTER] = "counter",
};

/* Returns what stands beside a track. The caller frees it. */
static char *track_label(struct writer *w, const struct fxt_track *track)
{
	struct fxt_text series = {0};
	char *name, *label;

	if (track->kind == FXT_TRACK_PROCESSOR)
		return fxt_format("processor %u", track->cpu);
	if (track->kind == FXT_TRACK_THREAD)
		return fxt_thread_label(&w->reader, track->thread, false);
	if (track->label)
		return fxt_strdup(track->label);
	name = label_text(w, &w->timeline.labels[track->name]);
	if (track->series)
		series = fxt_symbol_text(&w->reader, track->series);
	label = fxt_format("%s%s%.*s", name, track->series ? ", " : "", (int)series.bytes, series.text);
	free(name);
	return label;
}

static void put_text(struct fxt_json *j, const char *key, char *text)
{
	struct fxt_text view = fxt_text_of(text);

	fxt_json_text(j, key, &view);
	free(text);
}

static void put_tracks(struct writer *w, struct fxt_json *j)
{
	struct fxt_timeline *t = &w->timeline;

	fxt_json_array(j, "tracks");
	for (uint32_t i = 0; i < t->track_count; i++) {
		const struct fxt_track *track = &t->tracks[i];

		fxt_json_object(j, NULL);
		fxt_json_string(j, "kind", kinds[track->kind]);
		fxt_json_u64(j, "process", track->pid);
		put_text(j, "label", track_label(w, track));
		if (track->kind == FXT_TRACK_THREAD)
			fxt_json_u64(j, "thread",
				     fxt_number(&w->reader, w->reader.threads[track->thread].tid));
		if (track->slices.left_out + track->moments.left_out)
			fxt_json_u64(j, "left_out", track->slices.left_out + track->moments.left_out);
		put_rows(w, j, "rows", i, &track->slices);
		put_rows(w, j, "moments", i, &track->moments);
		fxt_json_u64(j, "points", track->point_count);
		fxt_json_bool(j, "real", track->is_real);
		put_points(w, track);
		fxt_json_end(j);
		w->slices += track->slices.count;
		w->moments += track->moments.count;
	}
	fxt_json_end(j);
}

static void put_processes(struct writer *w, struct fxt_json *j)
{
	struct fxt_map seen = {0};
	bool fresh;

	fxt_json_array(j, "processes");
	for (size_t i = 0; i < w->timeline.track_count; i++) {
		uint64_t pid = w->timeline.tracks[i].pid;
		struct fxt_text name;

		if (w->timeline.tracks[i].kind == FXT_TRACK_PROCESSOR)
			continue;
		fxt_map_put(&seen, pid, 0, &fresh);
		if (!fresh)
			continue;
		name = fxt_process_name(&w->reader, pid);
		fxt_json_object(j, NULL);
		fxt_json_u64(j, "koid", pid);
		fxt_json_u64(j, "number", fxt_number(&w->reader, pid));
		fxt_json_text(j, "name", &name);
		fxt_json_end(j);
	}
	fxt_json_end(j);
	fxt_map_free(&seen);
}

static void put_labels(struct writer *w, struct fxt_json *j)
{
	fxt_json_array(j, "labels");
	for (size_t i = 0; i < w->timeline.label_count; i++) {
		const struct fxt_label *label = &w->timeline.labels[i];
		struct fxt_text category = fxt_symbol_text(&w->reader, label->category);

		fxt_json_array(j, NULL);
		fxt_json_text(j, NULL, &category);
		put_text(j, NULL, label_text(w, label));
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

static void put_arrows(struct writer *w)
{
	struct fxt_column *to = &w->rest[ARROWS];
	uint64_t last_ns = 0;

	for (size_t i = 0; i < w->timeline.arrow_count; i++) {
		const struct fxt_arrow *a = &w->timeline.arrows[i];
		uint64_t from_ns = since_first(w, a->from_ns);

		fxt_column_unsigned(to, from_ns - last_ns);
		fxt_column_signed(to, (int64_t)(since_first(w, a->to_ns) - from_ns));
		fxt_column_unsigned(to, a->from);
		fxt_column_unsigned(to, a->to);
		fxt_column_unsigned(to, a->name);
		last_ns = from_ns;
	}
}

/* -- Findings -------------------------------------------------------------------------------------- */

/* Finds the first number in a text that is a thread's or a process's, and where its track begins and ends. */
static bool moment_in_text(const struct writer *w, const char *text, struct fxt_detail_moment *m)
{
	const struct fxt_timeline *t = &w->timeline;

	for (const char *p = text; *p;) {
		char *end;
		uint64_t number;

		if (*p < '0' || *p > '9') {
			p++;
			continue;
		}
		number = strtoull(p, &end, 10);
		for (uint32_t i = 0; i < t->track_count; i++) {
			const struct fxt_track *track = &t->tracks[i];
			const struct fxt_slices *s = &track->slices;

			if (track->kind != FXT_TRACK_THREAD || !s->count ||
			    (fxt_number(&w->reader, w->reader.threads[track->thread].tid) != number &&
			     fxt_number(&w->reader, track->pid) != number))
				continue;
			*m = (struct fxt_detail_moment){i, s->list[0].start_ns, s->list[0].end_ns};
			for (size_t k = 0; k < s->count; k++)
				if (s->list[k].end_ns > m->end_ns)
					m->end_ns = s->list[k].end_ns;
			return true;
		}
		p = end;
	}
	return false;
}

/* Puts for each finding where it is: [track, begin, end, whether that is one call], or null. */
static void put_moments(struct writer *w, struct fxt_json *j)
{
	fxt_json_array(j, "moments_of_findings");
	for (size_t i = 0; i < w->page->finding_count; i++) {
		const struct fxt_page_finding *f = &w->page->findings[i];
		const struct fxt_detail_moment *found = NULL;
		struct fxt_detail_moment in_text;
		bool is_call;

		for (unsigned k = 0; k < f->stack_count && !found; k++)
			found = fxt_details_moment(&w->details, f->stacks[k]);
		is_call = found != NULL;
		if (!found && moment_in_text(w, f->what, &in_text))
			found = &in_text;
		if (!found) {
			fxt_json_null(j, NULL);
			continue;
		}
		fxt_json_array(j, NULL);
		fxt_json_u64(j, NULL, found->track);
		fxt_json_u64(j, NULL, since_first(w, found->start_ns));
		fxt_json_u64(j, NULL, since_first(w, found->end_ns));
		fxt_json_bool(j, NULL, is_call);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

/* -- Flame graphs ---------------------------------------------------------------------------------- */

/* What is narrower than a 4000th of the graph is not drawn. */
enum { NARROWEST = 4000 };

static void put_flame(struct fxt_json *j, const struct fxt_report *report, enum fxt_weight weight)
{
	static const char *const titles[FXT_WEIGHTS] = {
		"processor", "heap left at the end", "heap at its peak", "heap, all that was asked for",
		"waits",
	};
	static const char *const units[] = {"samples", "bytes", "ns"};
	struct fxt_stacks s;
	uint64_t missing;

	if (fxt_weighed_stacks(report, weight, &s, &missing))
		return;
	fxt_json_object(j, NULL);
	fxt_json_string(j, "title", titles[weight]);
	fxt_json_string(j, "unit", units[s.unit]);
	fxt_json_u64(j, "total", s.samples);
	fxt_json_u64(j, "hz", weight == FXT_WEIGHT_PROCESSOR ? report->processor.hz : 0);
	fxt_json_array(j, "nodes");
	/* Places are kept, so that parents are: what is too narrow is null. */
	for (size_t i = 0; i < s.count; i++) {
		const struct fxt_stack *one = &s.list[i];

		if (one->total < s.samples / NARROWEST) {
			fxt_json_null(j, NULL);
			continue;
		}
		fxt_json_array(j, NULL);
		fxt_json_i64(j, NULL, one->parent == FXT_NO_NODE ? -1 : (int64_t)one->parent);
		fxt_json_string(j, NULL, one->label);
		fxt_json_u64(j, NULL, one->self);
		fxt_json_u64(j, NULL, one->total);
		fxt_json_u64(j, NULL, one->is_kernel);
		fxt_json_end(j);
	}
	fxt_json_end(j);
	fxt_json_end(j);
	fxt_stacks_free(&s);
}

static void put_flames(const struct fxt_report *report, struct fxt_json *j)
{
	fxt_json_array(j, "flames");
	for (unsigned i = 0; i < FXT_WEIGHTS; i++)
		put_flame(j, report, (enum fxt_weight)i);
	fxt_json_end(j);
}

/* -- The page -------------------------------------------------------------------------------------- */

/* Puts how many bytes each column has; the block is all of them. */
static void put_columns(struct fxt_json *j, const char *key, struct fxt_column *columns,
			struct fxt_column *block)
{
	fxt_json_array(j, key);
	for (unsigned i = 0; i < COLUMNS; i++) {
		fxt_json_u64(j, NULL, columns[i].count);
		fxt_column_bytes(block, columns[i].bytes, columns[i].count);
		fxt_column_free(&columns[i]);
	}
	fxt_json_end(j);
}

static void put_sums(struct writer *w, struct fxt_json *j)
{
	const struct fxt_timeline *t = &w->timeline;

	fxt_json_u64(j, "slices", w->slices);
	fxt_json_u64(j, "moments", w->moments);
	fxt_json_u64(j, "arrows", t->arrow_count);
	fxt_json_u64(j, "arrows_without_begin", t->arrows_without_end);
	fxt_json_bool(j, "is_whole", t->is_whole);
	fxt_json_u64(j, "left_out", t->left_out);
	fxt_json_u64(j, "left_out_short", t->left_out_short);
	fxt_json_u64(j, "least_ns", t->least_ns);
}

static void put_head(struct writer *w, struct fxt_json *j, struct fxt_column blocks[3])
{
	const struct fxt_page *page = w->page;

	fxt_json_object(j, NULL);
	fxt_json_string(j, "title", page->title);
	fxt_json_string(j, "made_by", "fxt " PACKAGE_VERSION);
	fxt_json_u64(j, "first_ns", w->timeline.first_ns);
	fxt_json_u64(j, "span_ns", w->timeline.last_ns - w->timeline.first_ns);
	put_processes(w, j);
	put_tracks(w, j);
	put_labels(w, j);
	put_arrows(w);
	put_sums(w, j);
	fxt_details_write(&w->details, j, &blocks[2]);
	page->put_findings(page->context, page->report, j);
	put_moments(w, j);
	put_flames(page->report, j);
	put_columns(j, "first", w->first, &blocks[0]);
	put_columns(j, "rest", w->rest, &blocks[1]);
	fxt_json_end(j);
}

static void write_block(const char *name, struct fxt_column *block, FILE *out)
{
	fprintf(out, "<script type=\"application/octet-stream\" id=\"%s\">", name);
	fxt_column_write(block, out);
	fputs("</script>\n", out);
	fxt_column_free(block);
}

void fxt_page_write(const struct fxt_page *page, FILE *out)
{
	static const char *const names[] = {"first", "rest", "details"};
	struct writer w = {.page = page};
	struct fxt_column head = {0}, blocks[3] = {{0}};
	struct fxt_json j = {.one_line = true};
	char *text;
	size_t bytes;

	fxt_reader_init(&w.reader, page->report->r->data, page->report->r->size);
	fxt_timeline_read(&w.timeline, &w.reader, page->most_slices);
	fxt_heap_tracks(&w.timeline, page->report);
	fxt_timeline_nest(&w.timeline);
	fxt_details_begin(&w.details, page->report);
	j.out = fxt_text_stream(&text, &bytes);
	put_head(&w, &j, blocks);
	fclose(j.out);
	fxt_column_bytes(&head, text, bytes);
	free(text);

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; "
	      "form-action 'none'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<title>fxt</title>\n<style>\n", out);
	fputs(page_view_css, out);
	fputs("</style>\n</head>\n", out);
	fputs(page_view_html, out);
	write_block("head", &head, out);
	for (unsigned i = 0; i < 3; i++)
		write_block(names[i], &blocks[i], out);
	fputs("<script>\n", out);
	fputs(page_view_js, out);
	fputs("</script>\n</body>\n</html>\n", out);

	fxt_details_free(&w.details);
	fxt_demangled_free(&w.demangled);
	fxt_timeline_free(&w.timeline);
	fxt_reader_free(&w.reader);
}
