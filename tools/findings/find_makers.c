/* Finds what is made again and again, and what is left, by the lifetimes that the trace tells of. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "rule_facts.h"
#include "tools/printing/print.h"

static uint64_t span_ns(const struct fxt_maker *m)
{
	return fxt_ns_between(m->first_ns, m->last_ns);
}

/* Returns whether they came and went, one after the other: many, and few at any time. */
static bool is_in_turn(const struct fxt_maker *m, uint64_t least)
{
	uint64_t at_ns;

	return m->count >= least && m->ended >= m->count / 10 * 9 &&
	       fxt_trend_most(&m->alive, &at_ns) <= (int64_t)(m->count / 10);
}

/* Returns the time of the run, in all, that calls of this name took for so many of them. */
static uint64_t time_of(const struct fxt_report *report, const char *call, uint64_t count)
{
	uint64_t ns, calls = fxt_repeats_of(&report->repeats, report->r, call, &ns);

	return calls ? (uint64_t)((double)ns / (double)calls * (double)(count < calls ? count : calls)) : 0;
}

static bool is_call(const struct fxt_maker *m, const struct fxt_report *report, const char *call)
{
	struct fxt_text text;

	if (!m->call)
		return false;
	text = fxt_symbol_text(report->r, m->call);
	return fxt_text_is(&text, call);
}

/* Files that the kernel makes up are opened anew to be read anew. */
static bool is_made_up(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0 ||
	       strncmp(path, "/dev/", 5) == 0;
}

void fxt_find_reopened_file(const struct fxt_report *report, struct fxt_findings *f)
{
	for (size_t i = 0; i < report->made.count; i++) {
		const struct fxt_maker *m = &report->made.list[i];
		struct fxt_finding *x;
		char *label, *call;

		if (!fxt_maker_is(m, report->r, "io", "file") || !m->label || !m->call ||
		    !is_in_turn(m, (uint64_t)FXT_LEAST(reopened_file)))
			continue;
		label = fxt_rule_name(report, m->label, 48);
		call = fxt_rule_name(report, m->call, 16);
		if (!is_made_up(label)) {
			x = fxt_finding_add(f, m->innermost, FXT_FOR_CALL,
					    "%s was opened %s times, one after the other", label,
					    fxt_count(m->count).text);
			fxt_finding_evidence(x, "each time it was closed after %s in the mean",
					     fxt_duration(m->lives_ns / m->ended).text);
			x->cost_ns = m->lives_ns + time_of(report, call, m->count);
			x->cost_calls = m->count;
		}
		free(label);
		free(call);
	}
}

void fxt_find_child_per_item(const struct fxt_report *report, struct fxt_findings *f)
{
	for (size_t i = 0; i < report->made.count; i++) {
		const struct fxt_maker *m = &report->made.list[i];
		struct fxt_finding *x;

		if (!fxt_maker_is(m, report->r, "process", "child") ||
		    !is_in_turn(m, (uint64_t)FXT_LEAST(child_per_item)) ||
		    fxt_rule_starts_programs(report, m->pid))
			continue;
		x = fxt_finding_add(f, m->innermost, FXT_FOR_CALL,
				    "%s processes were started, one after the other",
				    fxt_count(m->count).text);
		fxt_finding_evidence(x, "each lived for %s in the mean",
				     fxt_duration(m->lives_ns / m->ended).text);
		x->cost_ns = m->lives_ns;
		x->cost_calls = m->count;
	}
}

void fxt_find_connection_per_item(const struct fxt_report *report, struct fxt_findings *f)
{
	for (size_t i = 0; i < report->made.count; i++) {
		const struct fxt_maker *m = &report->made.list[i];
		struct fxt_finding *x;
		char *peer;

		if (!fxt_maker_is(m, report->r, "net", "connection") || !is_call(m, report, "connect") ||
		    !m->label || !is_in_turn(m, (uint64_t)FXT_LEAST(connection_per_item)) || !m->moved_bytes)
			continue;
		peer = fxt_rule_name(report, m->label, 48);
		x = fxt_finding_add(f, m->innermost, FXT_FOR_CALL,
				    "%s connections were made to %s, one after the other",
				    fxt_count(m->count).text, peer);
		fxt_finding_evidence(x, "each was closed after %s in the mean",
				     fxt_duration(m->lives_ns / m->ended).text);
		x->cost_ns = m->lives_ns;
		x->cost_calls = m->count;
		free(peer);
	}
}

