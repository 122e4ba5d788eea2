/* fxt report: prints chains of waits, in two or three lines a link. See report_chains.h. */
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

enum { WORTH_A_LINE = 20 /* what took a twentieth of a wait is worth a line */ };

static const struct fxt_text *text_of(const struct fxt_record *rec, const char *argument)
{
	const struct fxt_text *text = fxt_argument_text(rec, argument);

	return text && text->bytes ? text : NULL;
}

/* Returns " WORD FUNCTION" if the record's argument names a function, else "". The caller frees it. */
static char *place_of(const struct fxt_record *rec, const char *argument, const char *word)
{
	const struct fxt_text *symbol = text_of(rec, argument);
	char *function = symbol ? fxt_function_label(symbol, 32) : NULL;
	char *text = function ? fxt_format(" %s %s", word, function) : fxt_strdup("");

	free(function);
	return text;
}

char *fxt_chains_object(const struct fxt_chain_link *link, const struct fxt_objects *objects,
			struct fxt_reader *r)
{
	const struct fxt_object *known;
	const struct fxt_text *said;
	struct fxt_record rec;
	char *object, *name;
	uint64_t value;

	fxt_reader_event_at(r, link->offset, link->provider, &rec);
	said = text_of(&rec, "object");
	if (said)
		return fxt_printable(said, 32, true);
	known = link->object ? fxt_object_of(objects, r, &rec, &rec.args[0]) : NULL;
	if (known)
		return fxt_strdup(known->label);
	if (link->object)
		return fxt_format("0x%" PRIx64, link->object);
	if (rec.arg_count == 0 || !fxt_argument_u64(&rec.args[0], &value))
		return NULL;
	name = fxt_printable(&rec.args[0].name, 16, false);
	object = fxt_format("%s %" PRId64, name, (int64_t)value);
	free(name);
	return object;
}

static void print_wait(const struct fxt_chain_link *link, const struct fxt_objects *objects,
		       struct fxt_reader *r, bool with_process, bool is_first, FILE *out)
{
	char *who = fxt_thread_label(r, link->thread, with_process);
	char *object = link->is_join ? fxt_thread_label(r, link->waker, with_process)
				     : fxt_chains_object(link, objects, r);
	struct fxt_text text = fxt_symbol_text(r, link->name);
	char *call = fxt_printable(&text, 32, false), *at;
	struct fxt_record rec;

	fxt_reader_event_at(r, link->offset, link->provider, &rec);
	at = place_of(&rec, "at", "in");
	fxt_put_line(out, fxt_format("    %s %swaited %s in %s(%s)%s%s", who, is_first ? "" : "had ",
				     fxt_duration(link->end_ns - link->start_ns).text, call,
				     object ? object : "", *at ? "," : "", at));
	free(at);
	free(call);
	free(object);
	free(who);
}

/* Returns the words for what the waker did at last. For a lock the function that had taken it is named
 * instead of the innermost function that gave it up, because it says more. */
static char *cause_text(const struct fxt_chain_link *link, struct fxt_reader *r, bool with_process,
			bool with_function)
{
	const struct fxt_meanwhile *m = &link->meanwhile;
	char *who = fxt_thread_label(r, link->waker, with_process), *text;
	char *call = m->call ? fxt_call_label(r, m->call, m->call, 32) : NULL, *function;
	struct fxt_text symbol = {.text = ""};

	if (link->is_join && !call) {
		text = fxt_format("until %s ended", who);
	} else {
		with_function = with_function && m->function;
		symbol = with_function ? fxt_symbol_text(r, m->function) : symbol;
		function = with_function ? fxt_function_label(&symbol, 32) : NULL;
		text = fxt_format("until %s %s%s%s%s", who, call ? "called " : "let it go on",
				  call ? call : "", function ? " in " : "", function ? function : "");
		free(function);
	}
	free(call);
	free(who);
	return text;
}

/* Returns the words for where the lock had been taken, if the wait was for one. */
static char *held_text(const struct fxt_chain_link *link, struct fxt_reader *r)
{
	struct fxt_record rec;
	uint64_t held_ns;
	char *place, *text;

	fxt_reader_event_at(r, link->offset, link->provider, &rec);
	if (!fxt_argument_u64(fxt_argument(&rec, "held_ns"), &held_ns))
		return fxt_strdup("");
	place = place_of(&rec, "held_at", "since");
	text = fxt_format(", having held it%s for %s", place, fxt_duration(held_ns).text);
	free(place);
	return text;
}

