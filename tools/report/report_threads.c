/* fxt report: the section on threads, which ran, were blocked or waited. See report_threads.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "report_threads.h"

#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tools/analysis/gaps.h"
#include "tools/analysis/processor_time.h"
#include "tools/analysis/switch_times.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

static struct fxt_thread_time *time_of(struct fxt_thread_times *t, uint32_t thread)
{
	while (t->count <= thread) {
		t->list = fxt_grow(t->list, &t->capacity, t->count + 1, sizeof(*t->list));
		t->list[t->count] = (struct fxt_thread_time){.thread = (uint32_t)t->count};
		t->count++;
	}
	return &t->list[thread];
}

static void extend(struct fxt_thread_time *one, uint64_t from_ns, uint64_t to_ns)
{
	bool is_new = !one->has_events && !one->is_told;

	if (is_new || from_ns < one->first_ns)
		one->first_ns = from_ns;
	if (is_new || to_ns > one->last_ns)
		one->last_ns = to_ns;
}

/* Notes between which times recording was stopped. */
static void take_gap(struct fxt_thread_times *t, uint64_t pid, uint64_t ns, bool begins)
{
	struct fxt_slot *s = fxt_map_find(&t->stopped, pid, 0);
	bool fresh;

	if (begins) {
		fxt_map_put(&t->stopped, pid, 0, &fresh)->value[0] = ns;
	} else if (s) {
		fxt_loss_spans_add(&t->unknown, &(struct fxt_loss_span){pid, s->value[0], ns, 0});
		fxt_map_remove(&t->stopped, s);
	}
}

void fxt_threads_seen(struct fxt_thread_times *t, const struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_thread_time *one = time_of(t, rec->thread);
	uint64_t ns = fxt_ns(rec->provider, rec->ticks);

	extend(one, ns, fxt_ns(rec->provider, fxt_commit_ticks(rec)));
	one->has_events = true;
	if (rec->subtype == FXT_EVENT_INSTANT && (fxt_gap_begins(rec) || fxt_gap_ends(rec)))
		take_gap(t, r->threads[rec->thread].pid, ns, fxt_gap_begins(rec));
}

void fxt_threads_told(struct fxt_thread_times *t, struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_thread_time *one = time_of(t, fxt_told_thread(r, rec));
	uint64_t ns = fxt_ns(rec->provider, rec->ticks);

	extend(one, ns, ns);
	one->is_told = true;
}

/* Adds a call that did not run for so long, by that standing. */
static void add(struct fxt_thread_times *t, struct fxt_thread_time *one, uint32_t name, uint64_t offset,
		enum fxt_standing standing, uint64_t ns)
{
	bool fresh;

	if (standing == FXT_STANDING_NONE || !ns)
		return;
	*(standing == FXT_STANDING_WAITING ? &one->waiting_ns : &one->blocked_ns) += ns;
	fxt_map_put(&t->by_call, one->thread, name, &fresh)->value[0] += ns;
	if (t->listener)
		t->listener->waited(t->listener->context, offset, (int64_t)ns);
}

/* Takes a slice that ends after all others. Returns how long it took without those within it. */
static uint64_t nest(struct fxt_thread_time *one, uint64_t start_ns, uint64_t end_ns)
{
	struct fxt_nested slice = {.start_ns = start_ns, .end_ns = end_ns, .value = {end_ns - start_ns}};
	struct fxt_nested inner;
	uint64_t within_ns = 0;

	while (fxt_nesting_pop(&one->nesting, start_ns, &inner))
		within_ns += inner.value[0];
	fxt_nesting_push(&one->nesting, &slice);
	return slice.value[0] - (within_ns < slice.value[0] ? within_ns : slice.value[0]);
}

uint64_t fxt_threads_take(struct fxt_thread_times *t, struct fxt_reader *r, const struct fxt_record *rec,
			  const struct fxt_role *role, bool did_not_wait)
{
	struct fxt_thread_time *one = time_of(t, rec->thread);
	uint64_t ns = nest(one, fxt_ns(rec->provider, rec->ticks), fxt_ns(rec->provider, rec->extra));
	uint64_t waited_ns = did_not_wait ? 0 : fxt_waited_ns(rec);

	add(t, one, fxt_symbol(r, &rec->name), rec->offset, fxt_role_standing(role),
	    waited_ns < ns ? waited_ns : ns);
	return ns;
}

