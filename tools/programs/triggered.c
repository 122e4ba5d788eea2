/* See triggered.h. The names of calls come from the tables of interpose/. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "triggered.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/engine/each.h"
#include "program.h"
#include "tools/common/message.h"
#include "tools/common/nearest.h"

static const char *const calls[] = {
#define BY_HAND(category, name, role) #name,
#define EVENT BY_HAND
#define CALL(category, type, name, ...) #name,
#define SYSTEM_CALL CALL
#define BY_NUMBER_ALONE CALL
#include "interpose/engine/rows.inc"
#include "interpose/tables/calls.def"
#include "interpose/engine/unrows.inc"
};

enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static bool is_call(const char *name)
{
	for (size_t i = 0; i < CALLS; i++) {
		if (strcmp(calls[i], name) == 0)
			return true;
	}
	return false;
}

bool fxt_triggered_saves(const char *list)
{
	static const char stop[] = ":stop";
	const size_t stop_bytes = strlen(stop);

	while (*list) {
		size_t bytes = strcspn(list, ",");

		/* What compares nothing is no trigger, which the agent says. */
		if (strcspn(list, "<>=!") < bytes &&
		    !(bytes > stop_bytes && memcmp(list + bytes - stop_bytes, stop, stop_bytes) == 0))
			return true;
		list += bytes + (list[bytes] == ',');
	}
	return false;
}

char *fxt_triggered_bad_names(const char *list, const char *program)
{
	char *bad = NULL;

	while (*list && !bad) {
		char *name = fxt_format("%.*s", (int)strcspn(list, "<>=!,:"), list);
		const char *meant =
			strchr(name, '*') || is_call(name) ? NULL : fxt_nearest(name, calls, CALLS);

		if (meant && !fxt_program_mentions(program, name))
			bad = fxt_format(
				"--trigger: no call is named '%s': did you mean %s? A function of that "
				"name in a library is %s*",
				name, meant, name);
		free(name);
		list += strcspn(list, ",");
		list += *list == ',';
	}
	return bad;
}
