/* fxt report: the section on objects that threads waited for, with these threads. See report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* Returns the entry of the object. */
static struct fxt_wait *wait_of(struct fxt_waits *w, uint64_t pid, uint64_t object,
				const struct fxt_object *known, const char *kind)
{
	bool fresh;
	struct fxt_slot *s =
		fxt_map_put(&w->by_object, fxt_object_key(w->objects, known, pid), object, &fresh);

	if (fresh) {
		s->value[0] = w->count;
		w->list = fxt_grow(w->list, &w->capacity, w->count + 1, sizeof(*w->list));
		w->list[w->count++] =
			(struct fxt_wait){.kind = kind, .pid = pid, .object = object, .known = known};
	}
	return &w->list[s->value[0]];
}

/* Usually few threads wait for one object. If there are thousands, the rest of them is not told apart. */
enum { MAX_WAITERS = 256 };

static void add_waiter(struct fxt_wait *wait, uint32_t thread, uint64_t duration_ns)
{
	for (size_t i = 0; i < wait->waiter_count; i++) {
		if (wait->waiters[i].thread == thread) {
			wait->waiters[i].total_ns += duration_ns;
			return;
		}
	}
	if (wait->waiter_count == MAX_WAITERS)
		return;
	wait->waiters = fxt_grow(wait->waiters, &wait->waiter_capacity, wait->waiter_count + 1,
				 sizeof(*wait->waiters));
	wait->waiters[wait->waiter_count++] = (struct fxt_waiter){thread, duration_ns};
}

void fxt_waits_take(struct fxt_waits *w, const struct fxt_reader *r, const struct fxt_record *rec,
		    const struct fxt_role *role, uint64_t duration_ns)
{
	const struct fxt_text *label = fxt_argument_text(rec, "object");
	const struct fxt_argument *what = fxt_argument(rec, role->argument);
	struct fxt_wait *wait;
	uint64_t object;

	if (!fxt_argument_u64(what, &object))
		return;
	wait = wait_of(w, r->threads[rec->thread].pid, object, fxt_object_of(w->objects, r, rec, what),
		       role->kind);
	wait->count++;
	wait->total_ns += duration_ns;
	wait->max_ns = duration_ns > wait->max_ns ? duration_ns : wait->max_ns;
	add_waiter(wait, rec->thread, duration_ns);
	if (!wait->known && !wait->label && label && label->bytes)
		wait->label = fxt_printable(label, 40, true);
}

static int by_total(const void *a, const void *b)
{
	const struct fxt_wait *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return x->object != y->object ? (x->object < y->object ? -1 : 1) : (x->pid < y->pid ? -1 : 1);
}

static int waiters_by_total(const void *a, const void *b)
{
	const struct fxt_waiter *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return x->thread < y->thread ? -1 : 1;
}

void fxt_waits_sort(struct fxt_waits *w)
{
	for (size_t i = 0; i < w->count; i++) {
		struct fxt_wait *wait = &w->list[i];

		qsort(wait->waiters, wait->waiter_count, sizeof(*wait->waiters), waiters_by_total);
		if (wait->known)
			wait->label = wait->known->label;
	}
	if (w->count)
		qsort(w->list, w->count, sizeof(*w->list), by_total);
}

/* Prints a line for each waiter. */
static void print_all_waiters(const struct fxt_wait *wait, const struct fxt_reader *r, FILE *out)
{
	fputc('\n', out);
	for (size_t i = 0; i < wait->waiter_count; i++) {
		char *thread = fxt_thread_label(r, wait->waiters[i].thread, true);

		fprintf(out, "      by %s %s: %s\n", fxt_handle_of_thread(r, wait->waiters[i].thread).text,
			thread, fxt_duration(wait->waiters[i].total_ns).text);
		free(thread);
	}
}

