/* Finds calls that are made too often, by what they are for. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "rule_facts.h"
#include "tools/printing/print.h"

/* Returns who makes calls of this name most often: by those of its calls that were drawn, if some were; else
 * by samples within it, and by those of its calls that were slow. */
static uint32_t who_calls(const struct fxt_report *report, const struct fxt_repeated *one)
{
	struct fxt_text name = fxt_symbol_text(report->r, one->name);
	char plain[40], inner[48], library[56];
	const char *const names[] = {plain, inner, library, NULL};
	uint32_t by_samples;
	struct fxt_stack_sum most;
	bool has_most = fxt_stack_sums_most_often(&report->call_stacks,
						  fxt_call_key(one->category, one->name), report->who,
						  FXT_FOR_CALL, &most);

	if (has_most && most.samples)
		return most.innermost;
	snprintf(plain, sizeof(plain), "%.*s", (int)name.bytes, name.text);
	snprintf(inner, sizeof(inner), "__%s", plain);
	snprintf(library, sizeof(library), "__libc_%s", plain);
	if (fxt_rule_samples_in(report, names, &by_samples) >= 3 && by_samples != FXT_NO_FRAME)
		return by_samples;
	return has_most ? most.innermost : by_samples;
}

/* Returns what the calls that moved little took, without the few that waited; 0: most of them wait for what
 * they read, and a buffer does not save that. */
static uint64_t tiny_ns(const struct fxt_report *report, const struct fxt_repeated *one)
{
	enum { WAITS_NS = 10000 };
	uint64_t most_ns;

	for (size_t i = 0; i < report->calls.count; i++) {
		const struct fxt_call *call = &report->calls.list[i];

		if (call->name != one->name || call->category != one->category)
			continue;
		if (fxt_call_percentile(call, 50) >= WAITS_NS)
			return 0;
		most_ns = fxt_call_percentile(call, 99) * one->tiny;
		return one->tiny_ns < most_ns ? one->tiny_ns : most_ns;
	}
	return 0;
}

void fxt_find_tiny_io(const struct fxt_report *report, struct fxt_findings *f)
{
	for (size_t i = 0; i < report->repeats.call_count; i++) {
		const struct fxt_repeated *one = &report->repeats.calls[i];
		struct fxt_finding *x;
		uint64_t ns;
		char *name;

		if (one->tiny < (uint64_t)FXT_LEAST(tiny_io) || one->tiny < one->count / 10 * 9 ||
		    one->tiny_ns < fxt_rule_busy_ns(report) / 50)
			continue;
		ns = tiny_ns(report, one);
		if (!ns)
			continue;
		name = fxt_rule_name(report, one->name, 16);
		x = fxt_finding_add(f, who_calls(report, one), FXT_FOR_CALL,
				    "%s %s moved %llu bytes each in the mean", fxt_count(one->tiny).text,
				    name,
				    (unsigned long long)((one->tiny_bytes + one->tiny / 2) / one->tiny));
		fxt_finding_evidence(x, "they took %s, which a buffer would save", fxt_duration(ns).text);
		x->cost_ns = ns;
		x->cost_calls = one->tiny;
		free(name);
	}
}

void fxt_find_busy_poll(const struct fxt_report *report, struct fxt_findings *f)
{
	for (size_t i = 0; i < report->repeats.call_count; i++) {
		const struct fxt_repeated *one = &report->repeats.calls[i];
		struct fxt_finding *x;
		char *name;

		if (one->empty < (uint64_t)FXT_LEAST(busy_poll) || one->empty < one->count / 10 * 9 ||
		    one->empty_ns < fxt_rule_busy_ns(report) / 20)
			continue;
		name = fxt_rule_name(report, one->name, 16);
		x = fxt_finding_add(f, who_calls(report, one), FXT_FOR_CALL,
				    "%s asked %s times without waiting, and found nothing", name,
				    fxt_count(one->empty).text);
		fxt_finding_evidence(x, "these calls took %s", fxt_duration(one->empty_ns).text);
		x->cost_ns = one->empty_ns;
		x->cost_calls = one->empty;
		free(name);
	}
}

/* Returns whether the blocks are those of patterns that the same function has compiled: then they are told by
 * the rule that runs before. */
