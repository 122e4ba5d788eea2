/* See not_seen.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "not_seen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "tools/common/message.h"

enum { MOST_BYTES = 400 };

/* Returns the place of what is said, which is entered if it is new. */
static size_t place_of(struct fxt_not_seen *n, const struct fxt_text *said)
{
	char *what = fxt_printable(said, MOST_BYTES, false);
	size_t i = 0;

	while (i < n->count && strcmp(n->list[i].what, what) != 0)
		i++;
	if (i < n->count) {
		free(what);
		return i;
	}
	n->list = fxt_grow(n->list, &n->capacity, n->count + 1, sizeof(*n->list));
	n->list[n->count++] = (struct fxt_not_seen_thing){.what = what};
	return i;
}

void fxt_not_seen_take(struct fxt_not_seen *n, const struct fxt_record *rec, uint64_t pid)
{
	const struct fxt_text *said;
	struct fxt_not_seen_thing *thing;
	size_t place;
	bool is_new;

	if (rec->subtype != FXT_EVENT_INSTANT || !fxt_text_is(&rec->category, "agent") ||
	    !fxt_text_is(&rec->name, "unseen") || !(said = fxt_argument_text(rec, "reason")))
		return;
	place = place_of(n, said);
	thing = &n->list[place];
	fxt_map_put(&n->said, place, pid, &is_new);
	if (!thing->processes)
		thing->pid = pid;
	thing->processes += is_new;
	thing->times++;
}

char *fxt_not_seen_where(const struct fxt_not_seen_thing *thing)
{
	char *times = thing->times == 1 ? fxt_strdup("")
					: fxt_format("%s times ", fxt_count(thing->times).text);
	char *where = thing->processes == 1
			      ? fxt_format(", %sin process %" PRIu64, times, thing->pid)
			      : fxt_format(", %sin %s processes", times, fxt_count(thing->processes).text);

	free(times);
	return where;
}

void fxt_not_seen_free(struct fxt_not_seen *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->list[i].what);
	free(n->list);
	fxt_map_free(&n->said);
	*n = (struct fxt_not_seen){0};
}