void fxt_find_vain_connections(const struct fxt_report *report, struct fxt_findings *f)
{
	for (size_t i = 0; i < report->made.count; i++) {
		const struct fxt_maker *m = &report->made.list[i];
		struct fxt_finding *x;
		char *peer;

		if (!fxt_maker_is(m, report->r, "net", "connection") || !is_call(m, report, "connect") ||
		    !m->label || m->ended < (uint64_t)FXT_LEAST(vain_connections) || m->moved_bytes)
			continue;
		peer = fxt_rule_name(report, m->label, 48);
		x = fxt_finding_add(f, m->innermost, FXT_FOR_CALL, "%s connections to %s came to nothing",
				    fxt_count(m->ended).text, peer);
		fxt_finding_evidence(x,
				     "each was closed after %s in the mean, and no byte was sent or read: "
				     "the peer refused, or did not answer",
				     fxt_duration(m->lives_ns / m->ended).text);
		x->cost_ns = m->lives_ns;
		x->cost_calls = m->ended;
		free(peer);
	}
}

/* Returns whether many are left, and became more and more up to the end of their process. */
static bool piles_up(const struct fxt_report *report, const struct fxt_maker *m, uint64_t least,
		     struct fxt_growth *growth)
{
	return m->count - m->ended >= least &&
	       fxt_trend_grows(&m->alive, fxt_rule_process_begin_ns(report, m->pid),
			       fxt_ends_ns(&report->process_ends, m->pid), growth);
}

void fxt_find_descriptors(const struct fxt_report *report, struct fxt_findings *f)
{
	for (size_t i = 0; i < report->made.count; i++) {
		const struct fxt_maker *m = &report->made.list[i];
		struct fxt_growth growth;
		struct fxt_finding *x;
		char *call;

		if ((!fxt_maker_is(m, report->r, "io", NULL) && !fxt_maker_is(m, report->r, "net", NULL)) ||
		    !m->call || !piles_up(report, m, (uint64_t)FXT_LEAST(descriptors), &growth))
			continue;
		call = fxt_rule_name(report, m->call, 16);
		x = fxt_finding_add(f, m->innermost, FXT_FOR_CALL,
				    "descriptors become more and more: of %s from %s, %s were not closed",
				    fxt_count(m->count).text, call, fxt_count(m->count - m->ended).text);
		fxt_finding_evidence(x, "in the four parts of the run: %+lld, %+lld, %+lld, %+lld",
				     (long long)growth.part[0], (long long)growth.part[1],
				     (long long)growth.part[2], (long long)growth.part[3]);
		x->cost_calls = m->count - m->ended;
		free(call);
	}
}

/* Returns how many of what it made are left although their processes have ended before their parent. */
static uint64_t zombies(const struct fxt_report *report, size_t maker)
{
	const struct fxt_makers *made = &report->made;
	uint64_t parent_ns = fxt_ends_ns(&report->process_ends, made->list[maker].pid), count = 0;
	int signal;

	for (size_t i = 0; i < made->alive_count; i++)
		count += made->alive[i].maker == maker &&
			 fxt_ends_known(&report->process_ends, made->alive[i].koid, &signal) &&
			 fxt_ends_ns(&report->process_ends, made->alive[i].koid) < parent_ns;
	return count;
}

void fxt_find_unreaped(const struct fxt_report *report, struct fxt_findings *f)
{
	for (size_t i = 0; i < report->made.count; i++) {
		const struct fxt_maker *m = &report->made.list[i];
		uint64_t left;
		struct fxt_finding *x;

		if (!fxt_maker_is(m, report->r, "process", "child") ||
		    m->count - m->ended < (uint64_t)FXT_LEAST(unreaped))
			continue;
		left = zombies(report, i);
		if (left < (uint64_t)FXT_LEAST(unreaped))
			continue;
		x = fxt_finding_add(f, m->innermost, FXT_FOR_CALL,
				    "%s children have ended and nobody waited for them (zombies)",
				    fxt_count(left).text);
		fxt_finding_evidence(x, "of %s that were started here, %s were waited for",
				     fxt_count(m->count).text, fxt_count(m->ended).text);
		x->cost_calls = left;
	}
}

/* Returns whether the parent was there for long after it made the child: one that ends at once has made a
 * daemon. */
static bool went_on(const struct fxt_report *report, uint64_t pid, uint64_t since_ns)
{
	uint64_t begin_ns = fxt_rule_process_begin_ns(report, pid);
	uint64_t end_ns = fxt_ends_ns(&report->process_ends, pid);

	return fxt_ns_between(since_ns, end_ns) > fxt_ns_between(begin_ns, end_ns) / 2;
}

