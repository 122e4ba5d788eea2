/* fxt report: prints what the trace has lost, who lost it and when, and the account of all calls. See
 * report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tools/callers/nameless.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* Returns a time as counted from the first event of the trace. */
static uint64_t since(const struct fxt_overview *o, uint64_t ns)
{
	return fxt_ns_between(o->first_ns, ns);
}

/* Returns the time of the last such loss, counted from the first event of the trace. */
static uint64_t since_start(const struct fxt_overview *o, enum fxt_loss_kind loss)
{
	return since(o, fxt_overview_lost_last_ns(o, loss));
}

/* Prints the account: every call that the program made is counted in one of its figures. */
static void print_account(const struct fxt_overview *o, const uint64_t lost[FXT_LOSS_COUNT], FILE *out)
{
	uint64_t dropped = fxt_lost_dropped(lost);
	const char *separator = " (";

	fprintf(out, "attempted %s = written %s",
		fxt_count(o->written + dropped + lost[FXT_LOSS_FILTERED] + lost[FXT_LOSS_OVERWRITTEN]).text,
		fxt_count(o->written).text);
	if (lost[FXT_LOSS_OVERWRITTEN])
		fprintf(out, " + overwritten %s (before %s)", fxt_count(lost[FXT_LOSS_OVERWRITTEN]).text,
			fxt_duration(since_start(o, FXT_LOSS_OVERWRITTEN)).text);
	if (dropped)
		fprintf(out, " + dropped %s", fxt_count(dropped).text);
	for (unsigned i = 0; i < FXT_DROP_COUNT; i++) {
		if (!lost[i])
			continue;
		fprintf(out, "%s%s %s until %s", separator, fxt_drop_causes[i], fxt_count(lost[i]).text,
			fxt_duration(since_start(o, (enum fxt_loss_kind)i)).text);
		separator = ", ";
	}
	fprintf(out, "%s", dropped ? ")" : "");
	if (lost[FXT_LOSS_FILTERED])
		fprintf(out, " + filtered %s", fxt_count(lost[FXT_LOSS_FILTERED]).text);
	fputc('\n', out);
}

static enum fxt_loss_kind worst_cause(const struct fxt_loser *loser)
{
	unsigned worst = 0;

	for (unsigned i = 1; i < FXT_DROP_COUNT; i++)
		if (loser->lost[i] > loser->lost[worst])
			worst = i;
	return (enum fxt_loss_kind)worst;
}

enum { WINDOWS = 4 };

/* Prints the windows in which a process lost records, if its threads tell of several, and what none of them
 * has. Returns false if there is no more than one. */
static bool print_windows(const struct fxt_overview *o, const struct fxt_loser *loser, FILE *out)
{
	size_t count;
	const struct fxt_loss_span *list = fxt_loss_spans_of(&o->spans, loser->pid, &count);
	uint64_t rest = loser->dropped;

	for (size_t i = 0; i < count; i++)
		rest -= list[i].records < rest ? list[i].records : rest;
	if (count + (rest != 0) < 2)
		return false;
	for (size_t i = 0; i < count && i < WINDOWS; i++)
		fprintf(out, ", %s from %s to %s", fxt_count(list[i].records).text,
			fxt_duration(since(o, list[i].from_ns)).text,
			fxt_duration(since(o, list[i].to_ns)).text);
	if (count > WINDOWS)
		fprintf(out, ", and in %zu more windows until %s", count - WINDOWS,
			fxt_duration(since(o, list[count - 1].to_ns)).text);
	if (rest)
		fprintf(out, ", %s until %s", fxt_count(rest).text,
			fxt_duration(since(o, loser->last_ns)).text);
	fputc('\n', out);
	return true;
}

/* Prints why a process lost records, as " (no room; buffer full: FXT_MAX_SIZE_MB)". */
static void print_cause(const struct fxt_loser *loser, FILE *out)
{
	fprintf(out, " (%s%s%s)", fxt_drop_causes[worst_cause(loser)], loser->reason ? "; " : "",
		loser->reason ? loser->reason : "");
}

