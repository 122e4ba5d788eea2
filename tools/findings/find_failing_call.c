/* Finds a call that fails again and again at one place. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rule_facts.h"
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
			x = fxt_finding_add(f, one->stacks[0], FXT_FOR_CALL, "%s failed %s times: %s", name,
					    fxt_count(one->count).text, strerror(one->error));
			fxt_finding_evidence(
				x, "%s of its %s calls failed, in %s%s%s", fxt_count(one->count).text,
				fxt_count(count).text, one->stack_count == 1 ? "one place" : "",
				one->stack_count == 1 ? "" : fxt_count(one->stack_count).text,
				one->stack_count == 1 ? "" : " places, of which this was the first");
			x->cost_ns = (uint64_t)((double)ns * (double)one->count / (double)count);
			x->cost_calls = one->count;
		}
		free(name);
	}
}