void fxt_find_left_child(const struct fxt_report *report, struct fxt_findings *f)
{
	const struct fxt_makers *made = &report->made;
	int signal;

	for (size_t i = 0; i < made->alive_count; i++) {
		const struct fxt_alive *child = &made->alive[i];
		const struct fxt_maker *m;
		uint64_t parent_ns, child_ns;
		struct fxt_finding *x;

		if (child->maker == FXT_NO_MAKER || !child->koid)
			continue;
		m = &made->list[child->maker];
		parent_ns = fxt_ends_ns(&report->process_ends, m->pid);
		child_ns = fxt_ends_ns(&report->process_ends, child->koid);
		if (!fxt_ends_known(&report->process_ends, m->pid, &signal) || signal ||
		    child_ns < parent_ns + (uint64_t)FXT_LEAST(left_child) * 1000000 ||
		    !went_on(report, m->pid, child->begin_ns) || fxt_rule_starts_programs(report, m->pid))
			continue;
		x = fxt_finding_add(f, m->innermost, FXT_FOR_CALL,
				    "a child was still there when its parent ended, and for %s after that",
				    fxt_duration(child_ns - parent_ns).text);
		fxt_finding_evidence(x, "process %llu, started %s before its parent ended",
				     (unsigned long long)fxt_number(report->r, child->koid),
				     fxt_duration(fxt_ns_between(child->begin_ns, parent_ns)).text);
		x->sure = "possible";
		x->cost_calls = 1;
	}
}

void fxt_find_child_failed(const struct fxt_report *report, struct fxt_findings *f)
{
	for (size_t i = 0; i < report->made.count; i++) {
		const struct fxt_maker *m = &report->made.list[i];
		struct fxt_finding *x;

		if (!fxt_maker_is(m, report->r, "process", "child") || !m->failed ||
		    fxt_ends_status(&report->process_ends, m->pid) != 0 ||
		    fxt_rule_starts_programs(report, m->pid))
			continue;
		/* Status 1 is an answer, as grep and diff give it. */
		if (!m->first_signal && m->first_status <= 1)
			continue;
		x = fxt_finding_add(f, m->innermost, FXT_FOR_CALL,
				    "%s of %s children failed, and their parent ended with status 0",
				    fxt_count(m->failed).text, fxt_count(m->count).text);
		if (m->first_signal)
			fxt_finding_evidence(x, "the first was killed by signal %d (%s)", m->first_signal,
					     strsignal(m->first_signal));
		else
			fxt_finding_evidence(x, "the first ended with status %d", m->first_status);
		x->cost_calls = m->failed;
	}
}

void fxt_find_unjoined_threads(const struct fxt_report *report, struct fxt_findings *f)
{
	uint64_t joined = fxt_rule_times_called(report, "pthread_join") +
			  fxt_rule_times_called(report, "pthread_tryjoin_np") +
			  fxt_rule_times_called(report, "pthread_timedjoin_np") +
			  fxt_rule_times_called(report, "pthread_clockjoin_np") +
			  fxt_rule_times_called(report, "thrd_join");

	if (fxt_rule_times_called(report, "pthread_detach") ||
	    fxt_rule_times_called(report, "pthread_attr_setdetachstate") ||
	    fxt_rule_times_called(report, "thrd_detach"))
		return;
	for (size_t i = 0; i < report->made.count; i++) {
		const struct fxt_maker *m = &report->made.list[i];
		struct fxt_finding *x;

		if (!fxt_maker_is(m, report->r, "pthread", "thread") ||
		    m->ended < joined + (uint64_t)FXT_LEAST(unjoined_threads))
			continue;
		x = fxt_finding_add(f, m->innermost, FXT_FOR_CALL,
				    "%s threads have ended and nobody joined them; their stacks stay",
				    fxt_count(m->ended - joined).text);
		fxt_finding_evidence(x, "%s were made here, and the run joined %s threads and detached none",
				     fxt_count(m->count).text, fxt_count(joined).text);
		x->cost_calls = m->ended - joined;
		x->cost_bytes = (m->ended - joined) * (UINT64_C(8) << 20);
	}
}