/* Prints a process that lost records, as "in app 1234 (no room), from 1.20 s to 3.40 s". */
static void print_loser(const struct fxt_overview *o, const struct fxt_reader *r,
			const struct fxt_loser *loser, bool with_cause, FILE *out)
{
	struct fxt_text name = fxt_process_name(r, loser->pid);
	char *program = fxt_printable(&name, 32, false), *from;

	from = loser->first_ns ? fxt_format("from %s to", fxt_duration(since(o, loser->first_ns)).text)
			       : fxt_strdup("until");
	fprintf(out, "in %s", program);
	if (loser->pid != FXT_OTHERS_ID)
		fprintf(out, "%s%" PRIu64, *program ? " " : "", fxt_number(r, loser->pid));
	if (with_cause)
		print_cause(loser, out);
	if (!print_windows(o, loser, out))
		fprintf(out, ", %s %s\n", from, fxt_duration(since(o, loser->last_ns)).text);
	free(from);
	free(program);
}

/* Returns whether all of the first `count` processes lost records for one reason. */
static bool have_one_cause(const struct fxt_overview *o, size_t count)
{
	const struct fxt_loser *first = o->losers;

	for (size_t i = 1; i < count; i++) {
		const struct fxt_loser *one = &o->losers[i];

		if (worst_cause(one) != worst_cause(first) || !one->reason != !first->reason ||
		    (one->reason && strcmp(one->reason, first->reason) != 0))
			return false;
	}
	return true;
}

static void print_losers(const struct fxt_report *report, uint64_t dropped, FILE *out)
{
	const struct fxt_overview *o = &report->overview;
	size_t top = report->options.top, shown = o->loser_count < top ? o->loser_count : top;
	/* A reason that more than two share stands once. */
	bool is_one = o->loser_count > 2 && have_one_cause(o, o->loser_count);

	fprintf(out, "LOST: %s record%s ", fxt_count(dropped).text, dropped == 1 ? "" : "s");
	if (o->loser_count == 1) {
		print_loser(o, report->r, o->losers, true, out);
		return;
	}
	fprintf(out, "in %zu processes", o->loser_count);
	if (is_one)
		print_cause(o->losers, out);
	fputs(":\n", out);
	for (size_t i = 0; i < shown; i++) {
		fprintf(out, "  %s ", fxt_count(o->losers[i].dropped).text);
		print_loser(o, report->r, &o->losers[i], !is_one, out);
	}
	if (o->loser_count > top)
		fprintf(out, "  and in %zu more\n", o->loser_count - top);
}

/* Prints what no table of the agent had a place for, and what makes it less. */
static void print_not_kept(const uint64_t lost[FXT_LOSS_KINDS], FILE *out)
{
	uint64_t blocks = lost[FXT_LOSS_BLOCKS], stacks = lost[FXT_LOSS_STACKS];

	if (blocks)
		fprintf(out,
			"LOST: %s heap blocks and samples, which found no place in the agent's table or "
			"the trace\n  (fewer need one with a larger FXT_HEAP_SAMPLE_BYTES and "
			"FXT_HEAP_TRACK_BYTES)\n",
			fxt_count(blocks).text);
	if (stacks)
		fprintf(out,
			"LOST: %s call stacks, which found no room in the agent's table of frames\n"
			"  (stacks of fewer frames need less, as with FXT_STACKS=malloc:16)\n",
			fxt_count(stacks).text);
}

/* The columns of the path of a file. */
enum { PATH_COLUMNS = 40 };

