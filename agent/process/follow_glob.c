/* See follow_glob.h. These functions are called at start and in the child of a fork. They read nothing but
 * their arguments. */
#include "follow_glob.h"

#include <string.h>

#include "agent/base/glob.h"

/* Returns whether one name of a list can match a program: see fxt_globs_valid(). */
static bool is_valid(const char *at, const char *end)
{
	size_t bytes = (size_t)(end - at);

	if (!bytes || memchr(at, '/', bytes) || (bytes == 3 && !memcmp(at, "all", 3)) ||
	    (bytes == 4 && !memcmp(at, "none", 4)))
		return false;
	return fxt_glob_is_whole(at, end);
}

bool fxt_globs_valid(const char *list)
{
	const char *end;

	for (;; list = end + 1) {
		end = list + strcspn(list, ",");
		if (!is_valid(list, end))
			return false;
		if (!*end)
			return true;
	}
}

bool fxt_globs_match(const char *list, const char *name)
{
	const char *end;

	for (;; list = end + 1) {
		end = list + strcspn(list, ",");
		if (fxt_glob_match(list, end, name, name + strlen(name)))
			return true;
		if (!*end)
			return false;
	}
}
