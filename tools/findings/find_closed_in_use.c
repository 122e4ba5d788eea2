/* Finds descriptors and streams that were closed while another thread was in a call on them. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>

#include "rule_facts.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

void fxt_find_closed_in_use(const struct fxt_report *report, struct fxt_findings *f)
{
	const struct fxt_closes_in_use *c = &report->closes;
	struct fxt_map seen = {0}; /* what was told: the two places */

	for (size_t i = 0; i < c->count; i++) {
		const struct fxt_closed_in_use *one = &c->list[i];
		char *name, *what, *user, *closer;
		struct fxt_finding *x;
		bool fresh;

		fxt_map_put(&seen, one->closed_in, one->used_in, &fresh);
		if (!fresh)
			continue;
		name = fxt_rule_name(report, one->name, 16);
		what = one->is_stream ? fxt_strdup("a stream")
				      : fxt_format("descriptor %" PRIu64, one->object);
		user = fxt_who_line(report->who, FXT_FOR_CALL, one->used_in, fxt_width() - 30);
		closer = fxt_thread_label(report->r, one->closer, report->has_processes);
		x = fxt_finding_add(f, one->closed_in, FXT_FOR_CALL,
				    "%s was closed while another thread was in %s on it", what, name);
		fxt_finding_evidence(x, "%s closed it; the %s went on for %s", closer, name,
				     fxt_duration(one->after_ns).text);
		if (user)
			fxt_finding_evidence(x, "in use by %s", user);
		fxt_finding_stack(x, "in use by", FXT_FOR_CALL, one->used_in);
		x->about = fxt_handle_of_thread(report->r, one->closer);
		x->cost_calls = 1;
		free(closer);
		free(user);
		free(what);
		free(name);
	}
	fxt_map_free(&seen);
}
