/* See tracks.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tracks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "tools/common/message.h"
#include "tools/printing/print.h"
#include "tools/reading/order.h"

/* An async that has begun. Those of one id and name lie above each other. */
struct fxt_open_async {
	uint64_t begin_ns;
	size_t below; /* place from 1 up; 0: none */
};

static uint64_t both(uint32_t a, uint32_t b)
{
	return (uint64_t)a << 32 | b;
}

/* Returns the place from 0 up that a key stands for, or `count` if it is new. */
static size_t place_of(struct fxt_map *map, uint64_t a, uint64_t b, size_t count)
{
	bool fresh = false;
	struct fxt_slot *slot = fxt_map_put(map, a, b, &fresh);

	if (fresh)
		slot->value[0] = count + 1;
	return slot->value[0] - 1;
}

/* -- Taking ------------------------------------------------------------------------------------------ */

static bool number_of(const struct fxt_argument *a, double *value)
{
	switch (a->type) {
	case FXT_ARG_INT32:
	case FXT_ARG_INT64:
		*value = (double)a->i;
		return true;
	case FXT_ARG_UINT32:
	case FXT_ARG_UINT64:
		*value = (double)a->u;
		return true;
	case FXT_ARG_DOUBLE:
		*value = a->f;
		return isfinite(a->f);
	default:
		return false;
	}
}

static void take_counter(struct fxt_tracks *t, struct fxt_reader *r, const struct fxt_record *rec)
{
	uint64_t pid = r->threads[rec->thread].pid;
	uint32_t number = (uint32_t)place_of(&t->ids, pid, rec->extra, t->ids.count);
	uint32_t category = fxt_symbol(r, &rec->category), name = fxt_symbol(r, &rec->name);

	for (unsigned i = 0; i < rec->arg_count; i++) {
		uint32_t argument = fxt_symbol(r, &rec->args[i].name);
		struct fxt_series *one;
		double value;
		size_t at;

		if (!number_of(&rec->args[i], &value))
			continue;
		at = place_of(&t->series_of, both(number, category), both(name, argument), t->series_count);
		if (at == t->series_count) {
			t->series = fxt_grow(t->series, &t->series_capacity, at + 1, sizeof(*t->series));
			t->series[t->series_count++] = (struct fxt_series){.pid = pid,
									   .id = rec->extra,
									   .category = category,
									   .name = name,
									   .argument = argument,
									   .least = value,
									   .most = value};
		}
		one = &t->series[at];
		one->samples++;
		one->least = value < one->least ? value : one->least;
		one->most = value > one->most ? value : one->most;
		one->sum += value;
		one->last = value;
	}
}

static void take_async(struct fxt_tracks *t, struct fxt_reader *r, const struct fxt_record *rec, uint64_t ns)
{
	uint32_t process =
		(uint32_t)place_of(&t->processes, r->threads[rec->thread].pid, 0, t->processes.count);
	uint32_t category = fxt_symbol(r, &rec->category), name = fxt_symbol(r, &rec->name);
	size_t at = place_of(&t->async_of, category, name, t->async_count);
	struct fxt_async_sum *sum;
	struct fxt_slot *top;
	bool fresh = false;

	if (at == t->async_count) {
		t->asyncs = fxt_grow(t->asyncs, &t->async_capacity, at + 1, sizeof(*t->asyncs));
		t->asyncs[t->async_count++] = (struct fxt_async_sum){.category = category, .name = name};
	}
	sum = &t->asyncs[at];
	top = fxt_map_put(&t->open_of, rec->extra, both(process, (uint32_t)at), &fresh);
	if (rec->subtype == FXT_EVENT_ASYNC_BEGIN) {
		size_t place = t->unused;

		if (place) {
			t->unused = t->open[place - 1].below;
		} else {
			t->open = fxt_grow(t->open, &t->open_capacity, t->open_count + 1, sizeof(*t->open));
			place = ++t->open_count;
		}
		t->open[place - 1] = (struct fxt_open_async){ns, top->value[0]};
		top->value[0] = place;
		sum->open++;
	} else if (top->value[0]) {
		struct fxt_open_async *begun = &t->open[top->value[0] - 1];
		size_t below = begun->below;
		uint64_t took_ns = fxt_ns_between(begun->begin_ns, ns);

		sum->open--;
		sum->ended++;
		sum->total_ns += took_ns;
		sum->longest_ns = took_ns > sum->longest_ns ? took_ns : sum->longest_ns;
		begun->below = t->unused;
		t->unused = top->value[0];
		top->value[0] = below;
	}
	if (!top->value[0])
		fxt_map_remove(&t->open_of, top);
}

