/* Finds a call that fails again and again at one place. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rule_facts.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* An error says one of these of the program. */
enum sense {
	NORMAL, /* it is how calls that do not wait answer */
	LOOKING, /* something is not there: one looks for it, and does so often */
	REFUSED, /* a peer does not want */
	WRONG, /* the call makes no sense */
};

static enum sense sense_of(int error)
{
	switch (error) {
	case EAGAIN:
	case EINTR:
	case EINPROGRESS:
	case EALREADY:
	case ETIMEDOUT:
	case ECHILD:
	case ESRCH:
	case ENOTTY:
	case EEXIST:
	case ECANCELED:
	case EBUSY:
	case ENOSYS:
	case EOPNOTSUPP:
	case ENODATA:
		return NORMAL;
	case ENOENT:
	case ENOTDIR:
	case EACCES:
	case EPERM:
	case EISDIR:
	case ELOOP:
	case ENAMETOOLONG:
		return LOOKING;
	case ECONNREFUSED:
	case ECONNRESET:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case ECONNABORTED:
		return REFUSED;
	default:
		return WRONG;
	}
}

/* Finds which caller of a helper is to blame, if the same call succeeds for its other callers: of the calls
 * that have a stack, as these alone can be compared. */
static void tell_caller(const struct fxt_report *report, struct fxt_finding *x, const struct fxt_failure *one)
{
	const struct fxt_stack_sums *sums = &report->call_stacks;
	struct fxt_contrast_item *items = fxt_alloc(sums->count + 1, sizeof(*items));
	struct fxt_map failed = {0};    /* node -> how often the call failed there */
	struct fxt_contrast found;
	size_t count = 0;
	bool fresh;

	for (size_t i = 0; i < report->failures.by_stack.count; i++) {
		const struct fxt_stack_sum *sum = &report->failures.by_stack.list[i];

		if (sum->key == one->id)
			fxt_map_put(&failed, sum->innermost, 0, &fresh)->value[0] = sum->count;
	}
	for (size_t i = 0; i < sums->count; i++) {
		const struct fxt_slot *s = fxt_map_find(&failed, sums->list[i].innermost, 0);

		double tells = fxt_stack_sum_tells(&sums->list[i]);

		if (sums->list[i].key == fxt_call_key(one->category, one->name))
			items[count++] = (struct fxt_contrast_item){
				sums->list[i].innermost, tells,
				s ? tells * (double)s->value[0] / (double)sums->list[i].count : 0};
	}
	fxt_map_free(&failed);
	if (fxt_rule_contrast(report, x, FXT_BY_SHARE, items, count, &found)) {
		fxt_finding_evidence(
			x, "through %s: %.0f of %.0f failed; %.0f of %.0f of its %zu other caller%s",
			found.helper, found.own.bad, found.own.all, found.others.bad, found.others.all,
			found.callers, found.callers == 1 ? "" : "s");
		free(found.helper);
	}
	free(items);
}

/* Returns the stack that most of the failures have, as far as samples tell; else that of the first one. */
static uint32_t who_failed(const struct fxt_report *report, const struct fxt_failure *one)
{
	struct fxt_stack_sum most;

	return fxt_stack_sums_most(&report->failures.by_stack, one->id, report->who, FXT_FOR_CALL, &most) &&
			       most.samples
		       ? most.innermost
		       : one->stacks[0];
}

void fxt_find_failing_call(const struct fxt_report *report, struct fxt_findings *f)
{
	static const uint64_t least[] = {
		[NORMAL] = UINT64_MAX, [LOOKING] = 1000, [REFUSED] = 10, [WRONG] = 100};

	for (size_t i = 0; i < report->failures.count; i++) {
		const struct fxt_failure *one = &report->failures.list[i];
		enum sense sense = sense_of(one->error);
		struct fxt_text text = fxt_symbol_text(report->r, one->name);
		struct fxt_finding *x;
		uint64_t ns, count;
		char *name;

		/* Who closes all numbers that there may be does not know which are open. */
		if (one->count < least[sense] || !one->stack_count ||
		    (one->error == EBADF && (fxt_text_is(&text, "close") || fxt_text_is(&text, "fcntl"))))
			continue;
		name = fxt_rule_name(report, one->name, 32);
		count = fxt_repeats_of(&report->repeats, report->r, name, &ns);
		/* Looking for something is a fault only if it is nearly never there, and costs. */
		if (count && (sense != LOOKING ||
			      (one->count >= count / 4 * 3 && ns >= fxt_rule_busy_ns(report) / 50))) {
			x = fxt_finding_add(f, who_failed(report, one), FXT_FOR_CALL,
					    "%s failed %s times: %s", name, fxt_count(one->count).text,
					    strerror(one->error));
			fxt_finding_evidence(
				x, "%s of its %s calls failed, in %s%s%s", fxt_count(one->count).text,
				fxt_count(count).text, one->stack_count == 1 ? "one place" : "",
				one->stack_count == 1 ? "" : fxt_count(one->stack_count).text,
				one->stack_count == 1 ? ""
				: who_failed(report, one) == one->stacks[0]
					? " places, of which this was the first"
					: " places, most of them here");
			tell_caller(report, x, one);
			x->cost_ns = (uint64_t)((double)ns * (double)one->count / (double)count);
			x->cost_calls = one->count;
		}
		free(name);
	}
}
