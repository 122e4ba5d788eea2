/* fxt report: the section on descriptors that were left open. See report_descriptors.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "report_descriptors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tools/analysis/gaps.h"
#include "tools/common/message.h"
#include "tools/descriptors/fd_lifetimes.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"

static const uint64_t ended = UINT64_C(1) << 32;

/* -- The pass ---------------------------------------------------------------------------------- */

void fxt_descriptors_take(struct fxt_descriptors *d, const struct fxt_record *rec)
{
	struct fxt_slot *s;
	bool fresh;

	if (rec->subtype == FXT_EVENT_ASYNC_BEGIN && fxt_argument(rec, "fd") && fxt_argument(rec, "call")) {
		s = fxt_map_put(&d->lives, rec->extra, 0, &fresh);
		s->value[0] = rec->offset;
		s->value[1] = (s->value[1] & ended) | rec->provider->index;
	} else if (rec->subtype == FXT_EVENT_ASYNC_END) {
		/* The end may stand before the begin in the file, if another thread has written it. */
		s = fxt_map_put(&d->lives, rec->extra, 0, &fresh);
		s->value[1] |= ended;
	}
}

/* -- What a descriptor is ------------------------------------------------------------------------ */

static uint64_t descriptor_of(const struct fxt_record *rec)
{
	return fxt_argument_or(rec, "fd", UINT64_MAX);
}

/* Decodes the begin of a lifetime again. Returns false if there is none, or if it is another lifetime's. */
static bool begin_of(struct fxt_reader *r, const struct fxt_slot *s, struct fxt_record *rec)
{
	return s && s->value[0] &&
	       fxt_reader_event_at(r, s->value[0], r->providers[(uint32_t)s->value[1]], rec);
}

/* Goes from a duplicate to the descriptor it was made of, as far as the trace has those. */
static void find_origin(const struct fxt_descriptors *d, struct fxt_reader *r, struct fxt_record *rec)
{
	enum { DUPLICATES_OF_DUPLICATES = 100 };
	struct fxt_record older;
	uint64_t of;

	for (int i = 0; i < DUPLICATES_OF_DUPLICATES && fxt_argument_u64(fxt_argument(rec, "of"), &of); i++) {
		if (!begin_of(r, fxt_map_find(&d->lives, of, 0), &older))
			return;
		*rec = older;
	}
}

static char *label_of(const struct fxt_record *rec)
{
	enum { COLUMNS = 512 };

	for (unsigned i = 0; i < rec->arg_count; i++) {
		const struct fxt_argument *a = &rec->args[i];
		char *text;

		if (a->type != FXT_ARG_STRING || fxt_text_is(&a->name, "call") || !a->string.bytes)
			continue;
		text = fxt_printable(&a->string, COLUMNS, true);
		return fxt_fd_life_is_accepted(rec) ? fxt_address_without_port(text) : text;
	}
	return fxt_format("(%.*s)", (int)rec->name.bytes, rec->name.text);
}

static uint32_t call_of(struct fxt_reader *r, const struct fxt_record *rec)
{
	const struct fxt_text *call = fxt_argument_text(rec, "call");
	struct fxt_text none = {.text = ""};

	return fxt_symbol(r, call ? call : &none);
}

/* -- What is left --------------------------------------------------------------------------------- */

static void add(struct fxt_descriptors *d, struct fxt_reader *r, struct fxt_who *who, struct fxt_record *rec,
		const struct fxt_ends *ends)
{
	const struct fxt_slot *peer = fxt_map_find(&d->peers, rec->provider->index, descriptor_of(rec));
	struct fxt_left *left;

	d->list = fxt_grow(d->list, &d->capacity, d->count + 1, sizeof(*d->list));
	left = &d->list[d->count++];
	*left = (struct fxt_left){.call = call_of(r, rec), .pid = r->threads[rec->thread].pid, .count = 1};
	left->since_ns = fxt_ns(rec->provider, rec->ticks);
	left->until_ns = fxt_ends_ns(ends, left->pid);
	left->innermost = fxt_call_stack_of(&who->stacks, rec);
	left->path = fxt_path_of(&who->culprits, FXT_FOR_CALL, left->innermost);
	if (left->path != FXT_NO_PATH)
		left->path = fxt_path_short(&who->culprits, FXT_FOR_CALL, left->path);
	if (begin_of(r, peer, rec))
		left->call = call_of(r, rec);
	else
		find_origin(d, r, rec);
	left->label = label_of(rec);
}