void fxt_threads_room(struct fxt_thread_times *t, const struct fxt_record *rec)
{
	struct fxt_thread_time *one = time_of(t, rec->thread);

	one->room_ns += nest(one, fxt_ns(rec->provider, rec->ticks), fxt_ns(rec->provider, rec->extra));
}

void fxt_threads_kept(struct fxt_thread_times *t, struct fxt_reader *r, const struct fxt_record *rec,
		      const struct fxt_role *role, uint64_t ns)
{
	struct fxt_thread_time *one = time_of(t, rec->thread);
	uint64_t *standing_ns =
		fxt_role_standing(role) == FXT_STANDING_WAITING ? &one->waiting_ns : &one->blocked_ns;
	struct fxt_slot *s = fxt_map_find(&t->by_call, rec->thread, fxt_symbol(r, &rec->name));

	if (!s || fxt_role_standing(role) == FXT_STANDING_NONE)
		return;
	ns = ns < s->value[0] ? ns : s->value[0];
	ns = ns < *standing_ns ? ns : *standing_ns;
	*standing_ns -= ns;
	s->value[0] -= ns;
	one->room_ns += ns;
	if (t->listener)
		t->listener->waited(t->listener->context, rec->offset, -(int64_t)ns);
}

/* -- What it was in at the end ----------------------------------------------------------------------- */

/* Takes the calls that a thread was in when the trace ended. Such a thread lives as long as its process. It
 * has been blocked or waiting since its innermost call began: a signal handler may have interrupted the one
 * around that. */
static void take_open(struct fxt_thread_times *t, struct fxt_reader *r, struct fxt_roles *roles,
		      struct fxt_files *files, const struct fxt_call_stack *s, uint64_t end_ns)
{
	for (size_t i = s->count; i > 0; i--) {
		const struct fxt_call_in_progress *call = &s->list[i - 1];
		struct fxt_thread_time *one = time_of(t, call->thread);
		const struct fxt_role *role;
		struct fxt_record rec;
		uint64_t ns;

		if (i == s->count)
			one->open = call->name;
		if (end_ns <= call->start_ns)
			continue;
		one->last_ns = end_ns;
		fxt_reader_event_at(r, call->offset, call->provider, &rec);
		role = fxt_role_of(roles, r, &rec);
		if (fxt_role_standing(role) == FXT_STANDING_NONE ||
		    end_ns - call->start_ns < FXT_STANDING_LEAST_NS)
			continue;
		ns = nest(one, call->start_ns, end_ns);
		if (fxt_file_mode(files, r, &rec, role) != FXT_FD_NONBLOCKING)
			add(t, one, call->name, call->offset, fxt_role_standing(role), ns);
	}
}

/* Extends the life of a first thread to the end of its process. What it did after its last call is not
 * seen, but when it ended is. What it did as a program that ran untraced is nothing that can be told. */
static void live_to_the_end(struct fxt_thread_time *one, const struct fxt_reader *r, uint32_t place,
			    const struct fxt_ends *ends)
{
	const struct fxt_trace_thread *thread = &r->threads[place];
	uint64_t end_ns = fxt_ends_thread_ns(ends, r, place);
	uint64_t untraced_ns = fxt_ends_untraced_ns(ends, thread->pid);
	int signal;

	if (untraced_ns) {
		if (one->has_events && one->last_ns > untraced_ns)
			one->last_ns = untraced_ns;
		return;
	}
	if (one->has_events && thread->pid == thread->tid && end_ns > one->last_ns &&
	    fxt_ends_known(ends, thread->pid, &signal))
		one->last_ns = end_ns;
}

/* -- What nobody knows ------------------------------------------------------------------------------- */

/* Returns for how long of its life the thread's process lost records, or was not recorded. */
static uint64_t unknown_ns(const struct fxt_thread_times *t, const struct fxt_thread_time *one,
			   const struct fxt_reader *r)
{
	size_t count;
	const struct fxt_loss_span *list =
		fxt_loss_spans_of(&t->unknown, r->threads[one->thread].pid, &count);
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t from_ns = list[i].from_ns > one->first_ns ? list[i].from_ns : one->first_ns;
		uint64_t to_ns = list[i].to_ns < one->last_ns ? list[i].to_ns : one->last_ns;

		sum_ns += to_ns > from_ns ? to_ns - from_ns : 0;
	}
	return sum_ns;
}

