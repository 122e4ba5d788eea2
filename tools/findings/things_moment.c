/* Finds when a thing mattered most: the end of its longest event. See things.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "rules.h"
#include "tools/things/things.h"
#include "tools/common/message.h"
#include "tools/narrow/selection.h"
#include "tools/printing/print.h"

/* What is longest so far. */
struct longest {
	struct fxt_thing_moment *moment;
	bool any;
};

/* Takes an event from start to end. */
static void take(struct longest *l, const struct fxt_text *name, uint64_t start_ns, uint64_t end_ns,
		 uint64_t first_ns)
{
	struct fxt_thing_moment *m = l->moment;
	uint64_t ns = fxt_ns_between(start_ns, end_ns);

	m->records++;
	if (l->any && ns <= m->longest_ns)
		return;
	l->any = true;
	m->longest_ns = ns;
	m->at_ns = fxt_ns_between(first_ns, end_ns);
	free(m->name);
	m->name = fxt_printable(name, SIZE_MAX, false);
}

/* Finds the longest of the events that are chosen. What has no end is as long as the trace goes on, and its
 * moment is its begin. */
static void find_longest(struct fxt_narrow *narrow, const void *data, uint64_t size,
			 struct fxt_thing_moment *m)
{
	struct longest longest = {m, false};
	struct fxt_selection s;
	struct fxt_reader r;
	struct fxt_record rec;

	fxt_selection_make(&s, narrow, data, size);
	fxt_reader_init(&r, data, size);
	while (fxt_reader_next(&r, &rec)) {
		struct fxt_span span;

		if (!rec.known || rec.damaged || !rec.timed || rec.type != FXT_RECORD_EVENT ||
		    rec.subtype == FXT_EVENT_COUNTER || !fxt_selects(&s, &r, &rec))
			continue;
		span = fxt_span_of(&rec);
		if (rec.subtype == FXT_EVENT_DURATION_BEGIN) {
			const struct fxt_slot *end = fxt_map_find(&s.ends, rec.offset, 0);

			span.end_ns = end ? end->value[0] : s.last_ns;
		}
		if (span.end_ns == UINT64_MAX || rec.subtype >= FXT_EVENT_ASYNC_BEGIN)
			span.end_ns = span.start_ns;
		take(&longest, &rec.name, span.start_ns, span.end_ns, s.first_ns);
	}
	fxt_reader_free(&r);
	fxt_selection_free(&s);
}

void fxt_thing_find_moment(struct fxt_thing *thing, const void *data, uint64_t size,
			   struct fxt_thing_moment *m)
{
	*m = (struct fxt_thing_moment){0};
	find_longest(&thing->narrow, data, size, m);
	if (m->records || !fxt_narrow_is_any(&thing->otherwise))
		return;
	m->is_otherwise = true;
	find_longest(&thing->otherwise, data, size, m);
}

/* Returns the option's value for a shell. */
static char *quoted(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./:+-,@%=";
	char *result, *to;

	if (!text[strspn(text, plain)])
		return fxt_strdup(text);
	result = to = fxt_alloc(4 * strlen(text) + 3, 1);
	*to++ = '\'';
	for (; *text; text++) {
		if (*text == '\'')
			to = stpcpy(to, "'\\'");
		*to++ = *text;
	}
	*to = '\'';
	return result;
}

char *fxt_thing_options(const struct fxt_narrow *n)
{
	static const char *const names[FXT_NARROW_BY] = {
		[FXT_BY_PROCESS] = "--pid", [FXT_BY_THREAD] = "--thread", [FXT_BY_CALL] = "--call",
		[FXT_BY_OBJECT] = "--object", [FXT_BY_PATH] = "--path", [FXT_BY_STACK] = "--stack"};
	size_t bytes;
	char *text;
	FILE *out = fxt_text_stream(&text, &bytes);

	for (int by = 0; by < FXT_NARROW_BY; by++) {
		const struct fxt_patterns *p = &n->by[by];

		for (size_t i = 0; names[by] && i < p->count; i++) {
			char *value = quoted(p->list[i].text);

			if (i == 0)
				fprintf(out, "%s%s %s", ftell(out) ? " " : "", names[by], value);
			else
				fprintf(out, ",%s", value);
			free(value);
		}
	}
	fclose(out);
	return text;
}

