/* fxt report: the section on calls that were still open when the trace ended, as a hung or killed
 * program leaves them. See report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

static struct fxt_call_stack *stack_of(struct fxt_calls_in_progress *o, uint32_t thread)
{
	o->threads = fxt_reach(o->threads, &o->capacity, &o->count, thread, sizeof(*o->threads));
	return &o->threads[thread];
}

void fxt_calls_in_progress_begin(struct fxt_calls_in_progress *o, struct fxt_reader *r,
				 const struct fxt_record *rec)
{
	struct fxt_call_stack *s = stack_of(o, rec->thread);

	s->list = fxt_grow(s->list, &s->capacity, s->count + 1, sizeof(*s->list));
	s->list[s->count++] = (struct fxt_call_in_progress){
		.category = fxt_symbol(r, &rec->category),
		.name = fxt_symbol(r, &rec->name),
		.thread = rec->thread,
		.start_ns = fxt_ns(rec->provider, rec->ticks),
		.ticks = rec->ticks,
		.offset = rec->offset,
		.provider = rec->provider,
	};
}

/* An end belongs to a begin of the same provider, because a process's first thread goes on in the
 * program that was executed, which is another provider. */
bool fxt_calls_in_progress_end(struct fxt_calls_in_progress *o, const struct fxt_record *rec,
			       struct fxt_call_in_progress *begun)
{
	enum { EXAMINED = 1024 };       /* twice as deep as viewers nest */
	struct fxt_call_stack *s = stack_of(o, rec->thread);
	size_t place = s->count;

	while (place && s->count - place < EXAMINED && s->list[place - 1].provider != rec->provider)
		place--;
	if (place == 0 || s->list[place - 1].provider != rec->provider ||
	    s->list[place - 1].ticks > rec->ticks)
		return false;
	*begun = s->list[place - 1];
	memmove(&s->list[place - 1], &s->list[place], (s->count - place) * sizeof(*s->list));
	s->count--;
	return true;
}

void fxt_calls_in_progress_as_complete(const struct fxt_call_in_progress *begun, struct fxt_reader *r,
				       uint64_t end_ticks, struct fxt_record *rec)
{
	fxt_reader_event_at(r, begun->offset, begun->provider, rec);
	rec->subtype = FXT_EVENT_DURATION_COMPLETE;
	rec->kind = 0;
	rec->has_extra = true;
	rec->extra = end_ticks;
}

void fxt_calls_in_progress_complete(struct fxt_calls_in_progress *o, struct fxt_reader *r,
				    const struct fxt_record *rec)
{
	struct fxt_call_stack *s = stack_of(o, rec->thread);

	if (s->count && s->list[s->count - 1].ticks == rec->ticks &&
	    s->list[s->count - 1].name == fxt_symbol(r, &rec->name))
		s->count--;
}

void fxt_calls_in_progress_blocked(struct fxt_calls_in_progress *o, const struct fxt_record *rec,
				   uint32_t innermost)
{
	struct fxt_call_stack *s = stack_of(o, rec->thread);
	uint64_t at_ns = fxt_ns(rec->provider, rec->ticks);

	if (s->has_blocked && at_ns < s->blocked_ns)
		return;
	s->blocked_ns = at_ns;
	s->blocked_in = innermost;
	s->has_blocked = true;
}

uint32_t fxt_calls_in_progress_stack(const struct fxt_calls_in_progress *o, uint32_t thread)
{
	const struct fxt_call_stack *s = thread < o->count ? &o->threads[thread] : NULL;

	return s && s->count && s->has_blocked && s->blocked_ns >= s->list[s->count - 1].start_ns
		       ? s->blocked_in
		       : FXT_NO_FRAME;
}

/* Returns whether the event is the begin of an arrow, which stands in the part of the process that the
 * arrow leads to and not in that of its own thread. */
static bool is_of_another(const struct fxt_record *rec)
{
	return rec->subtype == FXT_EVENT_FLOW_BEGIN ||
	       (rec->subtype == FXT_EVENT_DURATION_COMPLETE && fxt_text_is(&rec->name, "released") &&
		fxt_text_is(&rec->category, "agent"));
}

void fxt_calls_in_progress_seen(struct fxt_calls_in_progress *o, const struct fxt_reader *r,
				const struct fxt_record *rec)
{
	uint64_t at_ns = fxt_ns(rec->provider, rec->ticks);
	struct fxt_slot *s;
	bool fresh;

	if (is_of_another(rec))
		return;
	s = fxt_map_put(&o->begins, r->threads[rec->thread].pid, rec->provider->index, &fresh);
	if (fresh || at_ns < s->value[0])
		s->value[0] = at_ns;
}

/* Finds the program that each process was last, by their first events. The order of the file does not
 * tell, because parts stand in any order. */
