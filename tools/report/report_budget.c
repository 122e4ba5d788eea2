/* See report_budget.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "report_budget.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/common/message.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"

void fxt_budget_steps_take(struct fxt_budget_steps *s, const struct fxt_reader *r,
			   const struct fxt_record *rec)
{
	enum { CATEGORY = 24, REASON = 120 };
	const struct fxt_text *category, *reason;

	if (rec->subtype != FXT_EVENT_INSTANT || !fxt_text_is(&rec->category, "agent") ||
	    !fxt_text_is(&rec->name, "budget"))
		return;
	category = fxt_argument_text(rec, "given_up");
	reason = fxt_argument_text(rec, "reason");
	if (!category || !reason)
		return;
	s->list = fxt_grow(s->list, &s->capacity, s->count + 1, sizeof(*s->list));
	s->list[s->count++] = (struct fxt_budget_step){
		.pid = r->threads[rec->thread].pid,
		.at_ns = fxt_ns(rec->provider, rec->ticks),
		.category = fxt_printable(category, CATEGORY, false),
		.reason = fxt_printable(reason, REASON, false),
	};
}

void fxt_budget_steps_print(const struct fxt_budget_steps *s, const struct fxt_reader *r,
			    const struct fxt_overview *o, size_t top, FILE *out)
{
	for (size_t i = 0; i < s->count && i < top; i++) {
		const struct fxt_budget_step *step = &s->list[i];
		struct fxt_text name = fxt_process_name(r, step->pid);
		char *program = fxt_printable(&name, 32, false);

		fprintf(out, "BUDGET: %s%s%" PRIu64 " records no %s after %s: %s\n", program,
			*program ? " " : "", fxt_number(r, step->pid), step->category,
			fxt_duration(fxt_ns_between(o->first_ns, step->at_ns)).text, step->reason);
		free(program);
	}
	fxt_put_more(out, s->count, top);
}

void fxt_budget_steps_json(const struct fxt_budget_steps *s, const struct fxt_reader *r, struct fxt_json *j)
{
	fxt_json_array(j, "budget");
	for (size_t i = 0; i < s->count; i++) {
		fxt_json_object(j, NULL);
		fxt_json_u64(j, "pid", fxt_number(r, s->list[i].pid));
		fxt_json_u64(j, "at_ns", s->list[i].at_ns);
		fxt_json_string(j, "given_up", s->list[i].category);
		fxt_json_string(j, "reason", s->list[i].reason);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

void fxt_budget_steps_free(struct fxt_budget_steps *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->list[i].category);
		free(s->list[i].reason);
	}
	free(s->list);
	*s = (struct fxt_budget_steps){0};
}