/* Prints at least one waiter, and as many as fit into 100 columns. */
static void print_waiters(const struct fxt_wait *wait, const struct fxt_reader *r, FILE *out)
{
	enum { ROOM = 30, MORE = 9 };
	size_t columns = 0, i;

	for (i = 0; i < wait->waiter_count; i++) {
		char *thread = fxt_thread_label(r, wait->waiters[i].thread, false);
		char *share = wait->waiter_count > 1 && wait->total_ns
				      ? fxt_format(" %.0f%%", 100.0 * (double)wait->waiters[i].total_ns /
								      (double)wait->total_ns)
				      : fxt_strdup("");
		bool fits;

		columns += fxt_columns(thread) + fxt_columns(share) + (i ? 2 : 0);
		fits = i == 0 || columns + (i + 1 < wait->waiter_count ? MORE : 0) <= ROOM;
		if (fits)
			fprintf(out, "%s%s%s", i ? ", " : "", thread, share);
		free(share);
		free(thread);
		if (!fits)
			break;
	}
	if (i < wait->waiter_count)
		fprintf(out, ", %zu more", wait->waiter_count - i);
	fputc('\n', out);
}

char *fxt_wait_name(const char *kind, const char *label)
{
	size_t bytes = strlen(kind);

	/* A label such as "mutex of pool_create" names the kind itself. */
	return strncmp(label, kind, bytes) == 0 && label[bytes] == ' ' ? fxt_strdup(label)
								       : fxt_format("%s %s", kind, label);
}

/* A line of the section: objects of one process, kind and name, such as the locks that one function makes. */
struct alike {
	struct fxt_wait wait;           /* the sums of all of them, with its own list of waiters */
	size_t objects;
};

static int by_name(const void *a, const void *b)
{
	const struct fxt_wait *x = *(struct fxt_wait *const *)a, *y = *(struct fxt_wait *const *)b;
	int names;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (!x->label || !y->label)
		names = (x->label != NULL) - (y->label != NULL);
	else
		names = x->label == y->label ? 0 : strcmp(x->label, y->label);
	return names ? names : strcmp(x->kind, y->kind);
}

static int alike_by_total(const void *a, const void *b)
{
	return by_total(&((const struct alike *)a)->wait, &((const struct alike *)b)->wait);
}

static void join(struct alike *all, const struct fxt_wait *wait)
{
	all->objects++;
	all->wait.count += wait->count;
	all->wait.total_ns += wait->total_ns;
	all->wait.max_ns = wait->max_ns > all->wait.max_ns ? wait->max_ns : all->wait.max_ns;
	for (size_t i = 0; i < wait->waiter_count; i++)
		add_waiter(&all->wait, wait->waiters[i].thread, wait->waiters[i].total_ns);
}

/* Returns the lines of the section, at most w->count, sorted as objects are. */
static struct alike *join_alike(const struct fxt_waits *w, size_t *count)
{
	struct alike *list = fxt_alloc(w->count, sizeof(*list));
	struct fxt_wait **sorted = fxt_alloc(w->count, sizeof(struct fxt_wait *));

	*count = 0;
	for (size_t i = 0; i < w->count; i++)
		sorted[i] = &w->list[i];
	qsort(sorted, w->count, sizeof(struct fxt_wait *), by_name);
	for (size_t i = 0; i < w->count; i++) {
		const struct fxt_wait *one = sorted[i];

		if (i == 0 || !one->label || by_name(&sorted[i - 1], &sorted[i]) != 0)
			list[(*count)++].wait = (struct fxt_wait){.kind = one->kind,
								  .pid = one->pid,
								  .object = one->object,
								  .label = one->label};
		join(&list[*count - 1], one);
	}
	free(sorted);
	for (size_t i = 0; i < *count; i++)
		if (list[i].wait.waiters)
			qsort(list[i].wait.waiters, list[i].wait.waiter_count, sizeof(struct fxt_waiter),
			      waiters_by_total);
	qsort(list, *count, sizeof(*list), alike_by_total);
	return list;
}

