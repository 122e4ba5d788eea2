/* See top_print.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "top_print.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/printing/print.h"

/* The heading and the titles of the table, and how many processes there is no room for; and the slowest waits
 * with an empty line and a title. */
enum { OTHER_LINES = 3, WAIT_LINES = 2 + FXT_TOP_WAITS };

enum { NAME = 15 };
#define FIGURES " %4s %9s %7s %8s %9s %4s"

/* Prints a line, cut to the columns. */
static void put_line(const struct fxt_top_view *view, FILE *out, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void put_line(const struct fxt_top_view *view, FILE *out, const char *format, ...)
{
	char *line = NULL, *cut;
	struct fxt_text text;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&line, format, ap) < 0)
		line = fxt_strdup("");
	va_end(ap);
	text = fxt_text_of(line);
	cut = fxt_printable(&text, view->columns ? view->columns : FXT_COLUMNS, false);
	fprintf(out, "%s\n", cut);
	free(cut);
	free(line);
}

static uint64_t per_second(uint64_t n, const struct fxt_top_view *view)
{
	return (uint64_t)((double)n * 1e9 / (double)(view->elapsed_ns ? view->elapsed_ns : 1) + 0.5);
}

/* Returns whether a process is shown: one that is over, only for what it still did. */
static bool is_shown(const struct fxt_top_process *p)
{
	return !p->over || p->calls;
}

static size_t count_shown(const struct fxt_top_sums *s)
{
	size_t count = 0;

	for (size_t i = 0; i < s->count; i++)
		count += is_shown(&s->list[i]);
	return count;
}

/* Prints the first lines. Only the output for programs says how many calls there were and in what time,
 * because a terminal may be too narrow for that. */
static void put_heading(const struct fxt_top_sums *s, const struct fxt_top_view *view, FILE *out)
{
	size_t processes = count_shown(s);
	bool is_started = strcmp(view->state, "STARTED") == 0;
	char *sum = view->lines ? fxt_strdup("")
				: fxt_format(" (%s in %s)", fxt_count(s->calls).text,
					     fxt_duration(view->elapsed_ns).text);

	put_line(view, out, "%s%s%s  %zu process%s  %s calls/s%s  %s/s of trace  %s dropped", view->time,
		 is_started ? "" : " ", is_started ? "" : view->state, processes, processes == 1 ? "" : "es",
		 fxt_count(per_second(s->calls, view)).text, sum,
		 fxt_bytes(per_second(view->bytes, view)).text, fxt_count(view->dropped).text);
	free(sum);
}

/* Returns bytes that may be negative; `plus` stands before them if they are not. */
static struct fxt_short signed_bytes(int64_t bytes, const char *plus)
{
	struct fxt_short s, amount = fxt_bytes(bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes);

	snprintf(s.text, sizeof(s.text), "%s%.32s", bytes < 0 ? "-" : plus, amount.text);
	return s;
}

/* Returns a thread in words that begin with its number, because a line may be cut. The caller frees them. */
static char *number_and_name(const struct fxt_reader *r, uint32_t thread)
{
	struct fxt_text own = fxt_thread_name(r, thread);
	char *name = fxt_printable(&own, NAME, false);
	char *words = fxt_format("%" PRIu64 "%s%s", r->threads[thread].tid, *name ? " " : "", name);

	free(name);
	return words;
}

/* Returns who let the thread go on, in words with a space before; empty if no arrow says so. The caller frees
 * it. */
static char *waker_of(const struct fxt_top_sums *s, const struct fxt_top_wait *wait, bool with_process)
{
	char *thread, *words;

	if (!wait->has_waker)
		return fxt_strdup("");
	thread = with_process ? fxt_thread_label(s->r, wait->waker, true)
			      : number_and_name(s->r, wait->waker);
	words = fxt_format(" by %s", thread);
	free(thread);
	return words;
}

/* Returns a wait in words; `with_process` says of which process the waker is. The caller frees them. */
static char *wait_words(const struct fxt_top_sums *s, const struct fxt_top_wait *wait, bool with_process)
{
	struct fxt_text name = fxt_symbol_text(s->r, wait->name);
	char *waker = waker_of(s, wait, with_process), *call = fxt_printable(&name, 24, false);
	char *words = fxt_format("%s %s%s", call, fxt_duration(wait->ns).text, waker);

	free(waker);
	free(call);
	return words;
}

static void put_process(const struct fxt_top_sums *s, const struct fxt_top_process *p,
			const struct fxt_top_view *view, FILE *out)
{
	struct fxt_text text = fxt_process_name(s->r, p->pid);
	char *name = fxt_printable(&text, NAME, false);
	char *wait = p->wait_count ? wait_words(s, &p->slowest[0], false)
				   : fxt_strdup(p->over ? "(has ended)" : "-");
	int64_t change = p->heap.value - p->heap_before, open = p->descriptors.value;
	size_t width = fxt_columns(name);

	put_line(view, out, "%7" PRIu64 " %s%*s" FIGURES "  %s", p->pid, name,
		 width < NAME ? (int)(NAME - width) : 0, "", fxt_count(p->threads).text,
		 fxt_count(per_second(p->calls, view)).text,
		 p->blocked_ns ? fxt_duration(per_second(p->blocked_ns, view)).text : "-",
		 p->heap.is_known ? signed_bytes(p->heap.value, "").text : "-",
		 p->heap.is_known && change ? signed_bytes(change, "+").text : "-",
		 p->descriptors.is_known ? fxt_count(open > 0 ? (uint64_t)open : 0).text : "-", wait);
	free(wait);
	free(name);
}

/* Returns whether there is room for the slowest waits beside a process. */
static bool has_room_for_waits(const struct fxt_top_view *view)
{
	return !view->lines || view->lines > OTHER_LINES + WAIT_LINES;
}

/* Returns how many processes there is room for. */
static size_t room_for(const struct fxt_top_view *view)
{
	size_t other = OTHER_LINES + (has_room_for_waits(view) ? WAIT_LINES : 0), room;

	if (!view->lines)
		return view->processes;
	room = view->lines > other ? view->lines - other : 1;
	return room < view->processes ? room : view->processes;
}

static void put_slowest(const struct fxt_top_sums *s, const struct fxt_top_view *view, FILE *out)
{
	struct fxt_top_wait slowest[FXT_TOP_WAITS];
	unsigned count = fxt_top_slowest(s, slowest);

	if (!count || !has_room_for_waits(view))
		return;
	fputs("\n", out);
	put_line(view, out, "SLOWEST WAITS");
	for (unsigned i = 0; i < count; i++) {
		char *thread = fxt_thread_label(s->r, slowest[i].thread, true);
		char *words = wait_words(s, &slowest[i], true);

		put_line(view, out, "  %s: %s", thread, words);
		free(words);
		free(thread);
	}
}

void fxt_top_print(const struct fxt_top_sums *s, const struct fxt_top_view *view, FILE *out)
{
	size_t room = room_for(view), shown = 0, all = count_shown(s);

	put_heading(s, view, out);
	put_line(view, out, "%7s %-*s" FIGURES "  %s", "PID", NAME, "NAME", "THR", "CALLS/S", "WAIT/S",
		 "HEAP", "CHANGE", "FDS", "SLOWEST WAIT");
	for (size_t i = 0; i < s->count && shown < room; i++) {
		if (!is_shown(&s->list[i]))
			continue;
		put_process(s, &s->list[i], view, out);
		shown++;
	}
	fxt_put_more(out, all, shown);
	put_slowest(s, view, out);
}
