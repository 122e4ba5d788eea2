/* Finds processes that a signal killed, which is a note where others send it, and a run that ended with a
 * status other than 0. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "crash_words.h"
#include "rules.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* Returns whether a process that this signal kills has done something wrong itself. Parents kill their
 * children with others, and the end of a pipeline those before it. */
static bool is_of_own_doing(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
	       signal == SIGABRT || signal == SIGTRAP || signal == SIGSYS || signal == SIGXCPU ||
	       signal == SIGXFSZ;
}

/* Adds what the process was doing: the innermost call in progress of a thread of it. Returns the thread, or
 * -1 if it was in none. The first thread is looked at before others. */
static int64_t find_call(const struct fxt_report *report, uint64_t pid)
{
	const struct fxt_calls_in_progress *o = &report->open;
	int64_t found = -1;

	for (size_t i = 0; i < o->count; i++) {
		const struct fxt_trace_thread *t = &report->r->threads[i];

		if (t->pid == pid && o->threads[i].count && (found < 0 || t->tid == t->pid))
			found = (int64_t)i;
	}
	return found;
}

static void add_call(struct fxt_finding *x, const struct fxt_report *report, int64_t thread)
{
	const struct fxt_call_stack *s;
	const struct fxt_call_in_progress *call;
	char *name;

	if (thread < 0 || (size_t)thread >= report->open.count || !report->open.threads[thread].count)
		return;
	s = &report->open.threads[thread];
	call = &s->list[s->count - 1];
	name = fxt_call_label(report->r, call->category, call->name, 40);
	fxt_finding_evidence(x, "it was in %s for %s", name,
			     fxt_duration(fxt_ns_between(call->start_ns,
							 fxt_ends_thread_ns(&report->process_ends, report->r,
									    (uint32_t)thread)))
				     .text);
	free(name);
}

/* Adds the last line that the process wrote to standard error. */
static void add_last_words(struct fxt_finding *x, const struct fxt_report *report, uint64_t pid)
{
	for (size_t i = report->log.count; i > 0; i--) {
		const struct fxt_log_line *line = &report->log.list[i - 1];
		char *text;

		if (report->r->threads[line->thread].pid != pid)
			continue;
		text = fxt_printable(&line->message, 80, false);
		fxt_finding_evidence(x, "it said: %s", text);
		free(text);
		return;
	}
}

static struct fxt_finding *killed(const struct fxt_report *report, struct fxt_findings *f, uint64_t pid,
				  int signal)
{
	struct fxt_crash_words words = fxt_crash_words(report, pid, signal);
	int64_t thread = words.crash ? words.crash->thread : find_call(report, pid);
	/* Of processes that had one number in turn, the name is that of the last. */
	char *process = fxt_unseen_children(&report->unseen, report->r, pid) > 1
				? fxt_strdup("a process")
				: fxt_rule_process(report, pid);
	struct fxt_finding *x;

	if (words.innermost == FXT_NO_FRAME && thread >= 0)
		words.innermost = fxt_calls_in_progress_stack(&report->open, (uint32_t)thread);
	x = fxt_finding_add(f, words.innermost, FXT_FOR_CALL, "%s was killed by signal %d (%s)%s%s", process,
			    signal, strsignal(signal), words.how ? ": " : "", words.how ? words.how : "");
	x->sure = words.sure;
	fxt_crash_evidence(&words, report, pid, x);
	add_call(x, report, thread);
	add_last_words(x, report, pid);
	free(words.how);
	free(process);
	return x;
}

/* Returns whether it is a fault that a signal ended a process: the first one, or one that has done wrong. */
static bool is_fault(uint64_t first, uint64_t pid, int signal)
{
	return pid == first || is_of_own_doing(signal);
}

void fxt_find_child_killed(const struct fxt_report *report, struct fxt_findings *f)
{
	uint64_t first = fxt_rule_first_process(report);

	for (const struct fxt_slot *s = fxt_map_next(&report->process_ends.by_pid, NULL); s;
	     s = fxt_map_next(&report->process_ends.by_pid, s))
		if (fxt_ends_signal(s) && !is_fault(first, s->a, fxt_ends_signal(s)))
			killed(report, f, s->a, fxt_ends_signal(s));
}

void fxt_find_ends(const struct fxt_report *report, struct fxt_findings *f)
{
	uint64_t first = fxt_rule_first_process(report);
	int status = fxt_ends_status(&report->process_ends, first);

	for (const struct fxt_slot *s = fxt_map_next(&report->process_ends.by_pid, NULL); s;
	     s = fxt_map_next(&report->process_ends.by_pid, s))
		if (fxt_ends_signal(s) && is_fault(first, s->a, fxt_ends_signal(s)))
			killed(report, f, s->a, fxt_ends_signal(s))->share = 1;
	if (status > 0) {
		char *process = fxt_rule_process(report, first);
		struct fxt_finding *x = fxt_finding_add(f, FXT_NO_FRAME, FXT_FOR_CALL,
							"%s ended with status %d", process, status);

		add_last_words(x, report, first);
		free(process);
	}
}