static bool is_told_as_pattern(const struct fxt_report *report, const struct fxt_findings *f,
			       const struct fxt_maker *m)
{
	struct fxt_culprits *culprits = &report->who->culprits;
	const struct fxt_call_frame *frames = report->who->stacks.frames;
	uint32_t maker = fxt_culprit_of(culprits, FXT_FOR_HEAP, m->innermost);

	for (size_t i = 0; i < f->count; i++) {
		uint32_t other = fxt_culprit_of(culprits, FXT_FOR_CALL, f->list[i].innermost);

		if (f->list[i].rule == &fxt_rules[FXT_RULE_pattern_per_item] && maker != FXT_NO_FRAME &&
		    other != FXT_NO_FRAME && frames[maker].name == frames[other].name)
			return true;
	}
	return false;
}

void fxt_find_churn(const struct fxt_report *report, struct fxt_findings *f)
{
	uint64_t ns = fxt_rule_heap_ns(report), count = fxt_rule_times_called(report, "malloc"), all = 0;

	if (count < (uint64_t)FXT_LEAST(churn) || ns < fxt_rule_busy_ns(report) / 20)
		return;
	for (size_t i = 0; i < report->made.count; i++)
		all += fxt_maker_is(&report->made.list[i], report->r, "malloc", "heap sample")
			       ? report->made.list[i].bytes
			       : 0;
	for (size_t i = 0; i < report->made.count; i++) {
		const struct fxt_maker *m = &report->made.list[i];
		struct fxt_finding *x;
		uint64_t at_ns;

		if (!fxt_maker_is(m, report->r, "malloc", "heap sample") || m->count < 32 ||
		    m->bytes < all / 4 * 3 || m->ended < m->count / 10 * 9 ||
		    is_told_as_pattern(report, f, m) ||
		    fxt_trend_most(&m->alive, &at_ns) > (int64_t)(m->bytes / 20))
			continue;
		x = fxt_finding_add(f, m->innermost, FXT_FOR_HEAP,
				    "%s blocks were allocated, and freed a moment later",
				    fxt_count(count).text);
		fxt_finding_evidence(
			x, "about %s in all, at most %s at any time; a block lived for %s in the mean",
			fxt_bytes(m->bytes).text, fxt_bytes((uint64_t)fxt_trend_most(&m->alive, &at_ns)).text,
			fxt_duration(m->lives_ns / m->ended).text);
		x->cost_ns = ns;
		x->cost_calls = count;
	}
}

void fxt_find_exceptions(const struct fxt_report *report, struct fxt_findings *f)
{
	static const char *const names[] = {"__cxa_throw",    "_Unwind_RaiseException",	 "__cxa_rethrow",
					    "_Unwind_Resume", "__cxxabiv1::__cxa_throw", NULL};
	uint32_t innermost;
	uint64_t samples = fxt_rule_samples_in(report, names, &innermost);
	struct fxt_finding *x;

	if (samples < 10 ||
	    (double)samples * 100 < (double)report->processor.tree.samples * FXT_LEAST(exceptions) ||
	    innermost == FXT_NO_FRAME)
		return;
	x = fxt_finding_add(f, innermost, FXT_FOR_CALL,
			    "throwing exceptions took %llu%% of the processor time",
			    (unsigned long long)(samples * 100 / report->processor.tree.samples));
	fxt_finding_evidence(x, "%llu of %llu samples are in the search for a handler",
			     (unsigned long long)samples, (unsigned long long)report->processor.tree.samples);
	x->cost_ns = fxt_samples_ns(&report->processor, samples);
}

/* Returns who makes calls of a list most often, as far as they have stacks, and sets *is_drawn to whether
 * some of these were drawn. */
static uint32_t who_makes(const struct fxt_report *report, const char *const *names, bool *is_drawn)
{
	uint64_t count = 0;
	uint32_t found = FXT_NO_FRAME;

	*is_drawn = false;
	for (size_t i = 0; i < report->repeats.call_count; i++) {
		const struct fxt_repeated *one = &report->repeats.calls[i];
		struct fxt_text name = fxt_symbol_text(report->r, one->name);
		struct fxt_stack_sum most;

		for (const char *const *n = names; *n; n++)
			if (fxt_text_is(&name, *n) &&
			    fxt_stack_sums_most_often(&report->call_stacks,
						      fxt_call_key(one->category, one->name), report->who,
						      FXT_FOR_CALL, &most) &&
			    most.count > count) {
				count = most.count;
				found = most.innermost;
				*is_drawn = most.samples;
			}
	}
	return found;
}