/* Returns how long of its life the thread can have run, or been ready to, as the kernel tells. If calls leave
 * more time than that, the thread had no processor while it was in none that the trace has. That is so where
 * it enters the kernel by an instruction of its own. What the kernel tells may reach beyond the life: an
 * untraced program that was executed goes on in the same thread. */
static uint64_t most_running_ns(const struct fxt_switch_times *switches, uint32_t thread, uint64_t life_ns)
{
	const struct fxt_switch_sums *sums = fxt_switch_times_of(switches, thread);
	uint64_t on_ns = sums ? sums->running_ns + sums->ready_ns : life_ns, not_off_ns = 0;

	if (sums && sums->blocked_ns < life_ns)
		not_off_ns = life_ns - sums->blocked_ns;
	return not_off_ns > on_ns ? not_off_ns : on_ns;
}

/* -- Sorting ------------------------------------------------------------------------------------------- */

static int calls_by_time(const void *a, const void *b)
{
	const struct fxt_thread_call *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->name < y->name ? -1 : 1;
}

/* Returns whether the thread was idle. Such a thread is usually one of a pool that had nothing to do. */
static bool is_idle(const struct fxt_thread_time *one)
{
	return one->running_ns < (one->last_ns - one->first_ns) / 100;
}

/* Sorts by the time that threads ran or were blocked. Threads that wait for the world outside are
 * usually idle, however long they live, so they come last. */
static int by_time(const void *a, const void *b)
{
	const struct fxt_thread_time *x = a, *y = b;
	uint64_t p = x->running_ns + x->blocked_ns, q = y->running_ns + y->blocked_ns;

	if (is_idle(x) != is_idle(y))
		return is_idle(x) ? 1 : -1;
	if (p != q)
		return p > q ? -1 : 1;
	if (x->waiting_ns != y->waiting_ns)
		return x->waiting_ns > y->waiting_ns ? -1 : 1;
	return x->thread < y->thread ? -1 : 1;
}

static void sort_calls(struct fxt_thread_times *t)
{
	for (const struct fxt_slot *s = fxt_map_next(&t->by_call, NULL); s;
	     s = fxt_map_next(&t->by_call, s)) {
		t->calls = fxt_grow(t->calls, &t->call_capacity, t->call_count + 1, sizeof(*t->calls));
		t->calls[t->call_count++] = (struct fxt_thread_call){
			.thread = (uint32_t)s->a, .name = (uint32_t)s->b, .ns = s->value[0]};
	}
	if (t->call_count)
		qsort(t->calls, t->call_count, sizeof(*t->calls), calls_by_time);
	for (size_t i = 0; i < t->call_count; i++) {
		struct fxt_thread_time *one = &t->list[t->calls[i].thread];

		if (one->call_count++ == 0)
			one->calls = i;
	}
}

void fxt_threads_finish(struct fxt_thread_times *t, struct fxt_reader *r, struct fxt_roles *roles,
			struct fxt_files *files, const struct fxt_calls_in_progress *open,
			const struct fxt_ends *ends, const struct fxt_loss_spans *lost,
			const struct fxt_switch_times *switches)
{
	size_t kept = 0;

	for (size_t i = 0; i < open->count; i++)
		take_open(t, r, roles, files, &open->threads[i],
			  fxt_ends_thread_ns(ends, r, (uint32_t)i));
	for (size_t i = 0; i < t->count; i++)
		live_to_the_end(&t->list[i], r, (uint32_t)i, ends);
	sort_calls(t);
	for (size_t i = 0; i < lost->count; i++)
		fxt_loss_spans_add(&t->unknown, &lost->list[i]);
	fxt_loss_spans_sort(&t->unknown);
	for (size_t i = 0; i < t->count; i++) {
		struct fxt_thread_time *one = &t->list[i];
		uint64_t life_ns = one->last_ns - one->first_ns, most_ns;

		fxt_nesting_free(&one->nesting);
		/* A fiber has functions alone, and the time is its threads'. A gap has none. */
		if (!one->has_events || r->threads[one->thread].is_track)
			continue;
		/* If slices overlap, which they do in no sound trace, the sum may exceed the thread's
		 * life. */
		most_ns = most_running_ns(switches, one->thread, life_ns);
		one->blocked_ns = one->blocked_ns < life_ns ? one->blocked_ns : life_ns;
		life_ns -= one->blocked_ns;
		one->waiting_ns = one->waiting_ns < life_ns ? one->waiting_ns : life_ns;
		life_ns -= one->waiting_ns;
		one->room_ns = one->room_ns < life_ns ? one->room_ns : life_ns;
		life_ns -= one->room_ns;
		one->unknown_ns = unknown_ns(t, one, r);
		one->unknown_ns = one->unknown_ns < life_ns ? one->unknown_ns : life_ns;
		life_ns -= one->unknown_ns;
		one->running_ns = life_ns < most_ns ? life_ns : most_ns;
		one->unseen_ns = life_ns - one->running_ns;
		t->list[kept++] = *one;
	}
	t->count = kept;
	if (t->count)
		qsort(t->list, t->count, sizeof(*t->list), by_time);
	fxt_map_free(&t->by_call);
	fxt_map_free(&t->stopped);
	fxt_loss_spans_free(&t->unknown);
}