void fxt_find_never_overlap(const struct fxt_report *report, struct fxt_findings *f)
{
	for (size_t i = 0; i < report->made.count; i++) {
		const struct fxt_maker *m = &report->made.list[i];
		struct fxt_finding *x;
		uint64_t at_ns;

		if (!fxt_maker_is(m, report->r, "pthread", "thread") ||
		    m->count < (uint64_t)FXT_LEAST(never_overlap) || m->ended < m->count ||
		    fxt_trend_most(&m->alive, &at_ns) > 1 || m->lives_ns < fxt_rule_run_ns(report) / 3 ||
		    m->lives_ns > span_ns(m) + span_ns(m) / 4)
			continue;
		x = fxt_finding_add(f, m->innermost, FXT_FOR_CALL,
				    "%s threads ran one after the other, never two at a time",
				    fxt_count(m->count).text);
		fxt_finding_evidence(x, "they lived for %s in all, of %s", fxt_duration(m->lives_ns).text,
				     fxt_duration(fxt_rule_run_ns(report)).text);
		x->cost_ns = m->lives_ns;
	}
}

/* Returns whether about as much memory was found to be never freed, by the rule that runs before: then it is
 * the same memory, and told. */
static bool is_told_as_leak(const struct fxt_findings *f, uint64_t bytes)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct fxt_finding *x = &f->list[i];

		if (x->rule == &fxt_rules[FXT_RULE_leak] && x->cost_bytes > bytes / 4 * 3 &&
		    bytes > x->cost_bytes / 4 * 3)
			return true;
	}
	return false;
}

void fxt_find_growing_heap(const struct fxt_report *report, struct fxt_findings *f)
{
	for (size_t i = 0; i < report->made.count; i++) {
		const struct fxt_maker *m = &report->made.list[i];
		uint64_t begin_ns, end_ns;
		struct fxt_growth growth;
		struct fxt_finding *x;

		if (!fxt_maker_is(m, report->r, "malloc", NULL) || m->count < 64)
			continue;
		begin_ns = fxt_rule_process_begin_ns(report, m->pid);
		end_ns = fxt_ends_ns(&report->process_ends, m->pid);
		if (!fxt_trend_grows(&m->alive, begin_ns, end_ns, &growth) ||
		    growth.most < (int64_t)FXT_LEAST(growing_heap) << 20 ||
		    is_told_as_leak(f, (uint64_t)growth.most))
			continue;
		x = fxt_finding_add(f, m->innermost, FXT_FOR_HEAP,
				    "memory becomes more and more: about %s at the most, from here",
				    fxt_bytes((uint64_t)growth.most).text);
		fxt_finding_evidence(
			x, "in the four parts of the run: +%s, +%s, +%s, +%s",
			fxt_bytes((uint64_t)growth.part[0]).text, fxt_bytes((uint64_t)growth.part[1]).text,
			fxt_bytes((uint64_t)growth.part[2]).text, fxt_bytes((uint64_t)growth.part[3]).text);
		x->sure = "possible";
		x->cost_bytes = (uint64_t)growth.most;
	}
}

void fxt_find_left_files(const struct fxt_report *report, struct fxt_findings *f)
{
	uint64_t removed =
		fxt_rule_times_called(report, "unlink") + fxt_rule_times_called(report, "unlinkat") +
		fxt_rule_times_called(report, "remove") + fxt_rule_times_called(report, "rename") +
		fxt_rule_times_called(report, "renameat") + fxt_rule_times_called(report, "renameat2");

	for (size_t i = 0; i < report->made.count; i++) {
		const struct fxt_maker *m = &report->made.list[i];
		struct fxt_finding *x;
		char *call, *label;

		if (!is_call(m, report, "mkstemp") && !is_call(m, report, "mkostemp") &&
		    !is_call(m, report, "mkstemps") && !is_call(m, report, "mkostemps"))
			continue;
		if (m->count < removed + (uint64_t)FXT_LEAST(left_files))
			continue;
		call = fxt_rule_name(report, m->call, 16);
		label = fxt_rule_name(report, m->first_label, 48);
		x = fxt_finding_add(f, m->innermost, FXT_FOR_CALL,
				    "%s temporary files were made with %s, and %s were removed",
				    fxt_count(m->count).text, call, fxt_count(removed).text);
		fxt_finding_evidence(x, "the first is %s", label);
		x->cost_calls = m->count - removed;
		free(label);
		free(call);
	}
}

void fxt_find_left_memory(const struct fxt_report *report, struct fxt_findings *f)
{
	if (fxt_rule_times_called(report, "shm_unlink"))
		return;
	for (size_t i = 0; i < report->made.count; i++) {
		const struct fxt_maker *m = &report->made.list[i];
		struct fxt_finding *x;
		char *label;

		if (!is_call(m, report, "shm_open"))
			continue;
		label = fxt_rule_name(report, m->first_label, 48);
		x = fxt_finding_add(f, m->innermost, FXT_FOR_CALL,
				    "shared memory was made and its name not removed: %s", label);
		x->sure = "possible";
		x->cost_calls = m->count;
		free(label);
	}
}