static void take_flow(struct fxt_tracks *t, struct fxt_reader *r, const struct fxt_record *rec, uint64_t ns)
{
	uint32_t category = fxt_symbol(r, &rec->category), name = fxt_symbol(r, &rec->name);
	bool fresh = false;
	struct fxt_slot *last = fxt_map_put(&t->flying, rec->extra, both(category, name), &fresh);

	/* A step or an end without what came before leads from nowhere. */
	if (!fresh && rec->subtype != FXT_EVENT_FLOW_BEGIN) {
		uint64_t took_ns = fxt_ns_between(last->value[1], ns);
		size_t at = place_of(&t->flow_of, both(category, name),
				     both((uint32_t)last->value[0], rec->thread), t->flow_count);
		struct fxt_flow_sum *sum;

		if (at == t->flow_count) {
			t->flows = fxt_grow(t->flows, &t->flow_capacity, at + 1, sizeof(*t->flows));
			t->flows[t->flow_count++] = (struct fxt_flow_sum){.category = category,
									  .name = name,
									  .from = (uint32_t)last->value[0],
									  .to = rec->thread};
		}
		sum = &t->flows[at];
		sum->count++;
		sum->total_ns += took_ns;
		sum->longest_ns = took_ns > sum->longest_ns ? took_ns : sum->longest_ns;
	}
	last->value[0] = rec->thread;
	last->value[1] = ns;
	if (rec->subtype == FXT_EVENT_FLOW_END || (fresh && rec->subtype != FXT_EVENT_FLOW_BEGIN))
		fxt_map_remove(&t->flying, last);
}

/* What the key needs to choose. */
struct choice {
	fxt_tracks_wants *wants;
	void *context;
};

static bool is_wanted(void *context, const struct fxt_record *rec, uint64_t *key_ns)
{
	const struct choice *choice = context;

	if (rec->type != FXT_RECORD_EVENT || !rec->known || rec->damaged)
		return false;
	switch (rec->subtype) {
	case FXT_EVENT_COUNTER:
	case FXT_EVENT_ASYNC_BEGIN:
	case FXT_EVENT_ASYNC_END:
	case FXT_EVENT_FLOW_BEGIN:
	case FXT_EVENT_FLOW_STEP:
	case FXT_EVENT_FLOW_END:
		break;
	default:
		return false;
	}
	*key_ns = fxt_ns(rec->provider, rec->ticks);
	return choice->wants(choice->context, &rec->category);
}

static int by_samples(const void *a, const void *b)
{
	const struct fxt_series *x = a, *y = b;

	return x->samples != y->samples ? (x->samples > y->samples ? -1 : 1) : 0;
}

static int by_async_time(const void *a, const void *b)
{
	const struct fxt_async_sum *x = a, *y = b;

	return x->total_ns != y->total_ns ? (x->total_ns > y->total_ns ? -1 : 1) : 0;
}

static int by_flow_time(const void *a, const void *b)
{
	const struct fxt_flow_sum *x = a, *y = b;

	return x->total_ns != y->total_ns ? (x->total_ns > y->total_ns ? -1 : 1) : 0;
}

static void sort(void *list, size_t count, size_t bytes, int (*compare)(const void *, const void *))
{
	if (count)
		qsort(list, count, bytes, compare);
}

