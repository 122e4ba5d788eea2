/* See import_losses.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_BABELTRACE2

#include "import_losses.h"

#include "tools/reading/reader.h"

/* The id of the counter of losses. Each provider has one. */
enum { COUNTER = 1 };

bool fxt_import_process_of(const bt_trace *trace, uint64_t *pid)
{
	const bt_value *value = bt_trace_borrow_environment_entry_value_by_name_const(trace, "vpid");

	if (!value || bt_value_get_type(value) != BT_VALUE_TYPE_SIGNED_INTEGER ||
	    bt_value_integer_signed_get(value) <= 0)
		return false;
	*pid = (uint64_t)bt_value_integer_signed_get(value);
	return true;
}

static void put_instant(struct fxt_import_out *o, struct fxt_import_thread *t, uint64_t ns, const char *name,
			const struct fxt_import_arg *args, size_t count)
{
	fxt_import_event(o, t, FXT_EVENT_INSTANT, ns, "agent", name, args, count, 0);
}

/* Says that nobody knows what became until then of what a program had before. */
static void put_gap(struct fxt_import_out *o, struct fxt_import_program *p, uint64_t ns)
{
	if (p->has_event && p->pid != FXT_OTHERS_ID)
		put_instant(o, p->threads[0], ns, "recording started", NULL, 0);
	p->has_event = false;
}

void fxt_import_lost(struct fxt_import_out *o, const bt_trace *trace, const struct fxt_import_loss *loss)
{
	uint64_t pid = FXT_OTHERS_ID;
	bool is_of_one = fxt_import_process_of(trace, &pid);
	struct fxt_import_program *p = fxt_import_program(o, pid, loss->from_ns);
	const struct fxt_import_arg lost[] = {{FXT_ARG_UINT64, "records", .u = loss->count},
					      {FXT_ARG_UINT64, "ns", .u = loss->to_ns - loss->from_ns}};
	struct fxt_import_arg total = {FXT_ARG_UINT64, "records", .u = 0};
	struct fxt_import_thread *t = fxt_import_thread(o, p, pid);

	if (!is_of_one) {
		fxt_import_program_name(o, p, FXT_IMPORT_ANY_PROCESS);
		fxt_import_thread_name(o, t, "losses", true);
	}
	if (loss->is_counted) {
		if (!p->lost)
			put_instant(o, t, loss->from_ns, "buffer full", NULL, 0);
		total.u = p->lost += loss->count;
		put_instant(o, t, loss->to_ns, "lost", lost, 2);
		fxt_import_event(o, t, FXT_EVENT_COUNTER, loss->to_ns, "agent", "dropped", &total, 1,
				 COUNTER);
	} else {
		fxt_import_buffer_full(o, p);
	}
	for (size_t i = 0; !is_of_one && i < o->program_count; i++)
		put_gap(o, o->programs[i], loss->to_ns);
}

#endif