/* Returns whether the file is a peer that the program asks, and waits for a good part of the run for it. */
static bool is_asked(const struct fxt_report *report, const struct fxt_file *file)
{
	const struct fxt_transfers *in = file->uses[FXT_FILE_READ], *out = file->uses[FXT_FILE_WRITE];

	return in && out && in->bytes && strchr(file->label, ':') && !strstr(file->label, "accepted") &&
	       in->total_ns >= fxt_rule_run_ns(report) / 4;
}

/* Returns whether there are two writes for each read, which takes the 40 ms for which Linux delays an
 * acknowledgement. */
static bool is_delayed(const struct fxt_report *report, const struct fxt_file *file)
{
	struct fxt_transfers *in = file->uses[FXT_FILE_READ], *out = file->uses[FXT_FILE_WRITE];
	uint64_t median_ns;

	if (!is_asked(report, file) || in->calls < (uint64_t)FXT_LEAST(delayed_ack) ||
	    out->calls < in->calls * 2 - in->calls / 5)
		return false;
	median_ns = fxt_transfers_percentile(in, 50);
	return median_ns > 38000000 && median_ns < 52000000;
}

/* Returns the stack in which most time went for the peer, as far as it is known. */
static uint32_t who_asks(const struct fxt_report *report, const struct fxt_file *file)
{
	struct fxt_stack_sum most;

	return fxt_stack_sums_most(&report->files.by_stack, file->id, report->who, FXT_FOR_CALL, &most)
		       ? most.innermost
		       : FXT_NO_FRAME;
}

void fxt_find_delayed_ack(const struct fxt_report *report, struct fxt_findings *f)
{
	for (size_t i = 0; i < report->files.count; i++) {
		const struct fxt_file *file = &report->files.list[i];
		struct fxt_finding *x;

		if (!is_delayed(report, file))
			continue;
		x = fxt_finding_add(f, who_asks(report, file), FXT_FOR_CALL,
				    "each answer of %s came after 40 ms: an acknowledgement was delayed",
				    file->label);
		fxt_finding_evidence(x,
				     "%s writes for %s reads: what is written in two parts waits for the "
				     "acknowledgement of the first",
				     fxt_count(file->uses[FXT_FILE_WRITE]->calls).text,
				     fxt_count(file->uses[FXT_FILE_READ]->calls).text);
		x->cost_ns = file->uses[FXT_FILE_READ]->total_ns;
	}
}

/* Returns whether it was told that each request had a connection of its own. */
static bool is_told_as_connections(const struct fxt_findings *f, const struct fxt_file *file)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->list[i].rule == &fxt_rules[FXT_RULE_connection_per_item] &&
		    f->list[i].cost_calls >= file->uses[FXT_FILE_READ]->calls / 10 * 9 &&
		    strstr(f->list[i].what, file->label))
			return true;
	return false;
}

void fxt_find_round_trips(const struct fxt_report *report, struct fxt_findings *f)
{
	for (size_t i = 0; i < report->files.count; i++) {
		const struct fxt_file *file = &report->files.list[i];
		const struct fxt_transfers *in = file->uses[FXT_FILE_READ], *out = file->uses[FXT_FILE_WRITE];
		struct fxt_finding *x;

		if (!is_asked(report, file) || is_delayed(report, file) ||
		    in->calls < (uint64_t)FXT_LEAST(round_trips) || in->total_ns / in->calls < 20000 ||
		    out->calls < in->calls / 10 * 9 || out->calls > in->calls / 10 * 11 ||
		    is_told_as_connections(f, file))
			continue;
		x = fxt_finding_add(f, who_asks(report, file), FXT_FOR_CALL,
				    "%s requests to %s, one after the other, each waited for its answer",
				    fxt_count(in->calls).text, file->label);
		fxt_finding_evidence(x, "an answer took %s in the mean, all of them %s",
				     fxt_duration(in->total_ns / in->calls).text,
				     fxt_duration(in->total_ns).text);
		x->cost_ns = in->total_ns;
	}
}