static int by_identity(const void *a, const void *b)
{
	const struct fxt_left *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	if (x->path != y->path)
		return x->path < y->path ? -1 : 1;
	return x->path == FXT_NO_PATH ? strcmp(x->label, y->label) : 0;
}

static int by_count(const void *a, const void *b)
{
	const struct fxt_left *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->since_ns != y->since_ns)
		return x->since_ns < y->since_ns ? -1 : 1;
	return by_identity(a, b);
}

/* Adds one that is like others, of which the oldest is remembered. */
static void join(struct fxt_left *to, const struct fxt_left *one)
{
	struct fxt_left sum = one->since_ns < to->since_ns ? *one : *to;

	sum.count = to->count + one->count;
	sum.is_mixed = to->is_mixed || strcmp(to->label, one->label) != 0;
	free(one->since_ns < to->since_ns ? to->label : one->label);
	*to = sum;
}

static void merge(struct fxt_descriptors *d)
{
	size_t kept = 0;

	if (d->count)
		qsort(d->list, d->count, sizeof(*d->list), by_identity);
	for (size_t i = 0; i < d->count; i++) {
		struct fxt_left *left = &d->list[i], *last = kept ? &d->list[kept - 1] : NULL;

		if (!last || by_identity(last, left) != 0) {
			d->list[kept++] = *left;
			continue;
		}
		join(last, left);
	}
	d->count = kept;
	if (kept)
		qsort(d->list, kept, sizeof(*d->list), by_count);
}

void fxt_descriptors_finish(struct fxt_descriptors *d, struct fxt_reader *r, struct fxt_who *who,
			    const struct fxt_gaps *gaps, const struct fxt_calls_in_progress *open,
			    const struct fxt_ends *ends)
{
	enum { FIRST_OF_ITS_OWN = 3 };  /* the numbers below are standard input, output and error */
	struct fxt_record rec;
	struct fxt_slot *s, *peer;
	bool fresh;

	for (s = fxt_map_next(&d->lives, NULL); s; s = fxt_map_next(&d->lives, s)) {
		if (s->value[1] & ended || !begin_of(r, s, &rec) || !fxt_fd_life_is_made_by(&rec, "connect"))
			continue;
		peer = fxt_map_put(&d->peers, rec.provider->index, descriptor_of(&rec), &fresh);
		memcpy(peer->value, s->value, sizeof(peer->value));
	}
	for (s = fxt_map_next(&d->lives, NULL); s; s = fxt_map_next(&d->lives, s)) {
		if (s->value[1] & ended || !begin_of(r, s, &rec) || fxt_fd_life_is_made_by(&rec, "connect") ||
		    descriptor_of(&rec) < FIRST_OF_ITS_OWN)
			continue;
		if (fxt_gaps_follow(gaps, rec.provider, fxt_ns(rec.provider, rec.ticks))) {
			d->unknown++;
			continue;
		}
		if (fxt_calls_in_progress_is_of_last(open, r, rec.thread, rec.provider))
			add(d, r, who, &rec, ends);
	}
	fxt_map_free(&d->lives);
	fxt_map_free(&d->peers);
	merge(d);
}

bool fxt_descriptors_is_leaking(const struct fxt_descriptors *d)
{
	enum { MANY = 100 };

	return d->count && d->list[0].count >= MANY;
}