enum { LABEL = 28 };
#define FIGURES " %10s %12s %9s  "

struct fxt_handle fxt_wait_handle(const struct fxt_reader *r, const struct fxt_wait *wait)
{
	return fxt_handle_of_lock(r, wait->pid, wait->object);
}

struct fxt_handle fxt_waits_handle(const struct fxt_reader *r, const struct fxt_wait *wait)
{
	char *name = wait->label ? fxt_wait_name(wait->kind, wait->label) : NULL;
	struct fxt_handle handle = name ? fxt_handle_of_locks(r, wait->pid, name) : fxt_wait_handle(r, wait);

	free(name);
	return handle;
}

static void print_wait(const struct alike *all, const struct fxt_reader *r, bool whole, FILE *out)
{
	const struct fxt_wait *wait = &all->wait;
	char *what = wait->label ? fxt_wait_name(wait->kind, wait->label)
				 : fxt_format("%s 0x%" PRIx64, wait->kind, wait->object);
	struct fxt_text text = fxt_text_of(what);
	char *number = all->objects > 1 ? fxt_format("%zu x ", all->objects) : fxt_strdup("");
	char *cut = fxt_printable(&text, LABEL - strlen(number), false);
	char *name = fxt_format("%s%s", number, cut);
	struct fxt_handle handle;

	handle = all->objects > 1 ? fxt_waits_handle(r, wait) : fxt_wait_handle(r, wait);
	fxt_put_label(out, handle.text, name, LABEL);
	free(name);
	free(number);
	fprintf(out, FIGURES, fxt_duration(wait->total_ns).text, fxt_count(wait->count).text,
		fxt_duration(wait->max_ns).text);
	if (whole)
		print_all_waiters(wait, r, out);
	else
		print_waiters(wait, r, out);
	free(cut);
	free(what);
}

/* Prints the objects of a line, each by itself. */
static void print_each(const struct fxt_waits *w, const struct alike *all, const struct fxt_reader *r,
		       FILE *out)
{
	const struct fxt_wait *group = &all->wait;

	for (size_t i = 0; i < w->count; i++) {
		const struct fxt_wait *one = &w->list[i];

		if (by_name(&one, &group) == 0)
			print_wait(&(struct alike){*one, 1}, r, true, out);
	}
}

void fxt_waits_print(const struct fxt_waits *w, const struct fxt_reader *r, size_t top, FILE *out)
{
	size_t shown = 0, free_ones = 0, count;
	struct alike *list;

	if (w->count == 0)
		return;
	list = join_alike(w, &count);
	for (size_t i = 0; i < count; i++) {
		/* Waits as short as this mean that nobody held the object. */
		if (list[i].wait.max_ns < FXT_STANDING_LEAST_NS && top != FXT_TOP_WHOLE) {
			free_ones += list[i].objects;
			continue;
		}
		if (shown++ == 0) {
			fxt_put_title(out, "WAITING FOR", LABEL);
			fprintf(out, FIGURES "by\n", "total", "count", "longest");
		}
		if (shown <= top)
			print_wait(&list[i], r, top == FXT_TOP_WHOLE, out);
		if (top == FXT_TOP_WHOLE && list[i].objects > 1)
			print_each(w, &list[i], r, out);
	}
	for (size_t i = 0; i < count; i++)
		free(list[i].wait.waiters);
	free(list);
	fxt_put_more(out, shown, top);
	if (shown && free_ones)
		fprintf(out, "  and %zu for which nobody waited as long as %s\n", free_ones,
			fxt_duration(FXT_STANDING_LEAST_NS).text);
}

void fxt_waits_free(struct fxt_waits *w)
{
	for (size_t i = 0; i < w->count; i++) {
		if (!w->list[i].known)
			free(w->list[i].label);
		free(w->list[i].waiters);
	}
	free(w->list);
	fxt_map_free(&w->by_object);
}
