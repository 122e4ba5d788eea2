/* fxt report: prints contended locks, and the threads that are blocked when the trace ends, with their
 * stacks. See report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tools/analysis/demangle.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

char *fxt_contention_lock(const struct fxt_object *known, uint64_t lock)
{
	return known ? fxt_strdup(known->label) : fxt_format("0x%" PRIx64, lock);
}

static char *place(const struct fxt_reader *r, uint32_t symbol)
{
	struct fxt_text text = fxt_symbol_text(r, symbol);

	return fxt_function_label(&text, 40);
}

enum { LABEL = 28 };
#define FIGURES " %10s %12s %9s\n"

/* Prints who wanted the lock and who held it. Stacks say more than the names of the innermost functions. */
static void print_places(const struct fxt_contended *one, const struct fxt_reader *r, struct fxt_who *who,
			 FILE *out)
{
	size_t room = fxt_width() - 16;
	char *at = place(r, one->at), *held_at = place(r, one->held_at), *held, *held_for;
	char *waiter = fxt_who_line(who, FXT_FOR_LOCK, one->innermost, room),
	     *holder = fxt_who_line(who, FXT_FOR_LOCK, one->holder, room - 20);

	if (holder)
		held = fxt_format("held by %s", holder);
	else
		held = strcmp(held_at, FXT_NO_PLACE) != 0 ? fxt_format("held in %s", held_at)
							  : fxt_strdup("");
	held_for = *held && one->held_count
			   ? fxt_format(" for %s", fxt_duration(one->held_ns / one->held_count).text)
			   : fxt_strdup("");
	if (waiter || holder) {
		fxt_put_line(out, waiter ? fxt_format("      wanted by %s", waiter)
					 : fxt_format("      wanted in %s", at));
		if (*held)
			fxt_put_line(out, fxt_format("      %s%s%s", held, holder && *held_for ? "," : "",
						     held_for));
	} else {
		fxt_put_line(out, fxt_format("      wanted in %s%s%s%s", at, *held ? ", " : "", held,
					     held_for));
	}
	free(waiter);
	free(holder);
	free(held_for);
	free(held);
	free(held_at);
	free(at);
}

static void print_contended(const struct fxt_contended *one, const struct fxt_reader *r, struct fxt_who *who,
			    FILE *out)
{
	char *lock = fxt_contention_lock(one->known, one->lock), *what = fxt_wait_name(one->kind, lock);

	fxt_put_label(out, fxt_handle_of_lock(r, one->pid, one->lock).text, what, LABEL);
	fprintf(out, FIGURES, fxt_duration(one->total_ns).text, fxt_count(one->count).text,
		fxt_duration(one->max_ns).text);
	print_places(one, r, who, out);
	free(what);
	free(lock);
}

static void print_joining(const struct fxt_contention *c, size_t thread, const struct fxt_reader *r,
			  uint64_t end_ns, bool with_process, FILE *out)
{
	const struct fxt_blocked *b = &c->blocked[thread];
	char *who = fxt_thread_label(r, (uint32_t)thread, with_process);
	int64_t holder = fxt_contention_holder(c, r, thread);
	char *whom =
		holder >= 0 ? fxt_thread_label(r, (uint32_t)holder, with_process) : fxt_strdup("a thread");

	fxt_put_line(out,
		     fxt_format("%s %s has waited %s for %s to end",
				fxt_handle_of_thread(r, (uint32_t)thread).text, who,
				fxt_duration(fxt_ns_between(b->since_ns, end_ns)).text, whom));
	free(whom);
	free(who);
}

