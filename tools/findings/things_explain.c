/* Prints all that a report knows of one thing: what it is, when it mattered most, the findings about it, and
 * its rows of all tables. The rows are chosen from the tables as they are printed, by the handles that they
 * begin with. So they have the figures of the tables, and none of them can be forgotten here. See things.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "finding.h"
#include "tools/things/things.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* The handles whose rows are wanted: that of the thing, and those of its parts. */
struct wanted {
	struct fxt_handle *list;
	size_t count, capacity;
};

static void want(struct wanted *w, const struct fxt_handle *handle)
{
	w->list = fxt_grow(w->list, &w->capacity, w->count + 1, sizeof(*w->list));
	w->list[w->count++] = *handle;
}

static bool is_wanted(const struct wanted *w, const char *line)
{
	for (size_t i = 0; i < w->count; i++)
		if (strncasecmp(w->list[i].text, line, FXT_HANDLE_COLUMNS) == 0)
			return true;
	return false;
}

/* Wants the parts: of a process its threads, and of a name that several locks have each of these. */
static void want_parts(struct wanted *w, const struct fxt_report *report)
{
	const struct fxt_handle whole = w->list[0];

	for (size_t i = 0; i < report->threads.count; i++) {
		uint32_t thread = report->threads.list[i].thread;
		struct fxt_handle process = fxt_handle_of_process(report->r, report->r->threads[thread].pid),
				  own = fxt_handle_of_thread(report->r, thread);

		if (strcmp(process.text, whole.text) == 0)
			want(w, &own);
	}
	for (size_t i = 0; i < report->waits.count; i++) {
		struct fxt_handle name = fxt_waits_handle(report->r, &report->waits.list[i]),
				  own = fxt_wait_handle(report->r, &report->waits.list[i]);

		if (strcmp(name.text, whole.text) == 0 && strcmp(own.text, whole.text) != 0)
			want(w, &own);
	}
}

/* -- Choosing rows --------------------------------------------------------------------------------- */

/* Goes over the lines of tables. A row goes on in the lines below that are indented further than sentences
 * about the whole table are. */
struct chooser {
	const struct wanted *wanted;
	FILE *out;                      /* NULL: rows are only counted */
	const char *title, *category;   /* that have not been printed; or NULL */
	bool is_after_gap, is_in_row;
	size_t rows;
};

static void put_head(struct chooser *c)
{
	if (c->title)
		fprintf(c->out, "\n%s\n", c->title);
	if (c->category)
		fprintf(c->out, "%s\n", c->category);
	c->title = c->category = NULL;
}

static void take_line(struct chooser *c, const char *line)
{
	static const char within[] = "    ";

	if (!*line) {
		c->is_after_gap = true;
		c->is_in_row = false;
		return;
	}
	if (strncmp(line, within, strlen(within)) != 0) {
		c->is_in_row = fxt_is_handle(line) && is_wanted(c->wanted, line);
		c->rows += c->is_in_row;
		if (*line != ' ' && !fxt_is_handle(line)) {
			/* In a table of calls each category has a line above its calls. */
			if (c->is_after_gap)
				c->title = line;
			c->category = c->is_after_gap ? NULL : line;
		}
	}
	c->is_after_gap = false;
	if (!c->is_in_row || !c->out)
		return;
	put_head(c);
	fprintf(c->out, "%s\n", line);
}

/* Prints the wanted rows of the text, which loses its line feeds. Returns how many there are. */
static size_t choose(char *text, const struct wanted *wanted, FILE *out)
{
	struct chooser c = {.wanted = wanted, .out = out};
	char *line;

	while ((line = strsep(&text, "\n")))
		take_line(&c, line);
	return c.rows;
}

/* Returns whether a finding is about one of the wanted: it says so, he is to blame, or it stands on a row. */
static bool is_about(const struct fxt_findings *f, size_t place, const struct fxt_report *report,
		     const struct wanted *wanted)
{
	const struct fxt_finding *x = &f->list[place];
	struct fxt_handle culprit = fxt_who_handle(report->who, x->purpose, x->innermost);
	size_t bytes, rows;
	char *text;
	FILE *out;

	if ((*x->about.text && is_wanted(wanted, x->about.text)) ||
	    (*culprit.text && is_wanted(wanted, culprit.text)))
		return true;
	if (!x->print_rows)
		return false;
	out = fxt_text_stream(&text, &bytes);
	x->print_rows(report, x, out);
	fclose(out);
	rows = choose(text, wanted, NULL);
	free(text);
	return rows > 0;
}

/* -- The head -------------------------------------------------------------------------------------- */

static void print_moment(struct fxt_thing *thing, const struct fxt_report *report, const char *path,
			 FILE *out)
{
	struct fxt_thing_moment m;
	char *options;

	fxt_thing_find_moment(thing, report->r->data, report->r->size, &m);
	options = fxt_thing_options(m.is_otherwise ? &thing->otherwise : &thing->narrow);
	if (!m.records) {
		fputs("    no record names it\n", out);
	} else {
		fprintf(out, "    %s record%s: fxt dump %s %s\n", fxt_count(m.records).text,
			m.records == 1 ? "" : "s", options, path);
		fprintf(out, "    %s%s", m.longest_ns ? "the longest ends" : "the first is",
			m.longest_ns ? "" : " at ");
		if (m.longest_ns)
			fprintf(out, " after %s: %s, %s", fxt_duration(m.at_ns).text, m.name,
				fxt_duration(m.longest_ns).text);
		else
			fprintf(out, "%s: %s", fxt_duration(m.at_ns).text, m.name);
		fprintf(out, "; fxt dump --around %s %s\n", thing->handle.text, path);
	}
	free(options);
	free(m.name);
}

char *fxt_things_explain(const struct fxt_findings *f, const struct fxt_report *report, const char *handle,
			 const char *path, FILE *out)
{
	struct wanted wanted = {0};
	struct fxt_things things;
	size_t bytes;
	char *text;
	FILE *tables;

	fxt_things_find(&things, report, handle);
	if (!things.count) {
		fxt_things_free(&things);
		return fxt_findings_no_handle(f, report, handle);
	}
	for (size_t i = 0; i < things.count; i++) {
		fprintf(out, "%s%s %s\n", i ? "\n" : "", things.list[i].handle.text, things.list[i].label);
		print_moment(&things.list[i], report, path, out);
	}
	want(&wanted, &things.list[0].handle);
	want_parts(&wanted, report);
	for (size_t i = 0, shown = 0; i < f->count; i++) {
		if (!is_about(f, i, report, &wanted))
			continue;
		if (shown++ == 0)
			fputc('\n', out);
		fxt_findings_print_one(f, i, report, out);
	}
	tables = fxt_text_stream(&text, &bytes);
	fxt_report_print_tables(report, tables);
	fclose(tables);
	choose(text, &wanted, out);
	free(text);
	free(wanted.list);
	fxt_things_free(&things);
	return NULL;
}