void fxt_tracks_read(struct fxt_tracks *t, struct fxt_reader *r, fxt_tracks_wants *wants, void *context)
{
	struct choice choice = {wants, context};
	struct fxt_order order = {0};
	struct fxt_record rec;

	fxt_order_gather(&order, r, is_wanted, &choice);
	while (fxt_order_next(&order, &rec)) {
		uint64_t ns = fxt_ns(rec.provider, rec.ticks);

		if (rec.subtype == FXT_EVENT_COUNTER)
			take_counter(t, r, &rec);
		else if (rec.subtype == FXT_EVENT_ASYNC_BEGIN || rec.subtype == FXT_EVENT_ASYNC_END)
			take_async(t, r, &rec, ns);
		else
			take_flow(t, r, &rec, ns);
	}
	fxt_order_free(&order);
	sort(t->series, t->series_count, sizeof(*t->series), by_samples);
	sort(t->asyncs, t->async_count, sizeof(*t->asyncs), by_async_time);
	sort(t->flows, t->flow_count, sizeof(*t->flows), by_flow_time);
}

/* -- Telling ----------------------------------------------------------------------------------------- */

/* The columns that the names have. */
enum { NAMES = 36 };

static char *name_of(const struct fxt_reader *r, uint32_t category, uint32_t name)
{
	struct fxt_text c = fxt_symbol_text(r, category), n = fxt_symbol_text(r, name);
	char *first = fxt_printable(&c, 24, false), *second = fxt_printable(&n, 48, false);
	char *whole = fxt_format("%s%s%s", first, *first ? ":" : "", second);

	free(first);
	free(second);
	return whole;
}

static void put_name(FILE *out, char *name)
{
	fputs("  ", out);
	fxt_put_padded(out, name, NAMES);
	free(name);
}

static void print_series(const struct fxt_tracks *t, const struct fxt_reader *r, bool with_process,
			 size_t top, FILE *out)
{
	if (!t->series_count)
		return;
	fprintf(out, "\n%-*s %9s %12s %12s %12s %12s\n", NAMES + 2, "COUNTERS", "samples", "min", "mean",
		"max", "last");
	for (size_t i = 0; i < t->series_count && i < top; i++) {
		const struct fxt_series *one = &t->series[i];
		struct fxt_text argument = fxt_symbol_text(r, one->argument);
		char *name = name_of(r, one->category, one->name),
		     *last = fxt_printable(&argument, 24, false);
		char *id = one->id ? fxt_format(" %" PRIu64, one->id) : fxt_strdup("");
		char *process =
			with_process ? fxt_format(" of %" PRIu64, fxt_number(r, one->pid)) : fxt_strdup("");

		put_name(out, fxt_format("%s%s %s%s", name, id, last, process));
		fprintf(out, " %9s %12.6g %12.6g %12.6g %12.6g\n", fxt_count(one->samples).text, one->least,
			one->sum / (double)one->samples, one->most, one->last);
		free(name);
		free(last);
		free(id);
		free(process);
	}
	fxt_put_more(out, t->series_count, top);
}

static void print_asyncs(const struct fxt_tracks *t, const struct fxt_reader *r, size_t top, FILE *out)
{
	if (!t->async_count)
		return;
	fprintf(out, "\n%-*s %10s %9s %10s %10s %9s\n", NAMES + 2, "ASYNCS", "total", "ended", "mean",
		"longest", "open");
	for (size_t i = 0; i < t->async_count && i < top; i++) {
		const struct fxt_async_sum *one = &t->asyncs[i];

		put_name(out, name_of(r, one->category, one->name));
		fprintf(out, " %10s %9s %10s %10s %9s\n", fxt_duration(one->total_ns).text,
			fxt_count(one->ended).text,
			one->ended ? fxt_duration(one->total_ns / one->ended).text : "-",
			fxt_duration(one->longest_ns).text, one->open ? fxt_count(one->open).text : "-");
	}
	fxt_put_more(out, t->async_count, top);
}

static void print_flows(const struct fxt_tracks *t, const struct fxt_reader *r, bool with_process, size_t top,
			FILE *out)
{
	if (!t->flow_count)
		return;
	/* Each has two lines. */
	top = top / 2 + top % 2;
	fprintf(out, "\n%-*s %9s %10s %10s\n", NAMES + 2, "FLOWS: from one thread to another", "count",
		"mean", "longest");
	for (size_t i = 0; i < t->flow_count && i < top; i++) {
		const struct fxt_flow_sum *one = &t->flows[i];
		char *from = fxt_thread_label(r, one->from, with_process);
		char *to = fxt_thread_label(r, one->to, with_process);

		put_name(out, name_of(r, one->category, one->name));
		fprintf(out, " %9s %10s %10s\n", fxt_count(one->count).text,
			fxt_duration(one->total_ns / one->count).text, fxt_duration(one->longest_ns).text);
		fxt_put_line(out, fxt_format("      from %s to %s", from, to));
		free(from);
		free(to);
	}
	fxt_put_more(out, t->flow_count, top);
}