void fxt_threads_switched(struct fxt_thread_times *t, const struct fxt_switch_times *switches)
{
	for (size_t i = 0; i < t->count; i++) {
		struct fxt_thread_time *one = &t->list[i];
		const struct fxt_switch_sums *told = fxt_switch_times_of(switches, one->thread);
		uint64_t on_ns = told ? told->running_ns + told->ready_ns : 0, rest_ns, blocked_ns;

		if (!told || on_ns + told->blocked_ns == 0 || on_ns >= one->running_ns)
			continue;
		rest_ns = one->running_ns - on_ns;
		blocked_ns = fxt_ns_between(one->blocked_ns + one->waiting_ns, told->blocked_ns);
		blocked_ns = blocked_ns < rest_ns ? blocked_ns : rest_ns;
		one->running_ns = on_ns;
		one->blocked_ns += blocked_ns;
		one->unknown_ns += rest_ns - blocked_ns;
	}
	if (t->count)
		qsort(t->list, t->count, sizeof(*t->list), by_time);
}

/* -- Printing ------------------------------------------------------------------------------------------ */

enum { LABEL = 22 };
#define TIMES " %8s %8s %8s %8s"

static struct fxt_short time_or_none(uint64_t ns)
{
	static const struct fxt_short none = {"-"};

	return ns ? fxt_duration(ns) : none;
}

static void print_times(const char *life, uint64_t running_ns, uint64_t blocked_ns, uint64_t waiting_ns,
			FILE *out)
{
	fprintf(out, TIMES, life, time_or_none(running_ns).text, time_or_none(blocked_ns).text,
		time_or_none(waiting_ns).text);
}

static double percent(uint64_t ns, uint64_t of_ns)
{
	return of_ns ? 100.0 * (double)ns / (double)of_ns : 0;
}

static void print_thread(const struct fxt_thread_times *t, const struct fxt_thread_time *one,
			 const struct fxt_reader *r, bool with_process, bool whole, FILE *out)
{
	uint64_t life_ns = one->last_ns - one->first_ns;
	char *label = fxt_thread_label(r, one->thread, with_process);
	struct fxt_text text = fxt_text_of(label);
	char *cut = fxt_printable(&text, LABEL, false);

	fxt_put_label(out, fxt_handle_of_thread(r, one->thread).text, cut, LABEL);
	print_times(fxt_duration(life_ns).text, one->running_ns, one->blocked_ns, one->waiting_ns, out);
	if (one->unseen_ns > life_ns / 100 &&
	    (!one->call_count || one->unseen_ns > t->calls[one->calls].ns)) {
		fprintf(out, "  in no traced call %.0f%%", percent(one->unseen_ns, life_ns));
	} else if (one->call_count && t->calls[one->calls].ns > life_ns / 100) {
		text = fxt_symbol_text(r, t->calls[one->calls].name);
		free(cut);
		cut = fxt_printable(&text, 27, false);
		fprintf(out, "  %s %.0f%%", cut, percent(t->calls[one->calls].ns, life_ns));
	}
	fputc('\n', out);
	for (size_t i = 0; whole && i < one->call_count; i++) {
		const struct fxt_thread_call *call = &t->calls[one->calls + i];

		text = fxt_symbol_text(r, call->name);
		free(cut);
		cut = fxt_printable(&text, 64, false);
		fprintf(out, "      not running for %s in %s\n", fxt_duration(call->ns).text, cut);
	}
	free(cut);
	free(label);
}

