/* See caller_list.h. */
#include "caller_list.h"

#include <string.h>

#include "agent/base/glob.h"
#include "symbols.h"
#include "writer/place.h"

static FXT_LARGE char callers[FXT_CALLERS_BYTES];

bool fxt_caller_list_read(const char *list)
{
	const char *at, *end;

	if (strlen(list) >= sizeof(callers))
		return false;
	for (at = list; *list; at = end + 1) {
		end = at + strcspn(at, ",");
		if (at == end || memchr(at, '/', (size_t)(end - at)) || !fxt_glob_is_whole(at, end))
			return false;
		if (!*end)
			break;
	}
	memcpy(callers, list, strlen(list) + 1);
	return true;
}

bool fxt_caller_list_has(const struct fxt_code_file *file)
{
	const char *at, *end;

	for (at = callers;; at = end + 1) {
		end = at + strcspn(at, ",");
		if (end - at == 4 && !memcmp(at, "main", 4) ? file->is_program
			    : fxt_glob_match(at, end, file->name, file->name + strlen(file->name)))
			return true;
		if (!*end)
			return false;
	}
}