void fxt_tracks_print(const struct fxt_tracks *t, const struct fxt_reader *r, bool with_process, size_t top,
		      FILE *out)
{
	print_asyncs(t, r, top, out);
	print_flows(t, r, with_process, top, out);
	print_series(t, r, with_process, top, out);
}

static void put_real(struct fxt_json *j, const char *key, double value)
{
	const struct fxt_argument real = {.type = FXT_ARG_DOUBLE, .f = value};

	fxt_json_argument(j, key, &real);
}

static void put_id(struct fxt_json *j, uint64_t id)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, id);
	fxt_json_string(j, "id", text);
}

static void put_thread(struct fxt_json *j, const char *key, const struct fxt_reader *r, uint32_t thread)
{
	struct fxt_text name = fxt_thread_name(r, thread);

	fxt_json_object(j, key);
	fxt_json_u64(j, "pid", fxt_number(r, r->threads[thread].pid));
	fxt_json_u64(j, "tid", fxt_number(r, r->threads[thread].tid));
	fxt_json_text(j, "name", &name);
	fxt_json_end(j);
}

void fxt_tracks_json(const struct fxt_tracks *t, const struct fxt_reader *r, struct fxt_json *j)
{
	fxt_json_array(j, "asyncs");
	for (size_t i = 0; i < t->async_count; i++) {
		fxt_json_object(j, NULL);
		fxt_json_symbol(j, "category", r, t->asyncs[i].category);
		fxt_json_symbol(j, "name", r, t->asyncs[i].name);
		fxt_json_u64(j, "ended", t->asyncs[i].ended);
		fxt_json_u64(j, "total_ns", t->asyncs[i].total_ns);
		fxt_json_u64(j, "longest_ns", t->asyncs[i].longest_ns);
		fxt_json_u64(j, "open", t->asyncs[i].open);
		fxt_json_end(j);
	}
	fxt_json_end(j);
	fxt_json_array(j, "flows");
	for (size_t i = 0; i < t->flow_count; i++) {
		fxt_json_object(j, NULL);
		fxt_json_symbol(j, "category", r, t->flows[i].category);
		fxt_json_symbol(j, "name", r, t->flows[i].name);
		put_thread(j, "from", r, t->flows[i].from);
		put_thread(j, "to", r, t->flows[i].to);
		fxt_json_u64(j, "count", t->flows[i].count);
		fxt_json_u64(j, "total_ns", t->flows[i].total_ns);
		fxt_json_u64(j, "longest_ns", t->flows[i].longest_ns);
		fxt_json_end(j);
	}
	fxt_json_end(j);
	fxt_json_array(j, "counters");
	for (size_t i = 0; i < t->series_count; i++) {
		const struct fxt_series *one = &t->series[i];

		fxt_json_object(j, NULL);
		fxt_json_u64(j, "pid", fxt_number(r, one->pid));
		fxt_json_symbol(j, "category", r, one->category);
		fxt_json_symbol(j, "name", r, one->name);
		put_id(j, one->id);
		fxt_json_symbol(j, "argument", r, one->argument);
		fxt_json_u64(j, "samples", one->samples);
		put_real(j, "min", one->least);
		put_real(j, "mean", one->sum / (double)one->samples);
		put_real(j, "max", one->most);
		put_real(j, "last", one->last);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

void fxt_tracks_free(struct fxt_tracks *t)
{
	free(t->series);
	free(t->asyncs);
	free(t->flows);
	free(t->open);
	fxt_map_free(&t->ids);
	fxt_map_free(&t->processes);
	fxt_map_free(&t->series_of);
	fxt_map_free(&t->async_of);
	fxt_map_free(&t->open_of);
	fxt_map_free(&t->flow_of);
	fxt_map_free(&t->flying);
	*t = (struct fxt_tracks){0};
}
