/* See left_out.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "left_out.h"

#include <stdlib.h>

#include "demangle.h"
#include "tools/common/message.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"

enum { FUNCTIONS_SHOWN = 5, NAME_COLUMNS = 4096 };

/* Keeps a running total. The last one is the largest. */
static void keep(struct fxt_map *m, const struct fxt_record *rec, uint64_t key, uint64_t first,
		 uint64_t second)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(m, rec->provider->index, key, &fresh);

	if (first >= s->value[0]) {
		s->value[0] = first;
		s->value[1] = second;
	}
}

void fxt_left_out_take(struct fxt_left_out *l, struct fxt_reader *r, const struct fxt_record *rec)
{
	const struct fxt_text *name;
	uint64_t calls, ns, functions;

	if (rec->subtype != FXT_EVENT_INSTANT || !fxt_text_is(&rec->category, "agent") ||
	    !fxt_text_is(&rec->name, "left out") || !fxt_argument_u64(fxt_argument(rec, "calls"), &calls) ||
	    !fxt_argument_u64(fxt_argument(rec, "ns"), &ns))
		return;
	name = fxt_argument_text(rec, "function");
	if (name) {
		keep(&l->totals, rec, fxt_symbol(r, name), calls, ns);
	} else if (fxt_argument_u64(fxt_argument(rec, "functions"), &functions)) {
		/* Functions leave this total when they get one of their own, so only the last one counts. */
		bool fresh;
		struct fxt_slot *s = fxt_map_put(&l->others, rec->provider->index, 0, &fresh);

		s->value[0] = calls;
		s->value[1] = ns;
		fxt_map_put(&l->others, rec->provider->index, 1, &fresh)->value[0] = functions;
	}
}

static int by_calls(const void *a, const void *b)
{
	const struct fxt_left_out_function *one = a, *two = b;

	if (one->calls != two->calls)
		return one->calls < two->calls ? 1 : -1;
	return one->name < two->name ? -1 : one->name > two->name;
}

void fxt_left_out_sort(struct fxt_left_out *l)
{
	struct fxt_map places = {0};

	for (struct fxt_slot *s = fxt_map_next(&l->totals, NULL); s; s = fxt_map_next(&l->totals, s)) {
		bool fresh;
		struct fxt_slot *place = fxt_map_put(&places, s->b, 0, &fresh);

		if (fresh) {
			place->value[0] = l->count;
			l->list = fxt_grow(l->list, &l->capacity, l->count + 1, sizeof(*l->list));
			l->list[l->count++] = (struct fxt_left_out_function){.name = (uint32_t)s->b};
		}
		l->list[place->value[0]].calls += s->value[0];
		l->list[place->value[0]].ns += s->value[1];
	}
	fxt_map_free(&places);
	for (struct fxt_slot *s = fxt_map_next(&l->others, NULL); s; s = fxt_map_next(&l->others, s)) {
		if (s->b == 1) {
			l->other_functions += s->value[0];
			continue;
		}
		l->other_calls += s->value[0];
		l->other_ns += s->value[1];
	}
	if (l->count)
		qsort(l->list, l->count, sizeof(*l->list), by_calls);
}

uint64_t fxt_left_out_calls(const struct fxt_left_out *l)
{
	uint64_t calls = l->other_calls;

	for (size_t i = 0; i < l->count; i++)
		calls += l->list[i].calls;
	return calls;
}

void fxt_left_out_print(const struct fxt_left_out *l, const struct fxt_reader *r, FILE *out)
{
	uint64_t calls = l->other_calls, functions = l->other_functions;

	if (!l->count)
		return;
	fputs("  functions left out: ", out);
	for (size_t i = 0; i < l->count; i++) {
		const struct fxt_left_out_function *f = &l->list[i];
		struct fxt_text text = fxt_symbol_text(r, f->name);
		char *name;

		if (i >= FUNCTIONS_SHOWN) {
			calls += f->calls;
			functions++;
			continue;
		}
		name = fxt_function_label(&text, 40);
		fprintf(out, "%s%s %s", i ? ", " : "", name, fxt_count(f->calls).text);
		/* The time is known of those that a threshold has left out. */
		if (f->ns)
			fprintf(out, " (%s)", fxt_duration(f->ns).text);
		free(name);
	}
	if (functions)
		fprintf(out, ", %s in %s more", fxt_count(calls).text, fxt_count(functions).text);
	fputc('\n', out);
}

static void put(struct fxt_json *j, uint64_t calls, uint64_t ns)
{
	fxt_json_u64(j, "calls", calls);
	fxt_json_u64(j, "total_ns", ns);
	fxt_json_end(j);
}

void fxt_left_out_json(const struct fxt_left_out *l, const struct fxt_reader *r, struct fxt_json *j)
{
	fxt_json_array(j, "left_out");
	for (size_t i = 0; i < l->count; i++) {
		struct fxt_text text = fxt_symbol_text(r, l->list[i].name);
		char *name = fxt_function_label(&text, NAME_COLUMNS);

		fxt_json_object(j, NULL);
		fxt_json_string(j, "function", name);
		put(j, l->list[i].calls, l->list[i].ns);
		free(name);
	}
	if (l->other_functions) {
		fxt_json_object(j, NULL);
		fxt_json_u64(j, "functions", l->other_functions);
		put(j, l->other_calls, l->other_ns);
	}
	fxt_json_end(j);
}

void fxt_left_out_free(struct fxt_left_out *l)
{
	fxt_map_free(&l->totals);
	fxt_map_free(&l->others);
	free(l->list);
	*l = (struct fxt_left_out){0};
}