/* Prints what has no name though it should. */
static void print_nameless(const struct fxt_report *report, uint64_t unnamed, FILE *out)
{
	struct fxt_nameless nameless = {0};

	if (unnamed)
		fprintf(out,
			"without a name: %s objects and instrumented functions, for which there was no "
			"room, or\n  whose file was cut off while the program used it\n",
			fxt_count(unnamed).text);
	fxt_nameless_find(&nameless, &report->who->stacks, report->r);
	for (size_t i = 0; i < nameless.cut_count; i++) {
		char *path = fxt_printable(&nameless.cut[i].path, PATH_COLUMNS, true);

		fprintf(out, "without a name: %s functions in call stacks, of %s, which was cut off\n",
			fxt_count(nameless.cut[i].functions).text, path);
		free(path);
	}
	fxt_nameless_free(&nameless);
}

/* Prints what is missing of the kernel's part, and the windows that its gap has. */
static void print_kernel_lost(const struct fxt_overview *o, FILE *out)
{
	size_t count;
	const struct fxt_loss_span *list = fxt_loss_spans_of(&o->spans, FXT_KERNEL_PROVIDER_ID, &count);

	fprintf(out, "LOST: %s of the kernel's records, samples and switches among them",
		fxt_count(o->kernel_lost).text);
	for (size_t i = 0; i < count && i < WINDOWS; i++)
		fprintf(out, ", %s from %s to %s",
			list[i].records == o->kernel_lost ? "all" : fxt_count(list[i].records).text,
			fxt_duration(since(o, list[i].from_ns)).text,
			fxt_duration(since(o, list[i].to_ns)).text);
	fputc('\n', out);
}

/* Says what of the file could not be read. Returns whether all could. */
static bool print_unread(const struct fxt_report *report, FILE *out)
{
	const struct fxt_reader *r = report->r;

	if (r->damaged_records)
		fprintf(out, "DAMAGED: %s record%s of the file, the first at byte %" PRIu64
			": figures below are lower bounds\n",
			fxt_count(r->damaged_records).text, r->damaged_records == 1 ? "" : "s",
			r->first_fault_offset);
	if (r->tail_bytes)
		fprintf(out, "CUT SHORT: the file has no whole record from byte %" PRIu64
			" on: what came then is missing\n",
			r->at);
	if (!report->overview.events && !r->tail_bytes)
		fputs("there are no events: nothing was recorded, or the file was cut off before the first\n",
		      out);
	return !r->damaged_records && !r->tail_bytes && report->overview.events;
}

void fxt_report_print_losses(const struct fxt_report *report, FILE *out)
{
	const struct fxt_overview *o = &report->overview;
	uint64_t lost[FXT_LOSS_KINDS], dropped;
	bool is_whole = print_unread(report, out);

	for (unsigned i = 0; i < FXT_LOSS_KINDS; i++)
		lost[i] = fxt_overview_lost(o, (enum fxt_loss_kind)i);
	dropped = fxt_lost_dropped(lost);
	if (dropped)
		print_losers(report, dropped, out);
	else if (o->buffer_full)
		fputs("LOST: records, at least once, as a buffer was full\n", out);
	else if (is_whole && !lost[FXT_LOSS_OVERWRITTEN] && !lost[FXT_LOSS_BLOCKS] &&
		 !lost[FXT_LOSS_STACKS] && !o->kernel_lost)
		fputs("nothing lost\n", out);
	print_not_kept(lost, out);
	print_nameless(report, lost[FXT_LOSS_UNNAMED], out);
	if (o->kernel_lost)
		print_kernel_lost(o, out);
	if (lost[FXT_LOSS_OVERWRITTEN])
		fprintf(out, "%s earlier events overwritten by the ring\n",
			fxt_count(lost[FXT_LOSS_OVERWRITTEN]).text);
	if (lost[FXT_LOSS_FILTERED])
		fprintf(out,
			"left out: %s calls, by a threshold or a filter; figures below are lower bounds\n",
			fxt_count(lost[FXT_LOSS_FILTERED]).text);
	fxt_left_out_print(&report->left_out, report->r, out);
	if (dropped || lost[FXT_LOSS_OVERWRITTEN] || lost[FXT_LOSS_FILTERED])
		print_account(o, lost, out);
}