static void print_blocked(const struct fxt_contention *c, size_t thread, const struct fxt_reader *r,
			  uint64_t end_ns, bool with_process, bool with_stack, FILE *out)
{
	const struct fxt_blocked *b = &c->blocked[thread];
	char *who = fxt_thread_label(r, (uint32_t)thread, with_process), *at = place(r, b->at),
	     *held_at = place(r, b->held_at);
	char *lock = fxt_contention_lock(b->known, b->lock);
	int64_t holder = fxt_contention_holder(c, r, thread);

	fxt_put_line(out, fxt_format("%s %s has waited %s%s%s for %s%s",
				     fxt_handle_of_thread(r, (uint32_t)thread).text, who,
				     fxt_duration(fxt_ns_between(b->since_ns, end_ns)).text,
				     with_stack ? "" : " in ", with_stack ? "" : at, lock,
				     holder >= 0 ? "," : ""));
	if (holder >= 0) {
		char *by = fxt_thread_label(r, (uint32_t)holder, with_process);
		char *since = b->held_since_ns && end_ns > b->held_since_ns
				      ? fxt_format(" %s before the end",
						   fxt_duration(end_ns - b->held_since_ns).text)
				      : fxt_strdup("");

		fxt_put_line(out, strcmp(held_at, FXT_NO_PLACE) == 0
					  ? fxt_format("      which %s holds", by)
					  : fxt_format("      which %s took in %s%s", by, held_at, since));
		free(since);
		free(by);
	}
	free(lock);
	free(held_at);
	free(at);
	free(who);
}

/* Prints a thread, and its stack. */
static void print_one(const struct fxt_report *report, uint32_t thread, FILE *out)
{
	enum { SHOWN = 6 };             /* as many functions leave other threads room on the first screen */
	const struct fxt_contention *c = &report->contention;
	uint64_t end_ns = fxt_ends_thread_ns(&report->process_ends, report->r, thread);
	uint32_t innermost = fxt_calls_in_progress_stack(&report->open, thread);
	bool with_stack = fxt_path_of(&report->who->culprits, FXT_FOR_LOCK, innermost) != FXT_NO_PATH;
	size_t top = report->options.top;

	if (c->blocked[thread].is_join)
		print_joining(c, thread, report->r, end_ns, report->has_processes, out);
	else
		print_blocked(c, thread, report->r, end_ns, report->has_processes, with_stack, out);
	fxt_who_print(report->who, FXT_FOR_LOCK, innermost, top >= FXT_TOP_ALL ? top : SHOWN, out);
}

static void print_blocked_ones(const struct fxt_report *report, bool circle, const char *title, FILE *out)
{
	const struct fxt_contention *c = &report->contention;
	size_t shown = 0;

	for (size_t i = 0; i < c->blocked_count; i++) {
		if (!c->blocked[i].is_blocked || c->blocked[i].is_in_circle != circle ||
		    shown++ >= report->options.top)
			continue;
		if (shown == 1)
			fprintf(out, "\n%s\n", title);
		print_one(report, (uint32_t)i, out);
	}
	fxt_put_more(out, shown, report->options.top);
}

void fxt_contention_print_blocked(const struct fxt_report *report, FILE *out)
{
	print_blocked_ones(report, true, "DEADLOCK", out);
	print_blocked_ones(report, false, "BLOCKED AT THE END", out);
}

static void print_title(FILE *out)
{
	fxt_put_title(out, "CONTENDED LOCKS", LABEL);
	fprintf(out, FIGURES, "waited", "count", "longest");
}

void fxt_contention_print_one(const struct fxt_contention *c, size_t place, const struct fxt_reader *r,
			      struct fxt_who *who, FILE *out)
{
	print_title(out);
	print_contended(&c->list[place], r, who, out);
}

void fxt_contention_print(const struct fxt_contention *c, const struct fxt_reader *r, struct fxt_who *who,
			  size_t top, FILE *out)
{
	enum { WORTH_A_LINE = 20 };
	size_t shown = 0, most = (top + 1) / 2;

	if (c->count == 0)
		return;
	print_title(out);
	/* Each lock takes two lines. One that took next to nothing beside the first is left out. */
	for (; shown < c->count && shown < most &&
	     (top >= FXT_TOP_ALL || c->list[shown].total_ns >= c->list[0].total_ns / WORTH_A_LINE); shown++)
		print_contended(&c->list[shown], r, who, out);
	fxt_put_more(out, c->count, shown);
}