/* -- Of a handle ---------------------------------------------------------------------------------- */

/* Returns the event that took longest of those with one of the finding's stacks. */
static bool finding_moment(const struct fxt_finding *x, const struct fxt_report *report, const void *data,
			   uint64_t size, uint64_t *ns)
{
	struct fxt_thing_moment m = {0};
	struct longest longest = {&m, false};
	struct fxt_reader r;
	struct fxt_record rec;

	fxt_reader_init(&r, data, size);
	while (fxt_reader_next(&r, &rec)) {
		uint32_t stack;
		bool is_one;

		if (!rec.known || rec.damaged || rec.type != FXT_RECORD_EVENT)
			continue;
		stack = fxt_call_stack_of(&report->who->stacks, &rec);
		if (stack == FXT_NO_FRAME)
			continue;
		is_one = stack == x->innermost;
		for (unsigned i = 0; i < x->stack_count; i++)
			is_one |= stack == x->stacks[i].innermost;
		if (is_one)
			take(&longest, &rec.name, fxt_ns(rec.provider, rec.ticks), fxt_span_of(&rec).end_ns,
			     report->overview.first_ns);
	}
	fxt_reader_free(&r);
	free(m.name);
	*ns = m.at_ns;
	return m.records;
}

/* Returns NULL, or that a finding has no moment. */
static char *moment_of_finding(const struct fxt_findings *f, size_t place, const struct fxt_report *report,
			       const void *data, uint64_t size, uint64_t *ns)
{
	const struct fxt_finding *x = &f->list[place];
	char *wrong = NULL;

	if (finding_moment(x, report, data, size, ns))
		return NULL;
	if (*x->about.text) {
		struct fxt_things things;
		struct fxt_thing_moment m = {0};

		fxt_things_find(&things, report, x->about.text);
		if (things.count)
			fxt_thing_find_moment(&things.list[0], data, size, &m);
		fxt_things_free(&things);
		free(m.name);
		*ns = m.at_ns;
		if (m.records)
			return NULL;
	}
	if (x->rule->gravity == FXT_IS_END)
		*ns = fxt_ns_between(report->overview.first_ns, report->overview.last_ns);
	else
		wrong = fxt_format("F%zu has no moment: no record has a stack of it", place + 1);
	return wrong;
}

char *fxt_things_moment_of(const char *handle, const char *path, const void *data, uint64_t size,
			   uint64_t *ns)
{
	struct fxt_report_options options = {.top = FXT_TOP_WHOLE, .wrappers = getenv("FXT_WRAPPERS")};
	struct stat st;
	struct fxt_findings findings;
	struct fxt_things things;
	struct fxt_report report;
	struct fxt_thing_moment m = {0};
	struct fxt_reader r;
	size_t place;
	char *wrong = NULL;

	options.source = fxt_frame_names_open(stat(path, &st) == 0 ? st.st_mtime : 0);
	fxt_reader_init(&r, data, size);
	fxt_report_make(&report, &r, &options);
	fxt_findings_make(&findings, &report, 0);
	fxt_things_find(&things, &report, handle);
	if (fxt_findings_place(&findings, handle, &place)) {
		wrong = moment_of_finding(&findings, place, &report, data, size, ns);
	} else if (!things.count) {
		wrong = fxt_findings_no_handle(&findings, &report, handle);
	} else {
		fxt_thing_find_moment(&things.list[0], data, size, &m);
		*ns = m.at_ns;
		if (!m.records)
			wrong = fxt_format("%s is %s, and no record says when: --explain %s tells of it",
					   things.list[0].handle.text, things.list[0].label,
					   things.list[0].handle.text);
		free(m.name);
	}
	fxt_things_free(&things);
	fxt_findings_free(&findings);
	fxt_report_free(&report);
	fxt_reader_free(&r);
	fxt_frame_names_close(options.source);
	return wrong;
}
