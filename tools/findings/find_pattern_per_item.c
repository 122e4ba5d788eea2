/* Finds patterns that are compiled anew for each item: regular expressions, by what compiling them asks of
 * the heap. No call of the C library says that a pattern was compiled. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <fnmatch.h>
#include <stdlib.h>

#include "rule_facts.h"
#include "tools/analysis/demangle.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* Functions that compile a pattern, as their sources name them, without parameters. */
static bool compiles(const struct fxt_text *name)
{
	static const char *const globs[] = {"regcomp",
					    "__regcomp",
					    "re_compile_pattern",
					    "pcre_compile",
					    "pcre_compile2",
					    "pcre2_compile_[0-9]*",
					    "g_regex_new",
					    "RE2::RE2*::RE2*",
					    "re2::RE2::Init",
					    "onig_new",
					    "std::*basic_regex*::basic_regex*",
					    "std::__detail::_Compiler*",
					    "boost::*basic_regex*::do_assign"};
	char *plain = fxt_demangle_short(name, 200);
	bool is = false;

	if (!plain)
		plain = fxt_format("%.*s", (int)name->bytes, name->text);
	for (size_t i = 0; !is && i < sizeof(globs) / sizeof(globs[0]); i++)
		is = fnmatch(globs[i], plain, 0) == 0;
	free(plain);
	return is;
}

/* Returns the node that had a pattern compiled on this stack, or FXT_NO_FRAME. `known` has for each symbol
 * of a name whether it compiles. */
static uint32_t compiled_for(const struct fxt_report *report, struct fxt_map *known, uint32_t frame)
{
	const struct fxt_call_stacks *stacks = &report->who->stacks;
	uint32_t found = FXT_NO_FRAME;

	for (; frame != FXT_NO_FRAME; frame = stacks->frames[frame].parent) {
		uint32_t symbol = stacks->frames[frame].name;
		struct fxt_slot *s;
		bool fresh;

		if (!symbol)
			continue;
		s = fxt_map_put(known, symbol, 0, &fresh);
		if (fresh) {
			struct fxt_text name = fxt_symbol_text(report->r, symbol);

			s->value[0] = compiles(&name);
		}
		if (s->value[0])
			found = stacks->frames[frame].parent;
	}
	return found;
}

/* What the heap gave for patterns and for everything, in KiB: sums of bytes have more than 64 bits. */
struct for_patterns {
	struct fxt_stack_sums by_stack;
	uint64_t all, patterns, most, left;
};

static void sum(const struct fxt_report *report, struct for_patterns *sums)
{
	struct fxt_map known = {0};

	for (size_t i = 0; i < report->heap_stacks.count; i++) {
		const struct fxt_heap_stack *s = &report->heap_stacks.list[i];
		uint64_t kib = (uint64_t)(s->all.bytes >> 10);
		uint32_t who;

		if (s->is_mapping)
			continue;
		sums->all += kib;
		who = compiled_for(report, &known, s->innermost);
		if (who == FXT_NO_FRAME)
			continue;
		fxt_stack_sums_add(&sums->by_stack, 0, who, kib);
		sums->patterns += kib;
		sums->most += (uint64_t)(s->at_peak.bytes >> 10);
		sums->left += (uint64_t)(s->left.bytes >> 10);
	}
	fxt_stack_sums_finish(&sums->by_stack);
	fxt_map_free(&known);
}

void fxt_find_pattern_per_item(const struct fxt_report *report, struct fxt_findings *f)
{
	enum {
		LEAST_KIB = 1024,
		/* To compile one pattern takes a few times the memory that it has in the end. */
		ANEW = 16,
	};
	struct for_patterns sums = {0};
	struct fxt_stack_sum most;
	uint64_t heap_ns = fxt_rule_heap_ns(report), cost_ns;

	sum(report, &sums);
	cost_ns = sums.all ? (uint64_t)((double)heap_ns * (double)sums.patterns / (double)sums.all) : 0;
	if (sums.patterns >= LEAST_KIB && sums.patterns / ANEW >= sums.most &&
	    sums.patterns / ANEW >= sums.left &&
	    (double)cost_ns * 100 >= (double)fxt_rule_busy_ns(report) * FXT_LEAST(pattern_per_item) &&
	    fxt_stack_sums_most(&sums.by_stack, 0, report->who, FXT_FOR_CALL, &most)) {
		struct fxt_finding *x = fxt_finding_add(f, most.innermost, FXT_FOR_CALL,
							"a pattern is compiled again and again");

		fxt_finding_evidence(x, "%llu%% of what was asked of the heap, about %s, was for that",
				     (unsigned long long)(sums.patterns * 100 / sums.all),
				     fxt_bytes(sums.patterns << 10).text);
		x->cost_ns = cost_ns;
	}
	fxt_stack_sums_free(&sums.by_stack);
}