static void find_last_programs(struct fxt_calls_in_progress *o)
{
	for (const struct fxt_slot *s = fxt_map_next(&o->begins, NULL); s; s = fxt_map_next(&o->begins, s)) {
		bool fresh;
		struct fxt_slot *last = fxt_map_put(&o->programs, s->a, 0, &fresh);

		if (fresh || s->value[0] >= last->value[1]) {
			last->value[0] = s->b;
			last->value[1] = s->value[0];
		}
	}
	fxt_map_free(&o->begins);
}

void fxt_calls_in_progress_finish(struct fxt_calls_in_progress *o, const struct fxt_reader *r)
{
	find_last_programs(o);
	for (size_t i = 0; i < o->count; i++) {
		struct fxt_call_stack *s = &o->threads[i];
		size_t kept = 0;

		for (size_t k = 0; k < s->count; k++)
			if (fxt_calls_in_progress_is_of_last(o, r, (uint32_t)i, s->list[k].provider))
				s->list[kept++] = s->list[k];
		s->count = kept;
	}
}

bool fxt_calls_in_progress_is_of_last(const struct fxt_calls_in_progress *o, const struct fxt_reader *r,
				      uint32_t thread, const struct fxt_provider *p)
{
	const struct fxt_slot *last = fxt_map_find(&o->programs, r->threads[thread].pid, 0);

	return !last || p->index == last->value[0];
}

size_t fxt_calls_in_progress_count(const struct fxt_calls_in_progress *o)
{
	size_t n = 0;

	for (size_t i = 0; i < o->count; i++)
		n += o->threads[i].count;
	return n;
}

bool fxt_calls_in_progress_is_stuck(const struct fxt_calls_in_progress *o, const struct fxt_reader *r)
{
	for (size_t i = 0; i < o->count; i++) {
		if (o->threads[i].count && r->threads[i].tid == r->threads[i].pid)
			return true;
	}
	return false;
}

enum { LABEL = 22 };
#define FIGURES " %10s  %s"

static void print_call(const struct fxt_call_in_progress *call, struct fxt_reader *r,
		       const struct fxt_objects *objects, uint64_t end_ns, bool with_process, FILE *out)
{
	char *thread = fxt_thread_label(r, call->thread, with_process);
	char *name = fxt_call_label(r, call->category, call->name, 32), *text;
	size_t bytes;
	FILE *line = fxt_text_stream(&text, &bytes);
	struct fxt_record rec;

	fxt_put_label(line, fxt_handle_of_thread(r, call->thread).text, thread, LABEL);
	fprintf(line, FIGURES, fxt_duration(fxt_ns_between(call->start_ns, end_ns)).text, name);
	fxt_reader_event_at(r, call->offset, call->provider, &rec);
	fxt_objects_put_arguments(objects, r, &rec, line);
	fclose(line);
	fxt_put_line(out, text);
	free(thread);
	free(name);
}

/* Prints the stack of a thread in its innermost call, unless it was printed with the threads that are
 * blocked. The stack of a first thread is worth lines, because its program hangs. */
static void print_stack(const struct fxt_report *report, uint32_t thread, FILE *out)
{
	const struct fxt_contention *c = &report->contention;
	const struct fxt_trace_thread *t = &report->r->threads[thread];
	uint32_t innermost = fxt_calls_in_progress_stack(&report->open, thread);
	char *line;

	if (innermost == FXT_NO_FRAME || (thread < c->blocked_count && c->blocked[thread].is_blocked))
		return;
	if (t->pid == t->tid) {
		fxt_who_print(report->who, FXT_FOR_LOCK, innermost, report->options.top, out);
		return;
	}
	line = fxt_who_line(report->who, FXT_FOR_LOCK, innermost, fxt_width() - 9);
	if (line)
		fxt_put_line(out, fxt_format("      in %s", line));
	free(line);
}

/* Prints the innermost call of a thread first, because that is what the thread was doing. */
void fxt_calls_in_progress_print(const struct fxt_report *report, FILE *out)
{
	const struct fxt_calls_in_progress *o = &report->open;
	size_t shown = 0, all = fxt_calls_in_progress_count(o), top = report->options.top;

	if (all == 0)
		return;
	fxt_put_title(out, "STILL OPEN AT THE END", LABEL);
	fprintf(out, FIGURES "\n", "for", "call");
	for (size_t i = 0; i < o->count; i++) {
		const struct fxt_call_stack *s = &o->threads[i];

		for (size_t k = s->count; k > 0 && shown < top; k--, shown++) {
			print_call(&s->list[k - 1], report->r, &report->objects,
				   fxt_ends_thread_ns(&report->process_ends, report->r, (uint32_t)i),
				   report->has_processes, out);
			if (k == s->count)
				print_stack(report, (uint32_t)i, out);
		}
	}
	fxt_put_more(out, all, shown);
}

void fxt_calls_in_progress_free(struct fxt_calls_in_progress *o)
{
	for (size_t i = 0; i < o->count; i++)
		free(o->threads[i].list);
	free(o->threads);
	fxt_map_free(&o->begins);
	fxt_map_free(&o->programs);
}