/* Prints for how long records were lost or none were made, so that it is not known what threads did. */
static void print_unknown(const struct fxt_thread_times *t, FILE *out)
{
	uint64_t unknown_ns = 0;
	size_t threads = 0;

	for (size_t i = 0; i < t->count; i++) {
		threads += t->list[i].unknown_ns > 0;
		unknown_ns += t->list[i].unknown_ns;
	}
	if (threads)
		fprintf(out,
			"  while nothing was recorded it is not known what %zu thread%s did: %s in all\n",
			threads, threads == 1 ? "" : "s", fxt_duration(unknown_ns).text);
}

void fxt_threads_print(const struct fxt_thread_times *t, const struct fxt_reader *r, bool with_process,
		       size_t top, FILE *out)
{
	uint64_t running_ns = 0, blocked_ns = 0, waiting_ns = 0;
	size_t shown = t->count <= top ? t->count : top;

	if (t->count <= 1 && top != FXT_TOP_WHOLE)
		return;
	fxt_put_title(out, "THREADS", LABEL);
	fprintf(out, TIMES "  not running: mostly in\n", "life", "running", "blocked", "waiting");
	for (size_t i = 0; i < shown; i++)
		print_thread(t, &t->list[i], r, with_process, top == FXT_TOP_WHOLE, out);
	for (size_t i = shown; i < t->count; i++) {
		running_ns += t->list[i].running_ns;
		blocked_ns += t->list[i].blocked_ns;
		waiting_ns += t->list[i].waiting_ns;
	}
	if (t->count > shown) {
		char *more = fxt_format("and %zu more", t->count - shown);

		fxt_put_label(out, "", more, LABEL);
		print_times("", running_ns, blocked_ns, waiting_ns, out);
		fputc('\n', out);
		free(more);
	}
	print_unknown(t, out);
}

/* Returns the line with one more part behind a comma, and frees what it was. */
static char *with_part(char *line, const char *what, uint64_t ns, uint64_t life_ns)
{
	char *longer = fxt_format("%s%s%s %s (%.0f%%)", line, *line ? ", " : "", what, fxt_duration(ns).text,
				  percent(ns, life_ns));

	free(line);
	return longer;
}

/* Returns the line with the call that took most of the waits that it tells of. */
static char *with_longest_call(char *line, const struct fxt_thread_times *t, const struct fxt_reader *r)
{
	const struct fxt_thread_call *call = &t->calls[t->list->calls];
	struct fxt_text text = fxt_symbol_text(r, call->name);
	char *name = fxt_printable(&text, 32, false),
	     *longer = fxt_format("%s, of which %s in %s", line, fxt_duration(call->ns).text, name);

	free(name);
	free(line);
	return longer;
}

void fxt_threads_print_only(const struct fxt_thread_times *t, const struct fxt_reader *r, FILE *out)
{
	const struct fxt_thread_time *one = t->list;
	uint64_t life_ns, least_ns;
	char *line;
	enum { WORTH_TELLING = 200 /* what took a 200th of the thread's life */ };

	if (t->count != 1)
		return;
	life_ns = one->last_ns - one->first_ns;
	least_ns = life_ns / WORTH_TELLING ? life_ns / WORTH_TELLING : 1;
	line = fxt_strdup("");
	if (one->running_ns >= least_ns)
		line = with_part(line, "ran", one->running_ns, life_ns);
	if (one->blocked_ns >= least_ns)
		line = with_part(line, "was blocked by others", one->blocked_ns, life_ns);
	if (one->waiting_ns >= least_ns)
		line = with_part(line, "waited", one->waiting_ns, life_ns);
	if (one->call_count && (one->blocked_ns >= least_ns || one->waiting_ns >= least_ns))
		line = with_longest_call(line, t, r);
	if (one->unseen_ns >= least_ns)
		line = with_part(line, "was blocked elsewhere", one->unseen_ns, life_ns);
	if (one->room_ns >= least_ns)
		line = with_part(line, "recording took", one->room_ns, life_ns);
	if (one->unknown_ns >= least_ns)
		line = with_part(line, "it is not known what it did for", one->unknown_ns, life_ns);
	if (*line)
		fxt_put_line(out, line);
	else
		free(line);
	if (!one->is_told)
		fputs("what it did before its first event is not known\n", out);
}

void fxt_threads_free(struct fxt_thread_times *t)
{
	for (size_t i = 0; i < t->count; i++)
		fxt_nesting_free(&t->list[i].nesting);
	free(t->list);
	free(t->calls);
	fxt_map_free(&t->by_call);
	fxt_map_free(&t->stopped);
	fxt_loss_spans_free(&t->unknown);
}
