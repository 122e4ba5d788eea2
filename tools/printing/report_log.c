/* fxt report: the section with the last lines that the program wrote. See report_log.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "report_log.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/printing/handle.h"
#include "tools/printing/print.h"

bool fxt_log_has_event(const struct fxt_record *rec)
{
	return rec->subtype == FXT_EVENT_INSTANT && fxt_text_is(&rec->category, "log") &&
	       fxt_argument(rec, "message");
}

static bool is_earlier(const struct fxt_log_line *a, const struct fxt_log_line *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->number < b->number;
}

static void swap(struct fxt_log_line *a, struct fxt_log_line *b)
{
	struct fxt_log_line line = *a;

	*a = *b;
	*b = line;
}

static void sift_up(struct fxt_log_line *list, size_t at)
{
	for (; at && is_earlier(&list[at], &list[(at - 1) / 2]); at = (at - 1) / 2)
		swap(&list[at], &list[(at - 1) / 2]);
}

static void sift_down(struct fxt_log_line *list, size_t count)
{
	size_t at = 0, least;

	for (;; at = least) {
		least = 2 * at + 1;
		if (least >= count)
			return;
		if (least + 1 < count && is_earlier(&list[least + 1], &list[least]))
			least++;
		if (!is_earlier(&list[least], &list[at]))
			return;
		swap(&list[at], &list[least]);
	}
}

void fxt_log_take(struct fxt_log_lines *l, const struct fxt_record *rec, size_t keep)
{
	struct fxt_log_line line = {
		.at_ns = fxt_ns(rec->provider, rec->ticks),
		.number = l->total++,
		.thread = rec->thread,
		.message = rec->name,
	};

	if (l->count < keep) {
		l->list = fxt_grow(l->list, &l->capacity, l->count + 1, sizeof(*l->list));
		l->list[l->count++] = line;
		sift_up(l->list, l->count - 1);
	} else if (l->count && is_earlier(&l->list[0], &line)) {
		l->list[0] = line;
		sift_down(l->list, l->count);
	}
}

static int by_time(const void *a, const void *b)
{
	return is_earlier(a, b) ? -1 : 1;
}

void fxt_log_sort(struct fxt_log_lines *l)
{
	if (l->count)
		qsort(l->list, l->count, sizeof(*l->list), by_time);
}

#define BEFORE_END " %10s  "

#define AT_UTC " %30s  "

void fxt_log_print(const struct fxt_log_lines *l, const struct fxt_reader *r,
		   const struct fxt_wall_clock *utc, uint64_t end_ns, bool with_process, FILE *out)
{
	enum { BEFORE_END_COLUMNS = 12, AT_UTC_COLUMNS = 32, MOST_LINES = 3 };
	enum { INDENT = FXT_HANDLE_COLUMNS + 1 };
	size_t time_columns = utc ? AT_UTC_COLUMNS : BEFORE_END_COLUMNS;
	size_t width = 0, columns;
	char *head;

	if (l->count == 0)
		return;
	for (size_t i = 0; i < l->count; i++) {
		char *thread = fxt_thread_label(r, l->list[i].thread, with_process);

		columns = INDENT + fxt_columns(thread);
		width = columns > width ? columns : width;
		free(thread);
	}
	head = l->total > l->count
		       ? fxt_format("SAID LAST (%zu of %s lines)", l->count, fxt_count(l->total).text)
		       : fxt_strdup("SAID");
	columns = strlen(head);
	width = columns > width ? columns : width;
	fxt_put_title(out, head, width - INDENT);
	if (utc)
		fprintf(out, AT_UTC "line\n", "at");
	else
		fprintf(out, BEFORE_END "line\n", "before end");
	free(head);
	for (size_t i = 0; i < l->count; i++) {
		const struct fxt_log_line *line = &l->list[i];
		char *thread = fxt_thread_label(r, line->thread, with_process);

		fxt_put_label(out, fxt_handle_of_thread(r, line->thread).text, thread, width - INDENT);
		if (utc)
			fprintf(out, AT_UTC, fxt_utc(utc, line->at_ns).text);
		else
			fprintf(out, BEFORE_END, fxt_duration(fxt_ns_between(line->at_ns, end_ns)).text);
		fxt_put_wrapped(out, &line->message, width + 1 + time_columns, MOST_LINES);
		free(thread);
	}
}

void fxt_log_free(struct fxt_log_lines *l)
{
	free(l->list);
}