void fxt_find_library_per_item(const struct fxt_report *report, struct fxt_findings *f)
{
	static const char *const closes[] = {"dlclose", NULL};
	static const char *const names[] = {"dlopen", "dlclose", "__dlopen", "__dlclose", NULL};
	uint64_t ns, count = fxt_repeats_of(&report->repeats, report->r, "dlclose", &ns), samples;
	struct fxt_finding *x;
	uint32_t who;
	bool is_drawn;

	if (count < (uint64_t)FXT_LEAST(library_per_item))
		return;
	samples = fxt_rule_samples_in(report, names, &who);
	if (who == FXT_NO_FRAME)
		who = who_makes(report, closes, &is_drawn);
	x = fxt_finding_add(f, who, FXT_FOR_CALL, "libraries were opened and closed %s times",
			    fxt_count(count).text);
	fxt_finding_evidence(x, "closing took %s; %llu of %llu samples are in opening and closing",
			     fxt_duration(ns).text, (unsigned long long)samples,
			     (unsigned long long)report->processor.tree.samples);
	x->cost_ns = ns + fxt_samples_ns(&report->processor, samples);
	x->cost_calls = count;
}

void fxt_find_mapping_per_item(const struct fxt_report *report, struct fxt_findings *f)
{
	static const char *const names[] = {"mmap",   "mmap64",	  "__mmap", "__mmap64",
					    "munmap", "__munmap", NULL};
	static const char *const calls[] = {"mmap", "munmap", NULL};
	uint64_t map_ns, unmap_ns, maps = fxt_repeats_of(&report->repeats, report->r, "mmap", &map_ns);
	uint64_t unmaps = fxt_repeats_of(&report->repeats, report->r, "munmap", &unmap_ns);
	struct fxt_finding *x;
	uint32_t who, by_samples;
	bool is_drawn;

	if (maps < (uint64_t)FXT_LEAST(mapping_per_item) || unmaps < maps / 10 * 9 ||
	    map_ns + unmap_ns < fxt_rule_busy_ns(report) / 50)
		return;
	who = who_makes(report, calls, &is_drawn);
	if (!is_drawn && fxt_rule_samples_in(report, names, &by_samples) >= 3 && by_samples != FXT_NO_FRAME)
		who = by_samples;
	x = fxt_finding_add(f, who, FXT_FOR_CALL, "%s mappings were made and removed again",
			    fxt_count(maps).text);
	fxt_finding_evidence(x, "mmap and munmap took %s; what touching new pages takes comes to that",
			     fxt_duration(map_ns + unmap_ns).text);
	x->cost_ns = map_ns + unmap_ns;
	x->cost_calls = maps;
}

void fxt_find_vain_wakeups(const struct fxt_report *report, struct fxt_findings *f)
{
	static const char *const calls[] = {"pthread_cond_broadcast", NULL};

	for (size_t i = 0; i < report->repeats.cond_count; i++) {
		const struct fxt_woken *w = &report->repeats.conds[i];
		struct fxt_finding *x;
		bool is_drawn;
		char *name;

		if (w->broadcasts < 20 || w->vain < (uint64_t)FXT_LEAST(vain_wakeups) ||
		    w->vain < w->waits / 2 || w->vain < w->broadcasts * 4)
			continue;
		name = w->name ? fxt_rule_name(report, w->name, 32) : NULL;
		x = fxt_finding_add(f, who_makes(report, calls, &is_drawn), FXT_FOR_LOCK,
				    "%s threads were woken to no use from condition %s",
				    fxt_count(w->vain).text, name ? name : "without a name");
		fxt_finding_evidence(
			x, "%s broadcasts ended %s waits, and in %s cases the thread waited again at once",
			fxt_count(w->broadcasts).text, fxt_count(w->waits).text, fxt_count(w->vain).text);
		x->cost_calls = w->vain;
		free(name);
	}
}

void fxt_find_backlog(const struct fxt_report *report, struct fxt_findings *f)
{
	for (size_t i = 0; i < report->calls.count; i++) {
		const struct fxt_call *call = &report->calls.list[i];
		struct fxt_text name = fxt_symbol_text(report->r, call->name);
		struct fxt_finding *x;

		if (!fxt_text_is(&name, "connect") || call->max_ns < (uint64_t)FXT_LEAST(backlog) * 1000000 ||
		    call->max_ns > 1300000000)
			continue;
		x = fxt_finding_add(
			f, fxt_rule_caller_of(report, "net", "connect"), FXT_FOR_CALL,
			"a connection took %s: its first packet was not answered, and sent again after a "
			"second",
			fxt_duration(call->max_ns).text);
		fxt_finding_evidence(x, "a server whose backlog is full does so");
		x->sure = "possible";
		x->cost_ns = call->max_ns;
	}
}
