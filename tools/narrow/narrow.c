/* See narrow.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "narrow.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/command.h"
#include "tools/common/message.h"
#include "tools/printing/handle.h"
#include "tools/programs/option_values.h"

enum { DEFAULT_SPAN_NS = 10000000 };

/* Parses a time with its unit. A wrong one ends the program. */
static uint64_t time_of(const char *text, int key, struct argp_state *state)
{
	char *ns = NULL, *bad = fxt_option_set_moment(&ns, text);
	uint64_t value;

	if (bad)
		argp_error(state, "%s%s", fxt_option_prefix(key), bad);
	value = strtoull(ns, NULL, 10);
	free(ns);
	return value;
}

void fxt_narrow_add(struct fxt_narrow *n, enum fxt_narrow_by by, const char *text)
{
	struct fxt_patterns *p = &n->by[by];
	char *pattern = fxt_alloc(2 * strlen(text) + 1, 1), *to = pattern;

	for (; *text; text++) {
		if (strchr("*?[\\", *text))
			*to++ = '\\';
		*to++ = *text;
	}
	p->list = fxt_grow(p->list, &p->capacity, p->count + 1, sizeof(*p->list));
	p->list[p->count++] = (struct fxt_pattern){.text = pattern};
}

static void take_list(struct fxt_patterns *p, const char *arg, int key, struct argp_state *state)
{
	char *copy = fxt_strdup(arg), *rest = copy, *text;

	while ((text = strsep(&rest, ","))) {
		if (!*text)
			argp_error(state, "%s'%s' has an empty place: give names with commas between them",
				   fxt_option_prefix(key), arg);
		p->list = fxt_grow(p->list, &p->capacity, p->count + 1, sizeof(*p->list));
		p->list[p->count++] = (struct fxt_pattern){.text = fxt_strdup(text)};
	}
	free(copy);
}

static void take_around(struct fxt_narrow *n, const char *arg, struct argp_state *state)
{
	char *copy = fxt_strdup(arg), *comma = strchr(copy, ',');

	if (comma)
		*comma++ = '\0';
	n->has_around = true;
	free(n->around_handle);
	n->around_handle = fxt_may_be_handle(copy) ? fxt_strdup(copy) : NULL;
	n->around_ns = n->around_handle ? 0 : time_of(copy, FXT_KEY_AROUND, state);
	n->span_ns = comma ? time_of(comma, FXT_KEY_AROUND, state) : DEFAULT_SPAN_NS;
	free(copy);
}

char *(*fxt_narrow_moment_of)(const char *handle, const char *path, const void *data, uint64_t size,
			      uint64_t *ns);

char *fxt_narrow_settle(struct fxt_narrow *n, const char *path, const void *data, uint64_t size)
{
	char *wrong = NULL;

	if (n->around_handle)
		wrong = fxt_narrow_moment_of
				? fxt_narrow_moment_of(n->around_handle, path, data, size, &n->around_ns)
				: fxt_format("no handle '%s'", n->around_handle);
	if (!wrong) {
		free(n->around_handle);
		n->around_handle = NULL;
	}
	return wrong;
}

static void check(const struct fxt_narrow *n, struct argp_state *state)
{
	if (n->has_around && (n->has_from || n->has_to))
		argp_error(state, "--around says from when and to when, and so do --from and --to: give one "
				  "of both");
	if (n->has_from && n->has_to && n->from_ns > n->to_ns)
		argp_error(state, "--from is after --to");
}

error_t fxt_narrow_parse(struct fxt_narrow *n, int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case FXT_KEY_PID: take_list(&n->by[FXT_BY_PROCESS], arg, key, state); return 0;
	case FXT_KEY_THREAD: take_list(&n->by[FXT_BY_THREAD], arg, key, state); return 0;
	case FXT_KEY_CALL: take_list(&n->by[FXT_BY_CALL], arg, key, state); return 0;
	case FXT_KEY_CATEGORY: take_list(&n->by[FXT_BY_CATEGORY], arg, key, state); return 0;
	case FXT_KEY_OBJECT: take_list(&n->by[FXT_BY_OBJECT], arg, key, state); return 0;
	case FXT_KEY_PATH: take_list(&n->by[FXT_BY_PATH], arg, key, state); return 0;
	case FXT_KEY_STACK: take_list(&n->by[FXT_BY_STACK], arg, key, state); return 0;
	case FXT_KEY_FROM:
		n->has_from = true;
		n->from_ns = time_of(arg, key, state);
		return 0;
	case FXT_KEY_TO:
		n->has_to = true;
		n->to_ns = time_of(arg, key, state);
		return 0;
	case FXT_KEY_AROUND: take_around(n, arg, state); return 0;
	case FXT_KEY_MIN:
		n->least_ns = time_of(arg, key, state);
		if (!n->least_ns)
			argp_error(state,
				   "--min: every event takes that long: give more, such as 1us or 5ms");
		return 0;
	case ARGP_KEY_END: check(n, state); return ARGP_ERR_UNKNOWN;
	default: return ARGP_ERR_UNKNOWN;
	}
}

bool fxt_narrow_is_by_event(const struct fxt_narrow *n)
{
	for (int by = FXT_BY_CALL; by < FXT_NARROW_BY; by++) {
		if (n->by[by].count)
			return true;
	}
	return n->least_ns != 0;
}

bool fxt_narrow_is_any(const struct fxt_narrow *n)
{
	return n->by[FXT_BY_PROCESS].count || n->by[FXT_BY_THREAD].count || n->has_from || n->has_to ||
	       n->has_around || fxt_narrow_is_by_event(n);
}

bool fxt_patterns_fit(struct fxt_patterns *p, const char *text)
{
	bool fits = !p->count;

	for (size_t i = 0; i < p->count; i++) {
		if (fnmatch(p->list[i].text, text, 0) == 0)
			fits = p->list[i].fits = true;
	}
	return fits;
}

void fxt_narrow_free(struct fxt_narrow *n)
{
	for (int by = 0; by < FXT_NARROW_BY; by++) {
		for (size_t i = 0; i < n->by[by].count; i++)
			free(n->by[by].list[i].text);
		free(n->by[by].list);
	}
	free(n->around_handle);
	*n = (struct fxt_narrow){0};
}
