/* fxt report: the section on locks that were taken in circles. See report_lock_order.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "report_lock_order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tools/common/message.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"

void fxt_lock_orders_finish(struct fxt_lock_orders *o, struct fxt_reader *r,
			    const struct fxt_objects *objects, struct fxt_call_stacks *stacks,
			    const struct fxt_overview *overview)
{
	/* Something is missing, and nobody says where: other writers do not count what they lose. */
	if (overview->buffer_full && !overview->counters.used)
		return;
	fxt_lock_scan_finish(&o->scan, r);
	fxt_lock_scan_circles(&o->scan, &o->places);
	if (!o->places.used)
		return;
	o->replay.objects = objects;
	o->replay.stacks_of_calls = stacks;
	fxt_overview_gaps(overview, &o->replay.until_ns);
	fxt_lock_replay(&o->replay, r, &o->places);
	if (o->replay.places.renewals <= FXT_LOCK_RENEWALS_MAX)
		fxt_lock_circles_find(&o->circles, &o->replay);
}

/* Returns the names of the locks of a circle, in the order of `orders`; the caller frees the list and what is
 * in it. If two have one name, they also have their addresses. */
static char **names_of(const struct fxt_lock_orders *o, const struct fxt_lock_circle *circle)
{
	char **names = fxt_alloc(circle->count, sizeof(*names));
	bool is_twice = false;

	for (size_t i = 0; i < circle->count; i++) {
		const struct fxt_lock *lock = &o->replay.places.locks[circle->orders[i].first];

		names[i] = fxt_contention_lock(lock->known, lock->address);
		for (size_t k = 0; k < i; k++)
			is_twice |= strcmp(names[i], names[k]) == 0;
	}
	for (size_t i = 0; is_twice && i < circle->count; i++) {
		char *name = names[i];

		names[i] = fxt_format("%s 0x%" PRIx64, name,
				      o->replay.places.locks[circle->orders[i].first].address);
		free(name);
	}
	return names;
}

struct fxt_handle fxt_lock_order_handle(const struct fxt_lock_orders *o, const struct fxt_lock_order *order,
					const struct fxt_reader *r)
{
	const struct fxt_lock *lock = &o->replay.places.locks[order->first];

	return fxt_handle_of_lock(r, lock->pid, lock->address);
}

static void free_names(char **names, const struct fxt_lock_circle *circle)
{
	for (size_t i = 0; i < circle->count; i++)
		free(names[i]);
	free(names);
}

/* Prints a line for each two locks of the circle, as "a, then b: worker 1234, first 1.05 ms after the start,
 * 7 times". If that is too long for a line, it takes two. */
static void print_circle(const struct fxt_lock_orders *o, const struct fxt_lock_circle *circle,
			 const struct fxt_reader *r, uint64_t since_ns, bool with_process, FILE *out)
{
	char **names = names_of(o, circle);

	for (size_t i = 0; i < circle->count; i++) {
		const struct fxt_lock_order *order = &circle->orders[i];
		char *who = fxt_thread_label(r, order->thread, with_process);
		char *which = fxt_format("%s %s%s, then %s:", fxt_lock_order_handle(o, order, r).text,
					 i ? "  " : "", names[i],
					 names[(i + 1) % circle->count]);
		char *when = fxt_format("%s, first %s after the start, %s time%s", who,
					fxt_duration(fxt_ns_between(since_ns, order->first_ns)).text,
					fxt_count(order->count).text, order->count == 1 ? "" : "s");

		if (fxt_columns(which) + 1 + fxt_columns(when) <= fxt_width()) {
			fxt_put_line(out, fxt_format("%s %s", which, when));
		} else {
			fxt_put_line(out, fxt_strdup(which));
			fxt_put_line(out, fxt_format("          %s", when));
		}
		free(when);
		free(which);
		free(who);
	}
	free_names(names, circle);
}

void fxt_lock_orders_print(const struct fxt_lock_orders *o, const struct fxt_reader *r, uint64_t since_ns,
			   bool with_process, size_t top, FILE *out)
{
	size_t shown = 0, lines = 0;

	if (!o->circles.count)
		return;
	fputs("\nLOCKS TAKEN IN BOTH ORDERS: a deadlock is possible\n", out);
	for (; shown < o->circles.count && lines < top; shown++) {
		print_circle(o, &o->circles.list[shown], r, since_ns, with_process, out);
		lines += o->circles.list[shown].count;
	}
	fxt_put_more(out, o->circles.count, shown);
}

void fxt_lock_orders_print_one(const struct fxt_lock_orders *o, size_t place, const struct fxt_reader *r,
			       uint64_t since_ns, bool with_process, FILE *out)
{
	fputs("\nLOCKS TAKEN IN BOTH ORDERS\n", out);
	print_circle(o, &o->circles.list[place], r, since_ns, with_process, out);
}

char *fxt_lock_orders_name(const struct fxt_lock_orders *o, const struct fxt_lock_circle *circle, size_t i)
{
	char **names = names_of(o, circle), *name = fxt_strdup(names[i]);

	free_names(names, circle);
	return name;
}

void fxt_lock_orders_json(const struct fxt_lock_orders *o, struct fxt_json *j, const struct fxt_reader *r)
{
	fxt_json_array(j, "lock_orders");
	for (size_t i = 0; i < o->circles.count; i++) {
		const struct fxt_lock_circle *circle = &o->circles.list[i];
		char **names = names_of(o, circle);

		fxt_json_array(j, NULL);
		for (size_t k = 0; k < circle->count; k++) {
			const struct fxt_lock_order *order = &circle->orders[k];

			fxt_report_json_thread(j, NULL, r, order->thread);
			fxt_json_string(j, "lock_handle", fxt_lock_order_handle(o, order, r).text);
			fxt_json_string(j, "first", names[k]);
			fxt_json_string(j, "then", names[(k + 1) % circle->count]);
			fxt_json_u64(j, "first_ns", order->first_ns);
			fxt_json_u64(j, "count", order->count);
			fxt_json_end(j);
		}
		fxt_json_end(j);
		free_names(names, circle);
	}
	fxt_json_end(j);
}

void fxt_lock_orders_free(struct fxt_lock_orders *o)
{
	fxt_lock_scan_free(&o->scan);
	fxt_map_free(&o->places);
	fxt_lock_replay_free(&o->replay);
	fxt_lock_circles_free(&o->circles);
}