static bool is_of_one_process(const struct fxt_descriptors *d)
{
	for (size_t i = 1; i < d->count; i++)
		if (d->list[i].pid != d->list[0].pid)
			return false;
	return true;
}

enum { LABEL = 28 };
#define FIGURES " %10s  %9s  %s"

/* Returns the path or peer, in at most LABEL columns, and says if others have another one. */
static char *cut_label(const struct fxt_left *left)
{
	static const char others[] = " and others";
	struct fxt_text text = fxt_text_of(left->label);
	char *cut = fxt_printable(&text, left->is_mixed ? LABEL - sizeof(others) + 1 : LABEL, true);
	char *label = fxt_format("%s%s", cut, left->is_mixed ? others : "");

	free(cut);
	return label;
}

static void print_who(const struct fxt_left *left, struct fxt_who *who, FILE *out)
{
	char *line = fxt_who_line(who, FXT_FOR_CALL, left->innermost, fxt_width() - 9);

	if (line)
		fxt_put_line(out, fxt_format("      by %s", line));
	free(line);
}

void fxt_descriptors_print(const struct fxt_descriptors *d, const struct fxt_reader *r,
			   struct fxt_who *who, size_t top, FILE *out)
{
	if (d->count == 0)
		return;
	fxt_put_title(out, "DESCRIPTORS STILL OPEN AT THE END", LABEL);
	fprintf(out, FIGURES "\n", "count", "for", "made by");
	for (size_t i = 0; i < d->count && i < top; i++) {
		const struct fxt_left *left = &d->list[i];
		struct fxt_text call = fxt_symbol_text(r, left->call),
				process = fxt_process_name(r, left->pid);
		char *label = cut_label(left), *by = fxt_printable(&call, 24, false);

		fxt_put_label(out, fxt_handle_of_name(FXT_HANDLE_FILE, left->label).text, label, LABEL);
		fprintf(out, FIGURES, fxt_count(left->count).text,
			fxt_duration(fxt_ns_between(left->since_ns, left->until_ns)).text, by);
		free(by);
		by = fxt_printable(&process, 16, false);
		if (!is_of_one_process(d))
			fprintf(out, " in %s%s%" PRIu64, by, *by ? " " : "", fxt_number(r, left->pid));
		fputc('\n', out);
		print_who(left, who, out);
		free(by);
		free(label);
	}
	fxt_put_more(out, d->count, top);
	if (d->unknown)
		fprintf(out, "  of %s more it is not known: recording stopped or lost records later\n",
			fxt_count(d->unknown).text);
}

void fxt_descriptors_json(const struct fxt_descriptors *d, struct fxt_json *j, const struct fxt_reader *r,
			  struct fxt_who *who)
{
	fxt_json_array(j, "descriptors_open");
	for (size_t i = 0; i < d->count; i++) {
		const struct fxt_left *left = &d->list[i];
		struct fxt_text process = fxt_process_name(r, left->pid);

		fxt_json_object(j, NULL);
		fxt_json_string(j, "handle", fxt_handle_of_name(FXT_HANDLE_FILE, left->label).text);
		fxt_json_u64(j, "pid", fxt_number(r, left->pid));
		fxt_json_text(j, "program", &process);
		fxt_json_string(j, "of", left->label);
		fxt_json_symbol(j, "call", r, left->call);
		fxt_json_u64(j, "count", left->count);
		fxt_json_u64(j, "since_ns", left->since_ns);
		fxt_json_u64(j, "until_ns", left->until_ns);
		fxt_json_bool(j, "others", left->is_mixed);
		fxt_who_json(who, j, "stack", FXT_FOR_CALL, left->innermost);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

void fxt_descriptors_free(struct fxt_descriptors *d)
{
	for (size_t i = 0; i < d->count; i++)
		free(d->list[i].label);
	free(d->list);
	fxt_map_free(&d->lives);
	fxt_map_free(&d->peers);
}