/* Appends a call or function that the thread was in, if that took a tenth of its time. */
static char *with_doing(char *line, bool *any, uint64_t ns, uint64_t whole_ns, const char *name)
{
	char *longer;

	if (ns < whole_ns / 10)
		return line;
	longer = fxt_format("%s%s %s %s", line, *any ? "," : "", fxt_duration(ns).text, name);
	*any = true;
	free(line);
	return longer;
}

static void print_meanwhile(const struct fxt_chain_link *link, struct fxt_reader *r, FILE *out)
{
	enum { SHOWN = 3 };
	const struct fxt_meanwhile *m = &link->meanwhile;
	uint64_t whole_ns = m->to_ns - m->from_ns;
	uint64_t begun_ns = link->cause ? link->cause->end_ns : link->start_ns,
		 wait_ns = link->end_ns - link->start_ns;
	const char *start = link->cause ? "after its own wait" : "meanwhile";
	bool any = false;
	char *line;

	/* A waker that began late is a reason of the wait by itself, even if it did nothing that took
	 * time. */
	if (m->from_ns - begun_ns >= wait_ns / WORTH_A_LINE && m->from_ns > begun_ns) {
		fxt_put_line(out, fxt_format("      which began %s later",
					     fxt_duration(m->from_ns - begun_ns).text));
		start = "and since then";
	}
	if (whole_ns < wait_ns / WORTH_A_LINE || whole_ns == 0)
		return;
	line = fxt_format("      %s:", start);
	for (size_t i = 0; i < m->count && i < SHOWN; i++) {
		char *name = fxt_call_label(r, m->list[i].category, m->list[i].name, 32),
		     *in = fxt_format("in %s", name);

		line = with_doing(line, &any, m->list[i].ns, whole_ns, in);
		free(in);
		free(name);
	}
	line = with_doing(line, &any, m->untold_ns, whole_ns, "in no traced call");
	if (any)
		fxt_put_line(out, line);
	else
		free(line);
}

/* Prints how much later the thread went on than it was let go on. It may have had to wait for a processor, or
 * for the lock of a condition. */
static void print_delay(const struct fxt_chain_link *link, FILE *out)
{
	uint64_t delay_ns = fxt_ns_between(link->woken_ns, link->end_ns);

	if (delay_ns >= (link->end_ns - link->start_ns) / 10 && delay_ns >= FXT_STANDING_LEAST_NS)
		fprintf(out, "      and ran again %s later\n", fxt_duration(delay_ns).text);
}

static void print_chain(const struct fxt_chain *chain, const struct fxt_objects *objects,
			struct fxt_reader *r, FILE *out)
{
	const struct fxt_chain_link *first = chain->longest, *link = first;
	bool with_process = false;

	do {
		with_process = with_process || r->threads[link->thread].pid != r->threads[link->waker].pid;
		link = link->cause;
	} while (link);
	fprintf(out, "%s %s waited", fxt_handle_of_thread(r, first->thread).text,
		fxt_duration(chain->total_ns).text);
	if (chain->count > 1)
		fprintf(out, " in %s chains like this, the longest %s", fxt_count(chain->count).text,
			fxt_duration(first->end_ns - first->start_ns).text);
	fputs(":\n", out);
	for (link = first; link; link = link->cause) {
		char *held = held_text(link, r), *cause = cause_text(link, r, with_process, !*held);

		print_wait(link, objects, r, with_process, link == first, out);
		fxt_put_line(out, fxt_format("      %s%s", cause, held));
		print_meanwhile(link, r, out);
		print_delay(link, out);
		free(held);
		free(cause);
	}
}

void fxt_chains_print(const struct fxt_chains *c, const struct fxt_objects *objects, struct fxt_reader *r,
		      size_t top, FILE *out)
{
	size_t lines = 0, shown = 0;

	if (c->count == 0)
		return;
	fputs("\nLONGEST CAUSAL CHAINS: who waited, and what for in the end\n", out);
	/* Chains that are much shorter than the first explain nothing beside it. */
	for (; shown < c->count &&
	       (top >= FXT_TOP_ALL || c->list[shown].total_ns >= c->list[0].total_ns / WORTH_A_LINE);
	     shown++) {
		char *text;
		size_t bytes;
		FILE *chain = fxt_text_stream(&text, &bytes);

		print_chain(&c->list[shown], objects, r, chain);
		fclose(chain);
		for (size_t i = 0; i < bytes; i++)
			lines += text[i] == '\n';
		/* The first one is shown whole, however long it is. */
		if (shown == 0 || lines <= top)
			fputs(text, out);
		free(text);
		if (lines > top && shown)
			break;
	}
	fxt_put_more(out, c->count, shown);
}
