/* Says what is wrong where nothing was chosen. See selection.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>

#include "selection.h"
#include "tools/common/message.h"
#include "tools/common/nearest.h"
#include "tools/printing/print.h"

enum { MOST_NAMED = 8 };

/* Names for a message, of which few are printed. */
struct names {
	char **list;
	size_t count, capacity;
};

static void add(struct names *n, char *name)
{
	n->list = fxt_grow(n->list, &n->capacity, n->count + 1, sizeof(*n->list));
	n->list[n->count++] = name;
}

static void free_names(struct names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->list[i]);
	free(n->list);
}

/* Returns the first of the names, with commas between them. The caller frees it. */
static char *some_of(const struct names *n)
{
	char *text;
	size_t bytes;
	FILE *out = fxt_text_stream(&text, &bytes);

	for (size_t i = 0; i < n->count && i < MOST_NAMED; i++)
		fprintf(out, "%s%s", i ? ", " : "", n->list[i]);
	if (n->count > MOST_NAMED)
		fprintf(out, " and %zu more", n->count - MOST_NAMED);
	fclose(out);
	return text;
}

static void add_numbered(struct names *n, uint64_t number, const struct fxt_text *name)
{
	char *text = fxt_printable(name, SIZE_MAX, false);

	add(n, *text ? fxt_format("%" PRIu64 " (%s)", number, text) : fxt_format("%" PRIu64, number));
	free(text);
}

static void add_processes(const struct fxt_selection *s, struct names *n)
{
	struct fxt_map met = {0};
	bool fresh;

	for (size_t i = 0; i < s->known.thread_count; i++) {
		const struct fxt_trace_thread *t = &s->known.threads[i];
		struct fxt_text name = fxt_process_name(&s->known, t->pid);

		fresh = false;
		fxt_map_put(&met, t->pid, 0, &fresh);
		if (fresh && !t->is_track)
			add_numbered(n, fxt_number(&s->known, t->pid), &name);
	}
	fxt_map_free(&met);
}

static void add_threads(const struct fxt_selection *s, struct names *n)
{
	for (size_t i = 0; i < s->known.thread_count; i++) {
		const struct fxt_trace_thread *t = &s->known.threads[i];
		struct fxt_text name = fxt_thread_name(&s->known, (uint32_t)i);

		if (!t->is_track)
			add_numbered(n, fxt_number(&s->known, t->tid), &name);
	}
}

static void add_symbols(const struct fxt_selection *s, const struct fxt_map *symbols, struct names *n)
{
	const struct fxt_slot *slot = NULL;

	while ((slot = fxt_map_next(symbols, slot))) {
		struct fxt_text text = fxt_symbol_text(&s->known, (uint32_t)slot->a);

		add(n, fxt_printable(&text, SIZE_MAX, false));
	}
}

/* Returns the message about one pattern. */
static char *say(const struct fxt_selection *s, enum fxt_narrow_by by, const char *pattern)
{
	static const char *const what[FXT_NARROW_BY] = {
		[FXT_BY_PROCESS] = "no process", [FXT_BY_THREAD] = "no thread",
		[FXT_BY_CALL] = "no call or other event", [FXT_BY_CATEGORY] = "nothing of category",
		[FXT_BY_OBJECT] = "nothing about an object", [FXT_BY_PATH] = "nothing about a path",
		[FXT_BY_STACK] = "no call stack with a function"};
	struct names names = {0};
	char *hint, *some, *message;

	switch (by) {
	case FXT_BY_PROCESS: add_processes(s, &names); break;
	case FXT_BY_THREAD: add_threads(s, &names); break;
	case FXT_BY_CALL: add_symbols(s, &s->calls_met, &names); break;
	case FXT_BY_CATEGORY: add_symbols(s, &s->categories_met, &names); break;
	default: break;
	}
	hint = fxt_did_you_mean(pattern, (const char *const *)names.list, names.count);
	some = some_of(&names);
	message = fxt_format("the trace has %s '%s'%s%s%s", what[by], pattern,
			     *hint   ? hint
			     : *some ? ": it has "
				     : "",
			     *hint ? "" : some, by == FXT_BY_OBJECT ? ": give 0x... or a name" : "");
	free(hint);
	free(some);
	free_names(&names);
	return message;
}

char *fxt_selection_unmatched(const struct fxt_selection *s)
{
	struct fxt_short length = fxt_duration(s->last_ns - s->first_ns);

	for (int by = 0; by < FXT_NARROW_BY; by++) {
		for (size_t i = 0; i < s->narrow->by[by].count; i++) {
			if (!s->narrow->by[by].list[i].fits)
				return say(s, (enum fxt_narrow_by)by, s->narrow->by[by].list[i].text);
		}
	}
	if (s->events)
		return NULL;
	if (s->from_ns > s->last_ns && s->has_times)
		return fxt_format("the trace has nothing at that time: it is over after %s", length.text);
	return fxt_strdup("nothing in the trace fits all of these options");
}
